"""Quality targets that outputs decide: shown with value and verdict on the page of the run and of EV-06."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from django.urls import reverse

from qms.approvals import figures, sections, sections_case
from qms.approvals.dossier import BuiltDossier
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core import clock
from qms.evidence.models import EvidenceItem
from qms.gates import selectors as gates
from qms.gates.choices import ApprovalType
from qms.gates.evidence_facts import EffortFacts, PortingFacts
from qms.web import evidence_targets
from tests.pilots.capture_house import page, run_of, world
from tests.qms.gates.complete_facts import complete
from tests.walk import World, screen

__all__ = ["world"]
pytestmark = pytest.mark.django_db


def judged_on_outputs(world: World, metric: str, threshold: str, comparator: str) -> None:
    """Give the workload another quality target than that of the house, as if it had been frozen with it."""
    with unit(actor=SYSTEM):
        target = world.workload.quality_targets.get()
        target.metric, target.threshold, target.comparator = metric, Decimal(threshold), comparator
        target.unit, target.percentile = "ratio", ""
        target.save()
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))


@pytest.mark.parametrize(
    ("metric", "threshold", "comparator", "texts"),
    [
        ("output_cosine", "0.999", "GE", ["mindestens 0,999", "erreicht 1 Urteil erreicht"]),
        ("output_cosine", "1", "GT", ["größer als 1", "erreicht 1 Urteil nicht erreicht"]),
        ("output_rel_dev", "0.00001", "LE", ["höchstens 0,00001", "Urteil erreicht"]),
    ],
)
def test_a_target_judged_on_the_outputs_is_shown_with_value_and_verdict(
    world: World, metric: str, threshold: str, comparator: str, texts: list[str]
) -> None:
    judged_on_outputs(world, metric, threshold, comparator)
    item = EvidenceItem.objects.get(type="EV-06")
    pages = (
        page(world, run_of("ZIEL")),
        screen(world.browser("pr01").get(reverse("evidence", args=[item.pk]))),
    )
    for shown in pages:
        for text in texts:
            assert text in shown.replace("\u00a0", " ")
        assert " ratio" not in shown.split("Alle Angaben")[0]


def test_a_target_that_outputs_do_not_decide_has_no_row_there(world: World) -> None:
    assert evidence_targets.table_of(EvidenceItem.objects.get(type="EV-06")) is None
    assert evidence_targets.table_of(EvidenceItem.objects.get(type="EV-04")) is None


def test_the_document_names_the_value_of_a_target_that_outputs_decide(world: World) -> None:
    judged_on_outputs(world, "output_cosine", "0.999", "GE")
    workload = world.workload
    facts = gates.facts_for(
        workload,
        ApprovalType.PRELIMINARY,
        at=clock.now(),
        items=list(EvidenceItem.objects.filter(workload=workload)),
    )
    section = sections.quality(workload, BuiltDossier({}, "", None, facts))
    row = section["blocks"][0]["rows"][0]
    assert row[1] == "Kosinusähnlichkeit der Ausgaben"
    assert row[-1] == "1"


def effort_facts(days: str | None, framework: str = "pytorch") -> PortingFacts:
    return PortingFacts(framework, (EffortFacts("TESTS", Decimal(days) if days else None, "x"),), False)


@pytest.mark.parametrize(
    ("porting", "text"),
    [
        (None, "nicht geprüft, weil der Portierungsbericht (EV-05) fehlt"),
        (effort_facts("1", ""), "entfällt, weil das Modell nur aus Schichtbreiten besteht"),
        (effort_facts(None), "noch nicht eingetragen"),
        (effort_facts("0"), "0 Personentage, geschätzt"),
        (effort_facts("12.5"), "12,5 Personentage, geschätzt"),
    ],
)
def test_the_document_says_what_porting_took(world: World, porting: PortingFacts | None, text: str) -> None:
    facts = replace(complete(), porting=porting)
    built = BuiltDossier({}, "", None, facts)
    assert figures.porting_effort(built) == text
    assert text in str(sections_case.proof(built))
