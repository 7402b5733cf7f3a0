"""Whether the latencies of a run fit its duration: seconds in a field of milliseconds are a thousand times too small.

By Little's law the requests in flight are latency times requests over duration. Where many were in flight, far fewer
than that cannot be (and no request lasts longer than the run).
"""

from __future__ import annotations

from typing import Final

from pilots.baseline.importers.common import BenchmarkRefused

LEAST_SHARE: Final = 1 / 500
"""Least share of the requests in flight at most that must have been in flight on average; a wrong unit gives 1/1000."""
FEW: Final = 4
"""From here on so many at once are no accident of arrival."""
SLACK: Final = 1.05
WRONG_UNIT: Final = (
    "Antwortzeiten, Dauer und Zahl gleichzeitiger Anfragen passen nicht zusammen; bitte prüfen Sie, ob in Feldern für "
    "Millisekunden Sekunden stehen."
)


def check_latency(mean_ms: float | None, requests: int, duration_s: float, most_at_once: int | None) -> None:
    """Raise BenchmarkRefused for a mean latency that cannot belong to so many requests in that time.

    most_at_once: requests in flight at most, None where the file does not say.
    """
    if mean_ms is None or duration_s <= 0:
        return
    seconds = mean_ms / 1000
    too_long = seconds > duration_s * SLACK
    many = most_at_once is not None and most_at_once >= FEW
    too_short = many and seconds * requests / duration_s < (most_at_once or 0) * LEAST_SHARE
    if too_long or too_short:
        raise BenchmarkRefused("CONTRADICTION", WRONG_UNIT)
