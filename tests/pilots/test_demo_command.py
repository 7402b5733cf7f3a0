"""The demo on a machine too busy to measure: tried again, then said in one sentence, and the next walk goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from django.core.management import call_command

import pilots.jobs
from pilots import demo
from pilots.baseline import measure
from pilots.management.commands import demo as command
from pilots.models import Run
from qms.approvals.models import Approval
from qms.core import jobs
from qms.workloads.models import Workload
from tests.walk import World, house

BLOCKS = 1 + 5 * 4000 // measure.ROUND
pytestmark = pytest.mark.django_db


class Restless:
    """A measuring clock on which one repetition of five is slower, whichever turn it takes (ADR 0102)."""

    def __init__(self) -> None:
        self._now, self._count = 0, 0

    def __call__(self) -> int:
        self._count += 1
        block = self._count // (2 * measure.ROUND) % BLOCKS - 1  # the first one warms up
        slow = (block // 5 + block) % 5 == 0
        self._now += 2_000_000 if slow else 1_000_000
        return self._now


@pytest.fixture
def world() -> Iterator[World]:
    with house("house") as made:
        yield made


def busy() -> Any:
    return mock.patch.object(pilots.jobs, "perf_counter_ns", Restless())


def walk(world: World) -> Approval:
    return demo.walk(world.demo, carry_out=jobs.run_pending)


def test_a_busy_machine_is_measured_again_and_the_next_walk_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "MEASUREMENTS", 2)
    with busy(), pytest.raises(demo.DemoStopped, match="zu beschäftigt zum Messen"):
        walk(world)
    assert Run.objects.filter(role="BASELINE").count() == 2
    assert not Approval.objects.exists()
    approval = walk(world)
    assert approval.decided_at
    assert Workload.objects.count() == 1
    assert Run.objects.filter(role="BASELINE").count() == 3


def test_a_run_of_an_earlier_walk_is_waited_for_and_not_started_twice(world: World) -> None:
    workload = demo.register_workload(world.demo)
    demo.confirm_classification(world.demo, workload)
    demo.start_baseline(world.demo, workload)
    demo._measure(world.demo, workload, jobs.run_pending)
    assert Run.objects.filter(role="BASELINE").count() == 1


def test_the_command_says_it_in_one_sentence(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    with mock.patch.object(command.demo, "walk", side_effect=demo.DemoStopped("Es geht nicht.")):
        call_command("demo", "--freigabe")
    said = capsys.readouterr().err
    assert (
        said
        == "Die Musterfreigabe ist nicht entstanden: Es geht nicht. Alles andere können Sie ausprobieren.\n"
    )


def test_the_waiting_process_ends_with_the_service_and_gives_up_in_the_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = demo.register_workload(world.demo)
    demo.confirm_classification(world.demo, workload)
    demo.start_baseline(world.demo, workload)
    with pytest.raises(SystemExit):
        command._wait(os.getppid() + 1)
    monkeypatch.setattr(command, "PATIENCE_S", -1.0)
    with pytest.raises(demo.DemoStopped):
        command._wait(os.getppid())
    jobs.run_pending()
    command._wait(os.getppid() + 1)
