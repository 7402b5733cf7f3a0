"""SZ-02: approval with conditions. G0-2 and G3-3 stand for G5-5 and G2-5, which `kompakt` does not judge here."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from qms.approvals import lateness, selectors
from qms.approvals.models import Condition
from qms.core import clock
from tests.conditional import (
    approve,
    both,
    conditional_house,
    conditions_of,
    fulfil,
    moment,
    posted,
    sealed,
    today,
)
from tests.walk import SIGN, World, address, both_ways, decision_post, hidden, recorded, screen

pytestmark = pytest.mark.django_db
SENTENCE = "Freigabe ohne Auflagen nicht möglich: offen sind G0-2 und G3-3."


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """The house with a reviewed request that has two open criteria."""
    with django_db_blocker.unblock(), conditional_house() as made:
        yield made


def test_SZ_02_1_no_approval_without_conditions(world: World) -> None:
    text = both_ways(
        world,
        "fg01",
        address("approval_decide", world.approval_id),
        decision_post(),
        event="GATE_NICHT_ERFUELLT",
        status=422,
        id="G0-2",
        message=SENTENCE,
    )
    assert "Stellvertretung" in text
    assert "Wiederholung der Vergleichsbasis" in text
    assert world.approval.status == "ENTSCHEIDUNGSREIF"
    page = screen(world.browser("fg01").get(address("approval_decide", world.approval_id)))
    assert SENTENCE in page
    assert "Auflagen angeben" in page


def test_SZ_02_2_approval_with_two_conditions(world: World) -> None:
    approver = world.browser("fg01")
    frozen = approver.post(address("approval_decide", world.approval_id), posted(*both(world)))
    assert frozen.status_code == 302, screen(frozen)
    act = approver.get(frozen.url)
    assert "Stellvertretung benennen und einarbeiten." in screen(act)
    with recorded("FREIGABE_BEDINGT_ERTEILT", "AUFLAGE_ERTEILT", "AUFLAGE_ERTEILT", "SIEGELUNG_ANGEFORDERT"):
        answer = approver.post(frozen.url, {"challenge": hidden(act, "challenge")} | SIGN, follow=True)
    assert "Bedingt freigegeben mit 2 Auflagen." in screen(answer)
    assert (world.approval.status, world.workload.status) == ("BEDINGT_FREIGEGEBEN", "VORFREIGEGEBEN")
    first, second = Condition.objects.order_by("position")
    assert (first.criterion, first.severity, first.due) == ("G0-2", "HOCH", today() + timedelta(days=30))
    assert (second.criterion, second.severity, second.due) == ("G3-3", "NORMAL", today() + timedelta(days=14))
    assert (first.owner, second.owner) == (world.user("wo01").person, world.user("pl01").person)


class TestConditional:
    """The same house after the conditional approval and its seal."""

    @pytest.fixture(autouse=True)
    def _approved(self, world: World) -> None:
        approve(world)
        sealed(world.approval_id)
        assert selectors.force(world.approval).in_force

    def test_SZ_02_4_fulfilled_conditions_lead_to_the_addendum(self, world: World) -> None:
        approval_id = world.approval_id
        owner, lead, reviewer = (world.browser(name) for name in ("wo01", "pl01", "pr01"))
        for browser, item in zip((owner, lead), conditions_of(world), strict=True):
            proof = reverse("condition_proof", args=[approval_id, item.pk])
            assert "Nachweis einreichen" in screen(browser.get(address("approval", approval_id)))
            with recorded("AUFLAGE_NACHGEWIESEN"):
                assert browser.post(proof, {"text": "Liegt vor, siehe Anlage."}).status_code == 302
        assert world.approval.status == "BEDINGT_FREIGEGEBEN"
        for item in conditions_of(world):
            confirm = reverse("condition_confirm", args=[approval_id, item.pk])
            with recorded("AUFLAGE_ERFUELLT"):
                assert reviewer.post(confirm, {"proof_sha256": item.proof_sha256}).status_code == 302
        assert "Nachtrag erstellen" in screen(reviewer.get(address("approval", approval_id)))
        assert "Nachtrag erstellen" not in screen(owner.get(address("approval", approval_id)))
        frozen = reviewer.post(address("approval_addendum", approval_id), {"meaning": "GEPRUEFT"})
        assert frozen.status_code == 302, screen(frozen)
        act = reviewer.get(frozen.url)
        with recorded("NACHTRAG_ERSTELLT", "SIEGELUNG_ANGEFORDERT"):
            answer = reviewer.post(frozen.url, {"challenge": hidden(act, "challenge")} | SIGN, follow=True)
        assert "Alle Auflagen erfüllt. Nachtrag erstellt." in screen(answer)
        assert world.approval.status == "FREIGEGEBEN"
        force = selectors.force(world.approval)
        assert (force.in_force, force.seal_pending) == (False, True)
        sealed(world.approval.addendum.pk)
        assert selectors.force(world.approval).in_force
        page = screen(owner.get(address("approval", approval_id)))
        assert "Alle 2 Auflagen sind erfüllt." in page
        assert "Signierten Nachtrag herunterladen" in page
        assert "Gedeckt durch Auflage 1" in page

    def test_SZ_02_5_missed_high_condition_ends_the_force_at_once(self, world: World) -> None:
        first = conditions_of(world)[0]
        fulfil(world, conditions_of(world)[1])
        with clock.at(moment(first.due)):
            assert selectors.force(world.approval).in_force
        with clock.at(moment(first.due + timedelta(days=1))):
            force = selectors.force(world.approval)
            assert (force.in_force, world.approval.status) == (False, "BEDINGT_FREIGEGEBEN")
            assert force.halted == "Auflage 1 überfällig (HOCH): Die Freigabe ist nicht wirksam (D-08)."
            page = screen(world.browser("wo01").get(address("approval", world.approval_id)))
            assert force.halted in page
            assert "Auflage überfällig" in page

    def test_SZ_02_6_missed_normal_condition_has_five_working_days(self, world: World) -> None:
        second = conditions_of(world)[1]
        end = lateness.add_working_days(second.due, 5)
        for day, in_force in (
            (second.due + timedelta(days=1), True),
            (end, True),
            (end + timedelta(days=1), False),
        ):
            with clock.at(moment(day)):
                force = selectors.force(world.approval)
                assert force.in_force is in_force, day
                assert (force.late if in_force else force.halted).startswith("Auflage 2 überfällig (NORMAL)")
        with clock.at(moment(second.due + timedelta(days=1))):
            page = screen(world.browser("wo01").get(address("approval", world.approval_id)))
            assert "Auflage 2 überfällig (NORMAL): nach 5 Werktagen nicht mehr wirksam (D-08)." in page
