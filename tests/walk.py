"""The walk of the acceptance tests: a prepared house per module, people in browsers, and what an action changed.

A module names the stage it starts from in `STAGE`; its house is built once, each test runs in a savepoint above it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from unittest import mock
from uuid import UUID

import pytest
from django.apps import apps
from django.db import transaction
from django.test import Client, override_settings
from django.urls import reverse

import pilots.jobs
from pilots import demo
from pilots.demo import Demo
from qms.approvals.models import Approval
from qms.audit.models import AuditEvent, AuditLeaf
from qms.core import canonical, jobs
from qms.gates import services as gates
from qms.gates.choices import ScopeGap
from qms.roles import links
from qms.roles.models import RoleAction, User
from qms.roles.roles import Role
from qms.roles.services import people, role_changes
from qms.workloads.models import PlatformProfile, Workload

BACKEND: Final = "allauth.account.auth_backends.AuthenticationBackend"
JSON: Final = {"accept": "application/json"}
STAGES: Final = (
    "house",
    "recorded",
    "classified",
    "measured",
    "emulated",
    "requested",
    "reviewed",
    "decided",
    "sealed",
)
SIGN: Final = {"software": "1"}

# Sign-in, sessions, signs of life and the log itself: what an action may touch without changing the house.
_ASIDE: Final = frozenset({"sessions", "contenttypes", "account", "mfa", "audit"})
_ASIDE_MODELS: Final = frozenset({"signing.actchallenge", "auth.permission", "core.pulse"})


class Ticks:
    """A measuring clock that no machine can disturb: each reading is a little more than a millisecond later."""

    def __init__(self) -> None:
        self._now = self._count = 0

    def __call__(self) -> int:
        self._count += 1
        self._now += 1_000_000 + self._count % 7 * 20_000
        return self._now


@dataclass
class World:
    """A house with its people, and the workload and request that the stage has got to."""

    demo: Demo = field(default_factory=Demo)
    workload_id: UUID | None = None
    approval_id: UUID | None = None

    @property
    def workload(self) -> Workload:
        """The workload, read afresh."""
        return Workload.objects.get(pk=self.workload_id)

    @property
    def approval(self) -> Approval:
        """The request, read afresh."""
        return Approval.objects.get(pk=self.approval_id)

    def user(self, name: str) -> User:
        """Return an account, read afresh."""
        return self.demo.user(name)

    def browser(self, name: str) -> Client:
        """Return a browser in which the account is signed in."""
        browser = Client()
        browser.force_login(self.user(name), backend=BACKEND)
        return browser

    def second_account(self, name: str, username: str) -> User:
        """Return another account of the same person, made by invitation as people do."""
        person = self.user(name).person
        invitation = people.invite_account(actor=self.user("ad01"), person_id=person.pk)
        token = links.invitation_token(invitation.pk)
        return people.accept_invitation(
            actor=self.user(name), token=token, username=username, password=demo.PASSWORD
        )

    def grant(self, name: str, role: Role, confirmer: str = "pr01") -> None:
        """Give a person one more role, by request and confirmation."""
        wanted = role_changes.request_role(
            actor=self.user("ad01"),
            person_id=self.user(name).person_id,
            role=role,
            action=RoleAction.GRANT,
            reason="Vertretung",
        )
        role_changes.confirm_role(actor=self.user(confirmer), request_id=wanted.pk)


@contextmanager
def house(stage: str) -> Iterator[World]:
    """Build a house up to `stage` in a transaction that is rolled back in the end."""
    with ExitStack() as stack:
        stack.enter_context(override_settings(DEMO=True))
        stack.enter_context(steady_clock())
        block = transaction.atomic()
        block._from_testcase = True  # units open durable transactions; those of tests count as none
        stack.enter_context(_rolled_back(block))
        world = World()
        for name in STAGES[: STAGES.index(stage) + 1]:
            _BUILD[name](world)
        yield world


@contextmanager
def steady_clock() -> Iterator[None]:
    """Measure runs with `Ticks` instead of the clock of this machine."""
    with mock.patch.object(pilots.jobs, "perf_counter_ns", Ticks()):
        yield


@contextmanager
def _rolled_back(block: Any) -> Iterator[None]:
    block.__enter__()
    try:
        yield
    finally:
        transaction.set_rollback(True)
        block.__exit__(None, None, None)


def _make_house(world: World) -> None:
    world.demo = demo.make_house()


def _record(world: World) -> None:
    world.workload_id = demo.register_workload(world.demo).pk


def _classify(world: World) -> None:
    demo.confirm_classification(world.demo, world.workload)


def _measure(world: World) -> None:
    demo.start_baseline(world.demo, world.workload)
    jobs.run_pending()


def _emulate(world: World) -> None:
    demo.start_target(world.demo, world.workload)
    jobs.run_pending()


def _request(world: World) -> None:
    world.approval_id = demo.request_approval(world.demo, world.workload).pk


def _review(world: World) -> None:
    demo.review(world.demo, world.approval)


def _decide(world: World) -> None:
    demo.decide(world.demo, world.approval)


def _seal(world: World) -> None:
    jobs.run_pending()


_BUILD: Final = dict(
    zip(
        STAGES,
        (_make_house, _record, _classify, _measure, _emulate, _request, _review, _decide, _seal),
        strict=True,
    )
)


def rows() -> dict[str, list[str]]:
    """Return every row of the house, without sign-in, sessions, open challenges and the log itself."""
    found: dict[str, list[str]] = {}
    for model in apps.get_models(include_auto_created=True):
        label = model._meta.label_lower
        if model._meta.app_label in _ASIDE or label in _ASIDE_MODELS or model._meta.proxy:
            continue
        names = [column.attname for column in model._meta.concrete_fields]
        found[label] = sorted(map(repr, model._base_manager.values_list(*names)))
    return found


def log_size() -> int:
    """Return how many events the log has."""
    return AuditLeaf.objects.count()


def kinds_since(size: int) -> list[str]:
    """Return the codes of the events behind the first `size`, in log order."""
    found = AuditLeaf.objects.filter(seq__gte=size).order_by("seq")
    return list(found.values_list("event__kind", flat=True))


def events_since(size: int, kind: str) -> list[dict[str, Any]]:
    """Return the lines of one kind behind the first `size` events."""
    found = AuditEvent.objects.filter(leaf__seq__gte=size, kind=kind).order_by("leaf__seq")
    return [canonical.loads(event.body) for event in found]


@contextmanager
def nothing_but(kind: str = "", **facts: Any) -> Iterator[None]:
    """What happens inside leaves every row as it is, and exactly one event of `kind`; "" for none at all."""
    before, size = rows(), log_size()
    yield
    after = rows()
    changed = [name for name in after if after[name] != before[name]]
    assert not changed, f"changed although refused: {changed}"
    assert kinds_since(size) == ([kind] if kind else [])
    for name, value in facts.items():
        assert events_since(size, kind)[0]["data"][name] == value


@contextmanager
def recorded(*kinds: str) -> Iterator[None]:
    """What happens inside leaves an event of each of `kinds`, in this order; others may stand between them."""
    size = log_size()
    yield
    found = iter(kinds_since(size))
    missing = [kind for kind in kinds if kind not in found]
    assert not missing, f"{missing} missing or out of order in {kinds_since(size)}"


def screen(answer: Any) -> str:
    """Return the text of a page as a person reads it: without tags, soft hyphens and runs of blanks."""
    text = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", answer.content.decode(), flags=re.DOTALL)
    text = html.unescape(re.sub(r"<[^>]+>", " ", text)).replace("\u00ad", "")
    return re.sub(r"\s+", " ", text)


def assert_refused(
    answer: Any,
    *,
    status: int,
    code: str,
    id: str,
    message: str,
    next_step: bool = True,  # noqa: A002
) -> None:
    """Check the body of spec 3.5.4: exactly its keys, the sentence word by word."""
    assert answer.status_code == status, answer.content.decode()[:600]
    body = answer.json()
    wanted = {"code", "id", "message_de", "next_step_de"} | ({"criterion"} if status == 422 else set())
    assert set(body) == wanted
    assert (body["code"], body["id"], body["message_de"]) == (code, id, message)
    assert not next_step or body["next_step_de"]
    if status == 422:
        assert body["criterion"] == id


def both_ways(world: World, name: str, url: str, data: dict[str, Any], *, event: str, **refusal: Any) -> str:
    """Post a form and call the address directly; both are refused alike. Returns the text of the page."""
    with nothing_but(event):
        page = world.browser(name).post(url, data)
    assert page.status_code == refusal["status"]
    text = screen(page)
    assert refusal["message"] in text
    with nothing_but(event):
        answer = world.browser(name).post(url, data, headers=JSON)
    assert_refused(answer, code=event, **refusal)
    return text


def platform(key: str) -> str:
    """Return the id of a platform profile as a form sends it."""
    return str(PlatformProfile.objects.get(key=key).pk)


def review_post(value: str = "ZUSTIMMUNG", **changes: str) -> dict[str, str]:
    """Return what a reviewer sends from screen 7: the same answer to every subject."""
    subjects = [subject.code for subject in gates.rule_set().asked_subjects(ScopeGap.DEVELOPMENT_MACHINE)]
    return {f"subject_{code}": value for code in subjects} | {"reason": "", "meaning": "GEPRUEFT"} | changes


def decision_post(**changes: str) -> dict[str, str]:
    """Return what an approver sends from screen 8."""
    reason = "Die geprüften Kriterien sind erfüllt; der Pilot kann beginnen."
    return {"decision": "FREIGEGEBEN", "reason": reason, "meaning": "FREIGEGEBEN"} | changes


def hidden(answer: Any, name: str) -> str:
    """Return the value of a hidden field of a page."""
    for tag in re.findall(r"<input[^>]*>", answer.content.decode()):
        if f'name="{name}"' in tag:
            return html.unescape(re.search(r'value="([^"]*)"', tag)[1])  # type: ignore[index]
    raise AssertionError(f"the page has no field {name}")


def address(name: str, key: Any) -> str:
    """Return the address of a page about one object."""
    return reverse(name, args=[key])


@pytest.fixture(scope="module")
def world(request: Any, django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """The house of a module, at the stage the module names."""
    with django_db_blocker.unblock(), house(request.module.STAGE) as made:
        yield made
