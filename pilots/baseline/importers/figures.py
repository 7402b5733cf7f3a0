"""Figures out of what files say: percentiles in order, throughput that its own counts bear out, error rates with n."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final

from pilots.baseline.importers.common import AXES, BenchmarkRefused, ImportedBenchmark
from pilots.baseline.stats import PERCENTILES, is_reliable, percentile
from qms.core.values import Metric, Unit, rounded

TOLERANCE: Final = 0.02  # throughput is printed from the same two figures; more than 2 % off is another run
MEAN: Final = "Mittelwert"
WORDS: Final = {"ttft_ms": "ttft", "tpot_ms": "tpot", "e2e_latency_ms": "e2e"}


def metric(
    key: str,
    value: float,
    unit: Unit,
    n: int | None,
    *,
    percentile: str | None = None,
    reliable: bool = True,
    note: str = "",
) -> Metric:
    """Return an imported figure: GEMESSEN, EINGEREICHT, EIGEN; the reader may set the origin otherwise."""
    digits = 15 if unit is Unit.BYTES else 6
    shown = rounded(value, digits)
    return Metric(key, shown, unit, AXES, n=n, percentile=percentile, reliable=reliable, note=note)


def percentiles(key: str, values: Mapping[str, float | None], n: int | None, note: str = "") -> list[Metric]:
    """Return latencies in ms by percent ("50", "99.9"); a figure of exactly zero means "not measured"."""
    present = {percent: value for percent, value in values.items() if value}
    check_order(present, WORDS.get(key, key))
    return [
        metric(
            key,
            value,
            Unit.MILLISECONDS,
            n,
            percentile=f"p{percent}",
            reliable=n is not None and is_reliable(n, Fraction(percent) / 100),
            note=note,
        )
        for percent, value in sorted(present.items(), key=lambda item: float(item[0]))
    ]


def observed(key: str, samples: Sequence[float], note: str = "") -> list[Metric]:
    """Return p50, p95 and p99 of single requests in ms (nearest rank)."""
    if not samples:
        return []
    values = {name[1:]: percentile(samples, quantile) for name, quantile in PERCENTILES.items()}
    return percentiles(key, values, len(samples), note)


def averaged(key: str, milliseconds: float | None, n: int | None, note: str = MEAN) -> list[Metric]:
    """Return a mean in ms as a list of one, empty if it is absent or zero."""
    return [metric(key, milliseconds, Unit.MILLISECONDS, n, note=note)] if milliseconds else []


def requests_rate(completed: int, duration: float, stated: float | None = None) -> Metric:
    """Return good requests per second; raises BenchmarkRefused if the stated rate belongs to other figures."""
    if duration <= 0:
        raise BenchmarkRefused("BAD_NUMBER", "Die Dauer der Messung ist null.")
    if stated is not None:
        check_product(stated, duration, completed, "Durchsatz, Dauer und Zahl der Anfragen")
    return metric("throughput_samples_s", completed / duration, Unit.SAMPLES_PER_SECOND, completed)


def tokens_rate(rate: float | None, n: int | None, note: str = "") -> list[Metric]:
    """Return tokens per second as a list of one, empty if absent or zero."""
    return [metric("throughput_tokens_s", rate, Unit.TOKENS_PER_SECOND, n, note=note)] if rate else []


def error_rate(completed: int, failed: int) -> Metric:
    """Return failed requests over all, with all as n."""
    return metric("error_rate", failed / (completed + failed), Unit.RATIO, completed + failed)


def share(key: str, percent: float, n: int, name: str, note: str = "") -> Metric:
    """Return a percentage as a ratio; raises BenchmarkRefused above 100 %."""
    if percent > 100:
        raise BenchmarkRefused("BAD_NUMBER", f"{name} liegt über 100 Prozent.")
    return metric(key, percent / 100, Unit.RATIO, n, note=note)


def check_product(rate: float, duration: float, amount: float, subject: str) -> None:
    """Refuse a rate that times its duration is not the amount."""
    if abs(rate * duration - amount) > TOLERANCE * amount:
        raise BenchmarkRefused("CONTRADICTION", f"{subject} passen nicht zusammen.")


def check_order(values: Mapping[str, float], subject: str) -> None:
    """Refuse percentiles that fall where they must rise; keys are percents as text ("50", "99.9")."""
    ordered = [values[key] for key in sorted(values, key=float)]
    if any(later < earlier for earlier, later in pairwise(ordered)):
        raise BenchmarkRefused("CONTRADICTION", f"Die Perzentile ({subject}) widersprechen sich.")


def checked(benchmark: ImportedBenchmark) -> ImportedBenchmark:
    """Return a run that holds together, whatever its format; raises BenchmarkRefused for one that cannot be."""
    if not benchmark.metrics:
        raise BenchmarkRefused("NO_FIGURES", "Die Datei enthält keine verwertbaren Messwerte.")
    if benchmark.completed == 0:
        raise BenchmarkRefused("EMPTY", "Die Datei enthält keine erfolgreiche Anfrage.")
    if any(item.n is not None and item.n < 1 for item in benchmark.metrics):
        raise BenchmarkRefused("BAD_NUMBER", "Ein Messwert der Datei beruht auf keiner einzigen Beobachtung.")
    for item in benchmark.metrics:
        if item.unit is Unit.RATIO and item.value > 1 and item.key != "eval_score":
            raise BenchmarkRefused("BAD_NUMBER", f"Der Anteil {item.key} liegt über 100 Prozent.")
    _first_token_comes_first(benchmark.metrics)
    return benchmark


def _first_token_comes_first(metrics: Iterable[Metric]) -> None:
    """Refuse a first token that came later than the whole answer: a percentile of a part exceeds that of the whole."""
    by_place = {(item.key, item.percentile, item.note): item.value for item in metrics}
    for (key, percent, note), value in by_place.items():
        whole = by_place.get(("e2e_latency_ms", percent, note))
        if key == "ttft_ms" and whole is not None and value > whole:
            sentence = "Das erste Token käme später als die ganze Antwort; Zeiten und Einheiten passen nicht zusammen."
            raise BenchmarkRefused("CONTRADICTION", sentence)
