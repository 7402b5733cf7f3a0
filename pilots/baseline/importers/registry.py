"""Which importer reads a file: one table, asked in order."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from pilots.baseline.importers import mlperf_loadgen, vllm
from pilots.baseline.importers.common import BenchmarkRefused, ImportedBenchmark, checked_text

IMPORTERS: Final[tuple[ModuleType, ...]] = (mlperf_loadgen, vllm)


def recognise(data: bytes, filename: str) -> ModuleType:
    """Return the importer of a file; raises BenchmarkRefused if the file breaks a limit or no importer knows it."""
    text = checked_text(data)
    for importer in IMPORTERS:
        if importer.recognise(text, filename):
            return importer
    names = ", ".join(importer.NAME for importer in IMPORTERS)
    raise BenchmarkRefused("UNKNOWN_FORMAT", f"Das Format der Datei ist unbekannt; gelesen werden: {names}.")


def read(data: bytes, filename: str) -> ImportedBenchmark:
    """Recognise and read a benchmark file; raises BenchmarkRefused with one German sentence."""
    result: ImportedBenchmark = recognise(data, filename).read(data)
    return result
