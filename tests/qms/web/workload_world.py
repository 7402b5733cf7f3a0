"""An organisation with people and workloads for the page tests; every step is a command."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

from django.test import Client

from qms.audit.actors import SYSTEM
from qms.core import clock
from qms.roles import links, services
from qms.roles.models import RoleAction, User
from qms.roles.roles import Role
from qms.workloads import abort_templates
from qms.workloads.choices import Mode, ObjectClass
from qms.workloads.models import PlatformProfile, Workload
from qms.workloads.services import classification, criteria, registration, setup
from qms.workloads.services.classification import LocationData

PASSWORD = "korrekt-pferd-batterie"
COMPLETE = all(find_spec(name) for name in ("pilots.urls", "qms.web.approval_urls"))
URLCONF = "qms.config.urls" if COMPLETE else "tests.qms.web.workload_stub_urls"
PURPOSE = (
    "Der Assistent schlägt dem Service zu einer Störmeldung passende Ersatzteile vor. Bestellt wird von Hand."
)
ANSWERS = {"KF-1": ["a"], "KF-2": ["b"], "KF-3": ["a"], "KF-4": ["a"]}
FIELDS = {
    "title": "Ersatzteil-Assistent",
    "purpose": PURPOSE,
    "business_process": "Service und Ersatzteilversand",
    "criticality": "NORMAL",
    "mode": "INFERENZ",
    "model_text": "64-256-256-8",
    "ai_act_risk_class": "MINIMAL",
}


@dataclass
class World:
    """People by user name: ad01 administrator, pr01 reviewer, wo01 and wo02 owners, fg01 approver, ohne."""

    people: dict[str, User] = field(default_factory=dict)

    def client(self, name: str) -> Client:
        """Return a browser in which the person is signed in."""
        browser = Client()
        browser.force_login(self.people[name], backend="allauth.account.auth_backends.AuthenticationBackend")
        return browser

    def register(self, title: str = FIELDS["title"], *, owner: str = "wo01", accept: bool = True) -> Workload:
        """Record a workload as the person does with the first button."""
        data = registration.WorkloadData(**{**FIELDS, "title": title}, deputy=None)
        return registration.register_workload(actor=self.people[owner], data=data, accept_owner=accept)

    def answer(
        self, workload: Workload, *, actor: str = "wo01", answers: dict[str, list[str]] | None = None
    ) -> None:
        """Answer the four questions."""
        chosen = {key: frozenset(codes) for key, codes in (answers or ANSWERS).items()}
        classification.answer_questions(
            actor=self.people[actor],
            workload_id=workload.pk,
            answers=chosen,
            location=LocationData(),
            expected_sha256="",
        )

    def confirm(self, workload: Workload) -> None:
        """Confirm all object classes."""
        classification.confirm_classification(
            actor=self.people["pr01"], workload_id=workload.pk, object_classes=tuple(ObjectClass)
        )

    def set_criteria(self, workload: Workload, *, actor: str = "wo01", budget: str = "20000") -> None:
        """Store targets, abort rules, fallback path and pilot frame."""
        today = clock.now().date()
        rules = tuple(
            criteria.AbortRuleData(rule.category, rule.text, rule.template)
            for rule in abort_templates.default_rules(Mode.INFERENCE, None)
        )
        criteria.set_criteria(
            actor=self.people[actor],
            workload_id=workload.pk,
            data=_criteria(rules, today, Decimal(budget)),
            expected_sha256="",
        )


def _criteria(rules: tuple[Any, ...], today: date, budget: Decimal) -> criteria.CriteriaData:
    return criteria.CriteriaData(
        targets=(criteria.TargetData("output_cosine", "Prüfdaten 1", "GE", Decimal("0.999"), "ratio"),),
        abort_rules=rules,
        fallback_platform=PlatformProfile.objects.get(key="DISKRET-4GPU"),
        fallback_steps="1. Umschalten.",
        rto_min=240,
        pilot_platform=PlatformProfile.objects.get(key="WSE-2"),
        pilot_start=today,
        pilot_end=today + timedelta(days=60),
        budget_cap_eur=budget,
        scope="Läufe mit klassifizierten Daten",
        success_measure="Ziel erreicht",
    )


def criteria_post(**changes: str) -> dict[str, str]:
    """Return what a person sends from screen 3 without touching the proposals."""
    today = clock.now().date()
    platforms = {row.key: str(row.pk) for row in PlatformProfile.objects.all()}
    return {
        "metric": "output_cosine",
        "comparator": "GE",
        "threshold": "0,999",
        "dataset_version": "Prüfdaten 1",
        "fallback_platform": platforms["DISKRET-4GPU"],
        "pilot_platform": platforms["WSE-2"],
        "pilot_start": today.isoformat(),
        "pilot_end": (today + timedelta(days=60)).isoformat(),
        "budget_cap_eur": "20.000",
        "scope": "Umfang",
        "success_measure": "Erfolg",
        "rto_min": "240",
        "fallback_steps": "1. Umschalten.",
    } | changes


def build() -> World:
    """Return a staffed organisation with the shipped platforms."""
    setup.set_up_organisation(actor=SYSTEM, name="Musterorganisation")
    token = services.issue_first_run_link(actor=SYSTEM)
    values = {"display_name": "Administrator(in) 1", "email": "ad01@example.org", "username": "ad01"}
    admin = services.create_first_administrator(actor=SYSTEM, token=token, password=PASSWORD, **values)
    world = World({"ad01": admin})
    for name, label in {
        "pr01": "Prüfer(in) 1",
        "wo01": "Workload-Owner 1",
        "wo02": "Workload-Owner 2",
        "fg01": "Freigeber(in) 1",
        "ohne": "Person ohne Rolle",
    }.items():
        _join(world, name, label)
    _give(world, "pr01", Role.REVIEWER, "ohne")
    for name, role in (("wo01", Role.WORKLOAD_OWNER), ("wo02", Role.WORKLOAD_OWNER), ("fg01", Role.APPROVER)):
        _give(world, name, role, "pr01")
    return world


def _join(world: World, name: str, label: str) -> None:
    invitation = services.invite_person(
        actor=world.people["ad01"], display_name=label, email=f"{name}@example.org"
    )
    token = links.invitation_token(invitation.pk)
    world.people[name] = services.accept_invitation(
        actor=SYSTEM, token=token, username=name, password=PASSWORD
    )


def _give(world: World, name: str, role: Role, confirmer: str) -> None:
    request = services.request_role(
        actor=world.people["ad01"],
        person_id=world.people[name].person_id,
        role=role,
        action=RoleAction.GRANT,
        reason="Aufgabe",
    )
    services.confirm_role(actor=world.people[confirmer], request_id=request.pk)
