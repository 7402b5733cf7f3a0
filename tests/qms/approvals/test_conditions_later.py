"""Conditions after the decision: what is judged is what was seen, when the force ends, and what stops the addendum."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from qms.approvals import parts, selectors
from qms.approvals.choices import Meaning
from qms.approvals.services import addenda, conditions
from qms.audit.export import Snapshot
from qms.core import canonical, clock
from qms.core.errors import WrongState
from qms.core.models import OutboxEntry
from qms.evidence import selectors as evidence
from qms.roles.models import Person
from qms.signing.models import Document
from tests.conditional import (
    approve,
    conditional_house,
    conditions_of,
    fulfil,
    moment,
    past_the_commands,
    sealed,
    today,
)
from tests.pilots.capture_house import changed
from tests.walk import JSON, SIGN, World, address, hidden, screen

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """The house with a reviewed request that has two open criteria."""
    with django_db_blocker.unblock(), conditional_house() as made:
        yield made


@pytest.fixture(autouse=True)
def _approved(world: World) -> None:
    """Approve with two conditions, and seal the decision."""
    approve(world)
    sealed(world.approval_id)


def names(world: World) -> dict[str, Any]:
    """Return how the commands name the first condition."""
    return {"approval_id": world.approval_id, "condition_id": conditions_of(world)[0].pk}


def shown(world: World) -> dict[str, Any]:
    """Return the first condition with the proof as it stands."""
    return names(world) | {"expected_sha256": conditions_of(world)[0].proof_sha256}


def test_proof_replaced_meanwhile_is_neither_confirmed_nor_returned(world: World) -> None:
    reviewer, found = world.user("pr01"), names(world)
    browser, page = world.browser("pr01"), address("approval", world.approval_id)
    conditions.submit_proof(actor=world.user("wo01"), text="Erster Stand.", **found)
    seen = hidden(browser.get(page), "proof_sha256")
    conditions.return_proof(actor=reviewer, reason="Das Datum fehlt.", **shown(world))
    conditions.submit_proof(actor=world.user("wo01"), text="Zweiter Stand.", **found)
    for name in ("condition_confirm", "condition_return"):
        for sent in (seen, "", "0" * 64):
            url = reverse(name, args=list(found.values()))
            answer = browser.post(url, {"text": "Fehlt.", "proof_sha256": sent}, headers=JSON)
            assert (answer.status_code, answer.json()["id"]) == (409, "T-13"), (name, sent)
    assert conditions_of(world)[0].status == "NACHGEWIESEN"
    now = hidden(browser.get(page), "proof_sha256")
    url = reverse("condition_confirm", args=list(found.values()))
    assert browser.post(url, {"proof_sha256": now}).status_code == 302
    assert conditions_of(world)[0].status == "ERFUELLT"


def test_who_handed_the_proof_in_is_told_that_it_came_back(world: World) -> None:
    conditions.submit_proof(actor=world.user("pl01"), text="Da.", **names(world))
    before = OutboxEntry.objects.count()
    conditions.return_proof(actor=world.user("pr01"), reason="Das Datum fehlt.", **shown(world))
    told = {entry.payload["person_id"] for entry in OutboxEntry.objects.order_by("id")[before:]}
    assert told == {str(world.user(name).person_id) for name in ("wo01", "pl01")}


def test_condition_of_somebody_who_left_waits_for_who_can_prove_it(world: World) -> None:
    lead = world.browser("pl01")
    assert screen(lead.get("/")).count("Nachweisen") == 1
    with past_the_commands():
        Person.objects.filter(pk=world.user("wo01").person_id).update(is_active=False)
    assert screen(lead.get("/")).count("Nachweisen") == 2


@pytest.mark.parametrize("step", ["prepare", "sign"])
def test_changed_file_stops_the_addendum(world: World, step: str) -> None:
    for item in conditions_of(world):
        fulfil(world, item)
    reviewer = world.browser("pr01")
    url, sent = address("approval_addendum", world.approval_id), {"meaning": "GEPRUEFT"}
    if step == "sign":
        url = reviewer.post(url, sent).url
        sent = {"challenge": hidden(reviewer.get(url), "challenge")} | SIGN
    with changed(evidence.counting(world.workload)[0].facts_sha256):
        answer = reviewer.post(url, sent, headers=JSON)
    assert (answer.status_code, answer.json()["id"]) == (422, "G7-4")
    assert world.approval.status == "BEDINGT_FREIGEGEBEN"


def test_every_place_says_that_a_missed_condition_ends_the_force(world: World) -> None:
    made = world.approval
    public = f"{reverse('document_status', args=[made.number])}?h={made.decision_sha256}"
    with clock.at(moment(conditions_of(world)[0].due) + timedelta(minutes=1)):
        halted = selectors.force(made).halted
        assert halted
        assert selectors.forces([made])[made.pk] == selectors.force(made)
        listed = screen(world.browser("au01").get(reverse("approvals")))
        assert ("Auflage überfällig" in listed, "Wirksam" in listed) == (True, False)
        page = screen(Client().get(public))
        assert "nicht wirksam" in page
        assert halted in page
        ((name, chunks),) = parts.status(Snapshot(0, "", False, clock.now()))
    (row,) = canonical.loads(b"".join(chunks))["approvals"]
    assert (name, row["halted"], row["in_force"]) == ("status.json", True, False)
    assert [item["status"] for item in row["conditions"]] == ["OFFEN", "OFFEN"]


def test_end_of_the_validity_and_new_content_are_named_before_a_missed_condition(world: World) -> None:
    with clock.at(world.approval.valid_until + timedelta(days=1)):
        assert selectors.force(world.approval).halted
        browser = world.browser("au01")
        page = screen(browser.get(address("approval", world.approval_id)))
        assert "Die Freigabe ist abgelaufen. Nötig ist ein neuer Antrag." in page
        listed = screen(browser.get(reverse("approvals")))
        assert ("Abgelaufen" in listed, "Auflage überfällig" in listed) == (True, False)


def test_frozen_addendum_is_signed_on_its_day(world: World) -> None:
    for item in conditions_of(world):
        fulfil(world, item)
    reviewer = world.user("pr01")
    frozen = addenda.prepare_addendum(actor=reviewer, approval_id=world.approval_id, meaning=Meaning.REVIEWED)
    act = reverse("approval_addendum_sign", args=[world.approval_id, frozen.pk])
    browser = world.browser("pr01")
    with clock.at(moment(today()) + timedelta(minutes=1)):
        sent = {"challenge": hidden(browser.get(act), "challenge")} | SIGN
        answer = browser.post(act, sent, headers=JSON)
    assert (answer.status_code, answer.json()["id"]) == (409, "T-08")
    assert world.approval.status == "BEDINGT_FREIGEGEBEN"


def test_force_ends_at_midnight_where_the_organisation_is(world: World) -> None:
    due = conditions_of(world)[0].due
    fulfil(world, conditions_of(world)[1])
    midnight = datetime.combine(due + timedelta(days=1), time(), ZoneInfo(settings.TIME_ZONE))
    for at, in_force in ((midnight - timedelta(seconds=1), True), (midnight, False)):
        assert selectors.force(world.approval, at=at.astimezone(UTC)).in_force is in_force


def test_addendum_needs_the_seal_of_the_decision_and_ends_with_its_validity(world: World) -> None:
    for item in conditions_of(world):
        fulfil(world, item)
    found: dict[str, Any] = {"actor": world.user("pr01"), "approval_id": world.approval_id}
    end = world.approval.valid_until
    with clock.at(end):
        addenda.check_may_complete(**found)
    with clock.at(end + timedelta(seconds=1)), pytest.raises(WrongState):
        addenda.check_may_complete(**found)
    with past_the_commands():
        Document.objects.filter(subject_id=world.approval_id).update(
            state="AUSSTEHEND", final_sha256="", sealed_at=None
        )
    with pytest.raises(WrongState):
        addenda.check_may_complete(**found)
