"""Collects the rows and prints them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field


def cpu_seconds(work: Callable[[], object], *, rounds: int = 5, loops: int = 1) -> float:
    """Return the median CPU seconds of one call; the first call is not counted."""
    work()
    found = []
    for _round in range(rounds):
        start = time.process_time()
        for _loop in range(loops):
            work()
        found.append((time.process_time() - start) / loops)
    return statistics.median(found)


def wall_seconds(work: Callable[[], object], *, rounds: int) -> float:
    """Return the median seconds of one call, waiting for the disk included."""
    work()
    found = []
    for _round in range(rounds):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def readable(seconds: float) -> str:
    """Return a duration with three digits and a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


@dataclass
class Table:
    """Rows of two columns of durations and their ratio."""

    rows: list[tuple[str, str, str, str]] = field(default_factory=list)

    def compare(self, what: str, ours: float, bare: float) -> None:
        """Add a row with the ratio of ours to bare."""
        self.rows.append((what, readable(ours), readable(bare), f"{ours / bare:.2f} ×"))

    def single(self, what: str, seconds: float, note: str = "") -> None:
        """Add a row with one duration and a remark."""
        self.rows.append((what, readable(seconds), "", note))

    def section(self, title: str, ours: str = "", bare: str = "", ratio: str = "") -> None:
        """Add a heading."""
        self.rows.append(("", "", "", ""))
        self.rows.append((title.upper(), ours, bare, ratio))

    def text(self) -> str:
        """Return the table as text."""
        widths = [max(len(row[column]) for row in self.rows) for column in range(4)]
        lines = [
            f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}".rstrip()
            for row in self.rows
        ]
        return "\n".join(lines)
