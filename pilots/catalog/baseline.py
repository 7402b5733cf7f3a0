"""Baselines: measured on this machine, or read from a benchmark file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pilots.baseline import measure, numpy_run
from pilots.baseline.environment import environment, environment_digest
from pilots.baseline.facts import ev02, ev02_imported
from pilots.baseline.importers.common import BenchmarkRefused, ImportedBenchmark
from pilots.baseline.importers.registry import read
from pilots.catalog.hooks import Hooks
from pilots.catalog.measured import facts_of, machine_of, quantiles, summary_of
from pilots.catalog.model import LoadedModel, Tolerance, load_model, workload_fingerprint
from pilots.graph.errors import GraphError
from pilots.graph.spec import flops_per_sample
from pilots.wafer import equivalence
from pilots.wafer.errors import WaferError
from pilots.wafer.facts import reference_of
from pilots.wafer.limits import check_measured
from qms.core import canonical
from qms.core.errors import CriterionNotMet
from qms.core.jobs import JobFailed

# Up to here a repetition of the minimum is so short that the scheduler decides its rate: then many more requests.
SHORT_REQUEST_FLOPS: Final = 100_000_000
INVALID_RUN: Final = (
    "Das Werkzeug selbst bewertet den Lauf als ungültig oder nicht beendet; er ist keine Vergleichsbasis, bitte "
    "wiederholen Sie die Messung."
)


@dataclass(frozen=True)
class Measured:
    """A finished baseline: the facts of EV-02 and a summary for pages."""

    facts: dict[str, Any]
    summary: dict[str, Any]
    fingerprint: str
    digest: str


def run_baseline(
    parameters: dict[str, Any],
    *,
    run_id: str,
    platform: dict[str, Any],
    measured_at: str,
    tolerance: Tolerance,
    clock_ns: Callable[[], int],
    hooks: Hooks,
) -> Measured:
    """Measure the model on this machine; raises JobFailed with a German sentence.

    A capture is measured only if its outputs agree with those of its framework: else something else was measured.
    """
    model = load_model(parameters)
    batch = model.batch(parameters, "batch")
    try:
        check_measured(model.graph, batch=batch)
        compared = _same_outputs(model, tolerance)
        result = measure.measure(
            model.graph,
            model.weights,
            inputs=model.inputs(parameters, "batch"),
            batch=batch,
            clock_ns=clock_ns,
            repetitions=parameters["repetitions"],
            iterations=_iterations(model, batch, parameters),
            checkpoint=hooks.checkpoint or None,
            on_progress=hooks.progress,
            on_expected=hooks.expected,
            on_checkpoint=hooks.save,
            check_cancelled=hooks.check_cancelled,
        )
    except (measure.MeasureError, GraphError, WaferError) as error:
        raise JobFailed(error.message_de) from error
    mark = workload_fingerprint(model, parameters)
    here = environment()
    facts = ev02(
        result,
        run_id=run_id,
        platform=platform | machine_of(here),
        fingerprint=mark,
        measured_at=measured_at,
        environment=here,
    )
    facts |= compared
    summary = {
        "metrics": facts["metrics"],
        "throughput_cv": facts["throughput_cv"],
        "repetitions": result.repetitions,
        "iterations": result.iterations,
        "environment_digest": environment_digest(here),
        "durations_ms": quantiles([value for row in result.durations_ns for value in row]),
        "equivalence": compared,
    }
    return Measured(facts=facts, summary=summary, fingerprint=mark, digest=result.raw_sha256)


def _iterations(model: LoadedModel, batch: int, parameters: dict[str, Any]) -> int:
    """Return the requests of a repetition: known before anything is timed, so no measurement decides its own length."""
    short = flops_per_sample(model.graph) * batch <= SHORT_REQUEST_FLOPS
    return int(parameters["iterations" if short else "iterations_min"])


def _same_outputs(model: LoadedModel, tolerance: Tolerance) -> dict[str, Any]:
    """Return how the outputs of this machine compare with those of the framework, {} for a model without them."""
    if model.example is None:
        return {}
    found = numpy_run.forward(numpy_run.prepare(model.graph, model.weights), model.example.inputs)
    rows = equivalence.compare_outputs(model.graph, found, model.example.outputs, **asdict(tolerance))
    wrong = [row.name for row in rows if not row.within]
    reference = reference_of(model.trail)
    if wrong:
        raise JobFailed(
            f"Nicht gemessen: Die Rechnung auf diesem Rechner weicht bei {', '.join(wrong)} stärker von {reference} ab, "
            "als POL-06 erlaubt. Bitte zeichnen Sie das Modell neu auf."
        )
    return {"outputs": [row.to_json() for row in rows], "reference": reference}


@dataclass(frozen=True)
class Imported:
    """A benchmark file, understood: what it says, what it cannot say, and how to turn it into EV-02."""

    benchmark: ImportedBenchmark
    data: bytes

    @property
    def measured_at(self) -> datetime | None:
        """When the file says it was measured; a time without zone counts as UTC."""
        try:
            moment = datetime.fromisoformat(self.benchmark.measured_at or "")
        except ValueError:
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def facts(
        self, *, run_id: str, platform: dict[str, Any], model_digest: str, measured_at: str
    ) -> dict[str, Any]:
        """Return the facts of EV-02; only a result of our own command knows the workload and carries a fingerprint."""
        facts = ev02_imported(
            self.benchmark,
            run_id=run_id,
            platform=platform,
            fingerprint="",
            model_digest=model_digest,
            measured_at=measured_at,
            raw_sha256=canonical.sha256_hex(self.data),
        )
        own = self.benchmark.measurement
        return facts | {"measured_at": measured_at} | (facts_of(own, platform) if own else {})

    def summary(self) -> dict[str, Any]:
        """Return what the page shows."""
        own = self.benchmark.measurement
        return (summary_of(own) if own else {}) | {
            "metrics": [metric.to_json() for metric in self.benchmark.metrics],
            "tool": f"{self.benchmark.tool} {self.benchmark.version}".strip(),
            "says": list(self.benchmark.what_it_says),
            "cannot_say": list(self.benchmark.what_it_cannot_say),
            "warnings": list(self.benchmark.warnings),
        }


def read_benchmark(data: bytes, filename: str, run: int | None = None) -> Imported:
    """Read a benchmark file; raises CriterionNotMet NACHWEIS_VERWEIGERT with the importer's sentence.

    run: number of the run (from 1) in a file that holds several. A run its own tool calls invalid is refused.
    """
    try:
        found = read(data, filename, run=run)
    except BenchmarkRefused as error:
        raise refused(error.message_de, error.code) from error
    if found.valid is False:
        raise refused(INVALID_RUN, "INVALID_RUN")
    return Imported(found, data)


def refused(sentence: str, cause: str) -> CriterionNotMet:
    return CriterionNotMet(sentence, id="EV-02", code="NACHWEIS_VERWEIGERT", facts={"cause": cause})
