"""The door to the pure packages: what a workload's model, machine and benchmark file are called over there.

Turns their errors into refusals with one German sentence. No Django models here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pilots import replay as replays
from pilots.baseline import measure, numpy_run
from pilots.baseline.environment import environment, environment_digest
from pilots.baseline.facts import ev02, ev02_imported
from pilots.baseline.importers.common import BenchmarkRefused, ImportedBenchmark
from pilots.baseline.importers.registry import read
from pilots.graph.errors import GraphError
from pilots.graph.fingerprint import fingerprint, seeded_dataset_hash
from pilots.graph.ir import Graph, Weights
from pilots.graph.mlp import describe, input_samples, mlp_from_text
from pilots.wafer import emulator, equivalence
from pilots.wafer.compiler import ALL_KERNELS, compile_graph
from pilots.wafer.errors import WaferError
from pilots.wafer.facts import ev04, ev06, ev16
from pilots.wafer.listing import listing
from pilots.wafer.machine import MACHINES, Machine
from qms.core import canonical
from qms.core.errors import CriterionNotMet
from qms.core.jobs import JobFailed
from qms.workloads.providers import ModelFacts

MACHINE_OF_PROFILE = {"WSE-2": "wse-2", "WSE-3": "wse-3"}
PRECISION_POLICY = "float32, Akkumulation float32"


@dataclass(frozen=True)
class Hooks:
    """What a long computation reports and asks; see `qms.core.jobs.JobContext`."""

    checkpoint: dict[str, Any] | None
    progress: Callable[[int, int], None]
    save: Callable[[dict[str, Any]], None]
    check_cancelled: Callable[[], None]


def read_model(text: str) -> ModelFacts:
    """Return digest and facts of a model text such as "64-256-256-8"; raises CriterionNotMet (G0-5)."""
    graph, _weights = _model(text)
    summary = describe(graph)
    return ModelFacts(digest=summary.model_digest, facts=summary.to_json())


def workload_fingerprint(text: str, *, batch: int, seed: int) -> str:
    """Return the platform-free fingerprint of running this model on its seeded inputs (spec 3.7.3)."""
    graph, _weights = _model(text)
    return fingerprint(
        graph,
        dataset_manifest_hash=seeded_dataset_hash(graph, inputs_seed=seed),
        batch_set=(batch,),
        precision_policy=PRECISION_POLICY,
        seed_policy=f"fester Startwert {seed}",
        request_profile="geschlossene Schleife, ein Stapel nach dem anderen",
    )


def emulates(profile_key: str) -> bool:
    """Return whether the emulator has a machine for this platform profile."""
    return profile_key in MACHINE_OF_PROFILE


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
    clock_ns: Callable[[], int],
    hooks: Hooks,
) -> Measured:
    """Measure the model on this machine; raises JobFailed with a German sentence."""
    graph, weights = _model(parameters["model_text"])
    batch, seed = parameters["batch"], parameters["seed"]
    try:
        result = measure.measure(
            graph,
            weights,
            inputs_seed=seed,
            batch=batch,
            clock_ns=clock_ns,
            repetitions=parameters["repetitions"],
            iterations=parameters["iterations"],
            checkpoint=hooks.checkpoint or None,
            on_progress=hooks.progress,
            on_checkpoint=hooks.save,
            check_cancelled=hooks.check_cancelled,
        )
    except measure.MeasureError as error:
        raise JobFailed(error.message_de) from error
    mark = workload_fingerprint(parameters["model_text"], batch=batch, seed=seed)
    here = environment()
    tuple_here = platform | {
        "hardware_gen": here["cpu_model"],
        "system_release": here["operating_system"],
        "framework_release": f"NumPy {here['numpy']}",
        "memory_bytes": here["memory_bytes"],
        "topology": f"{here['usable_cores']} Kerne, gemeinsamer Speicher",
        "software": {"python": here["python"], "numpy": here["numpy"], "blas": here["blas"]},
    }
    facts = ev02(
        result,
        run_id=run_id,
        platform=tuple_here,
        fingerprint=mark,
        measured_at=measured_at,
        environment=here,
    )
    summary = {
        "metrics": facts["metrics"],
        "throughput_cv": facts["throughput_cv"],
        "repetitions": result.repetitions,
        "iterations": result.iterations,
        "environment_digest": environment_digest(here),
        "durations_ms": _quantiles([value for row in result.durations_ns for value in row]),
    }
    return Measured(facts=facts, summary=summary, fingerprint=mark, digest=result.raw_sha256)


@dataclass(frozen=True)
class Emulated:
    """A finished target run: facts of EV-04, EV-06, EV-16, a summary for pages, validity, replay verdict."""

    ev04: dict[str, Any]
    ev06: dict[str, Any]
    ev16: dict[str, Any]
    summary: dict[str, Any]
    fingerprint: str
    result_digest: str
    valid: bool
    replay_equal: bool


def run_target(
    parameters: dict[str, Any],
    *,
    run_id: str,
    profile_key: str,
    platform: dict[str, Any],
    started_at: str,
    criteria_sha256: str,
    rtol: float,
    hooks: Hooks,
) -> Emulated:
    """Emulate the model, compare with this machine's own result, compute once more; raises JobFailed."""
    graph, weights = _model(parameters["model_text"])
    batch, seed = parameters["samples"], parameters["seed"]
    machine = MACHINES[MACHINE_OF_PROFILE[profile_key]]
    try:
        result = emulator.run(
            graph,
            weights,
            inputs_seed=seed,
            batch=batch,
            machine=machine,
            checkpoint=hooks.checkpoint or None,
            on_progress=hooks.progress,
            on_checkpoint=hooks.save,
            check_cancelled=hooks.check_cancelled,
        )
        hooks.check_cancelled()
        again = replays.replay(
            result.manifest, on_progress=hooks.progress, check_cancelled=hooks.check_cancelled
        )
    except (WaferError, replays.ReplayRefused) as error:
        raise JobFailed(error.message_de) from error
    compared = equivalence.compare("y", result.outputs, _reference(graph, weights, seed, batch), rtol=rtol)
    mark = workload_fingerprint(parameters["model_text"], batch=parameters["batch"], seed=seed)
    return Emulated(
        ev04=ev04(
            result,
            machine,
            run_id=run_id,
            platform=platform,
            fingerprint=mark,
            criteria_sha256=criteria_sha256,
            started_at=started_at,
            replay={"digest": again.actual, "equal": again.equal},
        ),
        ev06=ev06([compared], run_id=run_id),
        ev16=ev16(result, run_id=run_id, fingerprint=mark, criteria_sha256=criteria_sha256),
        summary=_target_summary(result, machine, compared.to_json(), again.equal),
        fingerprint=mark,
        result_digest=result.result_digest,
        valid=result.validity == "GUELTIG",
        replay_equal=again.equal,
    )


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
        """Return the facts of EV-02; the file does not know the workload, so it carries no fingerprint."""
        facts = ev02_imported(
            self.benchmark,
            run_id=run_id,
            platform=platform,
            fingerprint="",
            model_digest=model_digest,
            measured_at=measured_at,
            raw_sha256=canonical.sha256_hex(self.data),
        )
        return facts | {"measured_at": measured_at}

    def summary(self) -> dict[str, Any]:
        """Return what the page shows."""
        return {
            "metrics": [metric.to_json() for metric in self.benchmark.metrics],
            "tool": self.benchmark.tool,
            "says": list(self.benchmark.what_it_says),
            "cannot_say": list(self.benchmark.what_it_cannot_say),
            "warnings": list(self.benchmark.warnings),
        }


