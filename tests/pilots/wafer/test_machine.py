from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from pilots.wafer import machine as package
from pilots.wafer.machine import (
    MACHINES,
    WSE_1,
    WSE_2,
    WSE_3,
    Density,
    Figure,
    Machine,
    UnknownMachine,
    UnknownProfile,
    find,
    lab_mesh,
)
from pilots.wafer.machine_rules import RANGES, RULES
from qms.core.values import Provenance

REFERENCE = json.loads(
    (Path(package.__file__).parents[1] / "data" / "reference.json").read_text(encoding="utf-8")
)
HARDWARE = {item["id"]: item for item in REFERENCE["hardware"]}
IDS = {item["id"] for key in ("hardware", "measured", "formulas") for item in REFERENCE[key]}
GENERATIONS = (WSE_1, WSE_2, WSE_3)


def every_figure(machine: Machine) -> list[tuple[str, Figure]]:
    nested = [(f"clock {item.name}", item.hz) for item in machine.clocks]
    nested += [(f"power {item.name}", item.watts) for item in machine.powers]
    nested += [(f"peak {item.precision}", item.teraflops) for item in machine.peaks]
    return [*machine.figures().items(), *nested]


@pytest.mark.parametrize("machine", GENERATIONS, ids=lambda item: item.id)
def test_every_figure_names_an_entry_or_is_an_estimate_with_a_reason(machine: Machine) -> None:
    for name, figure in every_figure(machine):
        words = set(re.findall(r"[a-z0-9]+(?:\.[a-z0-9]+)*", figure.source))
        assert words & IDS or figure.provenance is Provenance.ESTIMATED, name
        assert figure.source.strip(), name


@pytest.mark.parametrize(
    ("machine", "field", "entry", "factor"),
    [
        (WSE_1, "cores_total", "wse1.cores", 1),
        (WSE_2, "cores_total", "wse2.cores", 1),
        (WSE_3, "cores_total", "wse3.cores", 1),
        (WSE_1, "sram_megabytes_total", "wse1.sram", 1000),
        (WSE_2, "sram_megabytes_total", "wse2.sram", 1000),
        (WSE_3, "sram_megabytes_total", "wse3.sram", 1000),
        (WSE_1, "sram_gigabytes_per_second", "wse1.membw", 10**6),
        (WSE_2, "sram_gigabytes_per_second", "wse2.membw", 10**6),
        (WSE_3, "sram_gigabytes_per_second", "wse3.membw", 10**6),
        (WSE_2, "fabric_gigabits_per_second", "wse2.fabbw", 10**6),
        (WSE_3, "fabric_gigabits_per_second", "wse3.fabbw", 10**6),
        (WSE_2, "clock_hz", "wse2.clk.sdk", 10**9),
        (WSE_2, "hop_cycles", "rt.hop2", 1),
        (WSE_3, "hop_cycles", "rt.hop3", 1),
        (WSE_3, "turn_cycles", "rt.turn3", 1),
        (WSE_3, "wavelet_millicycles", "rt.wave3", 1000),
        (WSE_3, "westbound_hop_millicycles", "rt.west", 1000),
        (WSE_3, "send_cycles", "rt.send", 1),
        (WSE_2, "lanes_fp16", "pe.simd2", 1),
        (WSE_3, "lanes_fp16", "pe.simd3", 1),
        (WSE_3, "fma_fp16_millielements_per_cycle", "pe.fma16.si", 1000),
        (WSE_3, "fma_fp32_millielements_per_cycle", "pe.fma32.si", 1000),
        (WSE_3, "copy_fp16_millielements_per_cycle", "pe.copy16.si", 1000),
        (WSE_3, "copy_fp32_millielements_per_cycle", "pe.copy32.si", 1000),
        (WSE_3, "input_queues", "queues3", 1),
        (WSE_3, "wafer_to_wafer_ns", "io.waferwafer", 1000),
        (WSE_3, "host_transaction_ns", "io.rpc", 1000),
        (WSE_2, "functional_area_permille", "yield", 10),
        (WSE_2, "power_watts_max", "sys.power1", 1000),
        (WSE_3, "power_watts_max", "sys.power3", 1000),
        (WSE_2, "die_area_mm2", "wse.area", 1),
    ],
)
def test_a_figure_is_the_entry_it_cites(machine: Machine, field: str, entry: str, factor: int) -> None:
    figure = machine.figures()[field]
    assert figure.value == round(HARDWARE[entry]["value"] * factor)
    assert entry in figure.source


def test_products_in_fp16_run_on_all_lanes_of_the_older_generations() -> None:
    """What a dispatch loses stands in the fitted constants, so it must not slow the lanes once more."""
    for machine, provenance in ((WSE_1, Provenance.ESTIMATED), (WSE_2, Provenance.DERIVED)):
        rate = machine.fma_fp16_millielements_per_cycle
        assert rate.value == 1000 * machine.lanes_fp16.value == 4000
        assert rate.provenance is provenance
    assert "pe.simd2" in WSE_2.fma_fp16_millielements_per_cycle.source
    assert WSE_3.fma_fp16_millielements_per_cycle.value == 1000 * HARDWARE["pe.fma16.si"]["value"]


def test_rates_nobody_published_for_wse_2_are_half_of_wse_3_and_derived() -> None:
    for name in ("copy_fp16_millielements_per_cycle", "copy_fp32_millielements_per_cycle"):
        older, newer = WSE_2.figures()[name], WSE_3.figures()[name]
        assert (older.value * 2, older.provenance) == (newer.value, Provenance.DERIVED)


