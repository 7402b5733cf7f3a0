"""Lines over an amount, such as cost per run over runs per month: geometry only (ui.md section 5).

What lies above the upper end of the value axis is not drawn and is counted in words, never pressed onto the edge.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from qms.core import formats
from qms.core.chart_layout import Label, Stroke, axis_ticks, place, text_width, wrap
from qms.core.chart_shapes import Chart, Curve, Frame, LegendEntry, Limit, Marker, Tick, above
from qms.core.charts import DASHES

TICKS = 4  # steps of an axis at most: more would meet on the narrow drawing
HEAD = 52  # room for the name of the value axis and, below it, the text of the limit
SHAPES = ("circle", "square", "diamond")
WIDE = Frame(640, 0, left=0, right=622, top=HEAD, bottom=262, font=14)
NARROW = Frame(340, 0, left=0, right=322, top=HEAD + 8, bottom=262, font=16)


@dataclass(frozen=True)
class LineSeries:
    """One line: label with its provenance, and (x, y) points with rising x."""

    label: str
    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        if len(self.points) < 2 or any(b[0] <= a[0] for a, b in itertools.pairwise(self.points)):
            raise ValueError(f"expected at least two points with rising x for {self.label!r}")


@dataclass(frozen=True)
class Point:
    """A marked point: its place in the units of the axes, and its tone 1 to 3."""

    x: float
    y: float
    tone: int = 3


@dataclass(frozen=True)
class Axes2D:
    """Names of both axes, the unit of the values, and the upper end of the value axis."""

    x: str
    y: str
    unit: str
    high: float


@dataclass(frozen=True)
class LinesDrawing:
    """One variant; `legend` holds the labels that found no free place beside their line."""

    frame: Frame
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    y_title: Label
    curves: tuple[Curve, ...]
    markers: tuple[Marker, ...]
    labels: tuple[Label, ...]
    legend: tuple[LegendEntry, ...]
    limit_x: float | None
    limit_label: Label | None


@dataclass(frozen=True)
class _Scale:
    """Ends of both axes in their units and the frame they fill; both axes start at zero."""

    x_high: float
    y_high: float
    frame: Frame

    def x(self, value: float) -> float:
        """Return the place of an amount in drawing units."""
        return round(self.frame.left + value / self.x_high * (self.frame.right - self.frame.left), 1)

    def y(self, value: float) -> float:
        """Return the place of a value in drawing units."""
        return round(self.frame.bottom - value / self.y_high * (self.frame.bottom - self.frame.top), 1)


def lines(
    series: Sequence[LineSeries],
    *,
    axes: Axes2D,
    title: str,
    desc: str,
    marks: Sequence[Point] = (),
    limit: Limit | None = None,
    table: tuple[tuple[str, ...], tuple[tuple[str, ...], ...]],
    notes: Sequence[str] = (),
) -> Chart[LinesDrawing]:
    """Return one to three lines with up to three marked points and an upright limit; table: columns and rows.

    Raises ValueError for more, and for an axis without length.
    """
    if not 1 <= len(series) <= len(DASHES) or len(marks) > len(SHAPES):
        raise ValueError(f"expected one to {len(DASHES)} lines and at most {len(SHAPES)} marks")
    x_high = max(one.points[-1][0] for one in series)
    ticks = (axis_ticks(x_high, TICKS), axis_ticks(axes.high, TICKS))
    beyond = tuple(text for one in series if (text := _beyond(one, ticks[1][-1], axes)))
    return Chart(
        wide=_draw(series, _frame(WIDE, ticks[1]), ticks, marks=marks, limit=limit, y_title=axes.y),
        narrow=_draw(series, _frame(NARROW, ticks[1]), ticks, marks=marks, limit=limit, y_title=axes.y),
        title=title,
        desc=desc,
        axis=axes.x,
        columns=table[0],
        rows=table[1],
        notes=(*notes, *beyond),
    )


def _beyond(one: LineSeries, high: float, axes: Axes2D) -> str:
    """Return what is not drawn of a line, an empty text if all of it is."""
    hidden = [x for x, y in one.points if y > high]
    if not hidden:
        return ""
    facts = {"label": one.label, "end": formats.quantity(high, axes.unit)}
    return _("%(label)s: Was über %(end)s liegt, ist nicht gezeichnet.") % facts


def _frame(frame: Frame, ticks: Sequence[float]) -> Frame:
    """Return the frame with room for the longest text beside the value axis."""
    longest = max(text_width(formats.number(value), frame.font) for value in ticks)
    return replace(frame, left=round(longest + 16))


def _draw(
    series: Sequence[LineSeries],
    frame: Frame,
    ticks: tuple[Sequence[float], Sequence[float]],
    *,
    marks: Sequence[Point],
    limit: Limit | None,
    y_title: str,
) -> LinesDrawing:
    scale = _Scale(ticks[0][-1], ticks[1][-1], frame)
    curves = tuple(_curve(one, index, scale) for index, one in enumerate(series))
    drawn = limit if limit is not None and limit.value <= scale.x_high else None
    limit_x = scale.x(drawn.value) if drawn else None
    markers = tuple(
        Marker(scale.x(mark.x), scale.y(mark.y), mark.tone, shape)
        for mark, shape in zip(marks, SHAPES, strict=False)
        if mark.y <= scale.y_high and mark.x <= scale.x_high
    )
    labels, homeless = _place(series, curves, markers, frame, limit_x)
    return LinesDrawing(
        frame=replace(frame, height=round(frame.bottom + 52 + len(homeless) * 24)),
        x_ticks=tuple(Tick(scale.x(value), formats.number(value)) for value in ticks[0]),
        y_ticks=tuple(Tick(scale.y(value), formats.number(value)) for value in ticks[1]),
        y_title=Label(4, frame.font + 2, "start", y_title),
        curves=curves,
        markers=markers,
        labels=tuple(labels),
        legend=tuple(homeless),
        limit_x=limit_x,
        limit_label=above(limit_x, drawn.text, frame) if drawn and limit_x is not None else None,
    )


def _curve(one: LineSeries, index: int, scale: _Scale) -> Curve:
    """Return the part of a line inside the axes; where it leaves them the piece ends on the edge."""
    shown: list[tuple[float, float]] = []
    for (x1, y1), (x2, y2) in itertools.pairwise(one.points):
        inside = [(x, y) for x, y in ((x1, y1), (x2, y2)) if y <= scale.y_high]
        if len(inside) == 1:
            part = (scale.y_high - y1) / (y2 - y1)
            inside.append((x1 + part * (x2 - x1), scale.y_high))
            inside.sort()
        shown.extend(point for point in inside if point not in shown)
    return Curve(tuple((scale.x(x), scale.y(y)) for x, y in shown), index + 1, DASHES[index])


def _place(
    series: Sequence[LineSeries],
    curves: Sequence[Curve],
    markers: Sequence[Marker],
    frame: Frame,
    limit_x: float | None,
) -> tuple[list[Label], list[LegendEntry]]:
    strokes = [stroke for curve in curves for stroke in curve.strokes]
    strokes += [Stroke(mark.x - 8, mark.y, mark.x + 8, mark.y) for mark in markers]
    if limit_x is not None:
        strokes += [Stroke(limit_x + side, frame.top, limit_x + side, frame.bottom) for side in (-3, 3)]
    labels: list[Label] = []
    homeless: list[LegendEntry] = []
    for one, curve in zip(series, curves, strict=True):
        taken = [label.box(frame.font) for label in labels]
        candidates = _candidates(one.label, curve, frame.font)
        found = place(candidates, font=frame.font, area=frame.area, strokes=strokes, taken=taken)
        labels.extend(found)
        if not found:
            y = frame.bottom + 70 + len(homeless) * 24
            homeless.append(LegendEntry(one.label, curve.tone, curve.dash, y))
    return labels, homeless


def _candidates(text: str, curve: Curve, font: int) -> Iterator[tuple[Label, ...]]:
    """Yield places above and below the line, from its right end inwards, on one line before two."""
    for rows in ([text], wrap(text, text_width(text, font) * 0.7, font)):
        for part in (0.98, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1):
            for lift in (-10 - (len(rows) - 1) * font * 1.25, font + 8):
                yield from _at(rows, curve, part, lift, font)


def _at(
    rows: Sequence[str], curve: Curve, part: float, lift: float, font: int
) -> Iterator[tuple[Label, ...]]:
    if not curve.corners:
        return
    x = curve.corners[0][0] + part * (curve.corners[-1][0] - curve.corners[0][0])
    y = _y_at(curve, x)
    for anchor in ("end", "middle", "start"):
        yield tuple(
            Label(round(x, 1), round(y + lift + index * font * 1.25, 1), anchor, row, curve.tone)
            for index, row in enumerate(rows)
        )


def _y_at(curve: Curve, x: float) -> float:
    for (x1, y1), (x2, y2) in itertools.pairwise(curve.corners):
        if x1 <= x <= x2:
            return y1 if x1 == x2 else y1 + (y2 - y1) * (x - x1) / (x2 - x1)
    return curve.corners[-1][1]
