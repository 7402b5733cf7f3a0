"""A cost sheet counts only for the measurements and the target platform it was computed from (G6-2 to G6-5)."""

from __future__ import annotations

from typing import Any, Final

import pytest

from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core import jobs
from qms.gates import services as gates
from qms.workloads.models import Pilot, PlatformProfile
from tests.pilots.costs_house import form
from tests.pilots.test_costs_pages import in_use
from tests.walk import World, address, screen, world

__all__ = ["world"]
STAGE: Final = "emulated"
pytestmark = pytest.mark.django_db
OLD: Final = "Das TCO-Blatt (EV-17) beruht auf anderen Messungen oder einer anderen Zielplattform; bitte tragen Sie es neu ein."
JUDGED: Final = ("G6-2", "G6-3", "G6-4", "G6-5")


def enter(world: World, **changes: str) -> None:
    url = address("pilot_costs", world.workload_id)
    assert world.browser("wo01").post(url, form(**changes)).status_code == 302


def reasons(world: World) -> dict[str, str]:
    report = gates.report(world.workload)
    return {key: report.result(key).reason_de for key in JUDGED}


def again(world: World) -> None:
    """Emulate the target once more: the same numbers, another report."""
    url = address("pilot_target", world.workload_id)
    platform = PlatformProfile.objects.get(key="WSE-3")
    assert world.browser("pl01").post(url, {"platform": str(platform.pk)}).status_code == 302
    jobs.run_pending()


def other_pilot(world: World) -> None:
    """Choose another target, as the form on targets does before the criteria are frozen."""
    with unit(actor=SYSTEM):
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))
        Pilot.objects.filter(workload=world.workload).update(
            platform=PlatformProfile.objects.get(key="WSE-3")
        )


def test_a_sheet_of_the_current_measurements_is_judged(world: World) -> None:
    in_use()
    enter(world)
    report = gates.report(world.workload)
    assert [report.result(key).result for key in ("G6-2", "G6-4", "G6-5")] == ["ERFUELLT"] * 3


@pytest.mark.parametrize("change", [lambda _world: in_use(repetitions=6), again, other_pilot])
def test_other_measurements_or_another_target_open_every_criterion_on_costs(
    world: World, change: Any
) -> None:
    in_use()
    enter(world)
    change(world)
    assert set(reasons(world).values()) == {OLD}
    shown = screen(world.browser("wo01").get(address("workload", world.workload_id)))
    assert "beruht auf anderen Messungen" in shown
    enter(world)
    assert OLD not in reasons(world).values()


def test_a_sheet_from_before_the_platform_in_use_was_measured_says_so(world: World) -> None:
    enter(world)
    in_use()
    assert set(reasons(world).values()) == {OLD}
