"""The published tables this package carries, as entries: one row of a table is one measurement.

Sources and licences stand in `data/SOURCES.md`. The table of bus bandwidths under CC-BY-SA-4.0 is cited, not carried.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from pilots.cluster.reference import Entry, Reference, load

DATA: Final = Path(__file__).parent / "data"
_LAYER: Final = "GPT-3 layer prefill bs 8 seq 2048 fp16 TP4"


@cache
def published() -> Reference:
    """Return the published figures of the package: the extract, then the tables, then what is derived from both."""
    own = load((DATA / "reference.json").read_text(encoding="utf-8"))
    rows = [*own.entries, *_derived(own)]
    for name, read in _TABLES.items():
        with (DATA / name).open(encoding="utf-8", newline="") as file:
            rows += [read(row, number) for number, row in enumerate(csv.DictReader(file), 1)]
    return Reference(tuple(rows))


def _derived(own: Reference) -> Iterator[Entry]:
    """Yield the mean step time a training log tracked, as an entry of its own."""
    for entry in own.entries:
        step = entry.params.get("tracked_train_step_time")
        if isinstance(step, float) and "lora" not in entry.workload:
            params = {name: value for name, value in entry.params.items() if not name.startswith("tracked")}
            yield _entry(
                (f"{entry.id}:step", entry.system, entry.workload),
                params,
                ("step_time", "s", step),
                entry.source,
            )


def _entry(
    about: tuple[str, str, str], params: dict[str, Any], figure: tuple[str, str, float], source: str
) -> Entry:
    name, system, workload = about
    metric, unit, value = figure
    return Entry(name, system, workload, metric, unit, params, value, "high", source)


def _serving(row: dict[str, str], number: int) -> Entry:
    length = int(row["input_tokens_equal_output_tokens"])
    params = {
        "engine": row["engine"],
        "model": row["model"],
        "tensor_parallel": int(row["gpus"]),
        "batch": int(row["batch"]),
        "input_tokens": length,
        "output_tokens": length,
    }
    workload = f"{row['model']} fp16 {row['engine']} in=out={length}"
    figure = ("batch_latency", "s", float(row["latency_s"]))
    return _entry(
        (f"serving_static_batch:{number}", row["hardware"], workload), params, figure, "LLM-Inference-Bench"
    )


def _fsdp(row: dict[str, str], number: int) -> Entry:
    params = {
        "model": f"MPT-{row['model']}",
        "gpus": int(row["gpus"]),
        "seq": int(row["seq"]),
        "micro_batch": int(row["micro_batch"]),
        "grad_accum": int(row["grad_accum"]),
        "precision": row["precision"],
        "sharding": row["sharding"],
        "activation_recompute": row["activation_recompute"] == "True",
    }
    workload = f"MPT-{row['model']} FSDP training seq {row['seq']}"
    figure = ("tokens_per_s_per_gpu", "tokens/s/GPU", float(row["tokens_per_s_per_gpu"]))
    return _entry((f"training_fsdp:{number}", row["gpu"], workload), params, figure, "llm-foundry")


def _all_reduce(row: dict[str, str], number: int) -> Entry:
    params = {
        "collective": "all_reduce",
        "gpus": int(row["gpus"]),
        "gpus_per_node": int(row["gpus_per_node"]),
        "nodes": int(row["nodes"]),
        "size_bytes": int(row["size_bytes"]),
        "fabric": "DGX",
    }
    figure = ("latency", "us", float(row["median_us"]))
    return _entry((f"all_reduce_dgx:{number}", row["gpu"], "all_reduce"), params, figure, "vidur")


def _gemm(row: dict[str, str], number: int) -> Entry:
    params = {name: int(row[name]) for name in ("m", "n", "k")}
    figure = ("time", "us", float(row["time_us"]))
    return _entry((f"gemm_fp16_a100:{number}", "A100", "GEMM fp16"), params, figure, "LLMCompass")


def _layer(row: dict[str, str], number: int) -> Entry:
    params: dict[str, Any] = {
        "op": row["op"],
        "hidden": 12_288,
        "heads": 96,
        "batch": 8,
        "seq": 2048,
        "tensor_parallel": 4,
    }
    figure = ("time", "us", float(row["time_us"]))
    return _entry(
        (f"gpt3_layer_prefill_4xa100:{number}", "4x A100-80GB NVLink", _LAYER), params, figure, "LLMCompass"
    )


_TABLES: Final[dict[str, Callable[[dict[str, str], int], Entry]]] = {
    "serving_static_batch.csv": _serving,
    "training_fsdp.csv": _fsdp,
    "all_reduce_dgx.csv": _all_reduce,
    "gemm_fp16_a100.csv": _gemm,
    "gpt3_layer_prefill_4xa100.csv": _layer,
}
