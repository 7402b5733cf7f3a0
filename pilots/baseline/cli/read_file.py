"""`import`: say what a benchmark file holds, and what it cannot say. The file itself stays the evidence."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Final

from pilots.baseline.cli.words import figure
from pilots.baseline.importers import BenchmarkRefused, ImportedBenchmark, Source, chosen, read_all
from pilots.baseline.importers.reading import MAX_BYTES
from pilots.baseline.mapping import DECIMALS, SEPARATORS, Layout, columns_from, read_table, table_of
from qms.core.values import Metric

HELP: Final = "Eine Messdatei Ihrer Werkzeuge lesen und zeigen, was sie sagt"
_MIB: Final = 2**20
_EVERY: Final = 64 * _MIB


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", metavar="DATEI", help="Messdatei; das Format wird am Inhalt erkannt")
    parser.add_argument(
        "--run", type=int, default=None, help="Nummer des Laufs, falls die Datei mehrere enthält"
    )
    parser.add_argument("--json", action="store_true", help="Ergebnis als JSON")
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="SPALTE=GRÖSSE[:EINHEIT]",
        help="Spalte einer eigenen Tabelle (Überschrift oder Nummer), etwa latency=e2e_latency_ms:s",
    )
    parser.add_argument("--separator", choices=sorted(SEPARATORS), help="was die Spalten trennt, mit --map")
    parser.add_argument(
        "--decimal", choices=sorted(DECIMALS), help="was vor Nachkommastellen steht, mit --map"
    )
    parser.add_argument(
        "--no-header", action="store_true", help="die erste Zeile enthält keine Überschriften"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code; raises BenchmarkRefused."""
    path = Path(arguments.file)
    progress = Progress()
    try:
        if path.is_dir():
            sentence = f"{path} ist ein Ordner; bitte packen Sie ihn als ZIP oder nennen Sie eine Datei."
            raise BenchmarkRefused("NOT_A_FILE", sentence)
        runs = _mapped(path, arguments) if arguments.map else read_all(Source.of_path(path, progress))
        digest = _sha256(path)
    except OSError as error:
        raise BenchmarkRefused("NOT_A_FILE", f"Die Datei {path} lässt sich nicht lesen.") from error
    finally:
        progress.end()
    if arguments.run is not None:
        runs = (chosen(runs, arguments.run),)
    if arguments.json:
        value = {"file": path.name, "sha256": digest, "runs": [run_json(run) for run in runs]}
        sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    else:
        sys.stdout.write("\n\n".join([*map(run_text, runs), f"SHA-256 der Datei: {digest}"]) + "\n")
    return 0


def _mapped(path: Path, arguments: argparse.Namespace) -> tuple[ImportedBenchmark, ...]:
    """Return the run of a table by what the person says of its columns; raises BenchmarkRefused."""
    if not arguments.separator or not arguments.decimal:
        sentence = "Bitte nennen Sie mit --separator und --decimal, wie die Tabelle geschrieben ist; geraten wird nichts."
        raise BenchmarkRefused("UNIT", sentence)
    layout = Layout(arguments.separator, arguments.decimal, headed=not arguments.no_header)
    data = path.read_bytes() if path.stat().st_size <= MAX_BYTES else b"\0" * (MAX_BYTES + 1)
    return (read_table(data, layout, columns_from(arguments.map, table_of(data, layout))),)


class Progress:
    """How much of a large file is read, on one line of standard error; small files say nothing."""

    def __init__(self) -> None:
        self._next = _EVERY
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        """Take note that `done` of `total` bytes are read."""
        if done >= self._next:
            self._next = done + _EVERY
            self._shown = True
            sys.stderr.write(f"\r{done // _MIB} von {total // _MIB} MiB gelesen")
            sys.stderr.flush()

    def end(self) -> None:
        """End the line if there is one."""
        if self._shown:
            sys.stderr.write("\n")


def run_json(run: ImportedBenchmark) -> dict[str, Any]:
    """Return one run as JSON."""
    return {
        "tool": run.tool,
        "version": run.version,
        "label": run.label,
        "metrics": [item.to_json() for item in run.metrics],
        "says": list(run.what_it_says),
        "cannot_say": list(run.what_it_cannot_say),
        "warnings": list(run.warnings),
        "measured_at": run.measured_at,
        "completed": run.completed,
        "failed": run.failed,
        "valid": run.valid,
    }


def run_text(run: ImportedBenchmark) -> str:
    """Return one run as text for people."""
    name = f"{run.tool} {run.version}".strip()
    parts = [
        f"{name}: {run.label}" if run.label else name,
        *(f"  {_line(item)}" for item in run.metrics),
        "Die Datei sagt:",
        *(f"  {text}" for text in run.what_it_says),
        "Die Datei sagt nicht:",
        *(f"  {text}" for text in run.what_it_cannot_say),
        *(f"Hinweis: {text}" for text in run.warnings),
    ]
    return "\n".join(parts)


def _line(item: Metric) -> str:
    facts = [f"n = {item.n}" if item.n is not None else "n unbekannt", *([item.note] if item.note else [])]
    facts += [] if item.reliable else ["nicht belastbar"]
    return f"{figure(item)} ({'; '.join(facts)})"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
