"""The oracles of files that machines and trackers write: devices, collectives, tracked runs, profiler traces."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from math import inf, isfinite
from statistics import fmean

from tests.pilots.baseline.importers.oracle_figures import (
    MIB,
    Figures,
    number,
    put,
)


def nccl_tests(data: bytes) -> list[Figures]:
    rows = []
    for line in data.decode("utf-8-sig").split("\n"):
        cells = re.sub(r"^\s*\[?[0-9,]+\]?(<stdout>)?:\s", "", line).split()
        if len(cells) in {12, 13} and cells[0].isdigit():
            rows.append([number(cell) for cell in (cells[0], *cells[-8:-5])])
    small, large = min(rows), max(rows)
    found: Figures = {}
    put(found, "net_bus_bandwidth", large[3] * 1e9)
    put(found, "net_algorithm_bandwidth", large[2] * 1e9)
    put(found, "net_latency_ms", small[1] / 1e3)
    return [found]


def devices(busy: list[float], memory: list[float], power: list[float], heat: list[float]) -> Figures:
    found: Figures = {}
    if busy:
        put(found, "gpu_busy_share", fmean(busy) / 100)
    if memory:
        put(found, "peak_memory_bytes", max(memory) * MIB)
    if power:
        put(found, "power_watts", fmean(power))
    if heat:
        put(found, "temp_c", max(heat))
    return found


def nvidia_smi_csv(data: bytes) -> list[Figures]:
    rows = [row for row in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")) if row]
    heading = [cell.strip() for cell in rows[0]]
    series: dict[str, list[float]] = {}
    for row in rows[1:]:
        for title, cell in zip(heading, row, strict=False):
            value = re.fullmatch(r"(-?[0-9.eE+]+)( %| MiB| W)?", cell.strip())
            if value:
                series.setdefault(title, []).append(number(value[1]))
    names = ("utilization.gpu [%]", "memory.used [MiB]", "power.draw [W]", "temperature.gpu")
    return [devices(*(series.get(name, []) for name in names))]


FIELDS = ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_GPU_TEMP")


def scrape(text: str, name: str) -> list[float]:
    values = [
        number(value) for value in re.findall(rf"^{name}(?:\{{.*\}})? +(-?[0-9.eE+]+)", text, re.MULTILINE)
    ]
    return [value for value in values if value < 9.22e18]


def dcgm_exposition(data: bytes) -> list[Figures]:
    text = data.decode("utf-8-sig")
    return [devices(*(scrape(text, name) for name in FIELDS))]


def prometheus_exposition(data: bytes) -> list[Figures]:
    text = data.decode("utf-8-sig")
    found = devices(*(scrape(text, name) for name in FIELDS))
    for name, key in (
        ("time_to_first_token_seconds", "ttft_ms"),
        ("time_per_output_token_seconds", "tpot_ms"),
        ("request_time_per_output_token_seconds", "tpot_ms"),
        ("e2e_request_latency_seconds", "e2e_latency_ms"),
    ):
        buckets: dict[float, float] = {}
        for labels, value in re.findall(rf"^vllm[:_]{name}_bucket\{{(.*)\}} +(\S+)", text, re.MULTILINE):
            bound = float(re.search(r'le="([^"]*)"', labels)[1])
            buckets[bound] = buckets.get(bound, 0) + float(value)
        sums, counts = (scrape(text, rf"vllm[:_]{name}_{part}") for part in ("sum", "count"))
        if buckets and counts:
            put(found, key, sum(sums) / sum(counts) * 1e3)
            for percent in (50, 95, 99):
                bound = min(b for b in buckets if buckets[b] >= percent * sum(counts) / 100 - 1e-9)
                if bound != inf:
                    put(found, key, bound * 1e3, f"p{percent}")
    return [found]


def prometheus_json(data: bytes) -> list[Figures]:
    series: dict[str, list[float]] = {}
    for row in json.loads(data)["data"]["result"]:
        for _time, value in row.get("values", [row.get("value")]):
            if value not in {"NaN", "+Inf", "-Inf"} and float(value) < 9.22e18:
                series.setdefault(row["metric"]["__name__"], []).append(number(value))
    return [devices(*(series.get(name, []) for name in FIELDS))]


def tracked(series: dict[str, list[float]]) -> Figures:
    def named(pattern: str) -> list[float]:
        return [value for name, values in series.items() if re.fullmatch(pattern, name) for value in values]

    memory = [value * 1e6 / MIB for value in named(r"system/gpu_\d+_memory_usage_megabytes")]
    found = devices(
        named(r"system/gpu_\d+_utilization_percentage"),
        memory,
        named(r"system/gpu_\d+_power_usage_watts"),
        [],
    )
    rates = [
        values for name, values in series.items() if re.search(r"tokens_per_s(ec|econd)?$", name) and values
    ]
    if len(rates) == 1:
        put(found, "throughput_tokens_s", fmean(rates[0]))
    return found


def mlflow(data: bytes) -> list[Figures]:
    if not data.startswith(b"PK"):
        rows = json.loads(data)["run"]["data"]["metrics"]
        return [
            tracked({row["key"]: [row["value"]] for row in rows if isinstance(row.get("value"), int | float)})
        ]
    runs: dict[str, dict[str, list[float]]] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            place = re.fullmatch(r".*/([0-9a-f]{32})/metrics/(.+)", name)
            if place:
                values = [
                    float(line.split(" ")[1]) for line in archive.read(name).decode().split("\n") if line
                ]
                finite = [value for value in values if isfinite(value) and value >= 0]
                runs.setdefault(place[1], {})[place[2]] = finite
    return [tracked(runs[name]) for name in sorted(runs)]


def wandb(data: bytes) -> list[Figures]:
    rows = [json.loads(line) for line in data.decode("utf-8-sig").split("\n") if line.strip()]
    series: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, int | float) and value is not True and value is not False and value >= 0:
                series.setdefault(name, []).append(value)
    found = tracked(series)
    if len(rows) > 1:
        first, last = rows[0], rows[-1]
        put(
            found,
            "step_time_ms",
            (last["_runtime"] - first["_runtime"]) / (last["_step"] - first["_step"]) * 1e3,
        )
    return [found]


def union(intervals: list[tuple[float, float]]) -> float:
    total, reached = 0.0, -inf
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def pytorch_chrome_trace(data: bytes) -> list[Figures]:
    found: Figures = {}
    events = json.loads(data)["traceEvents"]
    work = [
        e for e in events if e.get("ph") == "X" and e.get("cat") in {"kernel", "gpu_memcpy", "gpu_memset"}
    ]
    window = max(e["ts"] + e["dur"] for e in work) - min(e["ts"] for e in work)
    names = {e["args"]["device"] for e in work}
    busy = alone = 0.0
    for device in names:
        mine = [e for e in work if e["args"]["device"] == device]
        busy += union([(e["ts"], e["ts"] + e["dur"]) for e in mine])
        alone += union(
            [
                (e["ts"], e["ts"] + e["dur"])
                for e in mine
                if e["cat"] != "kernel" or not re.search("nccl|rccl", str(e.get("name")), re.IGNORECASE)
            ]
        )
    put(found, "gpu_busy_share", busy / (window * len(names)))
    put(found, "comm_share", (busy - alone) / (window * len(names)))
    return [found]
