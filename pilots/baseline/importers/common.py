"""What every importer shares: limits, what a file becomes, figures out of mappings, one German sentence per refusal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from qms.core.values import Assurance, Axes, Metric, Origin, Provenance

MAX_NUMBER: Final = 1e18
MAX_TEXT: Final = 120
AXES: Final = Axes(Provenance.MEASURED, Assurance.SUBMITTED, Origin.OWN)
NO_HARDWARE: Final = "Die Datei nennt weder Hardware noch Treiber noch Topologie."
NO_COST: Final = "Die Datei enthält keinen Speicherverbrauch und keine Kosten."
ONE_RUN: Final = "Die Datei ist eine einzelne Wiederholung; über die Streuung sagt sie nichts."
_NUMBER: Final = re.compile(
    r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?", re.ASCII
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_SECONDS: Final = 253_402_300_799  # the last second a date can name


class BenchmarkRefused(ValueError):
    """A file is not imported; `code` is stable, `message_de` is one German sentence."""

    def __init__(self, code: str, message_de: str) -> None:
        super().__init__(f"{code}: {message_de}")
        self.code = code
        self.message_de = message_de


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a result of our own measuring command says beyond any other file.

    kind: GRAPH or ENDPUNKT; fingerprint and model_digest: "" for an endpoint; sha256: of the statement;
    public_key: base64 of the key whose signature holds, "" for a file without one; throughput_cv: a share;
    durations_ns: every good request; method: how it was measured, label and text in German.
    """

    kind: str
    fingerprint: str
    model_digest: str
    sha256: str
    public_key: str
    repetitions: int
    iterations: int
    throughput_cv: float
    durations_ns: tuple[int, ...]
    environment: Mapping[str, Any]
    method: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ImportedBenchmark:
    """One run of a benchmark file, understood. `what_it_says` and `what_it_cannot_say` are German sentences.

    measured_at: ISO 8601 as the file gives it, None if it does not; without an offset the zone is unknown.
    completed and failed: requests, None if the file does not say; valid: the tool's own verdict on its run, or None.
    version: of the tool, "" if the file does not say; label: what tells this run from others of the same file.
    measured_until: when the measurement ended, as `measured_at`; None if the file does not say.
    lasted_s: how long it lasted, where `measured_at` may be its start or its end.
    measurement: what our own measuring command adds, None for every other tool.
    """

    tool: str
    metrics: tuple[Metric, ...]
    what_it_says: tuple[str, ...]
    what_it_cannot_say: tuple[str, ...]
    measured_at: str | None = None
    completed: int | None = None
    failed: int | None = None
    valid: bool | None = None
    warnings: tuple[str, ...] = ()
    version: str = ""
    label: str = ""
    measured_until: str | None = None
    lasted_s: float | None = None
    measurement: Measurement | None = None


def number(data: Mapping[str, Any], key: str, *, name: str = "", most: float = MAX_NUMBER) -> float | None:
    """Return a finite figure that is not negative, None if absent or null; raises BenchmarkRefused."""
    value = data.get(key)
    if value is None:
        return None
    shown = short(name or key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BenchmarkRefused("NOT_A_NUMBER", f"Das Feld {shown} enthält keine Zahl.")
    if not 0 <= value <= most:  # also NaN, infinity, and integers no float can hold
        raise BenchmarkRefused("BAD_NUMBER", f"Das Feld {shown} enthält keinen möglichen Messwert.")
    return float(value)


def count(data: Mapping[str, Any], key: str, *, name: str = "") -> int | None:
    """Return a whole number of things, None if absent or null; raises BenchmarkRefused."""
    value = number(data, key, name=name)
    if value is None:
        return None
    if value != int(value):
        raise BenchmarkRefused("NOT_A_COUNT", f"Das Feld {short(name or key)} enthält keine ganze Zahl.")
    return int(value)


def needed(value: float | None, name: str) -> float:
    """Return a figure that must be there; raises BenchmarkRefused naming it."""
    if value is None:
        raise BenchmarkRefused("MISSING_FIELD", f"Der Datei fehlt das Feld {short(name)}.")
    return value


def needed_count(data: Mapping[str, Any], key: str) -> int:
    """Return a whole number that must be there; raises BenchmarkRefused naming it."""
    return int(needed(count(data, key), key))


def figure(text: str, name: str) -> float:
    """Return the figure a cell or line holds, finite and not negative; raises BenchmarkRefused naming the place."""
    if not _NUMBER.fullmatch(text.strip()):
        raise BenchmarkRefused("NOT_A_NUMBER", f"{short(name)} enthält keine Zahl.")
    value = float(text)
    if not 0 <= value <= MAX_NUMBER:
        raise BenchmarkRefused("BAD_NUMBER", f"{short(name)} enthält keinen möglichen Messwert.")
    return value


def mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the object below a key, empty if absent or null; raises BenchmarkRefused if it is something else."""
    value = data.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BenchmarkRefused("MISSING_FIELD", f"Das Feld {short(key)} ist anders aufgebaut als erwartet.")
    return value


def text_of(data: Mapping[str, Any], key: str, otherwise: str = "ohne Angabe") -> str:
    """Return a text of a file for the screen: one printable line, bounded."""
    value = data.get(key)
    return short(str(value), MAX_TEXT) if isinstance(value, str | int | float) and value != "" else otherwise


def short(text: str, most: int = 60) -> str:
    """Return a bounded text without control characters."""
    return "".join(item if item.isprintable() else "?" for item in text[:most])


def moment(seconds: float | None) -> str | None:
    """Return ISO 8601 in UTC for seconds since 1970, None for none or for what no date can name."""
    if seconds is None or not 0 < seconds < _LATEST_SECONDS:
        return None
    return (_EPOCH + timedelta(seconds=int(seconds))).strftime("%Y-%m-%dT%H:%M:%SZ")


def until(start: str | None, seconds: float) -> str | None:
    """Return ISO 8601 for the end of what began at `start`, in its own zone; None for none or for what no date can name."""
    try:
        return (datetime.fromisoformat(start or "") + timedelta(seconds=seconds)).isoformat()
    except (ValueError, OverflowError):
        return None


def iso(value: Any) -> str | None:
    """Return a text if it is a date in ISO 8601, else None."""
    try:
        datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return str(value)


def refuse_all_failed(total: int | None) -> BenchmarkRefused:
    """Return the refusal of a file in which no request succeeded; None: the file does not say how many were sent."""
    if total == 0:
        return BenchmarkRefused("EMPTY", "Die Datei enthält keine Anfragen.")
    if total is None:
        sentence = "Keine Anfrage war erfolgreich; die Datei enthält keine verwertbaren Messwerte."
        return BenchmarkRefused("ALL_FAILED", sentence)
    sentence = f"Alle {total} Anfragen sind fehlgeschlagen; die Datei enthält keine verwertbaren Messwerte."
    return BenchmarkRefused("ALL_FAILED", sentence)


def requests_sentence(completed: int, failed: int) -> str:
    """Return how many requests succeeded."""
    return f"{completed} von {completed + failed} Anfragen waren erfolgreich."


def failure_warning(completed: int, failed: int) -> list[str]:
    """Return the warning about failed requests, none if all succeeded."""
    if not failed:
        return []
    return [
        f"{failed} von {completed + failed} Anfragen sind fehlgeschlagen.",
        "Antwortzeiten gelten nur für erfolgreiche Anfragen.",
    ]
