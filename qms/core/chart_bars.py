"""Horizontal bars with intervals, and sparklines: geometry only (ui.md section 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from qms.core import formats
from qms.core.chart_layout import Label, axis_ticks, text_width, wrap
from qms.core.chart_shapes import Chart, Frame, Limit, Tick, above

BAR_HEIGHT = 16
Say = Callable[[float], str]
WIDE = Frame(640, 0, left=200, right=500, top=28, bottom=0, font=14)
NARROW = Frame(340, 0, left=8, right=324, top=30, bottom=0, font=16)


@dataclass(frozen=True)
class BarRow:
    """One bar: label with its provenance, value, interval in the same unit or None, tone 1 to 3."""

    label: str
    value: float
    lower: float | None = None
    upper: float | None = None
    tone: int = 1


@dataclass(frozen=True)
class BarShape:
    """One bar: lines of its label, rectangle, whisker from and to, its middle, and the value text."""

    lines: tuple[Label, ...]
    x: float
    y: float
    width: float
    height: float
    middle: float
    tone: int
    whisker: tuple[float, float] | None
    value: Label

    @property
    def whisker_path(self) -> str:
        """The interval with its end caps as SVG writes a path."""
        if self.whisker is None:
            return ""
        low, high = self.whisker
        caps = f"M{low} {self.middle - 5}v10M{high} {self.middle - 5}v10"
        return f"M{low} {self.middle}H{high}{caps}"


@dataclass(frozen=True)
class BarDrawing:
    """One variant of the bar chart; `limit_marks` are the pieces (from, to) of the limit line that meet no text."""

    frame: Frame
    x_ticks: tuple[Tick, ...]
    bars: tuple[BarShape, ...]
    grid: bool
    limit_x: float | None
    limit_marks: tuple[tuple[float, float], ...]
    limit_label: Label | None


@dataclass(frozen=True)
class Sparkline:
    """A small line of one series: points, last point, and the words that name series, unit and range."""

    points: str
    last_x: float
    last_y: float
    width: int
    height: int
    text: str


def horizontal_bars(
    rows: Sequence[BarRow],
    *,
    unit: str,
    title: str,
    axis: str,
    limit: Limit | None = None,
    decimals: int | None = None,
) -> Chart[BarDrawing]:
    """Return bars from zero, in `unit`, with the interval of each value as a whisker; negative values raise."""
    if not rows or any(row.value < 0 for row in rows):
        raise ValueError("expected at least one row and no negative value")

    def say(value: float) -> str:
        return formats.quantity(value, unit, decimals)

    ends = [max(row.value, row.upper or 0) for row in rows]
    high = max([*ends, *([limit.value * 1.04] if limit else [])]) or 1.0
    return Chart(
        wide=_wide(rows, say, axis_ticks(high, 5), limit),
        narrow=_narrow(rows, say, axis_ticks(high, 3), limit),
        title=title,
        desc=_describe(rows, say, limit),
        axis=axis,
        columns=(_("Posten"), _("Wert"), _("Intervall")),
        rows=tuple((row.label, say(row.value), _interval(row, say)) for row in rows),
    )


def sparkline(
    name: str, values: Sequence[float], *, unit: str, width: int = 120, height: int = 28
) -> Sparkline:
    """Return the line of a series of at least two values; fewer raise, since one point is no course."""
    if len(values) < 2:
        raise ValueError(f"expected a series for {name!r}, got {len(values)} value")
    low, high = min(values), max(values)
    span, edge = (high - low) or 1.0, 4
    step = (width - 2 * edge) / (len(values) - 1)
    places = [
        (edge + index * step, height - edge - (value - low) / span * (height - 2 * edge))
        for index, value in enumerate(values)
    ]
    facts = {
        "name": name,
        "n": len(values),
        "low": formats.quantity(low, unit),
        "high": formats.quantity(high, unit),
    }
    facts["last"] = formats.quantity(values[-1], unit)
    words = ngettext(
        "%(name)s: %(n)s Wert, %(low)s bis %(high)s, zuletzt %(last)s",
        "%(name)s: %(n)s Werte, %(low)s bis %(high)s, zuletzt %(last)s",
        len(values),
    )
    return Sparkline(
        points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places),
        last_x=round(places[-1][0], 1),
        last_y=round(places[-1][1], 1),
        width=width,
        height=height,
        text=words % facts,
    )


def _interval(row: BarRow, say: Say) -> str:
    if row.lower is None or row.upper is None:
        return _("kein Intervall")
    ends = {"lower": say(row.lower), "upper": say(row.upper)}
    return _("%(lower)s bis %(upper)s") % ends


def _describe(rows: Sequence[BarRow], say: Say, limit: Limit | None) -> str:
    parts = [f"{row.label}: {say(row.value)}" for row in rows]
    return "; ".join([*parts, *([limit.text] if limit else [])]) + "."


def _x(value: float, high: float, frame: Frame) -> float:
    return round(frame.left + value / high * (frame.right - frame.left), 1)


def _wide(rows: Sequence[BarRow], say: Say, ticks: Sequence[float], limit: Limit | None) -> BarDrawing:
    bars, y = [], WIDE.top
    for row in rows:
        texts = wrap(row.label, WIDE.left - 20, WIDE.font)
        height = max(BAR_HEIGHT + 20, len(texts) * 18 + 10)
        middle = y + height / 2
        first = middle - (len(texts) - 1) * 9 + 5
        lines = tuple(
            Label(WIDE.left - 12, first + index * 18, "end", text) for index, text in enumerate(texts)
        )
        value = Label(WIDE.width - 4, middle + 5, "end", say(row.value))
        bars.append(_bar(row, lines=lines, value=value, middle=middle, high=ticks[-1], frame=WIDE))
        y += height
    return _finish(bars, ticks, limit, replace(WIDE, bottom=y, height=round(y + 50)), grid=True)


def _narrow(rows: Sequence[BarRow], say: Say, ticks: Sequence[float], limit: Limit | None) -> BarDrawing:
    """Draw label and value above each bar: both are plain text, so nothing there can meet the limit line."""
    bars, y = [], NARROW.top
    for row in rows:
        text = say(row.value)
        room = NARROW.width - 16 - text_width(text, NARROW.font)
        texts = wrap(row.label, room, NARROW.font)
        lines = tuple(
            Label(NARROW.left, y + 18 + index * 20, "start", line) for index, line in enumerate(texts)
        )
        value = Label(NARROW.width - 8, lines[-1].y, "end", text)
        middle = lines[-1].y + 10 + BAR_HEIGHT / 2
        bars.append(_bar(row, lines=lines, value=value, middle=middle, high=ticks[-1], frame=NARROW))
        y = middle + BAR_HEIGHT / 2 + 10
    return _finish(bars, ticks, limit, replace(NARROW, bottom=y, height=round(y + 54)), grid=False)


def _bar(
    row: BarRow, *, lines: tuple[Label, ...], value: Label, middle: float, high: float, frame: Frame
) -> BarShape:
    whisker = None
    if row.lower is not None and row.upper is not None:
        whisker = (_x(row.lower, high, frame), _x(row.upper, high, frame))
    return BarShape(
        lines=lines,
        x=frame.left,
        y=middle - BAR_HEIGHT / 2,
        width=round(_x(row.value, high, frame) - frame.left, 1),
        height=BAR_HEIGHT,
        middle=middle,
        tone=row.tone,
        whisker=whisker,
        value=value,
    )


def _finish(
    bars: list[BarShape], ticks: Sequence[float], limit: Limit | None, frame: Frame, *, grid: bool
) -> BarDrawing:
    limit_x = _x(limit.value, ticks[-1], frame) if limit else None
    pieces = (
        ((frame.top, frame.bottom),) if grid else tuple((bar.y - 5, bar.y + bar.height + 5) for bar in bars)
    )
    return BarDrawing(
        frame=frame,
        x_ticks=tuple(Tick(_x(value, ticks[-1], frame), formats.number(value)) for value in ticks),
        bars=tuple(bars),
        grid=grid,
        limit_x=limit_x,
        limit_marks=pieces if limit else (),
        limit_label=above(limit_x, limit.text, frame) if limit and limit_x is not None else None,
    )
