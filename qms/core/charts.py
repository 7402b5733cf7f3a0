"""Latency distribution: a pure function from quantiles to places; a template draws it as SVG (ui.md section 5).

Every chart comes in two drawings, 640 and 340 units wide, with the same content and a table of the same numbers.
Text sizes are chosen so that nothing renders below 12 px at the widths where the style sheet shows a drawing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from qms.core import formats
from qms.core.chart_layout import Label, Stroke, axis_ticks, log_ticks, place, text_width, wrap
from qms.core.chart_shapes import Chart, Curve, Frame, LegendEntry, Limit, Marker, Tick, above

DASHES = ("", "7 4", "2 3")
SHAPES = {0.5: "circle", 0.95: "square", 0.99: "diamond"}
LOG_FROM = 10  # logarithmic axis when p99 exceeds p50 by more than this factor (ui.md 5)
TICKS = 4  # steps of a linear axis at most: more would meet on the narrow drawing
FAR_LIMIT = 3  # a limit further out than this many axis lengths is said in words instead of drawn


@dataclass(frozen=True)
class CdfSeries:
    """One curve: label with its provenance, and (share 0 to 1, value) pairs, both rising, as the server computed."""

    label: str
    quantiles: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        steps = itertools.pairwise(self.quantiles)
        if len(self.quantiles) < 2 or any(b[0] <= a[0] or b[1] < a[1] for a, b in steps):
            raise ValueError(f"expected rising quantiles for {self.label!r}, got {self.quantiles!r}")

    def at(self, share: float) -> float | None:
        """Return the value of a share that was computed, else None: quantiles are never invented."""
        return next((value for known, value in self.quantiles if math.isclose(known, share)), None)

    def share_at(self, value: float) -> float:
        """Return the share of requests up to `value`, between the neighbouring quantiles."""
        for (low, start), (high, end) in itertools.pairwise(self.quantiles):
            if start <= value < end:
                return low + (high - low) * (value - start) / (end - start)
        return self.quantiles[0][0] if value < self.quantiles[0][1] else self.quantiles[-1][0]


@dataclass(frozen=True)
class CdfDrawing:
    """One variant of the latency chart; `legend` holds the labels that found no free place beside their curve."""

    frame: Frame
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    curves: tuple[Curve, ...]
    markers: tuple[Marker, ...]
    labels: tuple[Label, ...]
    legend: tuple[LegendEntry, ...]
    limit_x: float | None
    limit_label: Label | None


@dataclass(frozen=True)
class _Scale:
    """The value axis: its ends and whether it is logarithmic."""

    low: float
    high: float
    log: bool

    def x(self, value: float, frame: Frame) -> float:
        """Return the place of `value` in drawing units."""
        if self.log:
            part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return round(frame.left + part * (frame.right - frame.left), 1)


WIDE = Frame(640, 0, left=58, right=622, top=28, bottom=232, font=14)
NARROW = Frame(340, 0, left=58, right=322, top=30, bottom=226, font=16)


def latency_cdf(
    series: Sequence[CdfSeries], *, unit: str = "ms", limit: Limit | None = None, title: str = ""
) -> Chart[CdfDrawing]:
    """Return the chart of how many requests stay below which latency; values in `unit`, at most three series."""
    if not 1 <= len(series) <= len(DASHES):
        raise ValueError(f"expected one to {len(DASHES)} series, got {len(series)}")
    drawn_limit, notes = _reachable(series, limit)
    ticks, scale = _axis(series, drawn_limit)
    notes += _beyond(series, scale.high, unit)
    return Chart(
        wide=_draw(series, WIDE, ticks, scale, drawn_limit),
        narrow=_draw(series, NARROW, ticks, scale, drawn_limit),
        title=title or _("Verteilung der Latenz"),
        desc=_describe(series, unit, limit),
        axis=_("Latenz in %(unit)s") % {"unit": unit},
        side=_("Anteil der Anfragen"),
        columns=(_("Reihe"), "p50", "p95", "p99"),
        rows=tuple((one.label, *(_cell(one.at(share), unit) for share in SHAPES)) for one in series),
        notes=(_("Markiert sind p50 (Kreis), p95 (Quadrat) und p99 (Raute)."), *notes),
    )


def _cell(value: float | None, unit: str) -> str:
    return _("nicht berechnet") if value is None else formats.quantity(value, unit)


def _describe(series: Sequence[CdfSeries], unit: str, limit: Limit | None) -> str:
    parts = []
    for one in series:
        value = one.at(0.95)
        if value is not None:
            share = formats.percent(0.95, 0)
            facts = {"label": one.label, "share": share, "value": formats.quantity(value, unit)}
            parts.append(_("%(label)s: %(share)s unter %(value)s") % facts)
    return "; ".join([*parts, *([limit.text] if limit else [])]) + "."


def _reachable(series: Sequence[CdfSeries], limit: Limit | None) -> tuple[Limit | None, tuple[str, ...]]:
    if limit is None or limit.value <= FAR_LIMIT * _reach(series):
        return limit, ()
    return None, (_("%(limit)s liegt rechts außerhalb der Achse.") % {"limit": limit.text},)


def _reach(series: Sequence[CdfSeries]) -> float:
    tails = [one.at(0.99) or one.quantiles[-1][1] for one in series]
    last = max(one.quantiles[-1][1] for one in series)
    return min(last, 1.3 * max(tails))


def _axis(series: Sequence[CdfSeries], limit: Limit | None) -> tuple[list[float], _Scale]:
    high = max([_reach(series), *([limit.value * 1.06] if limit else [])])
    spread = any((one.at(0.99) or 0) > LOG_FROM * (one.at(0.5) or math.inf) for one in series)
    low = min(one.quantiles[0][1] for one in series)
    if spread and low > 0:
        ticks = log_ticks(low, high)
        return ticks, _Scale(ticks[0], ticks[-1], log=True)
    ticks = axis_ticks(high, TICKS)
    return ticks, _Scale(0.0, ticks[-1], log=False)


def _beyond(series: Sequence[CdfSeries], high: float, unit: str) -> tuple[str, ...]:
    notes = []
    for one in series:
        if one.quantiles[-1][1] > high:
            facts = {"label": one.label, "end": formats.quantity(high, unit)}
            facts["share"] = formats.percent(1 - one.share_at(high), 2)
            notes.append(
                _("%(label)s: rund %(share)s liegen über %(end)s und sind nicht gezeichnet.") % facts
            )
    return tuple(notes)


def _draw(
    series: Sequence[CdfSeries], frame: Frame, ticks: Sequence[float], scale: _Scale, limit: Limit | None
) -> CdfDrawing:
    curves = tuple(_curve(one, index, frame, scale) for index, one in enumerate(series))
    markers = tuple(mark for index, one in enumerate(series) for mark in _markers(one, index, frame, scale))
    limit_x = scale.x(limit.value, frame) if limit else None
    labels, homeless = _place_labels(series, curves, frame, limit_x)
    return CdfDrawing(
        frame=replace(frame, height=round(frame.bottom + 52 + len(homeless) * 24)),
        x_ticks=tuple(Tick(scale.x(value, frame), formats.number(value)) for value in ticks),
        y_ticks=tuple(Tick(_y(share, frame), formats.percent(share, 0)) for share in (0, 0.25, 0.5, 0.75, 1)),
        curves=curves,
        markers=markers,
        labels=tuple(labels),
        legend=tuple(homeless),
        limit_x=limit_x,
        limit_label=above(limit_x, limit.text, frame) if limit and limit_x is not None else None,
    )


def _y(share: float, frame: Frame) -> float:
    return round(frame.bottom - share * (frame.bottom - frame.top), 1)


def _curve(one: CdfSeries, index: int, frame: Frame, scale: _Scale) -> Curve:
    shown = [(share, value) for share, value in one.quantiles if value <= scale.high]
    if len(shown) < len(one.quantiles):
        shown.append((one.share_at(scale.high), scale.high))
    corners = tuple((scale.x(value, frame), _y(share, frame)) for share, value in shown)
    return Curve(corners, index + 1, DASHES[index])


def _markers(one: CdfSeries, index: int, frame: Frame, scale: _Scale) -> Iterator[Marker]:
    for share, shape in SHAPES.items():
        value = one.at(share)
        if value is not None and value <= scale.high:
            yield Marker(scale.x(value, frame), _y(share, frame), index + 1, shape)


def _place_labels(
    series: Sequence[CdfSeries], curves: Sequence[Curve], frame: Frame, limit_x: float | None
) -> tuple[list[Label], list[LegendEntry]]:
    strokes = [stroke for curve in curves for stroke in curve.strokes]
    if limit_x is not None:
        strokes.append(Stroke(limit_x - 3, frame.top, limit_x - 3, frame.bottom))
        strokes.append(Stroke(limit_x + 3, frame.top, limit_x + 3, frame.bottom))
    labels: list[Label] = []
    homeless: list[LegendEntry] = []
    for one, curve in zip(series, curves, strict=True):
        taken = [label.box(frame.font) for label in labels]
        found = place(
            _candidates(one.label, curve, frame.font),
            font=frame.font,
            area=frame.area,
            strokes=strokes,
            taken=taken,
        )
        labels.extend(found)
        if not found:
            y = frame.bottom + 70 + len(homeless) * 24
            homeless.append(LegendEntry(one.label, curve.tone, curve.dash, y))
    return labels, homeless


def _candidates(text: str, curve: Curve, font: int) -> Iterator[tuple[Label, ...]]:
    """Yield places beside the curve: on one line before two, from its middle outwards, right before left."""
    halves = wrap(text, text_width(text, font) * 0.7, font)
    for lines in ([text], halves):
        for part in (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9):
            y = curve.corners[0][1] + part * (curve.corners[-1][1] - curve.corners[0][1])
            for side, anchor in ((12, "start"), (-12, "end")):
                x = round(_x_at(curve, y) + side, 1)
                yield tuple(
                    Label(x, round(y + 5 + index * font * 1.25, 1), anchor, line, curve.tone)
                    for index, line in enumerate(lines)
                )


def _x_at(curve: Curve, y: float) -> float:
    for (x1, y1), (x2, y2) in itertools.pairwise(curve.corners):
        if min(y1, y2) <= y <= max(y1, y2):
            return x1 if y1 == y2 else x1 + (x2 - x1) * (y - y1) / (y2 - y1)
    return curve.corners[-1][0]
