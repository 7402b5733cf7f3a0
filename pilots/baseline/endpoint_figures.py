"""Figures of an endpoint from its single answers: only good requests have times, the error rate counts all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pilots.baseline.endpoint import Answer
from pilots.baseline.measure import AXES
from pilots.baseline.stats import PERCENTILES, is_reliable, percentile, variation
from qms.core.values import Metric, Unit, rounded

SEEN_BY_CALLER: Final = "beim Aufrufer gemessen, mit Netz"
COUNTED: Final = "Token vom Server gezählt"
PIECES: Final = "Teile der Antwort gezählt, der Server nennt keine Token"
GAPS: Final = "Abstand der Teile einer Antwort"
_TIMES: Final = ("ttft_ns", "e2e_ns", "tokens")


@dataclass(frozen=True, slots=True)
class Repetition:
    """One repetition: nanoseconds from its first request to its last answer, and every answer."""

    wall_ns: int
    answers: tuple[Answer, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the form a result holds."""
        return {"wall_ns": self.wall_ns, "answers": [_answer_json(item) for item in self.answers]}


def repetitions_of(rows: Any) -> tuple[Repetition, ...]:
    """Read the repetitions of a result; raises KeyError, TypeError or ValueError for another form."""
    found = tuple(
        Repetition(_whole(row["wall_ns"]), tuple(_answer(item) for item in row["answers"])) for row in rows
    )
    if not found or not all(row.answers for row in found):
        raise ValueError("a repetition without requests")
    for row in found:
        if any(item.e2e_ns > row.wall_ns for item in row.answers):
            raise ValueError("an answer longer than its repetition")
    return found


def metrics(repetitions: Sequence[Repetition]) -> tuple[Metric, ...]:
    """Return throughput, percentiles and error rate; nothing but the error rate if no request was good."""
    answers = [item for row in repetitions for item in row.answers]
    good = [item for item in answers if item.ok]
    rate = Metric("error_rate", rounded(1 - len(good) / len(answers)), Unit.RATIO, AXES, n=len(answers))
    if not good:
        return (rate,)
    seconds = sum(row.wall_ns for row in repetitions) / 1e9
    words = COUNTED if all(item.counted for item in good) else PIECES
    tokens = sum(item.tokens for item in good) / seconds
    per_token = [(item.e2e_ns - item.ttft_ns) / (item.tokens - 1) for item in good if item.tokens > 1]
    return (
        Metric(
            "throughput_samples_s",
            rounded(len(good) / seconds),
            Unit.SAMPLES_PER_SECOND,
            AXES,
            n=len(repetitions),
        ),
        Metric(
            "throughput_tokens_s",
            rounded(tokens),
            Unit.TOKENS_PER_SECOND,
            AXES,
            n=len(repetitions),
            note=words,
        ),
        *_percentiles("ttft_ms", [item.ttft_ns for item in good], SEEN_BY_CALLER),
        *_percentiles("tpot_ms", per_token, words),
        *_percentiles("itl_ms", [gap for item in good for gap in item.gaps_ns], GAPS),
        *_percentiles("e2e_latency_ms", [item.e2e_ns for item in good], SEEN_BY_CALLER),
        rate,
    )


def spread(repetitions: Sequence[Repetition]) -> float:
    """Return the coefficient of variation of good requests per second over the repetitions, a share."""
    return variation([sum(item.ok for item in row.answers) * 1e9 / row.wall_ns for row in repetitions])


def _percentiles(key: str, values: Sequence[float], note: str) -> list[Metric]:
    """Return p50, p95 and p99 in ms of nanoseconds, empty for none."""
    if not values:
        return []
    return [
        Metric(
            key,
            rounded(percentile(values, quantile) / 1e6),
            Unit.MILLISECONDS,
            AXES,
            n=len(values),
            percentile=name,
            reliable=is_reliable(len(values), quantile),
            note=note,
        )
        for name, quantile in PERCENTILES.items()
    ]


def _answer_json(item: Answer) -> dict[str, Any]:
    if not item.ok:
        return {"error": item.error}
    times = {"ttft_ns": item.ttft_ns, "e2e_ns": item.e2e_ns, "tokens": item.tokens}
    return times | {"gaps_ns": list(item.gaps_ns), "counted": item.counted}


def _answer(row: Mapping[str, Any]) -> Answer:
    if "error" in row:
        return Answer(error=str(row["error"])[:20] or "?")
    ttft, e2e, tokens = (_whole(row[name]) for name in _TIMES)
    gaps = tuple(_whole(item, least=0) for item in row["gaps_ns"])
    if e2e != ttft + sum(gaps):
        raise ValueError("the pieces do not add up to the answer")
    return Answer("", ttft, e2e, gaps, tokens, counted=row["counted"] is True)


def _whole(value: Any, least: int = 1) -> int:
    if type(value) is not int or value < least:
        raise ValueError(f"{value!r} is no whole number of nanoseconds")
    return value
