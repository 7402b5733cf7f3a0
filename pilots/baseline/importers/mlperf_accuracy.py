"""`accuracy.txt` of MLPerf Inference: quality figures as a Python dictionary in one line. Nothing in it is executed."""

from __future__ import annotations

import re
from typing import Final

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import NO_HARDWARE, BenchmarkRefused, ImportedBenchmark, figure
from pilots.baseline.importers.reading import Source, lines
from qms.core.values import Unit

NAME: Final = "MLPerf Inference (accuracy.txt)"
_PAIR: Final = re.compile(r"'([A-Za-z0-9_]{1,40})': ([^,{}' ]{1,40})(?:, |$)")
_SCORES: Final = ("rouge1", "rouge2", "rougeL", "rougeLsum", "exact_match", "mbxp_accuracy")
_COUNT: Final = "gen_num"


def recognise(source: Source) -> bool:
    """Say whether a file holds such a line."""
    text = source.start[:4000]
    return "hash=" in text and "{'" in text and "'gen_len'" in text


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the quality figures; raises BenchmarkRefused with one German sentence."""
    found = [line.strip() for line in lines(source.text()) if line.strip().startswith("{'")]
    if len(found) != 1 or not found[0].endswith("}"):
        raise BenchmarkRefused("TRUNCATED", "Die Datei enthält nicht genau eine Zeile mit Gütewerten.")
    pairs = _PAIR.findall(found[0][1:-1])
    if "".join(f"'{key}': {text}, " for key, text in pairs).removesuffix(", ") != found[0][1:-1]:
        raise BenchmarkRefused("NOT_THIS_TOOL", "Die Zeile mit den Gütewerten ist nicht lesbar.")
    if len(dict(pairs)) != len(pairs):
        raise BenchmarkRefused("DUPLICATE_KEY", "Ein Gütewert kommt doppelt vor.")
    values = {key: figure(text, key) for key, text in pairs}
    n = int(values[_COUNT]) if _COUNT in values else None
    return (
        ImportedBenchmark(
            tool=NAME,
            metrics=tuple(
                figures.metric("eval_score", values[key], Unit.NONE, n, note=key)
                for key in _SCORES
                if key in values
            ),
            what_it_says=(f"Gütewerte über {n or 'eine unbekannte Zahl von'} Antworten.",),
            what_it_cannot_say=(
                "Die Datei enthält weder Durchsatz noch Antwortzeiten.",
                "Die Datei nennt weder Modell noch Messzeitpunkt.",
                NO_HARDWARE,
            ),
            completed=n,
        ),
    )
