"""One pure function per criterion; importing this package registers all of them."""

from qms.gates.criteria import g0, g1, g1_data, g3, g4, g7, g7_act

__all__ = ["g0", "g1", "g1_data", "g3", "g4", "g7", "g7_act"]
