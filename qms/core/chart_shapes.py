"""Shapes that all charts share. Places are in drawing units, y grows downwards; templates only write them out."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Generic, TypeVar

from qms.core.chart_layout import Box, Label, Stroke, text_width

Drawing = TypeVar("Drawing")


@dataclass(frozen=True)
class Limit:
    """A threshold drawn as a line: its value in the unit of the chart, and its text ("Grenzwert 50 ms")."""

    value: float
    text: str


@dataclass(frozen=True)
class Frame:
    """Size of a drawing, its plot area and its text size, in drawing units."""

    width: int
    height: int
    left: float
    right: float
    top: float
    bottom: float
    font: int

    @property
    def area(self) -> Box:
        """The plot area."""
        return Box(self.left, self.top, self.right, self.bottom)

    @property
    def tick_end(self) -> float:
        """Lower end of a tick below the plot."""
        return self.bottom + 5

    @property
    def tick_text(self) -> float:
        """Baseline of the tick texts below the plot."""
        return self.bottom + 7 + self.font

    @property
    def axis_text(self) -> float:
        """Baseline of the name of the axis."""
        return self.bottom + 28 + self.font

    @property
    def side_text(self) -> float:
        """Right end of the tick texts beside the plot."""
        return self.left - 8


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: its place in drawing units and its text."""

    at: float
    text: str


@dataclass(frozen=True)
class Chart(Generic[Drawing]):
    """A chart ready for its template: two drawings, the words that state its result, and its table.

    axis, side: names of the lower and of the left axis.
    """

    wide: Drawing
    narrow: Drawing
    title: str
    desc: str
    axis: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    side: str = ""

    @property
    def table(self) -> list[list[dict[str, str]]]:
        """The rows, each cell with the name of its column: on phones rows become labelled cards."""
        return [
            [{"label": label, "text": text} for label, text in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]


@dataclass(frozen=True)
class Marker:
    """A marked quantile: centre, tone and shape ("circle", "square", "diamond")."""

    x: float
    y: float
    tone: int
    shape: str


@dataclass(frozen=True)
class Curve:
    """One polyline: its points, tone and dash."""

    corners: tuple[tuple[float, float], ...]
    tone: int
    dash: str

    @property
    def points(self) -> str:
        """The corners as SVG writes them."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in self.corners)

    @property
    def strokes(self) -> list[Stroke]:
        """The straight pieces."""
        return [Stroke(*a, *b) for a, b in itertools.pairwise(self.corners)]


@dataclass(frozen=True)
class LegendEntry:
    """A label below the drawing, with a piece of its line."""

    text: str
    tone: int
    dash: str
    y: float

    @property
    def line_y(self) -> float:
        """Height of the piece of line beside the text."""
        return self.y - 5


def above(x: float, text: str, frame: Frame) -> Label:
    """Return the label over a limit line at `x`, kept inside the drawing."""
    half = text_width(text, frame.font) / 2
    if x - half < 4:
        return Label(4, frame.top - 10, "start", text)
    if x + half > frame.width - 4:
        return Label(frame.width - 4, frame.top - 10, "end", text)
    return Label(x, frame.top - 10, "middle", text)
