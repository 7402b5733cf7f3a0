"""Captures run again from their manifest: the same digest anywhere, and every change found or refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from pilots import replay as replays
from pilots.graph.capture import Captured, to_bytes
from pilots.graph.mlp import mlp_from_text
from pilots.wafer import emulator, limits
from pilots.wafer.machine import lab_mesh
from qms.core import canonical
from tests.pilots.graph import captures
from tests.pilots.wafer import captured_graphs

EVERY: Final = captures.CAPTURES | captured_graphs.CAPTURES
ROOT: Final = Path(replays.__file__).parents[1]
AGAIN: Final = """
import json, sys
from pathlib import Path
from pilots import replay as replays
folder = Path(sys.argv[1])
manifest = json.loads((folder / "manifest.json").read_text())
print(replays.replay(manifest, fetch=replays.folder(folder)).actual, "django" in sys.modules)
"""


def run_of(found: Captured) -> tuple[dict[str, Any], bytes]:
    """Return the manifest of a run and the file of its model."""
    data = to_bytes(found)
    assert found.example is not None
    result = emulator.run_example(
        found.graph,
        found.weights,
        found.example,
        file_sha256=canonical.sha256_hex(data),
        machine=lab_mesh(16, 16),
    )
    return canonical.loads(canonical.dumps(result.manifest)), data


def fetch_of(*files: bytes) -> replays.Fetch:
    return {canonical.sha256_hex(data): data for data in files}.__getitem__


@pytest.fixture(scope="module")
def done() -> tuple[dict[str, Any], bytes]:
    return run_of(captures.decoder())


@pytest.mark.parametrize("name", EVERY)
def test_a_capture_gives_the_same_digest(name: str) -> None:
    manifest, data = run_of(EVERY[name]())
    verdict = replays.replay(manifest, fetch=fetch_of(data))
    assert verdict == replays.ReplayVerdict(True, manifest["result_digest"], manifest["result_digest"])


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("hashes", ["0", "4711"])
def test_threads_and_hash_seeds_do_not_matter(
    done: tuple[dict[str, Any], bytes], threads: str, hashes: str, tmp_path: Path
) -> None:
    manifest, data = done
    (tmp_path / "manifest.json").write_bytes(canonical.dumps(manifest))
    (tmp_path / "model.wgraph").write_bytes(data)
    counts = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
    environment = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": hashes, **counts}
    command = [sys.executable, "-c", AGAIN, str(tmp_path)]
    found = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert found.split() == [manifest["result_digest"], "False"]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every number and text."""
    if isinstance(value, dict):
        return [found for key, item in value.items() for found in leaves(item, (*path, key))]
    if isinstance(value, list):
        return [found for index, item in enumerate(value) for found in leaves(item, (*path, index))]
    return [path]


def test_every_changed_field_is_found_or_refused(done: tuple[dict[str, Any], bytes]) -> None:
    manifest, data = done
    for path in leaves(manifest):
        changed = json.loads(json.dumps(manifest))
        place = changed
        for key in path[:-1]:
            place = place[key]
        old = place[path[-1]]
        place[path[-1]] = old + 1 if type(old) is int else f"{old}x"
        try:
            equal = replays.replay(changed, fetch=fetch_of(data)).equal
        except replays.ReplayRefused as error:
            equal = not error.message_de.endswith(".")
        assert not equal, path


def test_fields_that_are_missing_or_too_many_are_found(done: tuple[dict[str, Any], bytes]) -> None:
    manifest, data = done
    assert replays.replay(manifest | {"note": "x"}, fetch=fetch_of(data)).differs == ("note",)
    less = {name: value for name, value in manifest.items() if name != "prediction"}
    assert replays.replay(less, fetch=fetch_of(data)).differs == ("prediction",)
    truth = manifest | {"prediction": manifest["prediction"] | {"streamed_bytes": False}}
    assert replays.replay(truth, fetch=fetch_of(data)).differs == ("prediction",)  # 0 is not false


def refusal(manifest: Any, fetch: replays.Fetch | None) -> str:
    with pytest.raises(replays.ReplayRefused) as caught:
        replays.replay(manifest, fetch=fetch)
    sentence = caught.value.message_de
    assert sentence.endswith(".")
    return sentence


def test_a_file_that_is_not_there_or_another_one_is_refused(done: tuple[dict[str, Any], bytes]) -> None:
    manifest, data = done
    assert "liegt nicht vor" in refusal(manifest, None)
    assert "liegt nicht vor" in refusal(manifest, fetch_of(b"other"))
    assert "unveränderte Datei" in refusal(manifest, lambda _sha256: data[:-1] + b"\0")


