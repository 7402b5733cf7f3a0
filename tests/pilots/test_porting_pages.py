"""The page "Portierung": the report of the target run, and the person days a person states (G4-6)."""

from __future__ import annotations

import html
from decimal import Decimal
from typing import Any

import pytest

from pilots import catalog
from pilots.choices import EFFORT_LABELS
from pilots.models import Run
from pilots.services import porting
from pilots.services.porting import Effort
from qms.core import jobs
from qms.core.errors import CriterionNotMet
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.web.evidence_names import EFFORT
from tests.pilots.capture_house import changed, start_run
from tests.walk import JSON, World, address, assert_refused, screen, world

__all__ = ["world"]
STAGE = "emulated"
pytestmark = pytest.mark.django_db
FIRST = next(iter(EFFORT_LABELS))


def current() -> EvidenceItem:
    return EvidenceItem.objects.get(type=EvidenceType.PORTING, replaced_by__isnull=True)


def form(**changes: str) -> dict[str, str]:
    return {f"days_{category}": "2,5" for category in EFFORT_LABELS} | changes


def post(world: World, data: dict[str, str], **more: Any) -> Any:
    return world.browser("pl01").post(address("pilot_porting", world.workload_id), data, **more)


def test_the_categories_are_those_of_the_porting_report() -> None:
    assert tuple(EFFORT_LABELS) == tuple(catalog.EFFORT_CATEGORIES)


def test_person_days_make_a_new_version_of_the_report(world: World) -> None:
    before = current()
    assert post(world, form()).status_code == 302
    facts = current().facts()
    assert facts["porting_effort_pt"] == dict.fromkeys(EFFORT_LABELS, "2.5")
    assert facts["operations"] == before.facts()["operations"]
    assert axes_of(current()) == axes_of(before) == ("EMULIERT", "WIEDERHOLT")
    assert facts["effort_axes"] == {"provenance": "GESCHAETZT", "assurance": "EINGEREICHT", "origin": "EIGEN"}
    assert current().run_id == before.run_id
    shown = html.unescape(
        world.browser("pl01").get(address("pilot_porting", world.workload_id)).content.decode()
    )
    assert "12,5 Personentage" in shown
    assert "axes--geschaetzt" in shown


def axes_of(item: EvidenceItem) -> tuple[str, str]:
    return item.provenance, item.assurance


def evidence_page(world: World, name: str = "pr01") -> str:
    return screen(world.browser(name).get(address("evidence", current().pk)))


def test_the_page_of_the_report_shows_what_the_reviewer_accepts(world: World) -> None:
    before = evidence_page(world)
    assert "Der Aufwand ist noch nicht eingetragen." in before
    post(world, form(**{f"days_{FIRST}": "0", f"reason_{FIRST}": "Der Code läuft unverändert."}))
    shown = evidence_page(world)
    for label in EFFORT_LABELS.values():
        assert str(label) in shown
    assert "Modellcode Personentage 0 Herkunft, Absicherung, Quelle: GESCHÄTZT · eingereicht" in shown
    assert "Der Code läuft unverändert." in shown
    assert "Summe Personentage 10 Herkunft" in shown
    assert "Aufteilung auf mehrere Systeme nötig: nein." in shown
    assert current().facts()["partitioning_reason"].replace("\u00a0", " ") in shown


def test_the_evidence_page_names_the_categories_as_the_form_does() -> None:
    assert {name: str(label) for name, label in EFFORT.items()} == {
        name: str(label) for name, label in EFFORT_LABELS.items()
    }


def test_nothing_is_proposed_where_nobody_entered_anything(world: World) -> None:
    shown = world.browser("pl01").get(address("pilot_porting", world.workload_id)).content.decode()
    assert 'value="0"' not in shown


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({f"days_{FIRST}": "0"}, 422),
        ({f"days_{FIRST}": "0", f"reason_{FIRST}": " "}, 422),
        ({f"days_{FIRST}": "0", f"reason_{FIRST}": "Der Code läuft unverändert."}, 302),
        ({f"days_{FIRST}": "-0,1"}, 422),
        ({f"days_{FIRST}": "10000"}, 302),
        ({f"days_{FIRST}": "10000,1"}, 422),
        ({f"days_{FIRST}": ""}, 422),
        ({f"days_{FIRST}": "NaN"}, 422),
    ],
)
def test_bad_numbers_are_refused_and_change_nothing(
    world: World, changes: dict[str, str], status: int
) -> None:
    before = current().pk
    assert post(world, form(**changes), headers=JSON).status_code == (200 if status == 302 else status)
    assert (current().pk == before) == (status == 422)


@pytest.mark.parametrize("efforts", [{}, {FIRST: Effort(Decimal(1))}])
def test_the_command_wants_every_category(world: World, efforts: dict[str, Effort]) -> None:
    with pytest.raises(CriterionNotMet, match="G4-6"):
        porting.enter_effort(actor=world.user("pl01"), workload_id=world.workload_id, efforts=efforts)


@pytest.mark.parametrize(("days", "reason"), [("0", ""), ("-1", "x"), ("10000.1", "x"), ("NaN", "x")])
def test_the_command_refuses_what_the_form_refuses(world: World, days: str, reason: str) -> None:
    efforts = dict.fromkeys(EFFORT_LABELS, Effort(Decimal(days), reason))
    with pytest.raises(CriterionNotMet, match="G4-6"):
        porting.enter_effort(actor=world.user("pl01"), workload_id=world.workload_id, efforts=efforts)


def test_a_damaged_report_is_said_on_the_page_and_refused_by_the_command(world: World) -> None:
    item = current()
    with changed(item.facts_sha256):
        shown = world.browser("pl01").get(address("pilot_porting", world.workload_id))
        answer = post(world, form(), headers=JSON)
    assert "Prüfsumme stimmt nicht mehr" in screen(shown)
    assert_refused(
        answer,
        status=422,
        code="GATE_NICHT_ERFUELLT",
        id="G7-4",
        message="Nachweis verändert: Die Datei zu EV-05 stimmt nicht mit ihrer Prüfsumme überein (G7-4).",
    )
    item.refresh_from_db()
    assert item.status == "MANIPULIERT"


def test_kept_person_days_stay_an_estimate_of_their_own_after_a_new_run(world: World) -> None:
    post(world, form())
    start_run(world, "pilot_target")
    jobs.run_pending()
    assert current().facts()["porting_effort_pt"] == dict.fromkeys(EFFORT_LABELS, "2.5")
    assert current().facts()["effort_axes"]["provenance"] == "GESCHAETZT"
    assert axes_of(current()) == ("EMULIERT", "WIEDERHOLT")


def test_a_new_run_of_the_same_model_keeps_the_effort(world: World) -> None:
    post(world, form())
    run = Run.objects.get(role="ZIEL")
    fresh = {"porting_effort_pt": dict.fromkeys(EFFORT_LABELS), "operations": []}
    assert porting.with_kept_effort(run, fresh)["porting_effort_pt"] == dict.fromkeys(EFFORT_LABELS, "2.5")
    run.model_digest = "0" * 64
    assert porting.with_kept_effort(run, fresh) == fresh
