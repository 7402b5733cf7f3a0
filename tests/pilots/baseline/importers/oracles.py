"""What files say, read a second time and independently: plainly, without the importers, and without their checks.

An oracle returns the figures of each run by (key, percentile, and for scores their name). It may know more figures than
an importer takes; a figure an importer gives and its oracle does not, or gives otherwise, is wrong.
"""

from __future__ import annotations

import csv
import io
import json
import re
from statistics import fmean

from tests.pilots.baseline.importers.oracle_figures import (
    Figures,
    Oracle,
    number,
    put,
    rank,
    shown,
    table,
)
from tests.pilots.baseline.importers.oracles_machines import (
    dcgm_exposition,
    mlflow,
    nccl_tests,
    nvidia_smi_csv,
    prometheus_exposition,
    prometheus_json,
    pytorch_chrome_trace,
    wandb,
)
from tests.pilots.baseline.importers.oracles_own import measured

VLLM = {
    f"{name}_{stem}{suffix}": (key, percentile, scale)
    for stem, key in (("ttft", "ttft_ms"), ("tpot", "tpot_ms"), ("e2el", "e2e_latency_ms"))
    for name, percentile in (
        ("median", "p50"),
        ("p50", "p50"),
        ("p90", "p90"),
        ("p95", "p95"),
        ("p99", "p99"),
    )
    for suffix, scale in (("", 1000.0), ("_ms", 1.0))
}


def vllm_bench(data: bytes) -> list[Figures]:
    runs = json.loads(data)
    result = []
    for row in runs if isinstance(runs, list) else [runs]:
        found: Figures = {}
        lengths, errors = row.get("output_lens"), row.get("errors")
        empty = 0
        if isinstance(lengths, list) and isinstance(errors, list) and len(lengths) == len(errors):
            empty = sum(a == 0 and not b for a, b in zip(lengths, errors, strict=True))
        good = row["completed"] - empty
        put(found, "throughput_samples_s", good / row["duration"])
        put(found, "throughput_tokens_s", row.get("output_throughput"))
        everything = row.get("num_prompts") if row.get("num_prompts") is not None else None
        if everything is None and row.get("failed") is not None:
            everything = row["completed"] + row["failed"]
        if everything is None and empty:
            everything = row["completed"]
        if everything is not None:
            put(found, "error_rate", (everything - good) / everything)
        table(found, row, VLLM)
        result.append(found)
    return result


SGLANG = {
    f"{name}_{stem}_ms": (key, percentile, 1.0)
    for stem, key in (("ttft", "ttft_ms"), ("tpot", "tpot_ms"), ("e2e_latency", "e2e_latency_ms"))
    for name, percentile in (("median", "p50"), ("p90", "p90"), ("p95", "p95"), ("p99", "p99"))
}


def sglang_bench(data: bytes) -> list[Figures]:
    result = []
    for line in data.decode("utf-8-sig").split("\n"):
        if line.strip():
            row, found = json.loads(line), {}
            put(found, "throughput_samples_s", row["completed"] / row["duration"])
            put(found, "throughput_tokens_s", row.get("output_throughput"))
            table(found, row, SGLANG)
            result.append(found)
    return result


def trtllm_bench(data: bytes) -> list[Figures]:
    text, found = data.decode("utf-8-sig"), {}
    plain = {
        r"Request Throughput \(req/sec\)": ("throughput_samples_s", ""),
        r"Total Output Throughput \(tokens/sec\)": ("throughput_tokens_s", ""),
        r"Token Throughput \(tokens/sec\)": ("throughput_tokens_s", ""),
        r"Average request latency \(ms\)": ("e2e_latency_ms", ""),
        r"Average time-to-first-token \[TTFT\] \(ms\)": ("ttft_ms", ""),
        r"Average time-per-output-token \[TPOT\] \(ms\)": ("tpot_ms", ""),
    }
    for label, (key, percentile) in plain.items():
        for value in re.findall(rf"^{label}:\s+(\S+)", text, re.MULTILINE):
            found.setdefault((key, percentile, ""), number(value))
    for name, key in (("TTFT", "ttft_ms"), ("TPOT", "tpot_ms"), ("Latency", "e2e_latency_ms")):
        for percent, value in re.findall(rf"^\[{name}\] (P[0-9]+)\s*:\s+(\S+)", text, re.MULTILINE):
            found[key, percent.lower(), ""] = number(value)
    return [found]


