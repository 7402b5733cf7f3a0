"""A run in which requests failed shows it and never looks fast; figures that cannot be are refused in every format."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from pilots.baseline.importers import BenchmarkRefused, ImportedBenchmark, read
from tests.pilots.baseline.importers.judged import judge, load
from tests.pilots.baseline.importers.test_fuzz import OWN_TABLE

Change = Callable[[Any], Any]


def changed(name: str, change: Change) -> bytes:
    """Return a JSON sample after a change of its value."""
    value = json.loads(load(name))
    change(value)
    return json.dumps(value).encode()


def per_line(name: str, change: Change) -> bytes:
    """Return a sample of JSON lines after a change of every line."""
    rows = [json.loads(line) for line in load(name).split(b"\n") if line.strip()]
    for row in rows:
        change(row)
    return b"\n".join(json.dumps(row).encode() for row in rows)


def refused(data: bytes) -> str:
    with pytest.raises(BenchmarkRefused) as caught:
        read(data, "x")
    assert caught.value.message_de.endswith(".")
    return caught.value.code


def value_of(run: ImportedBenchmark, key: str, percentile: str | None = None) -> float:
    return next(float(item.value) for item in run.metrics if (item.key, item.percentile) == (key, percentile))


def aiperf_counts(good: int, everything: int) -> Change:
    def change(value: Any) -> None:
        value["request_count"]["avg"] = good
        value["completed_request_count"]["avg"] = everything
        value["request_error_rate"]["avg"] = 100 * (everything - good) / everything
        value["request_throughput"]["avg"] = good / value["benchmark_duration"]["avg"]

    return change


def guidellm_counts(good: int, bad: int) -> Change:
    def change(value: Any) -> None:
        run = value["benchmarks"][0]
        totals = {"successful": good, "errored": bad, "incomplete": 0, "total": good + bad}
        run["metrics"]["request_totals"] = totals
        run["metrics"]["requests_per_second"]["successful"]["mean"] = good / run["duration"]

    return change


def llmperf_counts(good: int, bad: int) -> Change:
    def change(value: Any) -> None:
        value |= {
            "results_num_completed_requests": good,
            "results_number_errors": bad,
            "results_num_requests_started": good + bad,
            "results_error_rate": bad / (good + bad),
        }

    return change


def inference_counts(good: int, bad: int) -> Change:
    def change(value: Any) -> None:
        value["successes"]["count"], value["failures"]["count"] = good, bad
        value["load_summary"]["count"] = good + bad

    return change


def all_errors(row: Any) -> None:
    row["error"] = {"code": 500}


ALL_FAILED = {
    "vllm": lambda: load("vllm-0.33.0_serve_all_failed.json"),
    "vllm without a token": lambda: changed(
        "vllm-0.33.0_serve_ok_20req.json",
        lambda value: value.update(total_output_tokens=0, output_throughput=0),
    ),
    "sglang": lambda: per_line(
        "sglang-0.4_h200x8_deepseek_dp_mla.jsonl", lambda row: row.update(completed=0)
    ),
    "trtllm": lambda: re.sub(
        rb"(Throughput \(req/sec\):\s+)\S+", rb"\g<1>0.0", load("constructed_labels_0.16.txt")
    ),
    "guidellm": lambda: changed("guidellm-0.8.1_ok.json.gz", guidellm_counts(0, 30)),
    "aiperf": lambda: changed("aiperf-0.13.0_ok_profile_export_aiperf.json", aiperf_counts(0, 40)),
    "aiperf records": lambda: per_line("aiperf-0.13.0_err_profile_export.jsonl.gz", all_errors),
    "llmperf": lambda: changed("summary_anyscale_70b.json", llmperf_counts(0, 150)),
    "llmperf single": lambda: changed(
        "individual_anyscale_70b.json.gz", lambda rows: [row.update(error_code=429) for row in rows]
    ),
    "inference-perf": lambda: changed(
        "vllm+batch_size_stage_0_lifecycle_metrics.json", inference_counts(0, 60)
    ),
    "loadgen": lambda: load("loadgen6.0_Server_tok_mlperf_log_summary.txt").replace(b": 47.05", b": 0"),
    "training aborted": lambda: load("v5.0_GB200x8_llama2_70b_lora_result_0.txt").replace(
        b'"status": "success"', b'"status": "aborted"'
    ),
    "own table": lambda: re.sub(rb",1(\n|$)", rb",0\1", OWN_TABLE),
}
PARTLY = {
    "vllm": (lambda: load("vllm-0.33.0_serve_detailed.json"), 1 / 12, 11 / 0.1600297979998686),
    "guidellm": (
        lambda: changed("guidellm-0.8.1_ok.json.gz", guidellm_counts(20, 10)),
        1 / 3,
        20 / 2.065985679626465,
    ),
    "guidellm csv": (lambda: load("guidellm-0.8.1_err.csv"), 4 / 30, 26 / 1.9694979190826416),
    "aiperf": (
        lambda: changed("aiperf-0.13.0_ok_profile_export_aiperf.json", aiperf_counts(30, 40)),
        0.25,
        30 / 2.687579392,
    ),
    "aiperf records": (lambda: load("aiperf-0.13.0_err_profile_export.jsonl.gz"), 6 / 40, 13.7048),
    "llmperf": (
        lambda: changed("summary_anyscale_70b.json", llmperf_counts(120, 30)),
        0.2,
        84.73327721639254 / 60,
    ),
}


@pytest.mark.parametrize("name", ALL_FAILED)
def test_file_in_which_everything_failed_is_refused(name: str) -> None:
    assert refused(ALL_FAILED[name]()) == "ALL_FAILED"


@pytest.mark.parametrize("name", PARTLY)
def test_failed_requests_are_shown_and_only_good_ones_count(name: str) -> None:
    make, share, rate = PARTLY[name]
    run = read(make(), "x")
    assert value_of(run, "error_rate") == pytest.approx(share, rel=1e-5)
    assert value_of(run, "throughput_samples_s") == pytest.approx(rate, rel=1e-5)
    assert run.warnings[0].endswith("Anfragen sind fehlgeschlagen.")
    assert "Antwortzeiten gelten nur für erfolgreiche Anfragen." in run.warnings


def test_empty_answers_of_vllm_count_as_failed() -> None:
    def empty(value: Any) -> None:
        value["output_lens"][0] = 0

    run = read(changed("vllm-0.33.0_serve_detailed.json", empty), "x")
    assert (run.completed, run.failed) == (10, 2)
    assert value_of(run, "error_rate") == pytest.approx(2 / 12, rel=1e-5)
    assert "1 Antworten waren leer und zählen als fehlgeschlagen." in run.warnings


def test_error_rate_is_not_formed_where_the_file_does_not_say() -> None:
    def silent(value: Any) -> None:
        del value["num_prompts"], value["failed"]

    run = read(changed("vllm-0.33.0_serve_ok_20req.json", silent), "x")
    assert run.failed is None
    assert not [item for item in run.metrics if item.key == "error_rate"]
    assert any("Fehlerquote" in text for text in run.what_it_cannot_say)


@pytest.mark.parametrize("field", ["was_cancelled", "is_complete"])
def test_run_that_was_broken_off_is_called_invalid(field: str) -> None:
    data = changed(
        "aiperf-0.13.0_ok_profile_export_aiperf.json",
        lambda value: value.update({field: field == "was_cancelled"}),
    )
    assert read(data, "x").valid is False


UNITS = {
    "aiperf ms": ("aiperf-0.13.0_ok_profile_export_aiperf.json", b'"unit": "ms"', b'"unit": "sec"'),
    "aiperf csv ms": ("aiperf-0.13.0_ok_profile_export_aiperf.csv", b"Latency (ms)", b"Latency (min)"),
    "trtllm heading": (
        "trtllm-1.0_docs_example_performance_overview.txt",
        b"Breakdown (ms)",
        b"Breakdown (s)",
    ),
    "guidellm csv": ("guidellm-0.8.1_ok.csv", b"Successful Sec", b"Successful min"),
    "nccl heading": ("all_reduce_2xp5_H100.txt", b"(us)", b"(ms)"),
    "nvidia-smi cell": ("constructed_2gpu_units_1s.csv", b"71234 MiB", b"71234 GiB"),
    "nvidia-smi heading": (
        "constructed_1gpu_nounits_500ms.csv",
        b"utilization.gpu [%], memory.used [MiB], power.draw [W]",
        b"utilization.gpu, memory.used, power.draw",
    ),
}


@pytest.mark.parametrize("name", UNITS)
def test_unit_is_read_and_never_guessed(name: str) -> None:
    sample, old, new = UNITS[name]
    data = load(sample).replace(old, new)
    assert data != load(sample)
    found = judge(data)
    if isinstance(found, BenchmarkRefused):
        assert found.code in {"UNIT", "CONTRADICTION"}
    else:
        assert name == "aiperf ms"
        assert value_of(found[0], "e2e_latency_ms", "p50") == pytest.approx(256_098, rel=1e-4)


@pytest.mark.parametrize(
    ("sample", "old", "new", "code"),
    [
        ("sglang-0.4.6.post5_inf_rate.jsonl", b'"duration": 0.16', b'"duration": 162.16', "CONTRADICTION"),
        ("sglang-0.4.6.post5_inf_rate.jsonl", b'"median_ttft_ms": 43.4', b'"median_ttft_ms": 43400.4', "CONTRADICTION"),
        ("sglang-0.4.6.post5_inf_rate.jsonl", b'"max_concurrency": null', b'"max_concurrency": NaN', "NOT_FINITE"),
        ("trtllm-1.0_docs_example_performance_overview.txt", b"[TTFT] P99    : 106563", b"[TTFT] P99    : 106", "CONTRADICTION"),
        ("trtllm-1.0_docs_example_performance_overview.txt", b"[TTFT] MAXIMUM: 107501", b"[TTFT] MAXIMUM: 1", "CONTRADICTION"),
        ("constructed_labels_0.16.txt", b"27777.7778", b"27.7777778", "CONTRADICTION"),
        ("constructed_labels_0.16.txt", b"9216.0000", b"-9216.0000", "BAD_NUMBER"),
        ("guidellm-0.8.1_ok.csv", b",2.065985679626465,", b",2065.985679626465,", "CONTRADICTION"),
        ("guidellm-0.8.1_ok.csv", b",30,0,0,30,", b",29,0,0,30,", "CONTRADICTION"),
        ("aiperf-0.13.0_ok_profile_export_aiperf.csv", b"254.81,234.14", b"254.81", "TRUNCATED"),
        ("vllm+batch_size_stage_0_lifecycle_metrics.json", b'"median": 0.4824', b'"median": 482.4', "CONTRADICTION"),
        ("summary_anyscale_70b.json", b'"results_error_rate": 0.0', b'"results_error_rate": 0.5', "CONTRADICTION"),
        ("all_reduce_2xp5_H100.txt", b"   66132 ", b"   66.13 ", "CONTRADICTION"),
        ("all_reduce_2xp5_H100.txt", b"487.09      0", b"487.09      7", "WRONG_RESULTS"),
        ("constructed_2gpu_units_1s.csv", b"100 %, 60 %", b"101 %, 60 %", "BAD_NUMBER"),
        ("constructed_2gpu_units_1s.csv", b"73.10 W", b"73100 W", "BAD_NUMBER"),
        ("T4_driver590.prom", b'590.48.01"} 91', b'590.48.01"} 9100', "BAD_NUMBER"),
        ("prometheus_client-0.26_openmetrics.txt", b"# EOF", b"", "TRUNCATED"),
        ("prometheus_client-0.26_openmetrics.txt", b"2.4731849527831717", b"2473.1849527831717", "CONTRADICTION"),
        ("prometheus_client-0.26_openmetrics.txt", b'le="0.1",model_name="mock"} 45', b'le="0.1",model_name="mock"} 3', "CONTRADICTION"),
        ("range_DCGM_FI_DEV_GPU_UTIL.json", b'"100"', b'"101"', "BAD_NUMBER"),
        ("range_DCGM_FI_DEV_GPU_UTIL.json", b"[1795999058,", b"[1795999053,", "CONTRADICTION"),
        ("v5.0_GB200x8_llama2_70b_lora_result_0.txt", b'"train_step_time": 1.4', b'"train_step_time": 1400.4', "CONTRADICTION"),
        ("v5.0_GB200x8_llama2_70b_lora_result_0.txt", b'"key": "run_stop"', b'"key": "stop"', "TRUNCATED"),
        ("megatron_golden_values_gpt3_7b_h100.json", b'"12": ', b'"12a": ', "TRUNCATED"),
        ("lm-eval-0.4.13_toy_samples.jsonl", b'"doc_id": 1,', b'"doc_id": 0,', "CONTRADICTION"),
        ("history_tinylm_first400.jsonl.gz", b'"_step": 100}', b'"_step": 0}', "CONTRADICTION"),
        ("a100_alexnet.json.gz", b'"dur": 12,', b'"dur": -12,', "BAD_NUMBER"),
        ("v4.1_H100x8_llama2-70b-99_accuracy.txt", b"'rouge2'", b"'rouge1'", "DUPLICATE_KEY"),
    ],
)  # fmt: skip
def test_figures_that_cannot_be_are_refused(sample: str, old: bytes, new: bytes, code: str) -> None:
    data = load(sample)
    assert old in data
    assert refused(data.replace(old, new)) == code


def test_score_may_be_negative_but_not_infinite() -> None:
    run = read(load("lm-eval-0.4.13_toy_results.json").replace(b'"acc,none": 0.4', b'"acc,none": -0.4'), "x")
    assert value_of(run, "eval_score") == -0.4
    assert (
        refused(load("lm-eval-0.4.13_toy_results.json").replace(b'"acc,none": 0.4', b'"acc,none": 1e999'))
        == "BAD_NUMBER"
    )


def test_histogram_gives_the_bound_that_holds_the_percentile() -> None:
    run = read(load("prometheus_client-0.26_text_0.0.4.prom"), "x")
    assert value_of(run, "ttft_ms", "p50") == 60  # 23 of 45 answers came within 60 ms
    assert {item.note for item in run.metrics if item.percentile} == {"obere Grenze der Klasse"}


def test_several_runs_of_a_file_ask_for_a_number() -> None:
    data = load("sglang-0.4_h200x8_llama_405b_online.jsonl")
    with pytest.raises(BenchmarkRefused) as caught:
        read(data, "x")
    assert caught.value.code == "SEVERAL_RUNS"
    assert "1: Anfragerate 1.0, 318 s; 2: Anfragerate 2.0, 339 s" in caught.value.message_de
    assert read(data, "x", run=2).completed == 600
    for number in (0, 7, -1):
        with pytest.raises(BenchmarkRefused):
            read(data, "x", run=number)


def test_table_of_your_own_needs_units_in_its_headings() -> None:
    run = read(OWN_TABLE, "x")
    assert (run.completed, run.failed) == (35, 5)
    assert value_of(run, "e2e_latency_ms", "p50") == 220.5
    assert refused(OWN_TABLE.replace(b"_ms", b"")) == "UNIT"
    assert refused(OWN_TABLE.replace(b",", b";")) == "UNKNOWN_FORMAT"
    assert refused(OWN_TABLE.replace(b"205.5", b"205,5")) == "TRUNCATED"