def read_benchmark(data: bytes, filename: str) -> Imported:
    """Read a benchmark file; raises CriterionNotMet NACHWEIS_VERWEIGERT with the importer's sentence."""
    try:
        return Imported(read(data, filename), data)
    except BenchmarkRefused as error:
        raise CriterionNotMet(
            error.message_de, id="EV-02", code="NACHWEIS_VERWEIGERT", facts={"cause": error.code}
        ) from error


def sram_map(profile_key: str, parameters: dict[str, Any]) -> Any:
    """Return per processing element the share of its SRAM in use, in per cent (rows by columns)."""
    graph, _weights = _model(parameters["model_text"])
    machine = MACHINES[MACHINE_OF_PROFILE[profile_key]]
    program = compile_graph(graph, machine, batch=parameters["samples"], kernels=ALL_KERNELS)
    memory, _busy = emulator.pe_maps(program, machine)
    return memory * (100.0 / machine.sram_bytes_per_pe.value)


def _model(text: str) -> tuple[Graph, Weights]:
    try:
        return mlp_from_text(text)
    except GraphError as error:
        raise CriterionNotMet(error.message_de, id="G0-5") from error


def _reference(graph: Graph, weights: Weights, seed: int, batch: int) -> Any:
    inputs = input_samples(graph, inputs_seed=seed, batch=batch)
    return numpy_run.forward(graph, numpy_run.prepared(weights), inputs)


def _target_summary(
    result: emulator.EmulationResult, machine: Machine, compared: dict[str, Any], replayed: bool
) -> dict[str, Any]:
    return {
        "metrics": [metric.to_json() for metric in result.metrics],
        "machine": machine.id,
        "peak_sram_bytes": result.prediction.resident_bytes,
        "sram_capacity_bytes": machine.sram_bytes,
        "listing": listing(result.program, machine),
        "equivalence": compared,
        "replay_equal": replayed,
        "calibration_note": emulator.CALIBRATION_NOTE,
        "checks": [check.to_json() for check in result.checks],
    }


def _quantiles(durations_ns: list[int]) -> list[str]:
    """Return 101 quantiles in milliseconds as text, for the latency curve."""
    ordered = sorted(durations_ns)
    last = len(ordered) - 1
    return [f"{ordered[round(last * step / 100)] / 1e6:.6f}" for step in range(101)]