def guidellm(data: bytes) -> list[Figures]:
    result = []
    for row in json.loads(data)["benchmarks"]:
        metrics, found = row["metrics"], {}
        totals = metrics["request_totals"]
        put(found, "throughput_samples_s", totals["successful"] / row["duration"])
        put(found, "error_rate", totals["errored"] / (totals["successful"] + totals["errored"]))
        rate = (metrics.get("output_tokens_per_second") or {}).get("successful") or {}
        put(found, "throughput_tokens_s", rate.get("mean"))
        for name, key, scale in (
            ("request_latency", "e2e_latency_ms", 1000.0),
            ("time_to_first_token_ms", "ttft_ms", 1.0),
            ("inter_token_latency_ms", "tpot_ms", 1.0),
        ):
            spread = ((metrics.get(name) or {}).get("successful") or {}).get("percentiles") or {}
            for percent, value in spread.items():
                put(found, key, value, percent, scale=scale)
        result.append(found)
    return result


def guidellm_csv(data: bytes) -> list[Figures]:
    rows = [row for row in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")) if row]
    result = []
    for row in rows[3:]:
        cells = {tuple(place): cell for *place, cell in zip(*rows[:3], row, strict=True)}
        found: Figures = {}
        good, bad = (number(cells["Request Counts", name, ""]) for name in ("Successful", "Errored"))
        put(found, "throughput_samples_s", good / number(cells["Timings", "Duration", "Sec"]))
        put(found, "error_rate", bad / (good + bad))
        if cells.get(("Token Throughput", "Successful Output Tokens/Sec", "Mean")):
            put(
                found,
                "throughput_tokens_s",
                number(cells["Token Throughput", "Successful Output Tokens/Sec", "Mean"]),
            )
        for group, key in (
            ("Request Latency", "e2e_latency_ms"),
            ("Time to First Token", "ttft_ms"),
            ("Inter Token Latency", "tpot_ms"),
        ):
            for unit, scale in (("Sec", 1000.0), ("ms", 1.0)):
                spread = cells.get((group, f"Successful {unit}", "Percentiles"))
                if spread:
                    values = json.loads(spread)
                    for percent, place in (("p90", -4), ("p95", -3), ("p99", -2)):
                        put(found, key, number(values[place]), percent, scale=scale)
                    put(found, key, number(cells[group, f"Successful {unit}", "Median"]), "p50", scale=scale)
        result.append(found)
    return result


MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "sec": 1e3}
AIPERF = (
    ("request_latency", "e2e_latency_ms"),
    ("time_to_first_token", "ttft_ms"),
    ("inter_token_latency", "tpot_ms"),
)


def aiperf(data: bytes) -> list[Figures]:
    row, found = json.loads(data), {}
    good = row["request_count"]["avg"]
    duration = row["benchmark_duration"]
    put(found, "throughput_samples_s", good / (duration["avg"] * MS[duration["unit"]] / 1e3))
    if (row.get("output_token_throughput") or {}).get("unit") == "tokens/sec":
        put(found, "throughput_tokens_s", row["output_token_throughput"].get("avg"))
    everything = (row.get("completed_request_count") or {}).get("avg")
    if everything is not None:
        put(found, "error_rate", (everything - good) / everything)
    elif (row.get("request_error_rate") or {}).get("avg") is not None:
        share = row["request_error_rate"]["avg"] / 100
        bad = round(good * share / (1 - share))
        put(found, "error_rate", bad / (good + bad))
    for name, key in AIPERF:
        for percent in ("p50", "p90", "p95", "p99"):
            measure = row.get(name) or {}
            put(found, key, measure.get(percent), percent, scale=MS.get(measure.get("unit"), 0.0))
    return [found]


