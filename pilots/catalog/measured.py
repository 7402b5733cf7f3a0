"""Results of the measuring command at the user's side: what EV-02 holds of them beyond any other file (ADR 0115)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pilots.baseline.environment import environment_digest
from pilots.baseline.importers.common import ImportedBenchmark, Measurement
from pilots.baseline.importers.measured import signature_sentence
from pilots.baseline.signature import SignatureError, key_id, read_card
from qms.core.values import Assurance, decimal_text, rounded

GRAPH: Final = "GRAPH"

__all__ = [
    "SignatureError",
    "assured",
    "facts_of",
    "key_id",
    "machine_of",
    "quantiles",
    "read_card",
    "summary_of",
]


def facts_of(found: Measurement, platform: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of EV-02 of a measurement; platform: the tuple of the chosen profile."""
    return {
        "source": "MESSBEFEHL",
        "repetitions": found.repetitions,
        "iterations": found.iterations,
        "throughput_cv": decimal_text(rounded(found.throughput_cv, 4)),
        "environment_digest": environment_digest(dict(found.environment)),
        "measurement": {"kind": found.kind, "sha256": found.sha256, "public_key": found.public_key},
    } | (
        {
            "environment": dict(found.environment),
            "fingerprint": found.fingerprint,
            "model_digest": found.model_digest,
            "platform": platform | machine_of(dict(found.environment)),
        }
        if found.kind == GRAPH
        else {}
    )


def summary_of(found: Measurement) -> dict[str, Any]:
    """Return what the page of the run shows of a measurement."""
    facts = facts_of(found, {})
    return {name: facts[name] for name in ("repetitions", "iterations", "throughput_cv")} | {
        "environment": facts.get("environment", {}),  # of an endpoint the caller's machine says nothing
        "durations_ms": quantiles(list(found.durations_ns)),
        "measurement": facts["measurement"],
        "method": [list(row) for row in found.method],
    }


def assured(
    found: ImportedBenchmark, own: ImportedBenchmark, assurance: Assurance, said: str
) -> ImportedBenchmark:
    """Return a run whose figures from the measured file carry its assurance.

    found: the run of all files; own: what the measured file alone says; said: what its signature is worth here, in place
    of what the file alone says of it.
    """
    mine = {(item.key, item.percentile, item.value) for item in own.metrics}
    metrics = tuple(
        replace(item, axes=replace(item.axes, assurance=assurance))
        if (item.key, item.percentile, item.value) in mine
        else item
        for item in found.metrics
    )
    before = signature_sentence(own.measurement.public_key) if own.measurement else said
    kept = [text for text in found.what_it_says if not text.endswith(before)]
    return replace(found, metrics=metrics, what_it_says=(*kept, said))


def machine_of(here: dict[str, Any]) -> dict[str, Any]:
    """Return the part of the platform tuple that a machine says about itself."""
    return {
        "hardware_gen": here["cpu_model"],
        "system_release": here["operating_system"],
        "framework_release": f"NumPy {here['numpy']}",
        "memory_bytes": here["memory_bytes"],
        "topology": f"{here['usable_cores']} Kerne, gemeinsamer Speicher",
        "software": {"python": here["python"], "numpy": here["numpy"], "blas": here["blas"]},
    }


def quantiles(durations_ns: list[int]) -> list[str]:
    """Return 101 quantiles in milliseconds as text, for the latency curve."""
    ordered = sorted(durations_ns)
    last = len(ordered) - 1
    return [f"{ordered[round(last * step / 100)] / 1e6:.6f}" for step in range(101)]
