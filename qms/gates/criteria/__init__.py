"""One pure function per criterion; importing this package registers all of them."""

from qms.gates.criteria import (
    g0,
    g1,
    g1_data,
    g2,
    g3,
    g4,
    g6,
    g6_benefit,
    g6_costs,
    g7,
    g7_act,
    g7_conditions,
    g7_options,
)

__all__ = [
    "g0",
    "g1",
    "g1_data",
    "g2",
    "g3",
    "g4",
    "g6",
    "g6_benefit",
    "g6_costs",
    "g7",
    "g7_act",
    "g7_conditions",
    "g7_options",
]
