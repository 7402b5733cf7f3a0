"""The house of the access tests: every role, every relation to a workload, a case in each state.

Built by the commands of the demo. `held` opens what outlives a test, `undone` what does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, Final
from unittest import mock

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.test import Client, TestCase, override_settings

from pilots import demo
from pilots.baseline import signature
from pilots.models import Run
from pilots.services import measuring_keys, replays
from qms.approvals.choices import Decision, Meaning, Severity
from qms.approvals.conditions import ConditionWording, local_day
from qms.approvals.documents import Wording
from qms.approvals.models import Approval, Condition, DecisionRecord
from qms.approvals.services import conditions, decisions
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.models import Export
from qms.audit.services import record, request_export, unit
from qms.core import clock, jobs, store
from qms.core.models import Job, JobState, OutboxEntry
from qms.evidence.models import EvidenceItem
from qms.roles import links, services
from qms.roles.models import Invitation, User
from qms.roles.roles import Role
from qms.roles.services import people
from qms.signing.models import Document, DocumentState
from qms.workloads.models import Workload
from qms.workloads.services import registration
from qms.workloads.services.registration import WorkloadData

BACKEND: Final = "allauth.account.auth_backends.AuthenticationBackend"
SMALL_MODEL: Final = "64-32-8"  # nothing here depends on the size of the model
PASSWORD: Final = "korrekt-pferd-batterie"

# Columns of the access table: who asks, and what the workload is to them.
ACTORS: Final[dict[str, str]] = {
    "anonym": "",
    "aus": "aus01",  # signed in once, deactivated since
    "ohne": "ohne",  # an account without any role
    "fremd": "wo09",  # role Workload-Owner, no relation to the workload
    "owner": "wo01",
    "stellv": "wo02",
    "leitung": "pl01",
    "PR": "pr01",
    "FG": "fg01",
    "AU": "au01",
    "AD": "ad01",
    "super": "super",  # Django superuser without role
    "dienst": "dienst",  # service account of the owner's person
}


@contextmanager
def undone() -> Iterator[None]:
    """Run the block and undo what it wrote; commands inside see it as the test's own transaction."""
    atomics = TestCase._enter_atomics()
    try:
        yield
    finally:
        TestCase._rollback_atomics(atomics)


@dataclass
class World:
    """Accounts by column, browsers that are signed in, one case per state."""

    accounts: dict[str, User] = field(default_factory=dict)
    browsers: dict[str, Client] = field(default_factory=dict)
    workloads: dict[str, Workload] = field(default_factory=dict)
    approvals: dict[str, Approval] = field(default_factory=dict)
    extras: dict[str, Any] = field(default_factory=dict)

    def browser(self, actor: str) -> Client:
        """Return a browser with the actor's session and no memory of earlier requests."""
        fresh = Client()
        fresh.cookies.update(self.browsers[actor].cookies)
        return fresh


@contextmanager
def quick_clock() -> Iterator[None]:
    """Let the measuring command read a clock that runs evenly, so that no baseline is too noisy on a busy machine."""
    ticks = count(step=1_000_000)
    with mock.patch("pilots.jobs.perf_counter_ns", ticks.__next__):
        yield


def build() -> World:
    """Return the house: workloads `entwurf`, `eingereicht`, `reif`, `frei`, `bedingt`, all but the first requested."""
    world = World()
    with override_settings(DEMO=True), quick_clock(), mock.patch.object(demo, "MODEL", SMALL_MODEL):
        with mock.patch.object(people, "issue_first_run_link", _kept(world)):
            house = demo.make_house(password=PASSWORD)
        _people(world, house)
        for name in ("bedingt", "frei", "reif", "eingereicht", "entwurf"):
            _case(world, house, name)
        _extras(world, house)
    _sign_in(world, house)
    return world


def _kept(world: World) -> Any:
    """Return the command that makes the first-run link, with its token kept: it is stored nowhere else."""
    make = people.issue_first_run_link

    def run(**values: Any) -> str:
        world.extras["first_run_token"] = token = make(**values)
        return token

    return run


def _people(world: World, house: demo.Demo) -> None:
    for username, name in (
        ("ohne", "Person ohne Rolle"),
        ("wo09", "Workload-Owner 9"),
        ("aus01", "Person 10"),
    ):
        demo._invite(house, username, name, PASSWORD)
    demo._give_role(house, "wo09", Role.WORKLOAD_OWNER)
    with unit(actor=SYSTEM):
        User.objects.create_user(
            "super", person=_join(house, "super"), password=PASSWORD, is_superuser=True, is_staff=True
        )
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))
    services.register_service_account(
        actor=house.user("ad01"), username="dienst", person_id=house.user("wo01").person_id
    )


def _join(house: demo.Demo, username: str) -> Any:
    demo._invite(house, f"{username}-person", f"Person {username}", PASSWORD)
    return house.user(f"{username}-person").person


