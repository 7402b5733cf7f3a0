"""Deviations of the target run from the baseline: listed by the pilot lead, approved by the review (spec 3.7.3, G4-1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from pilots.services.deviations import LONGEST, MOST, Deviation, list_deviations
from qms.core.errors import CriterionNotMet
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from qms.gates.choices import CriterionResult
from qms.workloads.choices import DeviationField
from tests.walk import World, address, nothing_but, platform, recorded, screen, world

__all__ = ["world"]
STAGE: Final = "emulated"
pytestmark = pytest.mark.django_db
LOAD: Final = "vllm-0.33.0_serve_ok_20req.json"
FILE: Final = Path(__file__).parent / "baseline" / "files" / LOAD
ROW: Final = {
    "field_1": "OHNE_FINGERABDRUCK",
    "baseline_1": "vLLM nennt keinen",
    "target_1": "Emulation des Modells",
    "reason_1": "Das Werkzeug im Betrieb misst so.",
    "effect_1": "Keine, Modell und Anfragen sind gleich.",
}
LISTED: Final = Deviation(DeviationField.BATCH, "1", "32", "Werkzeug", "mehr Durchsatz")


def hand_in(world: World) -> None:
    sent = [SimpleUploadedFile(LOAD, FILE.read_bytes())]
    data = {"file": sent, "platform": platform("DISKRET-4GPU"), "only_file": "1"}
    assert world.browser("pl01").post(address("pilot_baseline", world.workload_id), data).status_code == 302


def post(world: World, **changes: str) -> Any:
    return world.browser("pl01").post(address("pilot_deviations", world.workload_id), ROW | changes)


def result(world: World) -> tuple[CriterionResult, str]:
    found = gates.report(world.workload).result("G4-1")
    return found.result, found.reason_de


def manifest() -> EvidenceItem:
    return EvidenceItem.objects.get(type="EV-16", replaced_by=None)


def test_a_baseline_without_fingerprint_leaves_the_question_open_and_names_both_ways(world: World):
    assert result(world)[0] is CriterionResult.MET
    hand_in(world)
    assert result(world) == (
        CriterionResult.OPEN,
        (
            "Die Vergleichsbasis nennt keinen Fingerabdruck. Bitte messen Sie mit dem Messbefehl, oder listen Sie die "
            "Abweichungen auf (G4-1)."
        ),
    )
    page = world.browser("wo01").get(address("workload", world.workload_id))
    assert address("pilot_deviations", world.workload_id) in page.content.decode()


def test_listed_deviations_are_approved_by_the_review_of_the_manifest(world: World):
    hand_in(world)
    with recorded("NACHWEIS_EINGEREICHT"):
        answer = post(world)
    assert answer.status_code == 302
    assert result(world)[0] is CriterionResult.OPEN
    assert "die prüfende Person genehmigt" in result(world)[1]
    shown = screen(world.browser("pr01").get(answer["Location"]))
    for text in ("Messdatei ohne Fingerabdruck", "vLLM nennt keinen", "Das Werkzeug im Betrieb misst so."):
        assert text in shown
    data = {"accept": "ja", "compared_with": "", "reason": ""}
    world.browser("pr01").post(address("evidence_review", manifest().pk), data)
    assert manifest().status == "GEPRUEFT"
    assert result(world)[0] is CriterionResult.MET
    hand_in(world)  # what was approved was about another baseline
    assert result(world)[0] is CriterionResult.OPEN


def test_an_unfinished_row_is_asked_for_and_changes_nothing(world: World):
    for gap in ROW:
        with nothing_but(""):
            page = post(world, **{gap: ""})
        assert page.status_code == 422
        assert "Bitte ergänzen Sie die Angabe, oder leeren Sie die Zeile." in screen(page)


def test_an_empty_list_is_refused(world: World):
    page = post(world, **dict.fromkeys(ROW, ""))
    assert page.status_code == 422
    assert "Bitte nennen Sie eine bis fünf Abweichungen (G4-1)." in screen(page)


@pytest.mark.parametrize(
    ("rows", "refused"),
    [
        ([LISTED] * MOST, False),
        ([LISTED] * (MOST + 1), True),
        ([Deviation(DeviationField.BATCH, "1" * LONGEST, "32", "a", "b")], False),
        ([Deviation(DeviationField.BATCH, "1" * (LONGEST + 1), "32", "a", "b")], True),
        ([Deviation(DeviationField.BATCH, "1", "32", " ", "b")], True),
    ],
)
def test_the_command_has_the_same_limits(world: World, rows: list[Deviation], refused: bool):
    def command() -> EvidenceItem:
        return list_deviations(actor=world.user("pl01"), workload_id=world.workload_id, deviations=rows)

    if refused:
        with pytest.raises(CriterionNotMet) as error:
            command()
        assert error.value.id == "G4-1"
    else:
        assert len(command().facts()["deviations"]) == len(rows)


def test_who_may_not_list_is_led_to_the_evidence(world: World):
    shown = screen(world.browser("au01").get(address("pilot_deviations", world.workload_id)))
    assert "Zum Nachweis EV-16" in shown
    assert "Abweichungen auflisten" not in shown
