"""Mutated files of every importer: one clear sentence, or the figures of the oracle. `make fuzz` reads 10 000 of each."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from pilots.baseline.environment import peak_memory_bytes
from pilots.baseline.importers.registry import IMPORTERS, LAST
from tests.pilots.baseline.importers.judged import importer_of, judge, load
from tests.pilots.baseline.importers.mutations import MUTATIONS, mutated
from tests.pilots.baseline.measured_files import measured, measured_endpoint, signed

ROOT = Path(__file__).parents[4]
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "fuzz"  # set by `make fuzz`
ROUND = 10_000 if LONG else 6 * len(MUTATIONS)
MEMORY_BYTES = 512 * 2**20
OWN_TABLE = b"e2e_latency_ms,ttft_ms,tpot_ms,success\n" + b"".join(
    b"%d.5,%d,%d,%d\n" % (200 + index, 20 + index, 3 + index % 5, index % 9 > 0) for index in range(40)
)
SAMPLES = {
    "vllm_bench": ("vllm-0.33.0_serve_detailed.json", "inferencex_glm5_fp8_tp8_isl1024_osl128_conc16.json"),
    "sglang_bench": ("sglang-0.4.6.post5_inf_rate.jsonl", "sglang-0.4_h200x8_llama_405b_online.jsonl"),
    "trtllm_bench": ("trtllm-1.0_docs_example_performance_overview.txt", "constructed_labels_0.16.txt"),
    "guidellm": ("guidellm-0.8.1_ok.json.gz",),
    "guidellm_csv": ("guidellm-0.8.1_err.csv",),
    "aiperf": ("aiperf-0.13.0_ok_profile_export_aiperf.json",),
    "aiperf_csv": ("aiperf-0.13.0_ok_profile_export_aiperf.csv",),
    "aiperf_records": ("aiperf-0.13.0_err_profile_export.jsonl.gz",),
    "mlperf_loadgen": (
        "loadgen6.0_Server_tok_mlperf_log_summary.txt",
        "loadgen6.0_Server_tok_mlperf_log_detail.txt",
        "loadgen6.0_SingleStream_mlperf_log_detail.txt",
    ),
    "mlperf_training": ("v5.0_GB200x8_llama2_70b_lora_result_0.txt",),
    "mlperf_accuracy": ("v4.1_H100x8_llama2-70b-99_accuracy.txt",),
    "llmperf": ("summary_anyscale_70b.json", "individual_anyscale_70b.json.gz"),
    "inference_perf": (
        "vllm+batch_size_stage_0_lifecycle_metrics.json",
        "vllm+batch_size_stage_0_prometheus_metrics.json",
    ),
    "lm_eval": ("lm-eval-0.4.13_toy_results.json", "lm-eval-0.4.13_toy_samples.jsonl"),
    "megatron": ("megatron_golden_values_gpt3_7b_h100.json",),
    "nccl_tests": ("all_reduce_2xp5_H100.txt",),
    "nvidia_smi_csv": ("constructed_2gpu_units_1s.csv", "constructed_1gpu_nounits_500ms.csv"),
    "dcgm_exposition": ("T4_driver590.prom", "dcgm-exporter_README_excerpt.prom"),
    "prometheus_exposition": (
        "prometheus_client-0.26_openmetrics.txt",
        "prometheus_client-0.26_text_0.0.4.prom",
    ),
    "prometheus_json": ("range_DCGM_FI_DEV_FB_USED.json", "real_vector_L40S_dcgm.json"),
    "mlflow": ("rest_runs_get.json", "mlruns.zip"),
    "wandb": ("history_tinylm_first400.jsonl.gz",),
    "pytorch_chrome_trace": ("a100_alexnet.json.gz",),
    "elsewhere": ("meta-llama--Meta-Llama-3.1-8B_config.json", "dcp-metrics-included_counters.csv"),
    "table": (),
    "measured": (),
}
MADE = {"table": lambda: [OWN_TABLE], "measured": lambda: [signed(measured()), signed(measured_endpoint())]}
"""Files that no tool wrote: tables of one's own, and results of our own command."""


def files_of(name: str) -> list[bytes]:
    """Return the files whose mutations an importer is given."""
    return [load(file) for file in SAMPLES[name]] or MADE[name]()


def check_round(name: str, count: int) -> None:
    """Judge mutations of the files of an importer."""
    files = files_of(name)
    for seed in range(count):
        data = mutated(seed, files[seed // len(MUTATIONS) % len(files)])
        try:
            judge(data)
        except Exception as error:
            raise AssertionError(f"{name}, seed {seed}: {error!r}") from error


def check_within_memory(names: list[str], count: int) -> None:
    """Judge mutations of several importers and fail where the process grew beyond the limit."""
    resource.setrlimit(
        resource.RLIMIT_AS, (4 * MEMORY_BYTES, 4 * MEMORY_BYTES)
    )  # NumPy reserves more than it uses
    for name in names:
        check_round(name, count)
    assert peak_memory_bytes() < MEMORY_BYTES


def test_every_importer_has_files_of_its_own() -> None:
    assert {module.__name__.rpartition(".")[2] for module in (*IMPORTERS, LAST)} == set(SAMPLES)
    for name in SAMPLES:
        assert {importer_of(data) for data in files_of(name)} == {name} or name == "elsewhere"


def test_mutations_of_a_seed_are_always_the_same() -> None:
    first = [mutated(seed, OWN_TABLE) for seed in range(60)]
    assert first == [mutated(seed, OWN_TABLE) for seed in range(60)]


@pytest.mark.hypothesis
@pytest.mark.parametrize("part", range(5))
def test_mutated_files_end_in_a_sentence_or_in_the_figures_of_the_oracle(part: int) -> None:
    names = list(SAMPLES)[part::5]
    code = (
        "from tests.pilots.baseline.importers.test_fuzz import check_within_memory;"
        f"check_within_memory({names!r}, {ROUND})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
