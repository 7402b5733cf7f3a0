"""The oracle of our own results: every figure once more from the single times, without the code that wrote them."""

from __future__ import annotations

import json
from typing import Any

from tests.pilots.baseline.importers.oracle_figures import Figures, put, rank


def measured(data: bytes) -> list[Figures]:
    said = json.loads(data)["statement"]
    return [_graph(said) if said["kind"] == "GRAPH" else _endpoint(said)]


def _graph(said: dict[str, Any]) -> Figures:
    found: Figures = {}
    times = [value for row in said["durations_ns"] for value in row]
    put(found, "throughput_samples_s", said["workload"]["batch"] * len(times) / (sum(times) / 1e9))
    _ranks(found, "e2e_latency_ms", times)
    put(found, "peak_memory_bytes", max(said["peak_memory_bytes"]))
    put(found, "error_rate", said["failed"] / len(times))
    return found


def _endpoint(said: dict[str, Any]) -> Figures:
    found: Figures = {}
    answers = [item for row in said["repetitions"] for item in row["answers"]]
    good = [item for item in answers if "error" not in item]
    seconds = sum(row["wall_ns"] for row in said["repetitions"]) / 1e9
    put(found, "throughput_samples_s", len(good) / seconds)
    put(found, "throughput_tokens_s", sum(item["tokens"] for item in good) / seconds)
    _ranks(found, "ttft_ms", [item["ttft_ns"] for item in good])
    _ranks(found, "e2e_latency_ms", [item["ttft_ns"] + sum(item["gaps_ns"]) for item in good])
    _ranks(found, "itl_ms", [gap for item in good for gap in item["gaps_ns"]])
    _ranks(
        found, "tpot_ms", [sum(item["gaps_ns"]) / (item["tokens"] - 1) for item in good if item["tokens"] > 1]
    )
    put(found, "error_rate", 1 - len(good) / len(answers))
    return found


def _ranks(found: Figures, key: str, nanoseconds: list[float]) -> None:
    for percent in (50, 95, 99):
        if nanoseconds:
            put(found, key, rank(nanoseconds, percent) / 1e6, f"p{percent}")
