"""The wafer map: values of processing elements as a palette PNG of tiles (ui.md section 5). NumPy and Pillow, no Django.

A tile is 8 x 8 processing elements (PEs) and one pixel. Edge tiles are averaged over the PEs they have; no PE is
dropped. The ramp is fixed to 0-100 %, so two maps can be compared; values beyond it are counted.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

TILE = 8
RAMP_STEPS = 101  # palette entries 0 to 100, one per percent
DEAD_CLASSES = (0, 1, 2, 4)  # lower ends of the classes 0, 1, 2-3 and 4 or more dead PEs in a tile

Values = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Five stops of the cividis ramp (Nuñez, Anderson, Renslow 2018, doi 10.1371/journal.pone.0199239).
CIVIDIS = ("#00224e", "#434e6c", "#7d7c78", "#bcae6c", "#fee838")
NOTHING_ALIVE = "#d0216e"
DEAD_COLOURS = ("#c9d2dc", "#f0a9c4", "#de5a93", "#8f0f49")


class View(StrEnum):
    """What a tile shows: mean or maximum of its living PEs, or the class of its dead ones."""

    MEAN = "mittel"
    MAXIMUM = "maximum"
    DEAD = "ausfaelle"


@dataclass(frozen=True, slots=True)
class Tiles:
    """The map in tiles. `pes`: PEs per tile (their sum is the fabric); `dead`: dead ones; `mean` and `maximum`:
    percent over living PEs, NaN where none lives; `clipped`: values outside 0-100 %.
    """

    pes: Counts
    dead: Counts
    mean: Values
    maximum: Values
    clipped: int


@dataclass(frozen=True, slots=True)
class Spot:
    """One conspicuous tile: its first PE (column, row), mean and maximum in percent, number of dead PEs."""

    column: int
    row: int
    mean: float
    maximum: float
    dead: int


def tiles(values: npt.ArrayLike, dead: npt.ArrayLike | None = None) -> Tiles:
    """Return the tiles of a fabric given in percent (rows by columns); `dead` marks PEs that do not work."""
    grid = np.asarray(values, dtype=np.float64)
    if grid.ndim != 2 or grid.size == 0:
        raise ValueError(f"expected a fabric of rows and columns, got shape {grid.shape}")
    broken: Mask = np.zeros(grid.shape, dtype=bool) if dead is None else np.asarray(dead, dtype=bool)
    if broken.shape != grid.shape:
        raise ValueError(f"expected dead PEs of shape {grid.shape}, got {broken.shape}")
    alive = ~broken
    if not np.isfinite(grid[alive]).all():
        raise ValueError("expected a finite value for every living PE")
    clipped = int(((grid < 0) | (grid > 100))[alive].sum())
    shown = np.clip(np.where(alive, grid, 0.0), 0, 100)
    living = _sums(alive.astype(np.int64))
    peak = _blocks(np.where(alive, shown, -1.0), -1.0).max(axis=(1, 3))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = _sums(shown) / living
    return Tiles(
        pes=_sums(np.ones(grid.shape, dtype=np.int64)),
        dead=_sums(broken.astype(np.int64)),
        mean=mean,
        maximum=np.where(living > 0, peak, np.nan),
        clipped=clipped,
    )


def heatmap_png(values: npt.ArrayLike, *, dead: npt.ArrayLike | None = None, view: View = View.MEAN) -> bytes:
    """Return the map of a fabric in percent as PNG, one pixel per tile of 8 x 8 PEs."""
    return tiles_png(tiles(values, dead), view)


def tiles_png(made: Tiles, view: View = View.MEAN) -> bytes:
    """Return one view of the tiles as PNG; equal tiles give equal bytes."""
    if view is View.DEAD:
        return _png(
            np.searchsorted(DEAD_CLASSES, made.dead, side="right") - 1, [_rgb(c) for c in DEAD_COLOURS]
        )
    percent = made.mean if view is View.MEAN else made.maximum
    indices = np.where(np.isnan(percent), RAMP_STEPS, np.rint(np.nan_to_num(percent)))
    return _png(indices, [*ramp(), _rgb(NOTHING_ALIVE)])


def conspicuous(made: Tiles, count: int = 10) -> list[Spot]:
    """Return the tiles to look at first: most dead PEs, then highest maximum, then highest mean, then place."""
    rows, columns = np.indices(made.pes.shape)
    mean, maximum = np.nan_to_num(made.mean, nan=-1.0), np.nan_to_num(made.maximum, nan=-1.0)
    order = np.lexsort((columns.ravel(), rows.ravel(), -mean.ravel(), -maximum.ravel(), -made.dead.ravel()))
    spots = []
    for row, column in (divmod(int(index), made.pes.shape[1]) for index in order[:count]):
        at = (row, column)
        spots.append(Spot(column * TILE, row * TILE, float(mean[at]), float(maximum[at]), int(made.dead[at])))
    return spots


def ramp() -> list[tuple[int, int, int]]:
    """Return the colours of 0 to 100 %, straight lines between the stops."""
    stops = np.array([_rgb(stop) for stop in CIVIDIS], dtype=np.float64)
    places = np.linspace(0, len(stops) - 1, RAMP_STEPS)
    channels = [np.interp(places, np.arange(len(stops)), stops[:, channel]) for channel in range(3)]
    return [(round(r), round(g), round(b)) for r, g, b in zip(*channels, strict=True)]


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _blocks(grid: npt.NDArray[Any], fill: float) -> npt.NDArray[Any]:
    rows, columns = (-(-size // TILE) for size in grid.shape)
    padded = np.full((rows * TILE, columns * TILE), fill, dtype=grid.dtype)
    padded[: grid.shape[0], : grid.shape[1]] = grid
    return padded.reshape(rows, TILE, columns, TILE)


def _sums(grid: npt.NDArray[Any]) -> npt.NDArray[Any]:
    summed: npt.NDArray[Any] = _blocks(grid, 0).sum(axis=(1, 3))
    return summed


def _png(indices: npt.NDArray[Any], palette: list[tuple[int, int, int]]) -> bytes:
    image = Image.fromarray(indices.astype(np.uint8), mode="P")
    image.putpalette([channel for colour in palette for channel in colour])
    stream = io.BytesIO()
    image.save(stream, format="PNG", optimize=True)
    return stream.getvalue()
