"""The overview of a workload inside the comparison, and after a decision whose evidence was followed by newer."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from tests.pilots.test_no_way_out import IN_USE, upload
from tests.walk import World, address, screen, world

__all__ = ["world"]
STAGE = "sealed"
pytestmark = pytest.mark.django_db


def overview(world: World, who: str = "wo01") -> str:
    return screen(world.browser(who).get(address("workload", world.workload_id)))


def test_nothing_is_newer_right_after_the_decision(world: World) -> None:
    shown = overview(world)
    assert "Für diesen Workload ist alles erledigt." in shown
    assert "Seit der letzten Freigabe hat sich nichts geändert." in shown
    assert "neuere Nachweise" not in shown


def test_evidence_newer_than_the_decision_is_said_with_what_the_gates_say_now(world: World) -> None:
    assert upload(world, IN_USE).status_code == 302
    shown = overview(world)
    number = world.approval.number
    assert (
        shown.count(f"Es gibt neuere Nachweise als in der Entscheidung {number}. Die Gates sagen jetzt:") == 2
    )
    assert "Für diesen Workload ist alles erledigt." not in shown
    assert "hat sich nichts geändert" not in shown
    assert re.search(r"Seit der letzten Freigabe geändert.*Baseline-Messbericht[^·]* EV-02 ·", shown)


def test_the_verdict_takes_the_place_of_a_free_way_and_what_is_open_is_linked(world: World) -> None:
    assert "Dem Antrag steht kein Kriterium im Weg." in overview(world)
    upload(world, IN_USE)
    shown = overview(world)
    assert "Dem Antrag steht kein Kriterium im Weg." not in shown
    assert re.search(r"\(VF-\d\d\)\. Zum Vergleich", shown)
    page = world.browser("wo01").get(address("workload", world.workload_id)).content.decode()
    section = page[page.index("Im Vergleich noch offen") : page.index('id="nachweise"')]
    for name in ("workload_suitability", "pilot_costs"):
        assert reverse(name, args=[world.workload_id]) in section
    for name in ("platforms", "organisation"):
        assert reverse(name) in section
