"""SZ-01.1 and SZ-01.2: from a draft to confirmed classes, all by forms."""

from __future__ import annotations

import pytest

from qms.workloads.choices import ObjectClass
from qms.workloads.models import Workload
from tests.qms.web.workload_world import ANSWERS, FIELDS, criteria_post
from tests.walk import World, address, kinds_since, log_size, recorded, screen

STAGE = "house"
pytestmark = pytest.mark.django_db


def draft(world: World) -> Workload:
    """Fill in every mandatory field as a draft; only the owner role is still open."""
    owner = world.browser("wo01")
    fields = FIELDS | {
        "title": "Ausschussprognose – Inferenz MLP",
        "deputy": str(world.user("wo02").person_id),
    }
    assert owner.post("/workloads/neu/", fields | {"save": "1"}).status_code == 302
    made = Workload.objects.get()
    assert owner.post(address("workload_data", made.pk), ANSWERS).status_code == 302
    assert owner.post(address("workload_criteria", made.pk), criteria_post()).status_code == 302
    made.refresh_from_db()
    assert (made.status, made.owner) == ("ENTWURF", None)
    return made


def test_SZ_01_1_complete_fields_and_an_accepted_owner_turn_G0_green(world: World) -> None:
    made = draft(world)
    with recorded("OWNER_ANGENOMMEN", "GATE_ERFUELLT"):
        answer = world.browser("wo01").post(
            address("workload_owner", made.pk), {"action": "accept"}, follow=True
        )
    assert answer.status_code == 200
    assert "Pflichtangaben vollständig (G0)." in screen(answer)
    made.refresh_from_db()
    assert made.status == "ERFASST"
    assert made.owner == world.user("wo01").person
    assert made.owner_accepted_at is not None


def test_SZ_01_2_another_person_confirms_all_seven_classes(world: World) -> None:
    made = draft(world)
    world.browser("wo01").post(address("workload_owner", made.pk), {"action": "accept"})
    assert made.location.leaves_own_env is False
    assert {row.level for row in made.classifications.all()} == {"K1"}
    everything = {"classes": [row.value for row in ObjectClass]}
    with recorded("KLASSIFIZIERUNG_BESTAETIGT", "GATE_ERFUELLT"):
        answer = world.browser("pr01").post(address("workload_confirm", made.pk), everything, follow=True)
    assert answer.status_code == 200
    assert "Datenklassifizierung bestätigt: 7 von 7 Objektklassen (G1-1)." in screen(answer)
    rows = list(made.classifications.all())
    assert len(rows) == 7
    assert all(row.confirmed_by_id not in {None, row.classified_by_id} for row in rows)
    made.refresh_from_db()
    # No criteria of G2 in this version: the state is passed through (spec 3.5.1).
    assert made.status in {"KLASSIFIZIERT", "GEEIGNET"}


def test_SZ_01_2_leaves_one_event_of_the_confirmation(world: World) -> None:
    made = draft(world)
    world.browser("wo01").post(address("workload_owner", made.pk), {"action": "accept"})
    size = log_size()
    everything = {"classes": [row.value for row in ObjectClass]}
    world.browser("pr01").post(address("workload_confirm", made.pk), everything)
    assert kinds_since(size).count("KLASSIFIZIERUNG_BESTAETIGT") == 1
