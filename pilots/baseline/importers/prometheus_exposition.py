"""One scrape of a vLLM server (`/metrics`): histograms since its start, in seconds, and readings of devices beside them.

A histogram knows only how many requests stayed below each bound. A percentile is therefore given as the bound that holds
it, which never makes a server look faster than it was. Rates would need two scrapes and are not formed.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Final

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import BenchmarkRefused, ImportedBenchmark, figure, needed
from pilots.baseline.importers.devices import CANNOT_SAY
from pilots.baseline.importers.exposition import Sample, devices_of, models_of, samples
from pilots.baseline.importers.reading import Source
from pilots.baseline.stats import PERCENTILES
from qms.core.values import Metric

NAME: Final = "Prometheus (vLLM /metrics)"
_HISTOGRAMS: Final = {
    "time_to_first_token_seconds": "ttft_ms",
    "time_per_output_token_seconds": "tpot_ms",
    "request_time_per_output_token_seconds": "tpot_ms",
    "e2e_request_latency_seconds": "e2e_latency_ms",
}
_BOUND: Final = "obere Grenze der Klasse"
_SINCE: Final = "seit dem Start des Servers"


def recognise(source: Source) -> bool:
    """Say whether a file is a scrape of a server."""
    text = source.start
    return (
        not text.lstrip().startswith(("{", "["))
        and ("vllm:" in text or "\nvllm_" in text)
        and "# TYPE " in text
    )


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return what one scrape says; raises BenchmarkRefused with one German sentence."""
    text = source.text()
    if "_created{" in text and "vllm_" in text and not text.rstrip().endswith("# EOF"):
        raise BenchmarkRefused("TRUNCATED", "Dem Abruf fehlt das Ende (# EOF).")
    found = samples(text)
    metrics: list[Metric] = []
    answered: set[int] = set()
    for name, key in _HISTOGRAMS.items():
        histogram = [item for item in found if _base(item.name).startswith(f"{name}_")]
        if histogram:
            n, figures_of = _histogram(histogram, name, key)
            metrics += figures_of
            answered.add(n)
    metrics += devices_of(found).metrics(snapshot=True)
    completed = min(answered) if answered else None
    return (
        ImportedBenchmark(
            tool=NAME,
            metrics=tuple(metrics),
            what_it_says=(
                f"Modell laut Datei: {models_of(found, 'model_name')}, Geräte: {models_of(found, 'modelName')}.",
                f"{completed or 0} Anfragen {_SINCE}.",
            ),
            what_it_cannot_say=(
                "Die Datei ist ein einzelner Abruf; Durchsatz und Fehlerquote brauchen zwei.",
                *CANNOT_SAY[1:],
            ),
            completed=completed,
        ),
    )


def _base(name: str) -> str:
    return name.removeprefix("vllm:").removeprefix("vllm_") if name.startswith("vllm") else ""


def _histogram(found: list[Sample], name: str, key: str) -> tuple[int, list[Metric]]:
    """Return the count of a histogram and its figures in ms, summed over all its series."""
    buckets: dict[float, float] = {}
    parts: dict[str, list[float]] = {"count": [], "sum": []}
    for sample in found:
        part = _base(sample.name).removeprefix(f"{name}_")
        if part == "bucket":
            bound = sample.labels.get("le", "")
            place = inf if bound == "+Inf" else figure(bound, f"Die Klasse von {name}")
            buckets[place] = buckets.get(place, 0) + needed(sample.value(), sample.name)
        elif part in parts:
            parts[part].append(needed(sample.value(), sample.name))
    if not parts["count"] or len(parts["count"]) != len(parts["sum"]):
        raise BenchmarkRefused("TRUNCATED", f"Dem Abruf fehlen Zahl oder Summe von {name}.")
    n, total = sum(parts["count"]), sum(parts["sum"])
    ordered = sorted(buckets)
    counts = [buckets[bound] for bound in ordered]
    if counts != sorted(counts) or not ordered or ordered[-1] != inf or counts[-1] != n or n != int(n):
        raise BenchmarkRefused("CONTRADICTION", f"Die Klassen von {name} widersprechen sich.")
    if not n:
        raise BenchmarkRefused("EMPTY", "Der Server hat noch keine Anfrage beantwortet.")
    _check_sum(buckets, total, name)
    values = {
        label[1:]: _holding(ordered, buckets, quantile * int(n)) for label, quantile in PERCENTILES.items()
    }
    known = {percent: bound and bound * 1e3 for percent, bound in values.items() if bound != inf}
    return int(n), [
        *figures.averaged(key, total / n * 1e3, int(n), f"{figures.MEAN} {_SINCE}"),
        *figures.percentiles(key, known, int(n), _BOUND),
    ]


def _holding(ordered: list[float], buckets: dict[float, float], rank: Fraction) -> float:
    return next(bound for bound in ordered if buckets[bound] >= rank)


def _check_sum(buckets: dict[float, float], total: float, name: str) -> None:
    """Refuse a sum outside of what the classes allow: then sum and bounds have different units."""
    least = most = below = previous = 0.0
    for bound in sorted(buckets):
        here = buckets[bound] - below
        least += here * previous
        most += here * bound if here else 0.0
        below, previous = buckets[bound], bound
    if not least * 0.999 <= total <= most * 1.001:
        raise BenchmarkRefused("CONTRADICTION", f"Summe und Klassen von {name} passen nicht zusammen.")
