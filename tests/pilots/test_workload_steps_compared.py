"""The next step inside the comparison: suitability before the target run, then costs, platform and organisation."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.pilots.test_no_way_out import IN_USE, upload
from tests.walk import World, address, screen, world

__all__ = ["world"]
STAGE = "emulated"
pytestmark = pytest.mark.django_db


def decision_panel(world: World) -> str:
    page = world.browser("wo01").get(address("workload", world.workload_id)).content.decode()
    return page[page.index('id="naechster"') : page.index('id="kriterien"')]


def test_before_a_comparison_the_step_is_the_request(world: World) -> None:
    assert reverse("approval_request", args=[world.workload_id]) in decision_panel(world)
    assert "Ansehen und klären" not in decision_panel(world)


def test_inside_the_comparison_the_step_leads_to_what_is_open_and_the_request_stays_possible(
    world: World,
) -> None:
    upload(world, IN_USE)
    panel = decision_panel(world)
    assert "Ansehen und klären" in panel
    assert reverse("workload_suitability", args=[world.workload_id]) in panel
    assert reverse("approval_request", args=[world.workload_id]) in panel
    assert "Dem Antrag steht kein Kriterium im Weg." not in screen(
        world.browser("wo01").get(address("workload", world.workload_id))
    )
