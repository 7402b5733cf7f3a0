"""Which importer reads a file: one table. Files are recognised by their content, never by their name."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from pilots.baseline.importers import (
    aiperf,
    aiperf_csv,
    aiperf_records,
    dcgm_exposition,
    elsewhere,
    guidellm,
    guidellm_csv,
    inference_perf,
    llmperf,
    lm_eval,
    measured,
    megatron,
    mlflow,
    mlperf_accuracy,
    mlperf_loadgen,
    mlperf_training,
    nccl_tests,
    nvidia_smi_csv,
    prometheus_exposition,
    prometheus_json,
    pytorch_chrome_trace,
    sglang_bench,
    table,
    trtllm_bench,
    vllm_bench,
    wandb,
)
from pilots.baseline.importers.common import BenchmarkRefused, ImportedBenchmark
from pilots.baseline.importers.figures import checked
from pilots.baseline.importers.reading import MAX_BYTES, Source, too_large

IMPORTERS: Final[tuple[ModuleType, ...]] = (
    measured,
    vllm_bench,
    sglang_bench,
    trtllm_bench,
    guidellm,
    guidellm_csv,
    aiperf,
    aiperf_csv,
    aiperf_records,
    mlperf_loadgen,
    mlperf_training,
    mlperf_accuracy,
    llmperf,
    inference_perf,
    lm_eval,
    megatron,
    nccl_tests,
    nvidia_smi_csv,
    dcgm_exposition,
    prometheus_exposition,
    prometheus_json,
    mlflow,
    wandb,
    pytorch_chrome_trace,
    elsewhere,
)
LAST: Final = table  # any table looks like one, so it is asked when nothing else knows the file


def recognise(source: Source) -> ModuleType:
    """Return the one importer of a file; raises BenchmarkRefused if none or several know it."""
    found = [importer for importer in IMPORTERS if importer.recognise(source)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " und ".join(importer.NAME for importer in found)
        raise BenchmarkRefused("UNKNOWN_FORMAT", f"Die Datei sieht nach mehreren Formaten aus: {names}.")
    if LAST.recognise(source):
        return LAST
    sentence = (
        "Das Format der Datei ist unbekannt; gelesen werden Ergebnisse von vLLM, SGLang, MLPerf und weiteren Werkzeugen. "
        "Eine eigene Tabelle (CSV) lesen Sie über „Eigene Tabelle zuordnen“ ein."
    )
    raise BenchmarkRefused("UNKNOWN_FORMAT", sentence)


def read_all(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Recognise a file and return all its runs; raises BenchmarkRefused with one German sentence."""
    runs: tuple[ImportedBenchmark, ...] = recognise(source).read(source)
    if not runs:
        raise BenchmarkRefused("EMPTY", "Die Datei enthält keinen Lauf.")
    return tuple(checked(run) for run in runs)


def read(data: bytes, filename: str, *, run: int | None = None) -> ImportedBenchmark:
    """Return the run of an uploaded file; `run` (from 1) chooses among several. Raises BenchmarkRefused."""
    if len(data) > MAX_BYTES:
        raise too_large(MAX_BYTES)
    return chosen(read_all(Source.of_bytes(data)), run)


def chosen(runs: tuple[ImportedBenchmark, ...], run: int | None) -> ImportedBenchmark:
    """Return the only run or the chosen one; raises BenchmarkRefused that lists them otherwise."""
    if run is None and len(runs) == 1:
        return runs[0]
    if run is not None and 1 <= run <= len(runs):
        return runs[run - 1]
    names = "; ".join(f"{index}: {item.label}" for index, item in enumerate(runs[:20], 1))
    sentence = f"Die Datei enthält {len(runs)} Läufe; bitte nennen Sie die Nummer des Laufs ({names})."
    raise BenchmarkRefused("SEVERAL_RUNS", sentence)
