"""Forecast against reality (S019, POL-54): each figure of a measured target run beside the emulated one. Pure.

The comparison changes neither the calibration nor the published error of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from qms.core.values import Axes, Metric, decimal_text, rounded, weakest


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. error: (emulated - measured) / measured, None where nothing was measured but zero.

    inside: whether the measured value lies in the interval of the emulated one, None where it has none.
    """

    emulated: Metric
    measured: Metric
    error: Decimal | None
    inside: bool | None

    def within(self, limit: Decimal) -> bool | None:
        """Return whether the error is at most `limit`, None where there is no error."""
        return None if self.error is None else abs(self.error) <= limit


@dataclass(frozen=True, slots=True)
class Forecast:
    """All figures both runs have; alone: keys of measured figures that nobody forecast; limit: POL-54 as a share."""

    rows: tuple[Row, ...]
    alone: tuple[str, ...]
    limit: Decimal

    @property
    def worst(self) -> Decimal | None:
        """The largest error of any figure, as a share; None where there is none."""
        return max((abs(row.error) for row in self.rows if row.error is not None), default=None)

    @property
    def holds(self) -> bool | None:
        """Whether every error is within POL-54; None where there is none to judge."""
        return None if self.worst is None else self.worst <= self.limit

    def to_json(self) -> dict[str, Any]:
        """Return the part of EV-30 that says what was compared."""
        return {
            "limit": decimal_text(self.limit),
            "worst": None if self.worst is None else decimal_text(self.worst),
            "holds": self.holds,
            "alone": list(self.alone),
            "rows": [
                {
                    "emulated": row.emulated.to_json(),
                    "measured": row.measured.to_json(),
                    "error": None if row.error is None else decimal_text(row.error),
                    "inside": row.inside,
                }
                for row in self.rows
            ],
        }


def compare(
    emulated: Sequence[Mapping[str, Any]], measured: Sequence[Mapping[str, Any]], limit: Decimal
) -> Forecast:
    """Set the figures of a measured run beside their forecast; figures in the JSON form of `Metric`."""
    forecast = {(item.key, item.percentile): item for item in map(_metric, emulated)}
    rows, alone = [], []
    for item in map(_metric, measured):
        found = forecast.get((item.key, item.percentile))
        if found is not None and found.unit is item.unit:
            rows.append(_row(found, item))
        elif item.key not in alone:
            alone.append(item.key)
    compared = {row.measured.key for row in rows}
    return Forecast(tuple(rows), tuple(key for key in alone if key not in compared), limit)


def axes_of(forecast: Forecast) -> Axes:
    """Return the axes of the errors: derived, with the lowest assurance of what they come from."""
    return weakest([item.axes for row in forecast.rows for item in (row.emulated, row.measured)])


def _row(emulated: Metric, measured: Metric) -> Row:
    error = None
    if measured.value:
        error = rounded(float((emulated.value - measured.value) / measured.value), 4)
    span = emulated.interval
    return Row(
        emulated, measured, error, None if span is None else span.lower <= measured.value <= span.upper
    )


def _metric(row: Mapping[str, Any]) -> Metric:
    return Metric.from_json(dict(row))
