"""The wafer map as pages show it: tiles, colours and PNG, at the door to the pure packages."""

from pilots.wafer.map_png import DEAD_COLOURS, Tiles, View, conspicuous, ramp, tiles_png

__all__ = ["DEAD_COLOURS", "Tiles", "View", "conspicuous", "ramp", "tiles_png"]