def aiperf_csv(data: bytes) -> list[Figures]:
    found: Figures = {}
    single: dict[str, str] = {}
    heading: list[str] = []
    for row in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")):
        if row and row[0] == "Metric":
            heading = row
        elif row and heading[-1:] == ["Value"]:
            single[row[0].strip()] = row[-1]
        elif row and heading:
            for name, key in (
                ("Request Latency", AIPERF[0][1]),
                ("Time to First Token", "ttft_ms"),
                ("Inter Token Latency", "tpot_ms"),
            ):
                unit = re.fullmatch(rf"{name} \((\w+)\)", row[0].strip())
                for percent, cell in zip(heading, row, strict=False):
                    if unit and percent in {"p50", "p90", "p95", "p99"} and cell.strip():
                        put(found, key, number(cell), percent, scale=MS.get(unit[1], 0.0))
    good, everything = number(single["Request Count"]), number(single["Completed Requests (Success + Error)"])
    (name,) = (name for name in single if name.startswith("Benchmark Duration ("))
    put(
        found,
        "throughput_samples_s",
        good / (number(single[name]) * MS[name.split("(")[1].rstrip(")")] / 1e3),
    )
    put(found, "error_rate", (everything - good) / everything)
    if "Output Token Throughput (tokens/sec)" in single:
        put(found, "throughput_tokens_s", number(single["Output Token Throughput (tokens/sec)"]))
    return [found]


def aiperf_records(data: bytes) -> list[Figures]:
    rows = [json.loads(line) for line in data.decode("utf-8-sig").split("\n") if line.strip()]
    rows = [row for row in rows if row["metadata"].get("benchmark_phase", "profiling") == "profiling"]
    good = [row for row in rows if not row.get("error") and not row["metadata"].get("was_cancelled")]
    good = [row for row in good if (row["metrics"].get("output_sequence_length") or {}).get("value") != 0]
    seconds = max(row["metadata"]["request_end_ns"] for row in rows) - min(
        row["metadata"]["request_start_ns"] for row in rows
    )
    found: Figures = {}
    put(found, "throughput_samples_s", len(good) / (seconds / 1e9))
    tokens = sum(row["metrics"]["output_sequence_length"]["value"] for row in good)
    put(found, "throughput_tokens_s", tokens / (seconds / 1e9))
    put(found, "error_rate", 1 - len(good) / len(rows))
    for name, key in AIPERF:
        measures = [row["metrics"][name] for row in good if row["metrics"].get(name)]
        values = [item["value"] * MS[item["unit"]] for item in measures if item.get("value")]
        for percent in (50, 95, 99) if values else ():
            put(found, key, rank(values, percent), f"p{percent}")
    return [found]


LOADGEN_RATE = {
    "Offline": ("Samples per second", "result_samples_per_second"),
    "Server": ("Completed samples per second", "result_completed_samples_per_sec"),
    "SingleStream": ("QPS w/o loadgen overhead", "result_qps_without_loadgen_overhead"),
}


