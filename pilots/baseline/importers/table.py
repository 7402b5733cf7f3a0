"""A table of your own: CSV with one row per request and headings that carry the unit.

Read are the columns e2e_latency_ms, ttft_ms and tpot_ms, and `success` (1 or 0). Any other table is refused: which
column means what, and in which unit, cannot be read from it and is not guessed.
"""

from __future__ import annotations

import re
from typing import Final

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import (
    NO_COST,
    NO_HARDWARE,
    BenchmarkRefused,
    ImportedBenchmark,
    failure_warning,
    figure,
    refuse_all_failed,
    requests_sentence,
)
from pilots.baseline.importers.reading import Source, csv_rows

NAME: Final = "CSV mit Einheiten in den Überschriften"
COLUMNS: Final = ("e2e_latency_ms", "ttft_ms", "tpot_ms")
_SUCCESS: Final = "success"
_WORDS: Final = {"1": True, "true": True, "0": False, "false": False}
_HEADING: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_ .%/()\[\]-]{0,80}")
_FIRST: Final = re.compile(r"[^,\n]{0,200},[^\n]{1,20000}")
SENTENCE: Final = (
    "Die Überschriften der Tabelle nennen keine Einheiten, die gelesen werden; benennen Sie die Spalten "
    f"{', '.join(COLUMNS)} (eine Zeile je Anfrage) und {_SUCCESS} (1 oder 0)."
)


def recognise(source: Source) -> bool:
    """Say whether a file looks like a comma-separated table; asked last."""
    head = source.start.splitlines()[:2]
    is_table = len(head) == 2 and all(map(_FIRST.fullmatch, head)) and head[0][:1] not in "#{[<:"
    return is_table and head[0].count(",") == head[1].count(",")


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the run of a table; raises BenchmarkRefused with one German sentence."""
    rows = [row for row in csv_rows(source.text()) if row]
    heading = rows[0]
    if not any(name in heading for name in COLUMNS):
        raise BenchmarkRefused("UNIT", SENTENCE)
    if len(set(heading)) != len(heading) or not all(map(_HEADING.fullmatch, heading)):
        raise BenchmarkRefused("DUPLICATE_KEY", "Die Überschriften der Tabelle sind nicht eindeutig.")
    good = _good(rows)
    total = len(rows) - 1
    if not good:
        raise refuse_all_failed(total)
    known = _SUCCESS in heading
    metrics = []
    for name in COLUMNS:
        samples = [figure(row[name], f"Die Spalte {name}") for row in good] if name in heading else []
        metrics += figures.observed(name, samples)
    if known:
        metrics.append(figures.error_rate(len(good), total - len(good)))
    unknown = ("Die Tabelle nennt keine fehlgeschlagenen Anfragen; eine Fehlerquote wird nicht gebildet.",)
    return (
        ImportedBenchmark(
            tool=NAME,
            metrics=tuple(metrics),
            what_it_says=(requests_sentence(len(good), total - len(good)),),
            what_it_cannot_say=(
                "Die Tabelle nennt weder Werkzeug noch Messzeitpunkt; ein Durchsatz wird nicht gebildet.",
                NO_HARDWARE,
                NO_COST,
                *(() if known else unknown),
            ),
            completed=len(good),
            failed=total - len(good) if known else None,
            warnings=tuple(failure_warning(len(good), total - len(good))),
        ),
    )


def _good(rows: list[list[str]]) -> list[dict[str, str]]:
    """Return the cells of the rows of good requests by heading; raises BenchmarkRefused naming the line."""
    heading = rows[0]
    good: list[dict[str, str]] = []
    for index, row in enumerate(rows[1:], 2):
        if len(row) != len(heading):
            raise BenchmarkRefused(
                "TRUNCATED", f"Zeile {index} der Tabelle hat nicht so viele Zellen wie die Überschrift."
            )
        cells = dict(zip(heading, row, strict=True))
        word = cells.get(_SUCCESS, "1").lower()
        if word not in _WORDS:
            raise BenchmarkRefused("NOT_A_NUMBER", f"Zeile {index}: {_SUCCESS} ist weder 1 noch 0.")
        good += [cells] if _WORDS[word] else []
    return good
