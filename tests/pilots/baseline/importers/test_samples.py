"""Every sample of a real tool: the figures `expected.json` states, or the reason it is refused for.

The stated figures were taken from the files by the oracles, not by the importers: value, unit, and n.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pilots.baseline.importers import BenchmarkRefused, Source, read_all
from tests.pilots.baseline.importers.judged import FILES, figures_of, importer_of, judge, load

EXPECTED: dict[str, Any] = json.loads((Path(__file__).parent / "expected.json").read_text())
READ = {name: runs for name, runs in EXPECTED.items() if isinstance(runs, list)}
REFUSED = {name: code for name, code in EXPECTED.items() if isinstance(code, str)}


def test_expectations_name_every_sample() -> None:
    assert set(EXPECTED) == {path.name for path in FILES.iterdir()} - {"README.md"}


@pytest.mark.parametrize("name", READ)
def test_sample_gives_its_figures(name: str) -> None:
    runs = judge((FILES / name).read_bytes())
    assert isinstance(runs, tuple)
    assert len(runs) == len(READ[name])
    for run, stated in zip(runs, READ[name], strict=True):
        found = {" ".join(filter(None, place)): value for place, value in figures_of(run).items()}
        assert found == pytest.approx({key: row[0] for key, row in stated["figures"].items()}, rel=1e-5)
        assert [(item.unit.value, item.n) for item in run.metrics] == [
            tuple(row[1:]) for row in stated["figures"].values()
        ]
        for field in ("version", "completed", "failed", "valid", "measured_at"):
            assert getattr(run, field) == stated[field]
        assert run.what_it_says
        assert run.what_it_cannot_say


@pytest.mark.parametrize("name", READ)
def test_sample_is_recognised_by_its_content(name: str) -> None:
    assert importer_of(load(name)) == READ[name][0]["importer"]
    assert importer_of((FILES / name).read_bytes()) == READ[name][0]["importer"]


@pytest.mark.parametrize("name", REFUSED)
def test_sample_is_refused_for_the_right_reason(name: str) -> None:
    refused = judge((FILES / name).read_bytes())
    assert isinstance(refused, BenchmarkRefused)
    assert refused.code == REFUSED[name]


@pytest.mark.parametrize("name", READ)
def test_sample_may_be_packed(name: str) -> None:
    packed = gzip.compress(load(name), mtime=0)
    assert read_all(Source.of_bytes(packed)) == read_all(Source.of_bytes(load(name)))


def test_both_files_of_one_guidellm_run_agree() -> None:
    (first,), (second,) = (
        read_all(Source.of_bytes(load(name)))
        for name in ("guidellm-0.8.1_ok.json.gz", "guidellm-0.8.1_ok.csv")
    )
    assert first.metrics == second.metrics


def test_both_files_of_one_aiperf_run_agree() -> None:
    (first,), (second,) = (
        read_all(Source.of_bytes(load(f"aiperf-0.13.0_ok_profile_export_aiperf.{ending}")))
        for ending in ("json", "csv")
    )
    assert figures_of(first) == pytest.approx(figures_of(second), rel=2e-3)


def test_trace_of_128_devices_gives_the_published_shares() -> None:
    (run,) = read_all(Source.of_bytes(load("nccl_world128_sampled_rank0.json.gz")))
    assert "Fenster 1222,847\u00a0ms, Geräte: 1, Kernel: 1154." in run.what_it_says
    assert "Beschäftigt 547,656\u00a0ms, nicht verdeckte Kommunikation 336,033\u00a0ms." in run.what_it_says
