"""The result of the measuring command: its figures follow from its times, its signature holds, or it is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pilots.baseline import signature
from pilots.baseline.importers import BenchmarkRefused, read
from pilots.baseline.signature import SignatureError
from pilots.graph.fingerprint import seeded_fingerprint
from pilots.graph.mlp import mlp_from_text
from qms.core import canonical
from tests.pilots.baseline.importers.judged import judge
from tests.pilots.baseline.measured_files import BEGAN, ENDED, measured, measured_endpoint, signed, steady

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def again(
    data: bytes, change: Callable[[dict[str, Any]], None], key: Ed25519PrivateKey | None = None
) -> bytes:
    """The same file after a change of its statement, with a digest that fits again, and signed anew if asked."""
    found = json.loads(data)
    change(found["statement"])
    found["sha256"] = canonical.digest(found["statement"])
    if key is not None:
        found["signature"] = signature.sign(found["statement"], key)
    return json.dumps(found).encode()


def test_a_result_says_what_was_measured_and_by_which_key() -> None:
    run = read(signed(measured(), KEY), "messung.json")
    own = run.measurement
    assert own is not None
    assert (own.kind, own.repetitions, own.iterations, own.throughput_cv) == ("GRAPH", 5, 200, 0)
    assert own.public_key == signature.public_text(KEY)
    assert (run.measured_at, run.measured_until, run.completed, run.failed) == (BEGAN, ENDED, 200, 0)
    values = {(item.key, item.percentile): item for item in run.metrics}
    assert float(values["e2e_latency_ms", "p99"].value) == 1
    assert float(values["throughput_samples_s", None].value) == 32_000
    assert values["e2e_latency_ms", "p50"].n == 1000
    assert f"Signiert mit dem Schlüssel {signature.key_id(own.public_key)}." in run.what_it_says


def test_the_fingerprint_is_the_one_the_server_computes() -> None:
    graph, _weights = mlp_from_text("4-6-2")
    own = read(signed(measured()), "messung.json").measurement
    assert own is not None
    assert own.fingerprint == seeded_fingerprint(graph, batch=32, seed=1)
    other = read(signed(measured(batch=8)), "messung.json").measurement
    assert other is not None
    assert other.fingerprint != own.fingerprint


def test_the_environment_holds_no_host_user_or_path() -> None:
    data = again(signed(measured()), lambda found: found["environment"].update(host="r1", path="/home/x"))
    own = read(data, "messung.json").measurement
    assert own is not None
    assert {"host", "path"}.isdisjoint(own.environment)
    assert own.environment["logical_cores"] > 0


def test_a_result_without_a_key_says_so() -> None:
    run = read(signed(measured()), "messung.json")
    assert run.measurement is not None
    assert run.measurement.public_key == ""
    assert "Die Datei ist nicht signiert." in run.what_it_says


def test_a_file_spelt_differently_is_still_signed() -> None:
    data = json.dumps(json.loads(signed(measured(), KEY)), indent=1).encode()
    assert read(data, "x").measurement.public_key == signature.public_text(KEY)  # type: ignore[union-attr]


def test_one_changed_figure_breaks_digest_then_signature() -> None:
    data = signed(measured(), KEY)
    with pytest.raises(BenchmarkRefused, match="BROKEN_RESULT") as caught:
        read(data.replace(b"1000000", b"900000", 1), "messung.json")
    assert "die Prüfsumme passt nicht zum Inhalt" in caught.value.message_de
    with pytest.raises(BenchmarkRefused, match="BROKEN_SIGNATURE") as caught:
        read(again(data, lambda found: found.update(version="9")), "messung.json")
    assert caught.value.message_de.startswith("Die Signatur passt nicht zum Inhalt")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda found: found["durations_ns"][0].__setitem__(0, 1), "folgen nicht aus den einzelnen Zeiten"),
        (lambda found: found["durations_ns"][0].__setitem__(0, 0), "keine ganze Zahl über null"),
        (lambda found: found["durations_ns"][0].pop(), "Anzahl und Zeiten passen nicht zusammen"),
        (lambda found: found["workload"].update(fingerprint="x" * 64), "eine Prüfsumme hat eine andere Form"),
        (lambda found: found.update(kind="?"), "die Art der Messung fehlt"),
        (lambda found: found.pop("environment"), "das Feld environment fehlt"),
        (lambda found: found["environment"].pop("cpu_model"), "das Feld cpu_model der Umgebung"),
        (
            lambda found: found["environment"].update(memory_bytes="viel"),
            "das Feld memory_bytes der Umgebung",
        ),
        (lambda found: found["workload"].pop("batch"), "ein Feld fehlt oder hat eine andere Form"),
        (lambda found: found.update(metrics=[]), "folgen nicht aus den einzelnen Zeiten"),
    ],
)
def test_figures_must_follow_from_the_times_even_if_somebody_signs_them(
    change: Callable[[dict[str, Any]], None], what: str
) -> None:
    with pytest.raises(BenchmarkRefused) as caught:
        read(again(signed(measured(), KEY), change, KEY), "messung.json")
    assert what in caught.value.message_de


def test_a_measurement_in_which_all_failed_is_no_baseline() -> None:
    with pytest.raises(BenchmarkRefused, match="ALL_FAILED"):
        read(again(signed(measured()), lambda found: found.update(failed=1000)), "messung.json")


@pytest.mark.parametrize(
    "change",
    [
        {"algorithm": "none"},
        {"public_key": ""},
        {"value": "AAAA"},
        {"value": 7},
        {"public_key": signature.public_text(Ed25519PrivateKey.from_private_bytes(bytes(32)))},
    ],
)
def test_a_signature_of_another_form_or_key_is_refused(change: dict[str, Any]) -> None:
    found = json.loads(signed(measured(), KEY))
    found["signature"] |= change
    with pytest.raises(BenchmarkRefused, match="BROKEN_SIGNATURE"):
        read(json.dumps(found).encode(), "messung.json")


def test_spread_is_that_of_the_repetitions() -> None:
    paces = iter((1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_200_000))
    own = read(signed(measured(clock=lambda: steady(next(paces)))), "x").measurement
    assert own is not None
    assert own.throughput_cv == pytest.approx(0.0772, abs=1e-4)


def test_only_the_holder_of_a_key_can_make_its_registration_line() -> None:
    card = signature.card(KEY)
    assert signature.read_card(f" {card}\n") == signature.public_text(KEY)
    prefix, public, proof = card.split(":")
    other = signature.public_text(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    signed_text = signature.sign({"a": 1}, KEY)["value"]
    for text in (
        "",
        public,
        f"{prefix}:{other}:{proof}",
        f"{prefix}:{public}:{signed_text}",
        f"x:{public}:{proof}",
        card * 3,
    ):
        with pytest.raises(SignatureError):
            signature.read_card(text)


ODD = (None, -1, 0, 1, 7, 2**53, "", "x", "\u0000", "1000000", [], {}, [1], True, "a" * 500)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a statement."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in below for place in leaves(item, (*path, key)))]


@pytest.mark.parametrize("kind", ["GRAPH", "ENDPUNKT"])
def test_whatever_stands_in_a_statement_with_a_fitting_digest_is_refused_or_right(kind: str) -> None:
    """A person who edits a result and computes its digest again: one sentence, or the figures of the oracle."""
    whole = measured(iterations=20) if kind == "GRAPH" else measured_endpoint()
    chosen = random.Random(kind)
    places = [path for path in leaves(whole) if path and path[0] != "metrics"]
    for _ in range(400):
        found = json.loads(canonical.dumps(whole))
        *above, last = chosen.choice(places)
        parent = found
        for key in above:
            parent = parent[key]
        if chosen.random() < 0.3:
            del parent[last]
        else:
            parent[last] = chosen.choice(ODD)
        envelope = {"schema": "qms.measurement/1", "sha256": canonical.digest(found), "statement": found}
        judge(json.dumps(envelope).encode())
