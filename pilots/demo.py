"""The demo: the same commands people use, walked once from an empty house to a decided Freigabe.

Its signatures come from software authenticators, which is written in every record, on the PDF and in the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Final
from uuid import UUID

from django.conf import settings

from pilots.models import Run
from pilots.services import runs
from qms.approvals.choices import ApprovalType, Decision, Meaning, VoteValue
from qms.approvals.documents import Wording
from qms.approvals.models import Approval
from qms.approvals.services import decisions, requests, reviews
from qms.approvals.services.acts import review_statement, statement_for
from qms.approvals.services.reviews import Review, SubjectAnswer
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core import clock
from qms.core.errors import QmsError
from qms.evidence import selectors as evidence
from qms.evidence.choices import EvidenceType
from qms.gates import services as gates
from qms.roles.links import invitation_token
from qms.roles.models import Person, RoleAction, User
from qms.roles.roles import Role
from qms.roles.services import people, role_changes
from qms.signing import ceremony
from qms.workloads import abort_templates
from qms.workloads import selectors as workloads
from qms.workloads.choices import Level, Mode, ObjectClass
from qms.workloads.models import PlatformProfile, Workload
from qms.workloads.services import classification, criteria, registration, setup
from qms.workloads.services.classification import LocationData
from qms.workloads.services.criteria import AbortRuleData, CriteriaData, TargetData
from qms.workloads.services.registration import WorkloadData

PASSWORD: Final = "Vorführung-2026"  # noqa: S105 - printed on the login page of the demo, worth nothing elsewhere
SESSION: Final = "demo"
TITLE: Final = "Ausschussprognose – Inferenz MLP"
MODEL: Final = "64-256-256-8"
SPREAD: Final = "G3-3"
MEASUREMENTS: Final = 3
# username, name on screen, role; nobody can confirm roles before the first reviewer, so another person does (0170).
PEOPLE: Final = (
    ("ad01", "Administration 1", Role.ADMINISTRATOR),
    ("pr01", "Prüfung 1", Role.REVIEWER),
    ("wo01", "Workload-Owner 1", Role.WORKLOAD_OWNER),
    ("wo02", "Workload-Owner 2", Role.WORKLOAD_OWNER),
    ("pl01", "Pilotleitung 1", Role.WORKLOAD_OWNER),
    ("fg01", "Freigabe 1", Role.APPROVER),
    ("au01", "Audit 1", Role.AUDITOR),
)
SIGNERS: Final = ("pr01", "fg01")


@dataclass
class Demo:
    """What the walk has made so far, by user name."""

    accounts: dict[str, User] = field(default_factory=dict)

    def user(self, name: str) -> User:
        """Return the account `name`, read afresh."""
        return User.objects.select_related("person").get(username=name)


def make_house(*, password: str = PASSWORD) -> Demo:
    """Set up organisation, first administrator, people and roles by invitation, request and confirmation."""
    demo = Demo()
    setup.set_up_organisation(actor=SYSTEM, name=settings.ORGANISATION_NAME or "Beispielwerk AG (fiktiv)")
    first, name, _role = PEOPLE[0]
    people.create_first_administrator(
        actor=SYSTEM,
        token=people.issue_first_run_link(actor=SYSTEM),
        display_name=name,
        email=_mail(first),
        username=first,
        password=password,
    )
    for username, name, _role in PEOPLE[1:]:
        _invite(demo, username, name, password)
    for username, _name, role in PEOPLE[1:]:
        _give_role(demo, username, role)
    if settings.DEMO:
        for username in SIGNERS:
            _enrol(demo.user(username))
    return demo


@dataclass(frozen=True, slots=True)
class Sample:
    """What a sample workload says of itself; fallback: key of the platform in use."""

    purpose: str
    model: str
    latency_ms: Decimal
    fallback: str


FIRST: Final = Sample(
    "Sagt je Bauteil den Ausschuss aus 64 Prozesswerten voraus und steuert die Nacharbeit.",
    MODEL,
    Decimal(50),
    "DISKRET-4GPU",
)


def register_workload(demo: Demo, *, title: str = TITLE, sample: Sample = FIRST) -> Workload:
    """Screen 1 to 3: register, accept the owner role, answer the four questions, set targets."""
    owner = demo.user("wo01")
    data = WorkloadData(
        title=title,
        purpose=sample.purpose,
        business_process="Fertigung, Qualitätssicherung",
        criticality="NORMAL",
        mode=Mode.INFERENCE.value,
        model_text=sample.model,
        deputy=demo.user("wo02").person,
        ai_act_risk_class="MINIMAL",
    )
    workload = registration.register_workload(actor=owner, data=data, accept_owner=True)
    classification.answer_questions(
        actor=owner,
        workload_id=workload.pk,
        answers={
            key: frozenset({code})
            for key, code in (("KF-1", "a"), ("KF-2", "b"), ("KF-3", "a"), ("KF-4", "a"))
        },
        location=LocationData(),
        expected_sha256="",
    )
    criteria.set_criteria(
        actor=owner,
        workload_id=workload.pk,
        data=criteria_data(demo.user("pl01").person, sample),
        expected_sha256="",
    )
    return Workload.objects.get(pk=workload.pk)


def criteria_data(lead: Person | None, sample: Sample = FIRST) -> CriteriaData:
    """Return the criteria a newcomer gets proposed: one latency target, the default abort rules, a fallback path."""
    rules = abort_templates.default_rules(Mode.INFERENCE, Level.INTERNAL)
    today = clock.now().date()
    return CriteriaData(
        targets=(
            TargetData(
                metric="e2e_latency_ms",
                percentile="p95",
                dataset_version="Prozesswerte 2026-10",
                comparator="LE",
                threshold=sample.latency_ms,
                unit="ms",
            ),
        ),
        abort_rules=tuple(AbortRuleData(rule.category, rule.text, rule.template) for rule in rules),
        fallback_platform=PlatformProfile.objects.get(key=sample.fallback),
        fallback_steps="Anfragen auf die bestehende Plattform umleiten, Modellstand prüfen, Betrieb informieren.",
        rto_min=120,
        pilot_platform=PlatformProfile.objects.get(key="WSE-2"),
        pilot_start=today,
        pilot_end=today + timedelta(days=60),
        budget_cap_eur=Decimal(20000),
        scope="Eine Fertigungslinie, bis 5.000 Vorhersagen am Tag",
        success_measure=f"Antwortzeit p95 höchstens {sample.latency_ms} ms bei gleicher Vorhersage",
        lead=lead,
    )


def confirm_classification(demo: Demo, workload: Workload) -> None:
    """The reviewer confirms all seven classes in one act."""
    classification.confirm_classification(
        actor=demo.user("pr01"), workload_id=workload.pk, object_classes=tuple(ObjectClass)
    )


def start_baseline(demo: Demo, workload: Workload) -> Run:
    """Screen 4: measure on this machine."""
    platform = PlatformProfile.objects.get(key="DIESER-RECHNER")
    return runs.start_baseline(actor=demo.user("pl01"), workload_id=workload.pk, platform_id=platform.pk)


def start_target(demo: Demo, workload: Workload) -> Run:
    """Screen 5: emulate on the WSE-2."""
    platform = PlatformProfile.objects.get(key="WSE-2")
    return runs.start_target(actor=demo.user("pl01"), workload_id=workload.pk, platform_id=platform.pk)


def request_approval(demo: Demo, workload: Workload) -> Approval:
    """Screen 6: request the Vorfreigabe."""
    return requests.request_approval(
        actor=demo.user("wo01"), workload_id=workload.pk, type=ApprovalType.PRELIMINARY
    )


def review(demo: Demo, approval: Approval, votes: Mapping[str, VoteValue] | None = None) -> Approval:
    """Screen 7: the one review act; votes: the answer to a subject where it is not the agreement."""
    reviewer = demo.user("pr01")
    _approval, built = reviews.preview(actor=reviewer, approval_id=approval.pk)
    subjects = gates.asked_subjects(approval.workload)
    draft = Review(
        answers=tuple(_subject_answer(subject.code, (votes or {}).get(subject.code)) for subject in subjects),
        meaning=Meaning.REVIEWED,
        reason="Nachweise geprüft, Werte nachvollziehbar.",
        compared_with="",
        evaluated_at=built.facts.now,
        dossier_sha256=built.sha256,
    )
    statement = review_statement(approval, actor=reviewer, review=draft)
    challenge, response = _answer(reviewer, statement)
    return reviews.complete_review(
        actor=reviewer, approval_id=approval.pk, review=draft, challenge_id=challenge, response=response
    )


def _subject_answer(code: str, value: VoteValue | None) -> SubjectAnswer:
    if value in {None, VoteValue.AGREE}:
        return SubjectAnswer(code, VoteValue.AGREE)
    return SubjectAnswer(code, value, "Die Kosten tragen die Entscheidung nicht.")


def decide(demo: Demo, approval: Approval, wording: Wording | None = None) -> Approval:
    """Screen 8: freeze the wording, sign it."""
    approver = demo.user("fg01")
    chosen = wording or Wording(
        Decision.APPROVE, "Die geprüften Kriterien sind erfüllt; der Pilot kann beginnen.", Meaning.APPROVED
    )
    frozen = decisions.prepare_decision(actor=approver, approval_id=approval.pk, wording=chosen)
    challenge, response = _answer(approver, statement_for(frozen, actor=approver))
    return decisions.decide_approval(
        actor=approver, record_id=frozen.pk, challenge_id=challenge, response=response
    )


def _answer(actor: User, statement: ceremony.Statement) -> tuple[UUID, ceremony.Response]:
    challenge = ceremony.begin(actor=actor, session_key=SESSION, statement=statement)
    return challenge.id, ceremony.software_response(
        actor=actor, challenge_id=challenge.id, session_key=SESSION
    )


def _invite(demo: Demo, username: str, name: str, password: str) -> None:
    invitation = people.invite_person(actor=demo.user("ad01"), display_name=name, email=_mail(username))
    token = invitation_token(invitation.pk)
    people.accept_invitation(actor=SYSTEM, token=token, username=username, password=password)


def _give_role(demo: Demo, username: str, role: Role) -> None:
    subject = demo.user(username).person
    wanted = role_changes.request_role(
        actor=demo.user("ad01"),
        person_id=subject.pk,
        role=role,
        action=RoleAction.GRANT,
        reason="Musterdaten",
    )
    confirmer = "au01" if username == "pr01" else "pr01"
    role_changes.confirm_role(actor=demo.user(confirmer), request_id=wanted.pk)


def _enrol(user: User) -> None:
    with unit(actor=user):
        ceremony.enrol_software(actor=user)


def _mail(username: str) -> str:
    return f"{username}@beispielwerk.example"


def mark_seeded() -> None:
    """Note in the log that the data of this installation are samples."""
    with unit(actor=SYSTEM):
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Installation", "1"))


class DemoStopped(QmsError):
    """The walk cannot go on; the text is one German sentence, and what exists so far may be used."""


def walk(house: Demo, *, carry_out: Callable[[], object]) -> Approval:
    """Walk screens 1 to 8, going on where an earlier walk ended; `carry_out` runs the jobs that wait.

    Returns the decided approval; raises DemoStopped, or the refusal of a command.
    """
    workload = Workload.objects.filter(title=TITLE).first() or register_workload(house)
    if workloads.unconfirmed_classes(workload):
        confirm_classification(house, workload)
    _measure(house, workload, carry_out)
    see_target_through(house, workload, carry_out)
    workload.refresh_from_db()
    approval = decide(house, review(house, request_approval(house, workload)))
    carry_out()
    approval.refresh_from_db()
    return approval


def see_target_through(house: Demo, workload: Workload, carry_out: Callable[[], object]) -> None:
    """Emulate, unless an earlier walk did."""
    if not _has(workload, EvidenceType.TARGET_REPORT):
        _run(lambda: start_target(house, workload), workload, carry_out)


def _measure(house: Demo, workload: Workload, carry_out: Callable[[], object]) -> None:
    """Measure until the spread is small enough (G3-3), MEASUREMENTS times at most: a busy machine disturbs it."""
    for _ in range(MEASUREMENTS):
        if not spread_of(workload):
            return
        _run(lambda: start_baseline(house, workload), workload, carry_out)
    if not _has(workload, EvidenceType.BASELINE_REPORT):
        raise DemoStopped("Die Messung ist nicht bis zu einem Ergebnis gekommen.")
    if found := spread_of(workload):
        raise DemoStopped(f"Dieser Rechner ist zu beschäftigt zum Messen. {found}")


def spread_of(workload: Workload) -> str:
    """Return why the measurement of the workload does not count yet (G3-3), "" where it does."""
    found = gates.first_open_of(workload, (SPREAD,))
    return found.reason if found else ""


def _run(start: Callable[[], Run], workload: Workload, carry_out: Callable[[], object]) -> None:
    """Start a run, unless one of an earlier walk still waits for its worker, and see it through."""
    if not Run.objects.filter(workload=workload, exit_state="").exists():
        start()
    carry_out()


def _has(workload: Workload, kind: EvidenceType) -> bool:
    return evidence.current(workload).filter(type=kind).exists()
