"""Small made-up meshes for tests and teaching, and the register of all machines."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from pilots.wafer.errors import WaferError
from pilots.wafer.german import clean
from pilots.wafer.machine.description import Machine, UnknownProfile
from pilots.wafer.machine.figure import ClockProfile, PowerProfile, chosen
from pilots.wafer.machine.generations import WSE_1, WSE_2, WSE_3

MAX_LAB_PES: Final = 2**20
_MADE_UP: Final = "made-up mesh"
_LAB: Final = re.compile(r"lab-([1-9][0-9]{0,6})x([1-9][0-9]{0,6})")


class UnknownMachine(WaferError):
    """No machine has this id."""

    def __init__(self, machine_id: str) -> None:
        listed = ", ".join(MACHINES)
        sentence = (
            f"Eine Maschine „{clean(machine_id)}“ ist nicht bekannt; es gibt: {listed} und lab-BREITExHÖHE."
        )
        super().__init__(f"unknown machine {machine_id!r}", message_de=sentence)


def lab_mesh(width: int = 8, height: int = 8) -> Machine:
    """Return a small made-up mesh with the per-element figures of the WSE-2, for tests and teaching."""
    watts = chosen(max(1, width * height * 30 // 1000), "30 mW per element (pe.power), made-up mesh")
    return replace(
        WSE_2,
        id=f"lab-{width}x{height}",
        name=f"Labornetz {width}×{height}",
        calibrated=False,
        width_pes=chosen(width, _MADE_UP),
        height_pes=chosen(height, _MADE_UP),
        physical_width_pes=chosen(width + 7, "made-up mesh with the margins of wse2.usable"),
        physical_height_pes=chosen(height + 2, "made-up mesh with the margins of wse2.usable"),
        power_watts_max=watts,
        power_watts_typical=watts,
        cores_total=chosen(width * height, _MADE_UP),
        sram_megabytes_total=None,
        sram_gigabytes_per_second=None,
        fabric_gigabits_per_second=None,
        die_area_mm2=None,
        clocks=(ClockProfile("sdk", WSE_2.clock_hz), WSE_2.clocks[1]),
        powers=(PowerProfile("max", watts),),
        peaks=(),
    )


MACHINES: Final[dict[str, Machine]] = {
    item.id: item for item in (WSE_1, WSE_2, WSE_3, lab_mesh(8, 8), lab_mesh(64, 64))
}


def find(machine_id: str) -> Machine:
    """Return the machine of an id such as "wse-3", "wse-2@research" or "lab-16x4"; raises UnknownMachine."""
    base, at, profile = machine_id.partition("@")
    machine = MACHINES.get(base) or _lab(base)
    if machine is None or (at and not profile):
        raise UnknownMachine(machine_id)
    try:
        return machine.with_clock(profile) if profile else machine
    except UnknownProfile as error:
        raise UnknownMachine(machine_id) from error


def _lab(machine_id: str) -> Machine | None:
    matched = _LAB.fullmatch(machine_id)
    if matched is None:
        return None
    width, height = int(matched[1]), int(matched[2])
    return lab_mesh(width, height) if width * height <= MAX_LAB_PES else None
