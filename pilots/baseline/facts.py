"""Facts of a baseline as the evidence file EV-02 holds them. Ids and times come from the caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pilots.baseline.environment import environment_digest
from pilots.baseline.importers.common import ImportedBenchmark
from pilots.baseline.measure import TOOL, BaselineResult
from qms.core.values import decimal_text, rounded

BASELINE: Final = "BASELINE"


def ev02(
    result: BaselineResult,
    *,
    run_id: str,
    platform: Mapping[str, Any],
    fingerprint: str,
    measured_at: str,
    environment: dict[str, Any],
) -> dict[str, Any]:
    """Return the facts of a baseline measured by our own command."""
    facts = _common(run_id, platform, fingerprint, measured_at)
    return facts | {
        "source": "MESSBEFEHL",
        "model_digest": result.model_digest,
        "repetitions": result.repetitions,
        "iterations": result.iterations,
        "throughput_cv": decimal_text(rounded(result.throughput_cv, 4)),
        "metrics": [item.to_json() for item in result.metrics],
        "environment_digest": environment_digest(environment),
        "tool": TOOL,
        "failed_requests": result.failed_requests,
        "raw_sha256": result.raw_sha256,
    }


def ev02_imported(
    benchmark: ImportedBenchmark,
    *,
    run_id: str,
    platform: Mapping[str, Any],
    fingerprint: str,
    model_digest: str,
    measured_at: str,
    raw_sha256: str,
    role: str = BASELINE,
) -> dict[str, Any]:
    """Return the facts of an imported benchmark file: one repetition, whose spread nobody knows.

    role: BASELINE, or ZIEL for a run on a real target machine; the file does not know which.
    """
    facts = _common(run_id, platform, fingerprint, benchmark.measured_at or measured_at) | {"role": role}
    return facts | {
        "source": "IMPORT",
        "model_digest": model_digest,
        "repetitions": 1,
        "iterations": benchmark.completed,
        "throughput_cv": None,
        "metrics": [item.to_json() for item in benchmark.metrics],
        "environment_digest": None,
        "tool": f"{benchmark.tool} {benchmark.version}".strip(),
        "failed_requests": benchmark.failed,
        "raw_sha256": raw_sha256,
    }


def _common(run_id: str, platform: Mapping[str, Any], fingerprint: str, measured_at: str) -> dict[str, Any]:
    return {
        "type": "EV-02",
        "run_id": run_id,
        "role": BASELINE,
        "platform": dict(platform),
        "fingerprint": fingerprint,
        "measured_at": measured_at,
    }
