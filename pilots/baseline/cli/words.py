"""A figure in the words of the pages: German name, decimal comma, unit. What has no name here keeps its key."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from qms.core.values import Metric, Unit, decimal_text

NOUNS: Final = {
    "throughput_samples_s": "Durchsatz",
    "throughput_items_s": "Durchsatz",
    "throughput_tokens_s": "Durchsatz in Token",
    "e2e_latency_ms": "Antwortzeit",
    "ttft_ms": "Zeit bis zum ersten Token",
    "tpot_ms": "Zeit je Ausgabetoken",
    "itl_ms": "Abstand der Token",
    "step_time_ms": "Schrittzeit",
    "time_to_quality_h": "Zeit bis zum Qualitätsziel",
    "peak_memory_bytes": "Speicher",
    "error_rate": "Fehlerquote",
    "eval_score": "Bewertungswert",
    "comm_share": "Kommunikationsanteil",
    "gpu_busy_share": "Beschäftigte Zeit",
    "power_watts": "Leistungsaufnahme",
    "temp_c": "Temperatur",
    "net_bus_bandwidth": "Busbandbreite",
    "net_algorithm_bandwidth": "Algorithmusbandbreite",
    "net_latency_ms": "Netzlatenz",
}
UNITS: Final = {Unit.SAMPLES_PER_SECOND: "Anfragen/s", Unit.TOKENS_PER_SECOND: "Token/s", Unit.RATIO: "%"}


def figure(item: Metric) -> str:
    """Return name, percentile, value and unit, such as "Antwortzeit p99: 54,4253 ms"; shares as percent."""
    name = f"{NOUNS.get(item.key, item.key)} {item.percentile or ''}".strip()
    share = item.unit is Unit.RATIO
    value = decimal_text(item.value * Decimal(100) if share else item.value).replace(".", ",")
    return f"{name}: {value} {UNITS.get(item.unit, item.unit.value)}"
