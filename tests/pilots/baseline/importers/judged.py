"""Reads a file with the importers and with its oracle, and says where they differ."""

from __future__ import annotations

import gzip
from pathlib import Path

from pilots.baseline.importers import BenchmarkRefused, ImportedBenchmark, Source, read_all, recognise
from qms.core.values import Unit
from tests.pilots.baseline.importers.oracle_figures import Figures
from tests.pilots.baseline.importers.oracles import ORACLES

FILES = Path(__file__).parents[1] / "files"


def load(name: str) -> bytes:
    """Return a sample, unpacked if it is kept as gzip."""
    data = (FILES / name).read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


def importer_of(data: bytes) -> str:
    """Return the name of the importer that knows a file."""
    return recognise(Source.of_bytes(data)).__name__.rpartition(".")[2]


def figures_of(run: ImportedBenchmark) -> Figures:
    """Return the figures of a run in the form of the oracles."""
    return {
        (item.key, item.percentile or "", item.note if item.key == "eval_score" else ""): float(item.value)
        for item in run.metrics
    }


def judge(data: bytes) -> BenchmarkRefused | tuple[ImportedBenchmark, ...]:
    """Return the refusal of a file or its runs; fails where a figure is wrong, or a failed request is not shown."""
    try:
        runs = read_all(Source.of_bytes(data))
    except BenchmarkRefused as refused:
        return one_sentence(refused)
    plain = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    known = ORACLES[importer_of(data)](plain)
    assert len(known) == len(runs)
    for run, oracle in zip(runs, known, strict=True):
        check(run, oracle)
    return runs


def one_sentence(refused: BenchmarkRefused) -> BenchmarkRefused:
    """Return a refusal that people can read."""
    assert refused.message_de.endswith("."), refused.message_de
    assert refused.message_de.isprintable(), refused.message_de
    assert len(refused.message_de) < 700, refused.message_de
    return refused


def check(run: ImportedBenchmark, oracle: Figures) -> None:
    """Compare a run with its oracle."""
    found = figures_of(run)
    for place, value in found.items():
        assert place in oracle, f"{place} is not in the file"
        assert abs(value - oracle[place]) <= 1e-5 * abs(oracle[place]) + 1e-15, (place, value, oracle[place])
    failures = oracle.get(("error_rate", "", ""), 0.0)
    assert failures < 1, "every request failed"
    assert failures == 0 or ("error_rate", "", "") in found, "failed requests are not shown"
    for item in run.metrics:
        assert item.value.is_finite()
        assert item.value >= 0 or item.key == "eval_score"
        assert item.n is None or item.n >= 1
        assert item.unit is not Unit.RATIO or item.value <= 1
        assert item.axes.assurance.value == "EINGEREICHT"
