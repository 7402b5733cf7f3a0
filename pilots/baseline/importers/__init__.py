"""Importers of real benchmark files: `read(data, filename)` is the door."""

from pilots.baseline.importers.common import BenchmarkRefused, ImportedBenchmark
from pilots.baseline.importers.reading import Source
from pilots.baseline.importers.registry import chosen, read, read_all, recognise

__all__ = ["BenchmarkRefused", "ImportedBenchmark", "Source", "chosen", "read", "read_all", "recognise"]
