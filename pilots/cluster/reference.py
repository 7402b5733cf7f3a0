"""Published measurements: reading a file of them strictly, and turning an entry into a case without its answer.

A file is a JSON object with a list `measured`. Of an entry a prediction sees system, workload, metric, unit, and those
of `params` that an allow-list names; id, value, source, quote, confidence and all other figures are taken away first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, NoReturn

from pilots.cluster.errors import ReferenceFileError
from pilots.cluster.reading import dispatch
from pilots.cluster.reading.inputs import ALLOWED_PARAMS, Inputs, Question, Refused, allowed

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_ENTRIES: Final = 20_000
MAX_FIELD: Final = 1_000  # texts that are searched; source and quote may be longer
MAX_PROSE: Final = 20_000
REQUIRED: Final = ("id", "workload")
SEARCHED: Final = ("system", "metric", "unit")
OPTIONAL: Final = ("source", "quote")
CONFIDENCES: Final = ("high", "medium", "low", "derived", "measured")


@dataclass(frozen=True, slots=True)
class Entry:
    """One published figure as the file gives it.

    value: number, text (several figures in one) or None; confidence: "" if the file does not say.
    """

    id: str
    system: str
    workload: str
    metric: str
    unit: str
    params: Mapping[str, Any]
    value: float | str | None = None
    confidence: str = ""
    source: str = ""
    quote: str = ""
    extra: tuple[str, ...] = ()

    @property
    def number(self) -> float | None:
        """The published figure if it is one number above zero, else None."""
        return self.value if isinstance(self.value, float) and self.value > 0 else None


@dataclass(frozen=True, slots=True)
class Reference:
    """All entries of a file in its order; ids are unique."""

    entries: tuple[Entry, ...]


def load(text: str) -> Reference:
    """Read a file of published measurements; raises ReferenceFileError for anything malformed."""
    if len(text) > MAX_BYTES:
        _fail("Die Referenzdatei ist größer als 16 MiB.")
    try:
        data = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique)
    except (json.JSONDecodeError, RecursionError) as error:
        place = f" (Zeile {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        _fail(f"Die Referenzdatei ist kein gültiges JSON{place}.", error)
    except ValueError as error:  # a number with thousands of digits
        _fail("Die Referenzdatei enthält eine Zahl, die zu lang ist.", error)
    if not isinstance(data, dict) or not isinstance(data.get("measured"), list):
        _fail("Die Referenzdatei muss ein JSON-Objekt mit einer Liste „measured“ sein.")
    rows = data["measured"]
    if len(rows) > MAX_ENTRIES:
        _fail(f"Die Referenzdatei hat mehr als {MAX_ENTRIES} Einträge.")
    entries = tuple(_entry(row, number) for number, row in enumerate(rows, 1))
    seen: set[str] = set()
    for entry in entries:
        if entry.id in seen:
            _fail(f"Die Kennung „{_short(entry.id)}“ kommt in der Referenzdatei mehrfach vor.")
        seen.add(entry.id)
    return Reference(entries)


def inputs_of(entry: Entry) -> Inputs:
    """Return what a prediction may see of an entry."""
    params = {
        name.casefold(): value
        for name, value in sorted(entry.params.items())
        if name.casefold() in ALLOWED_PARAMS and allowed(value)
    }
    return Inputs(entry.system, entry.workload, entry.metric, entry.unit, params)


def question_of(entry: Entry) -> Question | Refused:
    """Return the case and unit of an entry, or why it is not predicted; uses `inputs_of` and nothing else."""
    return dispatch.question_of(inputs_of(entry))


def stripped(entry: Entry) -> tuple[str, ...]:
    """Return the names of all fields that were taken away before the prediction, those of `params` in order."""
    kept = inputs_of(entry).params
    fields = ["id"]
    fields += [
        name for name in ("value", "confidence", "source", "quote") if getattr(entry, name) not in (None, "")
    ]
    params = [f"params.{name}" for name in sorted(entry.params) if name.casefold() not in kept]
    return (*fields, *params, *entry.extra)


def _entry(row: object, number: int) -> Entry:
    if not isinstance(row, dict):
        _fail(f"Eintrag {number} der Referenzdatei ist kein JSON-Objekt.")
    row = {name: value for name, value in row.items() if value is not None}  # null says as little as nothing
    for name in REQUIRED:
        if name not in row:
            _fail(f"Eintrag {number} der Referenzdatei hat kein Feld „{name}“.")
    for name in (*REQUIRED, *SEARCHED, *OPTIONAL):
        value = row.get(name, "")
        longest = MAX_PROSE if name in OPTIONAL else MAX_FIELD
        if not isinstance(value, str) or len(value) > longest:
            _fail(
                f"Das Feld „{name}“ von Eintrag {number} muss ein Text von höchstens {longest} Zeichen sein."
            )
    if not row["id"].strip():
        _fail(f"Die Kennung von Eintrag {number} ist leer.")
    params = row.get("params", {})
    if not isinstance(params, dict):
        _fail(f"Das Feld „params“ von Eintrag {number} muss ein JSON-Objekt sein.")
    confidence = row.get("confidence", "")
    if confidence not in CONFIDENCES:
        confidence = ""  # then the entry is predicted and not scored
    known = {*REQUIRED, *SEARCHED, *OPTIONAL, "params", "value", "confidence"}
    return Entry(
        **{name: row[name] for name in REQUIRED},
        **{name: row.get(name, "") for name in (*SEARCHED, *OPTIONAL)},
        params=params,
        value=_value(row.get("value"), number),
        confidence=confidence,
        extra=tuple(sorted(name for name in row if name not in known)),
    )


def _value(value: object, number: int) -> float | str | None:
    if isinstance(value, list | dict):
        return None  # several figures in one: predicted, not scored
    if isinstance(value, bool) or not isinstance(value, int | float | str | None):
        _fail(f"Das Feld „value“ von Eintrag {number} muss eine Zahl oder ein Text sein.")
    if not isinstance(value, int | float):
        return value
    try:
        found = float(value)
    except OverflowError as error:
        _fail(f"Der Wert von Eintrag {number} ist keine endliche Zahl.", error)
    if not isfinite(found):
        _fail(f"Der Wert von Eintrag {number} ist keine endliche Zahl.")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        _fail("Die Referenzdatei nennt ein Feld in einem JSON-Objekt doppelt.")
    return result


def _no_constant(text: str) -> NoReturn:
    _fail(f"Die Referenzdatei enthält {text}, das ist keine endliche Zahl.")


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def _fail(message_de: str, cause: Exception | None = None) -> NoReturn:
    raise ReferenceFileError(message_de, message_de=message_de) from cause
