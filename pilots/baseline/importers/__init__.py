"""Importers of real benchmark files: `read(data, filename)` is the door."""

from pilots.baseline.importers.common import BenchmarkRefused, ImportedBenchmark
from pilots.baseline.importers.registry import read, recognise

__all__ = ["BenchmarkRefused", "ImportedBenchmark", "read", "recognise"]
