from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pilots.wafer.bounds import bandwidth, capacity
from pilots.wafer.machine import WSE_1, WSE_2, WSE_3, Machine, lab_mesh
from pilots.wafer.machine.figure import chosen


def test_the_two_checks_of_the_reference() -> None:
    """pe.rw128: 24 B x 850 k x 1.1 GHz = 22.4 PB/s; 24 B x 900 k x 0.972 GHz = 21 PB/s."""
    older, newer = bandwidth(WSE_2), bandwidth(WSE_3)
    assert older.bounds[1].wafer_bytes_per_second == 24 * 850_000 * 1_100_000_000 == 22_440_000_000_000_000
    assert newer.needed_clock_hz == 972_222_223
    assert older.needed_clock_hz == 980_392_157


@pytest.mark.parametrize(
    ("machine", "profile"), [(WSE_1, ""), (WSE_2, "research"), (WSE_3, "unconstrained"), (lab_mesh(), "")]
)
def test_the_stated_bandwidth_needs_the_faster_clock(machine: Machine, profile: str) -> None:
    found = bandwidth(machine)
    assert found.reproduced_at == profile
    assert [item.profile for item in found.bounds] == [item.name for item in machine.clocks]


def test_reproduced_starts_exactly_at_the_stated_figure() -> None:
    exact = 24 * 850_000 * 850 // 1000  # GB/s at 850 MHz
    same = replace(WSE_2, sram_gigabytes_per_second=chosen(exact, "test"))
    more = replace(WSE_2, sram_gigabytes_per_second=chosen(exact + 1, "test"))
    assert bandwidth(same).reproduced_at == "sdk"
    assert bandwidth(same).needed_clock_hz == 850_000_000
    assert bandwidth(more).reproduced_at == "research"
    assert bandwidth(more).needed_clock_hz == 850_000_050


def test_reading_the_whole_wafer_once_takes_two_microseconds() -> None:
    assert bandwidth(WSE_3).sweep_ns == Fraction(44_000, 21)
    assert bandwidth(lab_mesh()).sweep_ns is None
    assert bandwidth(lab_mesh()).needed_clock_hz is None


def test_usable_bandwidth_counts_the_rectangle_only() -> None:
    bound = bandwidth(WSE_3).bounds[0]
    assert bound.usable_bytes_per_second == 755 * 1170 * 24 * 850_000_000
    assert bound.usable_bytes_per_second < bound.wafer_bytes_per_second


@pytest.mark.parametrize(("machine", "permille"), [(WSE_1, 92), (WSE_2, 44), (WSE_3, 5), (lab_mesh(), None)])
def test_the_stated_capacity_is_cores_times_48_kib_up_to_rounding(
    machine: Machine, permille: int | None
) -> None:
    assert capacity(machine).deviation_permille == permille


def test_44_gb_leave_36_for_data() -> None:
    found = capacity(WSE_3)
    assert found.wafer_bytes == 900_000 * 48 * 1024
    assert found.usable_bytes == 883_350 * 49_152
    assert found.data_bytes == 883_350 * (49_152 - 4_176 - 4_096) == 36_111_348_000