def _case(world: World, house: demo.Demo, state: str) -> None:
    workload = demo.register_workload(house, title=f"Workload {state}")
    if state == "bedingt":
        _without_deputy(workload, house)
    world.workloads[state] = workload
    if state == "entwurf":
        return
    demo.confirm_classification(house, workload)
    demo.start_baseline(house, workload)
    jobs.run_pending()
    demo.start_target(house, workload)
    jobs.run_pending()
    approval = demo.request_approval(house, Workload.objects.get(pk=workload.pk))
    if state != "eingereicht":
        approval = demo.review(house, approval)
    if state in {"frei", "bedingt"}:
        approval = demo.decide(house, approval, _with_conditions(house) if state == "bedingt" else None)
        _seal(approval)
    world.workloads[state].refresh_from_db()
    world.approvals[state] = Approval.objects.get(pk=approval.pk)


def _without_deputy(workload: Workload, house: demo.Demo) -> None:
    """Leave G0-2 open, which a condition may cover."""
    names = ("title", "purpose", "business_process", "criticality", "mode", "model_text", "ai_act_risk_class")
    registration.update_workload(
        actor=house.user("wo01"),
        workload_id=workload.pk,
        data=WorkloadData(**{name: getattr(workload, name) for name in names}, deputy=None),
        expected_sha256=workload.content_sha256,
    )


def _with_conditions(house: demo.Demo) -> Wording:
    given = [
        ConditionWording(
            "G0-2",
            f"Auflage {number}",
            "Die Angabe liegt vor.",
            house.user("wo01").person_id,
            local_day(clock.now()) + timedelta(days=30),
            Severity.NORMAL,
        )
        for number in (1, 2)
    ]
    return Wording(
        Decision.APPROVE_WITH_CONDITIONS,
        "Mit Auflagen vertretbar.",
        Meaning.CONDITIONALLY_APPROVED,
        conditions=tuple(given),
    )


def _proven(approval: Approval, house: demo.Demo) -> Condition:
    last = approval.conditions.order_by("position")[1]
    return conditions.submit_proof(
        actor=house.user("wo01"), approval_id=approval.pk, condition_id=last.pk, text="Liegt vor."
    )


def _seal(approval: Approval) -> None:
    """Give the decision a file without rendering it: no system part is needed, and seconds are saved."""
    waiting = Job.objects.filter(document__subject_id=approval.pk)
    OutboxEntry.objects.filter(job__in=waiting).update(done_at=clock.now())
    waiting.update(state=JobState.SUCCEEDED)
    with unit(actor=SYSTEM):
        Document.objects.filter(subject_id=approval.pk).update(
            state=DocumentState.SEALED, final_sha256=store.put(b"%PDF-1.7 Muster"), sealed_at=clock.now()
        )
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))


def _extras(world: World, house: demo.Demo) -> None:
    wording = Wording(Decision.APPROVE, "Die geprüften Kriterien sind erfüllt.", Meaning.APPROVED)
    frozen = decisions.prepare_decision(
        actor=house.user("fg01"), approval_id=world.approvals["reif"].pk, wording=wording
    )
    runs = Run.objects.filter(workload=world.workloads["frei"])
    items = EvidenceItem.objects.filter(workload=world.workloads["eingereicht"]).order_by("type")
    invitation = services.invite_person(
        actor=house.user("ad01"), display_name="Person 11", email="p11@beispielwerk.example"
    )
    request = services.request_role(
        actor=house.user("ad01"),
        person_id=house.user("ohne").person_id,
        role=Role.WORKLOAD_OWNER,
        action=demo.RoleAction.GRANT,
        reason="Aufgabe",
    )
    replayed = Run.objects.get(workload=world.workloads["reif"], role="ZIEL")
    replays.start_replay(actor=house.user("au01"), run_id=replayed.pk)
    export = request_export(actor=house.user("au01"), purpose="Muster")
    jobs.run_pending()
    world.extras = {
        "condition_open": world.approvals["bedingt"].conditions.order_by("position")[0],
        "condition_proven": _proven(world.approvals["bedingt"], house),
        "export": Export.objects.get(pk=export.pk),
        "first_run_token": world.extras["first_run_token"],
        "record": DecisionRecord.objects.get(pk=frozen.pk),
        "baseline": runs.get(role="BASELINE"),
        "captured": _captured(world.workloads["eingereicht"]),
        "replayed": replayed,
        "target": runs.get(role="ZIEL"),
        "evidence": items[0],
        "invitation": Invitation.objects.get(pk=invitation.pk),
        "invitation_token": links.invitation_token(invitation.pk),
        "role_request": request,
        "measuring_key": measuring_keys.register_key(
            actor=house.user("pl01"),
            card=signature.card(Ed25519PrivateKey.from_private_bytes(bytes(32))),
            label="Messrechner",
        ),
    }


def _captured(workload: Workload) -> Run:
    """Return a run that names a stored file as its model; nothing here reads the file."""
    run = Run.objects.get(workload=workload, role="BASELINE")
    run.parameters |= {"model_text": "", "model_file_sha256": store.put(b"Muster")}
    with unit(actor=SYSTEM):
        run.save(update_fields=["parameters"])
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))
    return run


def _sign_in(world: World, house: demo.Demo) -> None:
    for actor, username in ACTORS.items():
        world.browsers[actor] = Client()
        if username:
            world.accounts[actor] = house.user(username)
            world.browsers[actor].force_login(world.accounts[actor], backend=BACKEND)
    services.deactivate_account(
        actor=house.user("ad01"), account_id=world.accounts["aus"].pk, reason="ausgeschieden"
    )
