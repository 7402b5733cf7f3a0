"""What every importer shares: limits, strict parsing, and one German sentence for each refusal.

Limits (checked in this order): size 8 MiB, no compression, UTF-8, nesting depth 12, no duplicate key, no NaN or
infinity, figures finite and not negative.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any, Final

from qms.core.values import Assurance, Axes, Metric, Origin, Provenance, Unit, rounded

MAX_BYTES: Final = 8 * 2**20
MAX_DEPTH: Final = 12
MAX_LINES: Final = 200_000
MAX_NUMBER: Final = 1e18
AXES: Final = Axes(Provenance.MEASURED, Assurance.SUBMITTED, Origin.OWN)
_COMPRESSED: Final = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")


class BenchmarkRefused(ValueError):
    """A file is not imported; `code` is stable, `message_de` is one German sentence."""

    def __init__(self, code: str, message_de: str) -> None:
        super().__init__(f"{code}: {message_de}")
        self.code = code
        self.message_de = message_de


@dataclass(frozen=True, slots=True)
class ImportedBenchmark:
    """A benchmark file, understood. `what_it_says` and `what_it_cannot_say` are German sentences for the screen.

    measured_at: ISO 8601 as the file gives it, None if it does not; without an offset the zone is unknown.
    completed and failed: requests, None if the file does not say; valid: the tool's own verdict on its run, or None.
    """

    tool: str
    metrics: tuple[Metric, ...]
    what_it_says: tuple[str, ...]
    what_it_cannot_say: tuple[str, ...]
    measured_at: str | None
    completed: int | None
    failed: int | None
    valid: bool | None
    warnings: tuple[str, ...]


def checked_text(data: bytes) -> str:
    """Return the text of a file inside the limits; raises BenchmarkRefused."""
    if not data.strip():
        raise BenchmarkRefused("EMPTY", "Die Datei ist leer.")
    if len(data) > MAX_BYTES:
        raise BenchmarkRefused("TOO_LARGE", f"Die Datei ist größer als {MAX_BYTES // 2**20} MiB.")
    if data.startswith(_COMPRESSED):
        raise BenchmarkRefused(
            "COMPRESSED", "Die Datei ist komprimiert; bitte laden Sie die entpackte Datei hoch."
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BenchmarkRefused("NOT_TEXT", "Die Datei ist kein Text in UTF-8.") from error


def parse_json(text: str) -> Any:
    """Return the value of a JSON text inside the limits; raises BenchmarkRefused."""
    if _depth(text) > MAX_DEPTH:
        raise BenchmarkRefused("TOO_DEEP", f"Die Datei ist tiefer als {MAX_DEPTH} Ebenen verschachtelt.")
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except BenchmarkRefused:
        raise
    except (ValueError, RecursionError) as error:
        raise BenchmarkRefused("NOT_JSON", "Die Datei ist kein gültiges JSON.") from error


def number(data: Mapping[str, Any], key: str) -> float | None:
    """Return a finite figure that is not negative, None if absent or null; raises BenchmarkRefused."""
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BenchmarkRefused("NOT_A_NUMBER", f"Das Feld {_short(key)} enthält keine Zahl.")
    if not isfinite(value) or value < 0 or value > MAX_NUMBER:
        raise BenchmarkRefused("BAD_NUMBER", f"Das Feld {_short(key)} enthält keinen möglichen Messwert.")
    return float(value)


def count(data: Mapping[str, Any], key: str) -> int | None:
    """Return a whole number of things, None if absent or null; raises BenchmarkRefused."""
    value = number(data, key)
    if value is None:
        return None
    if value != int(value):
        raise BenchmarkRefused("NOT_A_COUNT", f"Das Feld {_short(key)} enthält keine ganze Zahl.")
    return int(value)


def metric(
    key: str, value: float, unit: Unit, n: int | None, *, percentile: str | None = None, reliable: bool = True
) -> Metric:
    """Return an imported figure: GEMESSEN, EINGEREICHT, EIGEN; the reader may set the origin otherwise."""
    return Metric(key, rounded(value), unit, AXES, n=n, percentile=percentile, reliable=reliable)


def check_order(values: Mapping[str, float], subject: str) -> None:
    """Refuse percentiles that fall where they must rise; keys are percents as text ("50", "99.9")."""
    ordered = [values[key] for key in sorted(values, key=float)]
    if any(later < earlier for earlier, later in pairwise(ordered)):
        raise BenchmarkRefused("CONTRADICTION", f"Die Perzentile ({subject}) widersprechen sich.")


def refuse_all_failed(total: int) -> BenchmarkRefused:
    """Return the refusal of a file in which no request succeeded."""
    sentence = f"Alle {total} Anfragen sind fehlgeschlagen; die Datei enthält keine verwertbaren Messwerte."
    return BenchmarkRefused("ALL_FAILED", sentence)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise BenchmarkRefused("DUPLICATE_KEY", f"Das Feld {_short(key)} kommt doppelt vor.")
        result[key] = value
    return result


def _no_constant(text: str) -> Any:
    raise BenchmarkRefused("NOT_FINITE", f"Die Datei enthält {text} statt einer Zahl.")


def _short(key: str) -> str:
    return "".join(item if item.isprintable() else "?" for item in key[:60])


def _depth(text: str) -> int:
    """Return the deepest nesting, without parsing: brackets outside of strings."""
    depth = deepest = 0
    inside = escaped = False
    for character in text:
        if inside:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                inside = False
        elif character == '"':
            inside = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > MAX_DEPTH:
                return deepest
        elif character in "]}":
            depth -= 1
    return deepest
