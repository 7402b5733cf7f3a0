"""The text format of Prometheus, line by line: samples with labels, the types and helps that stand before them.

One shortened or broken line refuses the file and is named, as a figure may be missing there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pilots.baseline.importers.common import BenchmarkRefused, figure, short
from pilots.baseline.importers.devices import Readings
from pilots.baseline.importers.reading import lines

NOT_AVAILABLE: Final = 9_223_372_036_854_775_000.0  # DCGM says "no value" with numbers from here on
LARGEST: Final = 2.0**63
_LARGE: Final = re.compile(r"[0-9]{19}(?:\.0{1,9})?|9\.[0-9]{1,18}e\+18", re.ASCII)
_SAMPLE: Final = re.compile(
    r"([a-zA-Z_:][a-zA-Z0-9_:]{0,200})(?:\{(.{0,4000})\})? +(\S{1,60})(?: +[0-9.]{1,30})?(?: # .{0,200})?\s*"
)
_LABEL: Final = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]{0,100})="((?:[^"\\]|\\.){0,1000})"\s*(?:,|$)')
DEVICE_FIELDS: Final = {
    "DCGM_FI_DEV_GPU_UTIL": "busy",
    "DCGM_FI_DEV_FB_USED": "memory",
    "DCGM_FI_DEV_POWER_USAGE": "power",
    "DCGM_FI_DEV_GPU_TEMP": "temperature",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: name, labels, and the text of its value."""

    name: str
    labels: dict[str, str]
    text: str

    def value(self) -> float | None:
        """Return the figure, None for NaN, infinity or DCGM's sign for "no value"; raises BenchmarkRefused."""
        if self.text in {"NaN", "+Inf", "-Inf"}:
            return None
        if _LARGE.fullmatch(self.text) and NOT_AVAILABLE <= float(self.text) <= LARGEST:
            return None
        return figure(self.text, self.name)


def samples(text: str) -> list[Sample]:
    """Return the samples of a scrape; raises BenchmarkRefused naming the first line that is none."""
    found = []
    seen = set()
    for index, line in enumerate(lines(text), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _SAMPLE.fullmatch(line)
        labels = _labels(match[2] or "") if match else None
        if match is None or labels is None:
            raise BenchmarkRefused(
                "TRUNCATED", f"Zeile {index} ist gekürzt oder kein Messwert: {short(line, 40)}."
            )
        mark = (match[1], *sorted(labels.items()))
        if mark in seen:
            raise BenchmarkRefused("DUPLICATE_KEY", f"Zeile {index} nennt dieselbe Messgröße noch einmal.")
        seen.add(mark)
        found.append(Sample(match[1], labels, match[3]))
    return found


def devices_of(found: list[Sample]) -> Readings:
    """Return the readings of devices among the samples."""
    readings = Readings()
    for sample in found:
        field = DEVICE_FIELDS.get(sample.name)
        value = sample.value() if field else None
        if field and value is not None:
            getattr(readings, field).append(value)
    return readings


def models_of(found: list[Sample], label: str) -> str:
    """Return the distinct values of a label for the screen."""
    names = sorted({sample.labels[label] for sample in found if label in sample.labels})
    return short(", ".join(names), 120) or "ohne Angabe"


def _labels(text: str) -> dict[str, str] | None:
    labels: dict[str, str] = {}
    place = 0
    while place < len(text):
        match = _LABEL.match(text, place)
        if match is None or match[1] in labels:
            return None
        labels[match[1]] = match[2]
        place = match.end()
    return labels