def mlperf_loadgen(data: bytes) -> list[Figures]:
    text, found = data.decode("utf-8-sig"), {}
    if text.lstrip().startswith(":::MLLOG"):
        entries = [json.loads(line.split(":::MLLOG", 1)[1]) for line in text.split("\n") if line.strip()]
        values = {entry["key"]: entry["value"] for entry in entries}
        scenario = values["effective_scenario"]
        put(found, "throughput_samples_s", values[LOADGEN_RATE[scenario][1]])
        put(found, "throughput_tokens_s", values.get("result_completed_tokens_per_second"))
        patterns = {
            "ttft_ms": r"result_first_token_([0-9.]+)_percentile_latency_ns",
            "tpot_ms": r"result_time_per_output_token_([0-9.]+)_percentile_ns",
            "e2e_latency_ms": r"result_([0-9.]+)_percentile_latency_ns",
        }
        pairs = list(values.items())
    else:
        values = {}
        for line in text.split("\n"):
            name, mark, value = line.partition(":")
            if mark:
                values.setdefault(name.strip(), value.strip())
        scenario = values["Scenario"]
        put(found, "throughput_samples_s", number(values[LOADGEN_RATE[scenario][0]]))
        if "Completed tokens per second" in values:
            put(found, "throughput_tokens_s", number(values["Completed tokens per second"]))
        patterns = {
            "ttft_ms": r"([0-9.]+) percentile first token latency \(ns\)",
            "tpot_ms": r"([0-9.]+) percentile time to output token \(ns\)",
            "e2e_latency_ms": r"([0-9.]+) percentile latency \(ns\)",
        }
        pairs = [
            (name, number(value))
            for name, value in values.items()
            if re.search(r"percentile .*\(ns\)$", name)
        ]
    for name, value in pairs:
        for key, pattern in patterns.items():
            match = re.fullmatch(pattern, name)
            if match and not (key == "e2e_latency_ms" and scenario == "Offline"):
                put(found, key, value, f"p{float(match[1]):g}", scale=1e-6)
    return [found]


def mlperf_training(data: bytes) -> list[Figures]:
    found: Figures = {}
    entries = [
        json.loads(line.split(":::MLLOG", 1)[1])
        for line in data.decode("utf-8-sig").split("\n")
        if ":::MLLOG " in line
    ]
    last = {entry["key"]: entry for entry in entries}
    tracked: dict[str, list[float]] = {}
    for entry in entries:
        if entry["key"] == "tracked_stats":
            for name, value in entry["value"].items():
                tracked.setdefault(name, []).extend([] if value is None else [value])
    put(found, "time_to_quality_h", (last["run_stop"]["time_ms"] - last["run_start"]["time_ms"]) / 3.6e6)
    benchmark = last["submission_benchmark"]["value"] if "submission_benchmark" in last else ""
    for name in ("train_step_time", "train_step_timing in s"):
        if tracked.get(name):
            put(found, "step_time_ms", fmean(tracked[name]) * 1e3)
    if tracked.get("throughput"):
        key = "throughput_tokens_s" if benchmark == "gpt3" else "throughput_samples_s"
        put(found, key, fmean(tracked["throughput"]))
    if tracked.get("max_memory_usage"):
        put(found, "peak_memory_bytes", max(tracked["max_memory_usage"]) * 1e9)
    scores = [
        entry["value"] for entry in entries if entry["key"] == "eval_accuracy" and entry["value"] is not None
    ]
    if scores:
        shown = benchmark if isinstance(benchmark, str) and benchmark else "ohne Angabe"
        put(found, "eval_score", scores[-1], name=f"eval_accuracy am Ende, {shown}")
    return [found]


def mlperf_accuracy(data: bytes) -> list[Figures]:
    found: Figures = {}
    for name, value in re.findall(r"'(rouge\w+)': ([^,}\s]+)", data.decode("utf-8-sig")):
        put(found, "eval_score", number(value), name=name)
    return [found]


def llmperf(data: bytes) -> list[Figures]:
    value, found = json.loads(data), {}
    stems = (("ttft_s", "ttft_ms"), ("end_to_end_latency_s", "e2e_latency_ms"))
    if isinstance(value, list):
        good = [
            row for row in value if row.get("error_code") is None and row.get("number_output_tokens") != 0
        ]
        put(found, "error_rate", 1 - len(good) / len(value))
        for stem, key in stems:
            samples = [row[stem] * 1e3 for row in good if row[stem]]
            for percent in (50, 95, 99) if samples else ():
                put(found, key, rank(samples, percent), f"p{percent}")
        return [found]
    put(found, "throughput_samples_s", value["results_num_completed_requests_per_min"] / 60)
    put(found, "throughput_tokens_s", value.get("results_mean_output_throughput_token_per_s"))
    started = value["results_num_requests_started"]
    put(found, "error_rate", 1 - value["results_num_completed_requests"] / started)
    for stem, key in stems:
        for percent in ("p50", "p90", "p95", "p99"):
            put(found, key, value.get(f"results_{stem}_quantiles_{percent}"), percent, scale=1e3)
    return [found]


