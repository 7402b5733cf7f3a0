"""Values with provenance: a number never travels without its unit and its three evidence axes. Django-free.

The stored and exported value of each enum is the catalogue's German code (architecture, decisions 9 and 15).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any


class Provenance(StrEnum):
    """Where a value comes from (Herkunft, spec 3.7.4)."""

    MEASURED = "GEMESSEN"
    EMULATED = "EMULIERT"
    VENDOR_STATED = "HERSTELLERANGABE"
    DERIVED = "ABGELEITET"
    ESTIMATED = "GESCHAETZT"


class Assurance(StrEnum):
    """How hard it would have been to change the value beforehand (Absicherung); rises in this order."""

    SUBMITTED = "EINGEREICHT"
    CROSS_CHECKED = "GEGENGEPRUEFT"
    SIGNED_BY_COMMAND = "MESSBEFEHL_SIGNIERT"
    REPEATED = "WIEDERHOLT"

    @property
    def rank(self) -> int:
        """Position in the order of rising assurance, from 0."""
        return list(Assurance).index(self)


class Origin(StrEnum):
    """Who produced the value (Quelle)."""

    OWN = "EIGEN"
    THIRD_PARTY = "DRITTE"
    PUBLISHED = "VEROEFFENTLICHT"


class Calibration(StrEnum):
    """Whether an emulated value lies inside the range the emulator was calibrated on (EM-04)."""

    CALIBRATED = "KALIBRIERT"
    EXTRAPOLATED = "EXTRAPOLIERT"


class Unit(StrEnum):
    """Units of the metric catalogue (spec 3.10)."""

    NONE = ""
    MILLISECONDS = "ms"
    SECONDS = "s"
    BYTES = "B"
    RATIO = "ratio"
    PERCENT = "%"
    PER_SECOND = "1/s"
    TOKENS_PER_SECOND = "tokens/s"
    SAMPLES_PER_SECOND = "samples/s"
    CYCLES = "cycles"
    JOULES = "J"
    EURO = "EUR"
    WATTS = "W"
    HOURS = "h"
    CELSIUS = "°C"
    BYTES_PER_SECOND = "B/s"


class Better(StrEnum):
    """Which direction of a metric is an improvement."""

    HIGHER = "HIGHER"
    LOWER = "LOWER"


class MetricError(ValueError):
    """A metric or its JSON form is malformed; the message names the field."""


@dataclass(frozen=True, slots=True)
class Axes:
    """The three evidence axes beside a value."""

    provenance: Provenance
    assurance: Assurance
    origin: Origin

    def to_json(self) -> dict[str, str]:
        """Return the exported form: one catalogue code per axis."""
        return {
            "provenance": self.provenance.value,
            "assurance": self.assurance.value,
            "origin": self.origin.value,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Axes:
        """Read the exported form; raises ValueError for an unknown code, KeyError for a missing axis."""
        return cls(Provenance(data["provenance"]), Assurance(data["assurance"]), Origin(data["origin"]))


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval in the unit of its metric; for emulated values the 90 % interval of the model error."""

    lower: Decimal
    upper: Decimal


@dataclass(frozen=True, slots=True)
class Metric:
    """One value with unit and axes.

    key: name of the metric catalogue, for example `e2e_latency_ms`; value: in `unit`; n: sample size or None;
    percentile: such as "p95" or None; interval and calibration: emulated values only; reliable: False when
    the sample is too small for the percentile (POL-56, "nicht belastbar"); note: for example EM-06.
    """

    key: str
    value: Decimal
    unit: Unit
    axes: Axes
    n: int | None = None
    percentile: str | None = None
    interval: Interval | None = None
    calibration: Calibration | None = None
    reliable: bool = True
    note: str = ""

    def pessimistic(self, better: Better) -> Decimal:
        """Return the value a gate may judge: the unfavourable end of the interval, else the value (EM-04)."""
        if self.interval is None:
            return self.value
        return self.interval.lower if better is Better.HIGHER else self.interval.upper

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form; decimals are strings, absent fields are left out."""
        data: dict[str, Any] = {"key": self.key, "value": decimal_text(self.value), "unit": self.unit.value}
        data |= {"axes": self.axes.to_json(), "reliable": self.reliable}
        optional = {
            "n": self.n,
            "percentile": self.percentile,
            "calibration": self.calibration and self.calibration.value,
            "note": self.note or None,
        }
        data |= {key: value for key, value in optional.items() if value is not None}
        if self.interval is not None:
            data["interval"] = {
                "lower": decimal_text(self.interval.lower),
                "upper": decimal_text(self.interval.upper),
            }
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Metric:
        """Read the form written by `to_json`; raises MetricError naming what is wrong."""
        try:
            interval = data.get("interval")
            return cls(
                key=data["key"],
                value=Decimal(data["value"]),
                unit=Unit(data["unit"]),
                axes=Axes.from_json(data["axes"]),
                n=data.get("n"),
                percentile=data.get("percentile"),
                interval=Interval(Decimal(interval["lower"]), Decimal(interval["upper"]))
                if interval
                else None,
                calibration=Calibration(data["calibration"]) if "calibration" in data else None,
                reliable=data["reliable"],
                note=data.get("note", ""),
            )
        except (KeyError, ValueError, InvalidOperation, TypeError) as error:
            raise MetricError(f"metric is malformed: {error!r}") from error


def decimal_text(value: Decimal) -> str:
    """Return a plain decimal string without exponent and without trailing zeros ("1.5", "0", "-3")."""
    if not value.is_finite():
        raise MetricError(f"{value} is not a finite number")
    text = format(value.normalize(), "f")
    return "0" if text in {"-0", ""} else text


def rounded(value: float, significant_digits: int = 6) -> Decimal:
    """Return a float measurement as Decimal with the given number of significant digits; NaN and infinity raise."""
    number = Decimal(repr(float(value)))
    if not number.is_finite():
        raise MetricError(f"{value} is not a finite number")
    if number == 0:
        return Decimal(0)
    return number.quantize(Decimal(1).scaleb(number.adjusted() - significant_digits + 1)).normalize()


def weakest(axes: list[Axes]) -> Axes:
    """Return the axes of a value derived from others: ABGELEITET with the lowest assurance (EM-01)."""
    if not axes:
        raise MetricError("a derived value needs at least one input")
    assurance = min((item.assurance for item in axes), key=lambda item: item.rank)
    origins = {item.origin for item in axes}
    order = [Origin.PUBLISHED, Origin.THIRD_PARTY, Origin.OWN]
    return Axes(Provenance.DERIVED, assurance, next(item for item in order if item in origins))
