"""Traces of the PyTorch profiler (Chrome trace format, plain or gzip), read as a stream in bounded memory.

`ts` and `dur` are microseconds by the format. Kernels that move data between devices count as communication; what of
their time no other work of a device covers is exposed. Shares are of unions of intervals, so nothing counts twice.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import BenchmarkRefused, ImportedBenchmark, moment, number, text_of
from pilots.baseline.importers.json_stream import Elements
from pilots.baseline.importers.reading import Source
from pilots.graph.ir import Array
from qms.core.values import Unit

NAME: Final = "PyTorch-Profiler"
MAX_INTERVALS: Final = 4_000_000
_DEVICE: Final = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_COMMUNICATION: Final = re.compile(r"nccl|rccl", re.IGNORECASE)
_GPU: Final = 1
_WINDOW: Final = "der Zeit vom ersten bis zum letzten Kernel"
_BUSY: Final = "ein Kernel oder eine Kopie lief"
_LATEST_US: Final = 1e17
_LATEST_NS: Final = 1e19
MAX_DEVICES: Final = 1024


@dataclass(slots=True)
class _Device:
    """Intervals of one device in us: starts and ends of computing or copying, and of communication."""

    work: array[float] = field(default_factory=lambda: array("d"))
    communication: array[float] = field(default_factory=lambda: array("d"))


@dataclass(slots=True)
class _Trace:
    """What is kept of the events: intervals per device, the window of all devices in us, counts, and the largest memory in bytes."""

    devices: dict[int, _Device] = field(default_factory=dict)
    first: float = float("inf")
    last: float = 0.0
    kernels: int = 0
    intervals: int = 0
    memory: float = 0.0
    readings: int = 0


def recognise(source: Source) -> bool:
    """Say whether a file is such a trace."""
    return source.start.lstrip().startswith("{") and '"traceEvents"' in source.start


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the shares of a trace; raises BenchmarkRefused with one German sentence."""
    elements = Elements(source.chunks(), "traceEvents")
    trace = _Trace()
    for event in elements:
        if not isinstance(event, dict):
            raise BenchmarkRefused(
                "MISSING_FIELD", "Ein Ereignis der Spur ist anders aufgebaut als erwartet."
            )
        _take(trace, event)
    if not trace.intervals:
        sentence = "Die Spur enthält keine Arbeit eines Beschleunigers; bitte zeichnen Sie mit ProfilerActivity.CUDA auf."
        raise BenchmarkRefused("NO_DEVICE", sentence)
    return (_benchmark(trace, elements.others),)


def _take(trace: _Trace, event: Mapping[str, Any]) -> None:
    if event.get("ph") == "i" and event.get("name") == "[memory]":
        _take_memory(trace, event)
    if event.get("ph") != "X" or event.get("cat") not in _DEVICE:
        return
    start, length = _time(event, "ts"), _time(event, "dur")
    trace.first, trace.last = min(trace.first, start), max(trace.last, start + length)
    trace.intervals += 1
    if trace.intervals > MAX_INTERVALS or len(trace.devices) > MAX_DEVICES:
        sentence = f"Die Spur enthält mehr als {MAX_INTERVALS} Ereignisse von Beschleunigern; bitte zeichnen Sie weniger Schritte auf."
        raise BenchmarkRefused("TOO_LARGE", sentence)
    arguments = event.get("args")
    device = arguments.get("device") if isinstance(arguments, dict) else None
    if isinstance(device, bool) or not isinstance(device, int):
        raise BenchmarkRefused("MISSING_FIELD", "Einem Ereignis eines Beschleunigers fehlt sein Gerät.")
    kernel = event["cat"] == "kernel"
    trace.kernels += kernel
    found = trace.devices.setdefault(device, _Device())
    moves = kernel and _COMMUNICATION.search(str(event.get("name"))) is not None
    (found.communication if moves else found.work).extend((start, start + length))


def _time(event: Mapping[str, Any], key: str) -> float:
    value = event.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BenchmarkRefused("NOT_A_NUMBER", f"Einem Ereignis der Spur fehlt {key}.")
    if not 0 <= value < _LATEST_US:
        raise BenchmarkRefused("BAD_NUMBER", f"{key} eines Ereignisses ist nicht möglich.")
    return float(value)


def _take_memory(trace: _Trace, event: Mapping[str, Any]) -> None:
    arguments = event.get("args")
    if isinstance(arguments, dict) and arguments.get("Device Type") == _GPU:
        trace.memory = max(trace.memory, number(arguments, "Total Allocated") or 0.0)
        trace.readings += 1


def _benchmark(trace: _Trace, others: Mapping[str, Any]) -> ImportedBenchmark:
    window = trace.last - trace.first
    if window <= 0:
        raise BenchmarkRefused("BAD_NUMBER", "Die Spur umfasst keine Zeit.")
    busy, exposed = _busy(trace)
    whole = window * len(trace.devices)
    n = trace.intervals
    metrics = [
        figures.metric("comm_share", exposed / whole, Unit.RATIO, n, note=_WINDOW),
        figures.metric("gpu_busy_share", busy / whole, Unit.RATIO, n, note=_BUSY),
    ]
    if trace.memory:
        metrics.append(
            figures.metric("peak_memory_bytes", trace.memory, Unit.BYTES, trace.readings, note="belegt")
        )
    base = others.get("baseTimeNanoseconds")
    offset = base / 1e9 if isinstance(base, int) and 0 <= base < _LATEST_NS else 0.0
    start = trace.first / 1e6 + offset
    return ImportedBenchmark(
        tool=NAME,
        metrics=tuple(metrics),
        what_it_says=(
            f"Fenster {_milliseconds(window)}, Geräte: {len(trace.devices)}, Kernel: {trace.kernels}.",
            f"Beschäftigt {_milliseconds(busy)}, nicht verdeckte Kommunikation {_milliseconds(exposed)}.",
            f"Spur {text_of(others, 'traceName')}.",
        ),
        what_it_cannot_say=(
            "Die Spur sagt nicht, wie viele Beispiele oder Token verarbeitet wurden; ein Durchsatz wird nicht gebildet.",
            "Der Profiler verlangsamt den Lauf; Anteile sind belastbar, Zeiten nicht.",
            "Die Spur enthält keine Fehlerquote und keine Kosten.",
        ),
        measured_at=moment(start) if start > 1e9 else None,
    )


def _busy(trace: _Trace) -> tuple[float, float]:
    """Return the busy time and the exposed communication in us, over all devices."""
    busy = exposed = 0.0
    for device in trace.devices.values():
        everything = _union(device.work, device.communication)
        busy += everything
        exposed += everything - _union(device.work)
    return busy, exposed


def _union(*parts: array[float]) -> float:
    """Return the length in us of the union of intervals given as start, end, start, end ..."""
    pairs: Array = np.concatenate([np.frombuffer(part) for part in parts if part] or [np.empty(0)]).reshape(
        -1, 2
    )
    if not len(pairs):
        return 0.0
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    reached = np.maximum.accumulate(pairs[:, 1])
    before = np.concatenate([[-np.inf], reached[:-1]])
    return float(np.maximum(0.0, pairs[:, 1] - np.maximum(pairs[:, 0], before)).sum())


def _milliseconds(microseconds: float) -> str:
    """Return a time in ms with decimal comma ("66,141 ms")."""
    return f"{microseconds / 1e3:.3f}".replace(".", ",") + "\u00a0ms"