def inference_perf(data: bytes) -> list[Figures]:
    value, found = json.loads(data), {}
    good = value["successes"]
    client = "latency" in good
    spread = (good["latency"] if client else good) or {}
    if client:
        put(found, "throughput_samples_s", good["throughput"]["requests_per_sec"])
        put(found, "throughput_tokens_s", good["throughput"].get("output_tokens_per_sec"))
        put(found, "error_rate", value["failures"]["count"] / (value["failures"]["count"] + good["count"]))
    else:
        put(found, "throughput_samples_s", good["rate"])
        put(found, "throughput_tokens_s", (good.get("output_len") or {}).get("rate"))
    for name, key in (
        ("request_latency", "e2e_latency_ms"),
        ("time_to_first_token", "ttft_ms"),
        ("time_per_output_token", "tpot_ms"),
    ):
        for field, percent in (("median", "p50"), ("p90", "p90"), ("p95", "p95"), ("p99", "p99")):
            put(found, key, (spread.get(name) or {}).get(field), percent, scale=1e3)
    return [found]


def lm_eval(data: bytes) -> list[Figures]:
    found: Figures = {}
    text = data.decode("utf-8-sig")
    if '"filtered_resps"' in text.lstrip().partition("\n")[0]:
        scores: dict[str, list[float]] = {}
        for line in text.split("\n"):
            row = json.loads(line) if line.strip() else {"metrics": []}
            for name in row["metrics"]:
                scores.setdefault(f"{name},{row.get('filter')}", []).append(row[name])
        for name, values in scores.items():
            put(found, "eval_score", fmean(values), name=shown(name))
        return [found]
    for task, row in json.loads(text)["results"].items():
        for name, value in row.items():
            if "stderr" not in name and name != "sample_len":
                put(found, "eval_score", value, name=shown(f"{task}: {name}"))
    return [found]


def megatron(data: bytes) -> list[Figures]:
    value, found = json.loads(data), {}
    times = [
        item * 1e3 for item in value["iteration-time"]["values"].values() if item not in ("nan", 0, None)
    ]
    for percent in (50, 95, 99):
        put(found, "step_time_ms", rank(times, percent), f"p{percent}")
    if "mem-max-allocated-bytes" in value:
        put(
            found,
            "peak_memory_bytes",
            max(v for v in value["mem-max-allocated-bytes"]["values"].values() if v not in ("nan", None)),
        )
    return [found]


def own_table(data: bytes) -> list[Figures]:
    lines = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), skipinitialspace=True)
    cells = [[cell.strip() for cell in line] for line in lines if line]
    rows = [dict(zip(cells[0], line, strict=False)) for line in cells[1:]]
    good = [row for row in rows if row.get("success", "1").strip().lower() in {"1", "true"}]
    found: Figures = {}
    put(found, "error_rate", 1 - len(good) / len(rows))
    for name in ("e2e_latency_ms", "ttft_ms", "tpot_ms"):
        samples = [number(row[name]) for row in good if name in row]
        for percent in (50, 95, 99) if samples else ():
            put(found, name, rank(samples, percent), f"p{percent}")
    return [found]


ORACLES: dict[str, Oracle] = {
    oracle.__name__: oracle
    for oracle in (
        vllm_bench, sglang_bench, trtllm_bench, guidellm, guidellm_csv, aiperf, aiperf_csv, aiperf_records, mlperf_loadgen,
        mlperf_training, mlperf_accuracy, llmperf, inference_perf, lm_eval, megatron, nccl_tests, nvidia_smi_csv,
        dcgm_exposition, prometheus_exposition, prometheus_json, mlflow, wandb, pytorch_chrome_trace, measured,
    )
} | {"table": own_table}  # fmt: skip
