"""Results of lm-evaluation-harness: scores per task ("metric,filter"), or the single answers (--log_samples).

Scores say how good the answers are, nothing about speed. Their error estimates are no scores and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any, Final

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import (
    MAX_NUMBER,
    NO_HARDWARE,
    BenchmarkRefused,
    ImportedBenchmark,
    count,
    mapping,
    moment,
    number,
    short,
    text_of,
)
from pilots.baseline.importers.reading import Source, json_lines, json_object
from qms.core.values import Metric, Unit

NAME: Final = "lm-evaluation-harness"
_NOT_SCORES: Final = ("name", "alias", "sample_len", "samples", "sample_count")
_NO_SPEED: Final = "Die Datei enthält weder Durchsatz noch Antwortzeiten, Speicher oder Kosten."


def recognise(source: Source) -> bool:
    """Say whether a file looks like results or answers of this tool."""
    text = source.start.lstrip()
    answers = '"doc_id"' in text.partition("\n")[0] and '"filtered_resps"' in text.partition("\n")[0]
    scores = all(f'"{key}"' in text for key in ("results", "versions", "n-shot"))
    return text.startswith("{") and (answers or scores)


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the scores of a file; raises BenchmarkRefused with one German sentence."""
    first = source.start.lstrip().partition("\n")[0]
    return (_answers(source) if '"filtered_resps"' in first else _scores(json_object(source)),)


def _scores(value: Mapping[str, Any]) -> ImportedBenchmark:
    metrics: list[Metric] = []
    results, samples = mapping(value, "results"), mapping(value, "n-samples")
    for task in results:
        n = count(mapping(samples, task), "effective")
        row = mapping(results, task)
        metrics += [
            figures.metric("eval_score", score, Unit.NONE, n, note=short(f"{task}: {name}", 100))
            for name in row
            if "stderr" not in name and name not in _NOT_SCORES
            if (score := _score(row, name)) is not None
        ]
    model = text_of(value, "model_name", text_of(mapping(value, "config"), "model"))
    return ImportedBenchmark(
        tool=NAME,
        metrics=tuple(metrics),
        what_it_says=(f"Modell laut Datei: {model}.", f"{len(results)} Aufgaben bewertet."),
        what_it_cannot_say=(_NO_SPEED, NO_HARDWARE),
        measured_at=moment(number(value, "date")),
        version=text_of(value, "lm_eval_version", ""),
    )


def _answers(source: Source) -> ImportedBenchmark:
    scores: dict[str, list[float]] = {}
    seen: set[tuple[Any, Any]] = set()
    rows = json_lines(source)
    for row in rows:
        mark = (row.get("doc_id"), row.get("filter"))
        names = row.get("metrics")
        plain = isinstance(mark[0], int) and isinstance(mark[1], str | None)
        if not plain or not isinstance(names, list) or mark in seen:
            raise BenchmarkRefused(
                "CONTRADICTION", "Eine Antwort kommt doppelt vor oder nennt keine Bewertung."
            )
        seen.add(mark)
        for name in names:
            score = _score(row, str(name))
            if score is None:
                raise BenchmarkRefused(
                    "MISSING_FIELD", f"Einer Antwort fehlt die Bewertung {short(str(name))}."
                )
            scores.setdefault(f"{name},{row.get('filter')}", []).append(score)
    return ImportedBenchmark(
        tool=NAME,
        metrics=tuple(
            figures.metric("eval_score", fmean(found), Unit.NONE, len(found), note=short(name, 100))
            for name, found in scores.items()
        ),
        what_it_says=(f"{len(rows)} einzeln bewertete Antworten.",),
        what_it_cannot_say=(
            "Die Datei nennt weder Aufgabe noch Modell noch Messzeitpunkt.",
            _NO_SPEED,
            NO_HARDWARE,
        ),
        completed=len(rows),
    )


def _score(row: Mapping[str, Any], name: str) -> float | None:
    """Return a finite score, which may be negative; None for a text such as "N/A"."""
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not abs(value) <= MAX_NUMBER:
        raise BenchmarkRefused("BAD_NUMBER", f"Die Bewertung {short(name)} ist kein möglicher Wert.")
    return float(value)