def test_a_file_that_is_no_capture_is_refused_with_its_own_reason(
    done: tuple[dict[str, Any], bytes],
) -> None:
    model = {"kind": "capture", "file_sha256": canonical.sha256_hex(b"no capture")}
    assert "keine Aufzeichnung" in refusal(done[0] | {"model": model}, fetch_of(b"no capture"))


def test_a_capture_without_example_or_with_another_one_is_refused(done: tuple[dict[str, Any], bytes]) -> None:
    manifest, _ = done
    found = captures.decoder()
    assert found.example is not None
    bare = to_bytes(replace(found, example=None))
    other_ids = replace(
        found.example, inputs={"ids": np.ascontiguousarray(found.example.inputs["ids"][::-1])}
    )
    other = to_bytes(replace(found, example=other_ids))
    for data, words in ((bare, "keine Beispieleingaben"), (other, "andere Prüfsumme")):
        model = {"kind": "capture", "file_sha256": canonical.sha256_hex(data)}
        assert words in refusal(manifest | {"model": model}, fetch_of(data))


NESTED: Any = "x"
for _ in range(5000):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    "change",
    [
        {"model": {"kind": "capture"}},
        {"model": {"kind": "capture", "file_sha256": "../../etc/passwd"}},
        {"model": {"kind": "capture", "file_sha256": 7}},
        {"model": {"kind": ["capture"]}},
        {"model": NESTED},
        {"inputs": {"kind": "example"}},
        {"inputs": {"sha256": None}},
        {"inputs": []},
        {"machine": {"id": "wse-9"}},
        {"machine": NESTED},
        {"kernels": []},
        {"kernels": NESTED},
        {"kernels": {"SUMMA": 1}},
        {"kernels": "SUMMA"},
        {"result_digest": 1},
        {"format": "wafer-manifest-2"},
        {"format": None},
        {"model": {"kind": "mlp", "text": "8192-6000-8192", "activation": "relu", "dtype": "float32"}},
    ],
)
def test_a_hostile_manifest_is_refused_in_one_sentence(
    done: tuple[dict[str, Any], bytes], change: dict[str, Any]
) -> None:
    refusal(done[0] | change, fetch_of(done[1]))


@pytest.mark.parametrize("batch", [0, -1, 4097, 10**15])
def test_a_batch_outside_the_limits_is_refused(batch: int) -> None:
    model = {"kind": "mlp", "text": "4-4", "activation": "relu", "dtype": "float32", "seed": 1}
    manifest = {
        "format": "wafer-manifest-3",
        "model": model | {"output_activation": "none"},
        "inputs": {"seed": 1, "batch": batch},
        "machine": {"id": "lab-8x8"},
        "kernels": ["SUMMA"],
        "result_digest": "0" * 64,
    }
    assert "zwischen 1 und" in refusal(manifest, None)


@pytest.mark.parametrize(("name", "use"), [("MAX_MULTIPLY_ADDS", 4 * 16 * 8), ("MAX_VALUES", 2 * 8 * 16)])
def test_a_run_larger_than_the_limits_is_refused_before_it_starts(
    name: str, use: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, weights = mlp_from_text("4-16")
    run = {"inputs_seed": 1, "batch": 8, "machine": lab_mesh(8, 8)}
    manifest = emulator.run(graph, weights, **run).manifest
    monkeypatch.setattr(limits, name, use)
    assert replays.replay(manifest).equal
    monkeypatch.setattr(limits, name, use - 1)
    assert "zu groß" in refusal(manifest, None)


@pytest.mark.parametrize("junk", [None, [], "text", 7, NESTED, {}, {"format": "wafer-manifest-3"}])
def test_what_is_no_manifest_is_refused(junk: Any) -> None:
    refusal(junk, None)


def test_a_replay_reports_and_can_be_stopped(done: tuple[dict[str, Any], bytes]) -> None:
    class Stopped(Exception):
        pass

    def stop() -> None:
        raise Stopped

    manifest, data = done
    seen: list[tuple[int, int]] = []
    replays.replay(manifest, fetch=fetch_of(data), on_progress=lambda *pair: seen.append(pair))
    assert seen[-1][0] == seen[-1][1] == len(seen)
    with pytest.raises(Stopped):
        replays.replay(manifest, fetch=fetch_of(data), check_cancelled=stop)


def test_a_folder_finds_files_by_their_digest_whatever_they_are_called(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "a.bin").write_bytes(b"one")
    (tmp_path / "b").write_bytes(b"two")
    (tmp_path / canonical.sha256_hex(b"one")).write_bytes(b"not what its name says")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    fetch = replays.folder(tmp_path)
    assert (fetch(canonical.sha256_hex(b"one")), fetch(canonical.sha256_hex(b"two"))) == (b"one", b"two")
    with pytest.raises(KeyError):
        fetch(canonical.sha256_hex(b"three"))
    with pytest.raises(KeyError):
        replays.folder(tmp_path / "nowhere")("0" * 64)