def test_what_is_not_published_for_wse_1_is_an_estimate() -> None:
    assert WSE_1.clock_hz.provenance is Provenance.ESTIMATED
    assert WSE_1.hop_cycles.provenance is Provenance.ESTIMATED
    assert WSE_1.fabric_gigabits_per_second is None
    assert not WSE_1.calibrated
    assert WSE_1.pes == 600 * 595


def test_physical_fabric_holds_the_usable_rectangle_with_its_margins() -> None:
    assert (WSE_2.physical_pes, WSE_3.physical_pes) == (757 * 996, 762 * 1172)
    for machine in GENERATIONS:
        assert machine.physical_width_pes.value - machine.width_pes.value == 7
        assert machine.physical_height_pes.value - machine.height_pes.value == 2


def test_the_disputed_peak_says_so_and_dense_peaks_follow_from_lanes_and_clock() -> None:
    disputed, dense16, dense32 = WSE_3.peaks
    assert (disputed.teraflops.value, disputed.density) == (125_000, Density.DISPUTED)
    assert "FP8" in disputed.note_de
    assert dense16.teraflops.value == 900_000 * 8 * 2 * 1100 // 10**6
    assert (dense16.density, dense32.density) == (Density.DENSE, Density.DENSE)
    assert WSE_2.peaks[0].teraflops.value == 850_000 * 4 * 2 * 1100 // 10**6


@pytest.mark.parametrize(
    ("machine_id", "hertz"),
    [
        ("wse-2@research", 1_100_000_000),
        ("wse-2@sdk", 850_000_000),
        ("wse-3@power-limited", 850_000_000),
        ("wse-3@unconstrained", 1_100_000_000),
    ],
)
def test_clock_profiles_are_found_by_id(machine_id: str, hertz: int) -> None:
    assert find(machine_id).clock_hz.value == hertz


def test_a_clock_profile_changes_id_and_digest_and_can_be_undone() -> None:
    faster = WSE_2.with_clock("research")
    assert faster.id == "wse-2@research"
    assert faster.sha256() != WSE_2.sha256()
    assert faster.with_clock("sdk") == WSE_2
    assert WSE_2.with_clock("sdk") == WSE_2


def test_the_unconstrained_clock_takes_more_power_and_gives_it_back() -> None:
    faster = WSE_3.with_clock("unconstrained")
    assert faster.power_watts_max.value > WSE_3.power_watts_max.value
    assert faster.power_watts_max.provenance is Provenance.ESTIMATED
    assert faster.with_clock("power-limited") == WSE_3


@pytest.mark.parametrize("profile", ["", "turbo", "SDK", "sdk "])
def test_an_unknown_profile_is_named(profile: str) -> None:
    with pytest.raises(UnknownProfile, match="has no profile") as caught:
        WSE_2.with_clock(profile)
    assert (
        caught.value.message_de == f"Die Maschine wse-2 hat kein Profil „{profile}“; es gibt: sdk, research."
    )


def test_power_profiles_are_found_by_name() -> None:
    assert WSE_2.power("typical").value == 15_000
    with pytest.raises(UnknownProfile):
        WSE_2.power("capped")
    assert WSE_3.power("capped").value == 23_200


@pytest.mark.parametrize(
    "machine_id",
    [
        "",
        "wse-4",
        "wse-2@",
        "wse-2@turbo",
        "lab-0x4",
        "lab-4",
        "lab-4x4x4",
        "lab-1025x1024",
        "WSE-2",
        "lab-٤x٤",
    ],
)
def test_an_unknown_machine_is_refused(machine_id: str) -> None:
    with pytest.raises(UnknownMachine) as caught:
        find(machine_id)
    assert "ist nicht bekannt" in caught.value.message_de


def test_machines_are_found_by_their_id() -> None:
    assert all(find(name) is machine for name, machine in MACHINES.items())
    assert find("lab-16x4") == lab_mesh(16, 4)
    assert find("lab-1024x1024").pes == 2**20


def test_digests_differ_and_do_not_change_between_calls() -> None:
    machines = [*MACHINES.values(), WSE_2.with_clock("research"), lab_mesh(4, 8), lab_mesh(8, 4)]
    digests = [item.sha256() for item in machines]
    assert len(set(digests)) == len(digests)
    assert digests == [item.sha256() for item in machines]


def test_stated_totals_are_bytes_and_absent_for_made_up_meshes() -> None:
    assert WSE_3.stated_sram_bytes == 44 * 10**9
    assert WSE_3.stated_sram_bytes_per_second == 21 * 10**15
    assert lab_mesh().stated_sram_bytes is None
    assert lab_mesh().stated_sram_bytes_per_second is None


def test_ranges_cover_exactly_the_figures_of_a_machine() -> None:
    plain = {"id", "name", "calibrated", "clocks", "powers", "peaks"}
    assert set(RANGES) == {item.name for item in fields(Machine)} - plain


@pytest.mark.parametrize(
    "machine", [*MACHINES.values(), find("wse-3@unconstrained")], ids=lambda item: item.id
)
def test_shipped_machines_obey_their_own_ranges_and_rules(machine: Machine) -> None:
    for name, figure in machine.figures().items():
        low, high, _unit = RANGES[name]
        assert low <= figure.value <= high, name
    assert [rule.sentence_de(machine) for rule in RULES] == [""] * len(RULES)
