"""Machines as data: what a figure is, what a machine is, the three generations and small made-up meshes."""

from pilots.wafer.machine.description import Machine, UnknownProfile
from pilots.wafer.machine.figure import ClockProfile, Density, Figure, Peak, PowerProfile
from pilots.wafer.machine.generations import WSE_1, WSE_2, WSE_3
from pilots.wafer.machine.lab import MACHINES, UnknownMachine, find, lab_mesh

__all__ = [
    "MACHINES",
    "WSE_1",
    "WSE_2",
    "WSE_3",
    "ClockProfile",
    "Density",
    "Figure",
    "Machine",
    "Peak",
    "PowerProfile",
    "UnknownMachine",
    "UnknownProfile",
    "find",
    "lab_mesh",
]
