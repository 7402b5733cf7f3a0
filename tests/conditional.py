"""A house whose request has exactly two open criteria, both waivable: no deputy (G0-2) and a noisy baseline (G3-3)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from random import Random
from typing import Any, Final
from unittest import mock
from zoneinfo import ZoneInfo

from django.conf import settings

import pilots.jobs
from pilots import demo
from qms.approvals.choices import Decision, Meaning, Severity
from qms.approvals.conditions import ConditionWording, local_day
from qms.approvals.documents import Wording
from qms.approvals.models import Condition
from qms.approvals.services import addenda, conditions
from qms.approvals.services.acts import addendum_statement
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core import clock, jobs, store
from qms.core.models import Job, JobState, OutboxEntry
from qms.signing import ceremony
from qms.signing.models import Document, DocumentState
from qms.workloads.services import registration
from qms.workloads.services.registration import WorkloadData
from tests.walk import World, house

OPEN: Final = ("G0-2", "G3-3")
REASON: Final = "Stellvertretung und Messung werden nachgeholt."


class Noise:
    """A measuring clock of a busy machine: every twenty requests take another time, the same in each test."""

    def __init__(self) -> None:
        self._now = self._count = 0
        self._random, self._step = Random(7), 1_000_000

    def __call__(self) -> int:
        if self._count % 40 == 0:
            self._step = self._random.choice((1, 1, 1, 1, 1, 40)) * 1_000_000
        self._count += 1
        self._now += self._step
        return self._now


@contextmanager
def conditional_house() -> Iterator[World]:
    """Build the house up to the reviewed request."""
    with house("house") as world:
        workload = demo.register_workload(world.demo)
        names = (
            "title",
            "purpose",
            "business_process",
            "criticality",
            "mode",
            "model_text",
            "ai_act_risk_class",
        )
        registration.update_workload(
            actor=world.user("wo01"),
            workload_id=workload.pk,
            data=WorkloadData(**{name: getattr(workload, name) for name in names}, deputy=None),
            expected_sha256=workload.content_sha256,
        )
        world.workload_id = workload.pk
        demo.confirm_classification(world.demo, world.workload)
        with mock.patch.object(pilots.jobs, "perf_counter_ns", Noise()):
            demo.start_baseline(world.demo, world.workload)
            jobs.run_pending()
        demo.start_target(world.demo, world.workload)
        jobs.run_pending()
        world.approval_id = demo.request_approval(world.demo, world.workload).pk
        demo.review(world.demo, world.approval)
        yield world


def today() -> date:
    """Return the day the commands see."""
    return local_day(clock.now())


def condition(world: World, criterion: str, **changes: Any) -> ConditionWording:
    """Return a complete condition on `criterion`, changed where a test wants it otherwise."""
    values: dict[str, Any] = {
        "criterion": criterion,
        "text": "Stellvertretung benennen und einarbeiten.",
        "measure": "Die Stellvertretung ist im Betriebshandbuch eingetragen.",
        "owner": world.user("wo01").person_id,
        "due": today() + timedelta(days=30),
        "severity": Severity.HIGH,
    }
    return ConditionWording(**values | changes)


def both(world: World) -> tuple[ConditionWording, ...]:
    """Return the two conditions of SZ-02.2: the first HOCH in 30 days, the second NORMAL in 14."""
    second = condition(
        world,
        "G3-3",
        text="Vergleichsbasis mit ruhigem Rechner neu messen.",
        measure="Streuung höchstens 5 %.",
        owner=world.user("pl01").person_id,
        due=today() + timedelta(days=14),
        severity=Severity.NORMAL,
    )
    return condition(world, "G0-2"), second


def wording(*given: ConditionWording) -> Wording:
    """Return a conditional decision."""
    return Wording(
        Decision.APPROVE_WITH_CONDITIONS,
        REASON,
        Meaning.CONDITIONALLY_APPROVED,
        conditions=given,
    )


def posted(*given: ConditionWording, **changes: str) -> dict[str, str]:
    """Return what an approver sends from screen 8 for a conditional decision."""
    found = {"decision": "BEDINGT_FREIGEGEBEN", "reason": REASON, "meaning": "BEDINGT_FREIGEGEBEN"}
    for item in given:
        found |= {
            f"auflage_{item.criterion}_text": item.text,
            f"auflage_{item.criterion}_measure": item.measure,
            f"auflage_{item.criterion}_owner": str(item.owner or ""),
            f"auflage_{item.criterion}_due": item.due.isoformat() if item.due else "",
            f"auflage_{item.criterion}_severity": item.severity.value if item.severity else "",
        }
    return found | changes


def approve(world: World) -> None:
    """Approve with both conditions."""
    demo.decide(world.demo, world.approval, wording(*both(world)))


def conditions_of(world: World) -> list[Condition]:
    """Return the conditions of the approval, read afresh, in order."""
    return list(Condition.objects.filter(approval=world.approval_id).order_by("position"))


def fulfil(world: World, item: Condition) -> None:
    """Hand in the proof of a condition and confirm it."""
    names = {"approval_id": world.approval_id, "condition_id": item.pk}
    made = conditions.submit_proof(actor=world.user("wo01"), text="Liegt vor.", **names)
    conditions.confirm_condition(actor=world.user("pr01"), expected_sha256=made.proof_sha256, **names)


def moment(day: date) -> datetime:
    """Return the last minute of a day where the organisation is."""
    return datetime.combine(day, time(23, 59), ZoneInfo(settings.TIME_ZONE))


def sealed(subject_id: Any) -> None:
    """Give a document a file without rendering it: no system part is needed, and seconds are saved."""
    waiting = Job.objects.filter(document__subject_id=subject_id)
    OutboxEntry.objects.filter(job__in=waiting).update(done_at=clock.now())
    waiting.update(state=JobState.SUCCEEDED)
    with unit(actor=SYSTEM):
        Document.objects.filter(subject_id=subject_id).update(
            state=DocumentState.SEALED, final_sha256=store.put(b"%PDF-1.7 Muster"), sealed_at=clock.now()
        )
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))


def complete(world: World) -> None:
    """Word and sign the addendum."""
    reviewer = world.user("pr01")
    frozen = addenda.prepare_addendum(
        actor=reviewer, approval_id=world.approval_id, meaning=Meaning.REVIEWED, reason="Alles liegt vor."
    )
    statement = addendum_statement(frozen, actor=reviewer)
    challenge = ceremony.begin(actor=reviewer, session_key="test", statement=statement)
    response = ceremony.software_response(actor=reviewer, challenge_id=challenge.id, session_key="test")
    addenda.sign_addendum(
        actor=reviewer,
        approval_id=world.approval_id,
        record_id=frozen.pk,
        challenge_id=challenge.id,
        response=response,
    )


@contextmanager
def past_the_commands() -> Iterator[None]:
    """Let a test write to the tables itself."""
    with unit(actor=SYSTEM):
        yield
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))
