"""Runs of a workload whose model is a capture: measured, emulated, and compared with what its framework computed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.urls import reverse

from pilots import catalog, pages_proof
from pilots.catalog.hooks import Hooks
from pilots.catalog.wafer_map import View
from pilots.graph.builder import GraphBuilder
from pilots.graph.capture import Example, Lineage, to_bytes
from pilots.graph.ir import DType
from pilots.models import Run
from pilots.wafer.errors import RequestError
from pilots.wafer.limits import check_measured
from pilots.wafer.machine import lab_mesh
from qms.core import jobs, store
from qms.core.errors import CriterionNotMet
from qms.core.jobs import JobFailed
from qms.evidence.models import EvidenceItem
from qms.gates import evidence_facts
from qms.gates import services as gates
from tests.pilots.capture_house import SHA256, changed, page, run_of, start_run, world
from tests.pilots.graph.captures import CAPTURES, LINEAGE, perceptron
from tests.walk import World, screen

__all__ = ["world"]
pytestmark = pytest.mark.django_db
TOLERANCE = catalog.Tolerance(1e-5, 1e-2, 0.999)
NO_HOOKS = Hooks(None, lambda done, total: None, lambda state: None, lambda: None)


def facts(kind: str) -> dict[str, Any]:
    run = run_of("BASELINE" if kind == "EV-02" else "ZIEL")
    return EvidenceItem.objects.get(type=kind, run_id=run.pk).facts()


# baseline and target are the same workload


def test_both_runs_end_and_have_the_same_fingerprint(world: World) -> None:
    baseline, target = run_of("BASELINE"), run_of("ZIEL")
    assert (baseline.failure, target.failure) == ("", "")
    assert (baseline.exit_state, target.exit_state) == ("BEENDET", "BEENDET")
    assert (
        baseline.fingerprint
        == target.fingerprint
        == facts("EV-02")["fingerprint"]
        == facts("EV-16")["fingerprint"]
    )
    for run in (baseline, target):
        assert (run.parameters["model_text"], run.parameters["model_file_sha256"]) == ("", SHA256)


def test_the_fingerprint_follows_inputs_and_model_but_not_what_the_framework_computed(world: World) -> None:
    made = perceptron()
    other_inputs = {"x": made.example.inputs["x"] * 2}
    other_outputs = {name: array + 1 for name, array in made.example.outputs.items()}
    marks = [
        catalog.workload_fingerprint(catalog.load_model(named), named)
        for named in (
            stored(made),
            stored(replace(made, example=Example(made.example.inputs, other_outputs))),
            stored(replace(made, lineage=Lineage(data_sha256="ab" * 32))),
            stored(replace(made, example=Example(other_inputs, made.example.outputs))),
            stored(CAPTURES["decoder"]()),
        )
    ]
    assert marks[0] == marks[1] == marks[2] == run_of("ZIEL").fingerprint
    assert len(set(marks[2:])) == 3


def stored(made: Any) -> dict[str, Any]:
    return {"model_text": "", "model_file_sha256": store.put(to_bytes(made))}


def test_the_gates_take_what_a_capture_brings(world: World) -> None:
    report = gates.report(world.workload)
    results = {item.row.id: item for item in report.criteria}
    for name in ("G3-3", "G4-1", "G4-2", "G4-3", "G4-7", "G4-8", "G4-10"):
        assert not results[name].blocks, results[name].reason


# evidence


def test_the_baseline_measures_the_counts_of_the_policy_and_checks_its_outputs(world: World) -> None:
    found = facts("EV-02")
    assert (found["repetitions"], found["iterations"]) == (5, 4000)
    assert [row["within"] for row in found["outputs"]] == [True]
    assert found["reference"].startswith("PyTorch 2.13.0")
    evidence_facts.baseline_from(found)


def test_every_output_is_compared_with_what_the_framework_computed(world: World) -> None:
    found = facts("EV-06")
    assert [row["name"] for row in found["outputs"]] == list(perceptron().graph.outputs)
    assert found["reference"].startswith("PyTorch 2.13.0")
    assert all(row["within"] for row in found["outputs"])


def test_a_target_run_brings_its_porting_report(world: World) -> None:
    item = EvidenceItem.objects.get(type="EV-05")
    found = item.facts()
    assert item.title == f"Portierungsbericht – {run_of('ZIEL').platform.name}"
    assert (found["type"], found["run_id"]) == ("EV-05", str(run_of("ZIEL").pk))
    assert (found["framework"], found["total_ops"], found["unsupported_ops"]) == ("pytorch", 5, 0)
    assert {name for row in found["operations"] for name in row["kernels"]} == {
        row["kernel"] for row in facts("EV-04")["op_coverage"]
    }
    assert found["partitioning_required"] is False
    assert set(found["porting_effort_pt"].values()) == {None}


def test_the_manifest_names_the_origin_and_what_is_missing(world: World) -> None:
    found = facts("EV-16")
    assert found["lineage"]["artefact"] == SHA256
    assert found["lineage"]["inputs_sha256"] == perceptron().example.inputs_sha256
    assert found["lineage"]["commit"] == LINEAGE.commit
    assert found["open_links"] == []


@pytest.mark.parametrize("name", CAPTURES)
def test_every_capture_runs_on_both_sides(world: World, name: str) -> None:
    named = stored(CAPTURES[name]()) | {"repetitions": 1, "iterations": 5, "iterations_min": 5}
    measured = baseline(named)
    emulated = target(named)
    assert measured.fingerprint == emulated.fingerprint
    assert emulated.replay_equal
    assert all(row["within"] for row in emulated.facts["EV-06"]["outputs"])
    assert catalog.run_tiles("WSE-2", named, View.MAXIMUM).pes.size


def baseline(named: dict[str, Any]) -> catalog.Measured:
    ticks = iter(range(0, 10**12, 1_000_000))
    return catalog.run_baseline(
        named,
        run_id="r",
        platform={},
        measured_at="2026-01-01T00:00:00Z",
        tolerance=TOLERANCE,
        clock_ns=lambda: next(ticks),
        hooks=NO_HOOKS,
    )


def target(named: dict[str, Any]) -> catalog.Emulated:
    note = catalog.RunNote("r", "WSE-2", {}, "2026-01-01T00:00:00Z", "c")
    return catalog.run_target(named, note=note, tolerance=TOLERANCE, hooks=NO_HOOKS)


def test_a_model_text_has_a_porting_report_and_a_reference_too() -> None:
    named = {"model_text": "8-4-2", "model_file_sha256": "", "batch": 2, "samples": 2, "seed": 1}
    found = target(named).facts
    assert found["EV-06"]["reference"] == "NumPy auf diesem Rechner"
    assert found["EV-05"]["unsupported_ops"] == 0
    assert found["EV-05"]["total_ops"] == len(found["EV-04"]["op_coverage"])
    assert found["EV-16"]["lineage"]["artefact"] == ""
    assert "artefact" in found["EV-16"]["open_links"]


@pytest.mark.parametrize(("limit", "iterations"), [(10**9, 7), (0, 3)])
def test_long_requests_are_measured_as_often_as_the_policy_demands_and_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch, limit: int, iterations: int
) -> None:
    monkeypatch.setattr("pilots.catalog.baseline.SHORT_REQUEST_FLOPS", limit)
    named = stored(perceptron()) | {"repetitions": 2, "iterations": 7, "iterations_min": 3}
    assert baseline(named).facts["iterations"] == iterations


# what keeps a run from its end


def shifted(by: float) -> dict[str, Any]:
    """Return the parameters of a capture whose framework computed something else."""
    made = perceptron()
    outputs = {name: array + np.float32(by) for name, array in made.example.outputs.items()}
    return stored(replace(made, example=Example(made.example.inputs, outputs)))


def test_a_baseline_that_computes_something_else_is_not_measured(world: World) -> None:
    with pytest.raises(JobFailed, match=r"Nicht gemessen: .* PyTorch 2\.13\.0"):
        baseline(shifted(1.0) | {"repetitions": 1, "iterations": 1, "iterations_min": 1})


def test_outputs_that_differ_are_said_in_the_evidence(world: World) -> None:
    assert [row["within"] for row in target(shifted(1.0)).facts["EV-06"]["outputs"]] == [False]


def test_a_claim_beside_which_numpy_disagrees_is_seen_by_the_gate(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(*_: Any) -> dict[str, Any]:
        return {name: array + np.float32(1) for name, array in perceptron().example.outputs.items()}

    monkeypatch.setattr("pilots.catalog.target.numpy_run.forward", other)
    found = target(stored(perceptron())).facts["EV-06"]
    assert [row["within"] for row in found["outputs"]] == [True]
    assert found["cross_check"]["reference"] == "NumPy auf diesem Rechner"
    assert [row["within"] for row in found["cross_check"]["outputs"]] == [False]
    judged = evidence_facts.equivalence_from(found).outputs
    assert [row.name for row in judged] == ["v4", "v4 (Gegenprobe)"]
    assert judged[1].max_abs_delta > judged[1].max_abs_reference / 2


def test_what_a_capture_claims_of_itself_stays_handed_in_after_an_equal_replay(world: World) -> None:
    found = {item.type: (item.provenance, item.assurance) for item in EvidenceItem.objects.all()}
    assert found["EV-04"] == ("EMULIERT", "WIEDERHOLT")
    assert found["EV-05"] == found["EV-06"] == found["EV-16"] == ("EMULIERT", "EINGEREICHT")
    assert facts("EV-06")["reference"].endswith("(laut Aufzeichnung des Einreichers)")


@pytest.mark.parametrize(("side", "refused"), [(2**14, False), (2**14 + 1, True)])
def test_a_small_file_of_a_large_computation_is_refused_before_it_starts(
    world: World, monkeypatch: pytest.MonkeyPatch, side: int, refused: bool
) -> None:
    monkeypatch.setattr("pilots.wafer.limits.MAX_VALUES", 2**28 + 1)
    on = GraphBuilder()
    output = on.op("broadcast_to", on.input("x", (1, 1), DType.FLOAT32), shape=(side, side))
    graph, _ = on.build(output)
    if refused:
        with pytest.raises(RequestError, match="values"):
            check_measured(graph, batch=1)
    else:
        check_measured(graph, batch=1)


def test_a_baseline_too_large_for_this_machine_is_not_begun(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pilots.wafer.limits.MAX_VALUES", 10)
    monkeypatch.setattr("pilots.catalog.baseline.numpy_run.forward", None)
    with pytest.raises(JobFailed, match="zu groß"):
        baseline(stored(perceptron()) | {"repetitions": 1, "iterations": 1, "iterations_min": 1})


def test_a_capture_without_example_is_no_model_of_a_run(world: World) -> None:
    with pytest.raises(CriterionNotMet, match="keine Beispieleingaben"):
        catalog.load_model(stored(replace(perceptron(), example=None)))


def test_a_file_that_is_no_capture_is_refused_with_its_sentence(world: World) -> None:
    named = {"model_text": "", "model_file_sha256": store.put(b"no capture")}
    with pytest.raises(CriterionNotMet, match="keine Aufzeichnung"):
        catalog.load_model(named)


@pytest.mark.parametrize(("name", "role"), [("pilot_baseline", "BASELINE"), ("pilot_target", "ZIEL")])
@pytest.mark.parametrize(("data", "sentence"), [(b"{}", "wurde verändert"), (None, "fehlt im Speicher")])
def test_a_damaged_model_file_fails_the_run_with_a_sentence(
    world: World, name: str, role: str, data: bytes | None, sentence: str
) -> None:
    with changed(SHA256, data):
        start_run(world, name)
        jobs.run_pending()
    run = run_of(role)
    assert run.exit_state == "FEHLGESCHLAGEN"
    assert sentence in page(world, run)
    assert not EvidenceItem.objects.filter(run_id=run.pk).exists()


def test_a_model_too_large_for_the_wafer_fails_the_run_with_the_sentence_of_the_emulator(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pilots.catalog.target.machine_of", lambda key: lab_mesh(1, 1))
    with pytest.raises(JobFailed) as caught:
        target({"model_text": "512-512-8", "batch": 1, "samples": 1, "seed": 1})
    assert "passt" in str(caught.value)


# the pages


def test_the_page_shows_outputs_porting_and_origin(world: World) -> None:
    shown = page(world, run_of("ZIEL"))
    for text in (
        "Verglichen mit: PyTorch 2.13.0",
        "mit Emulatornumerik berechnet",
        "Alle 5 Operationen werden unterstützt.",
        "Aufteilung auf mehrere Systeme nötig nein",
        "Portierungsbericht (EV-05) ansehen",
        "Stand des Quelltexts (Commit)",
        "Kernelliste ansehen",
        "Karte des Wafers",
    ):
        assert text in shown
    assert "Nicht angegeben" not in shown


def test_the_page_of_the_baseline_says_whose_outputs_it_was_checked_against(world: World) -> None:
    shown = page(world, run_of("BASELINE"))
    assert "Verglichen mit: PyTorch 2.13.0" in shown
    assert "Emulatornumerik" not in shown
    assert "Nachrechnen" not in shown


def test_the_page_outlives_its_model_file(world: World) -> None:
    catalog.maps._run_tiles.cache_clear()
    with changed(SHA256):
        shown = page(world, run_of("ZIEL"))
        answer = world.browser("pr01").get(reverse("run_map", args=[run_of("ZIEL").pk]))
    assert "Karte des Wafers" not in shown
    assert answer.status_code == 422
    assert "Prüfsumme stimmt nicht mehr" in screen(answer)


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("EV-02", ["Verglichen mit PyTorch 2.13.0", "innerhalb"]),
        ("EV-04", ["Operation des Graphen Kernel Anzahl matmul Kernel", "Belegter Speicher auf dem Wafer"]),
        (
            "EV-05",
            ["Aufteilung auf mehrere Systeme nötig: nein.", "aten.matmul", "Anteil nicht unterstützter"],
        ),
        ("EV-06", ["Verglichen mit PyTorch 2.13.0", "v4 (NumPy auf diesem Rechner)", "Kosinus 1 "]),
        ("EV-16", ["Stand des Quelltexts (Commit)", "platform: x86_64, python: 3.11, pytorch: 2.13.0"]),
        ("EV-16", ["Modell Aufzeichnung", "Eingaben Beispiele in der Modelldatei", "Erlaubte Kernel"]),
    ],
)
def test_the_pages_of_the_evidence_speak_in_words(world: World, kind: str, texts: list[str]) -> None:
    item = EvidenceItem.objects.get(type=kind)
    shown = screen(world.browser("pr01").get(reverse("evidence", args=[item.pk])))
    shown, listing = shown.split("Alle Angaben")
    for text in texts:
        assert text in shown
    for key in ("program_digest", "pass_cycles", "profile_id", "result.outputs", "partitioning_required"):
        assert key not in shown
    assert f'"type": "{kind}"' in listing
    assert "{'" not in shown
    assert "['" not in shown


def row(**changes: Any) -> dict[str, Any]:
    plain = {"name": "y", "dtype": "float32", "max_abs_delta": "0.000002", "max_abs_reference": "2"}
    return plain | {"rtol": "0.00001", "cosine": "1", "within": True} | changes


@pytest.mark.parametrize(
    ("given", "cells"),
    [
        (row(), ["0,0001\u00a0%", "0,001\u00a0%", "1", "innerhalb"]),
        (row(cosine=None), ["0,0001\u00a0%", "0,001\u00a0%", "–", "innerhalb"]),
        (row(max_abs_delta="0"), ["0\u00a0%", "0,001\u00a0%", "1", "innerhalb"]),
        (row(dtype="bfloat16", cosine="0.9991"), ["0,0001\u00a0%", "0,001\u00a0%", "0,9991", "innerhalb"]),
        (
            row(max_abs_delta=None, max_abs_reference=None, within=False, cosine=None),
            ["keine endlichen Zahlen", "0,001\u00a0%", "–", "außerhalb"],
        ),
        (row(max_abs_reference="0", within=False), ["0,000002", "0,001\u00a0%", "1", "außerhalb"]),
        (
            row(dtype="int32", rtol="0", max_abs_delta="0", cosine=None),
            ["0\u00a0%", "keine", "–", "innerhalb"],
        ),
    ],
)
def test_each_output_has_its_row(given: dict[str, Any], cells: list[str]) -> None:
    run = Run(role="ZIEL", summary={"equivalence": {"outputs": [row(name="z"), given], "reference": "NumPy"}})
    found = pages_proof.equivalence_of(run)
    assert [cell["text"] for cell in found["table"]["rows"][1]["cells"]][1:] == cells
    assert ("weicht stärker ab" in found["sentence"]) is not given["within"]


def test_missing_links_are_named(world: World) -> None:
    run = run_of("ZIEL")
    run.summary["lineage"] |= {"commit": "", "environment": []}
    run.summary["open_links"] = ["commit", "environment"]
    found = pages_proof.lineage_of(run)
    assert found["open"] == "Stand des Quelltexts (Commit), Umgebung der Aufzeichnung"
    states = [line["cells"][2]["text"] for line in found["table"]["rows"]]
    assert states.count("fehlt") == 2
