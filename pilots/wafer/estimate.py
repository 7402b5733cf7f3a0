"""What a decoder model would do on a wafer: the answer to a pasted `config.json`, from shapes alone.

Every figure is a Span: value and both ends of the 90 % interval of the published model error. Nothing here is measured.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from pilots.graph.decoder import decoder_graph
from pilots.graph.ir import DType, Graph
from pilots.graph.model_config import ModelConfig
from pilots.wafer import plausibility
from pilots.wafer.compiler import MAX_BATCH, MAX_SYSTEMS, Request, compile_graph
from pilots.wafer.costs.terms import Span
from pilots.wafer.errors import DoesNotFit, RequestError
from pilots.wafer.machine import Machine
from pilots.wafer.predict import Prediction, predict
from pilots.wafer.program import Mode, Program

MAX_CONTEXT: Final = 2**20
MAX_ROWS: Final = 2**22  # tokens of one prefill over all sequences
COPIES: Final = (1, 2, 4, 8, 16)
ROUNDS: Final = (1, 2, 4, 8, 16)
LEAST_OF_A_ROUND: Final = 4  # fewer requests than that gain nothing from taking turns
CAUSES: Final = ("compute", "memory", "fabric", "launch", "off_wafer")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: context tokens per sequence, sequences at once, how many systems, where the weights live."""

    context: int
    batch: int = 1
    systems: int = 1
    mode: Mode = Mode.RESIDENT


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of serving: its program and prediction, tokens per second over all sequences and for one of them.

    parts_seconds: seconds of one step by cause (CAUSES), summing to the step; joules_per_token: of the systems used.
    """

    program: Program
    prediction: Prediction
    step_seconds: Span
    tokens_per_second: Span
    tokens_per_second_per_sequence: Span
    joules_per_token: Span
    parts_seconds: dict[str, float]
    checks: tuple[plausibility.Check, ...]


@dataclass(frozen=True, slots=True)
class Capacity:
    """Bytes: what the model needs and what the systems have. data_bytes: SRAM less code and stack of every element."""

    weight_bytes: int
    cache_bytes: int
    sram_bytes: int
    data_bytes: int
    used_bytes: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """The answer: prompt and answer phase, and what is needed of the memory.

    prefill: one prompt at a time; None if its activations do not fit, then prefill_refusal_de says what is missing.
    """

    config: ModelConfig
    machine: Machine
    question: Question
    decode: Phase
    prefill: Phase | None
    prefill_refusal_de: str
    capacity: Capacity


def estimate(config: ModelConfig, machine: Machine, question: Question) -> Estimate:
    """Return what serving the model takes; raises RequestError, DoesNotFit or UnsupportedOps."""
    check(config, question)
    decode = _phase(config, machine, question, "decode")
    prefill: Phase | None = None
    refusal = ""
    try:
        prefill = _phase(config, machine, replace(question, batch=1), "prefill")
    except DoesNotFit as error:
        refusal = error.message_de
    memory = capacity(config, machine, question, decode)
    return Estimate(config, machine, question, decode, prefill, refusal, memory)


def check(config: ModelConfig, question: Question) -> None:
    """Refuse sizes no machine could hold; raises RequestError with the permitted range."""
    limit = min(MAX_CONTEXT, config.max_context or MAX_CONTEXT)
    for name, value, top in (
        ("Der Kontext", question.context, limit),
        ("Die Zahl der Anfragen zugleich", question.batch, MAX_BATCH),
        ("Die Zahl der Systeme", question.systems, MAX_SYSTEMS),
    ):
        if not 1 <= value <= top:
            raise RequestError(f"{name}: {value}", message_de=f"{name} muss zwischen 1 und {top} liegen.")
    if question.context * question.batch > MAX_ROWS:
        sentence = f"Kontext mal Anfragen darf {MAX_ROWS} Token nicht übersteigen; bitte verkleinern Sie eines von beiden."
        raise RequestError(f"{question.context} x {question.batch} tokens", message_de=sentence)


def capacity(config: ModelConfig, machine: Machine, question: Question, decode: Phase) -> Capacity:
    """Return the memory balance of the answer phase."""
    kept = config.kv_bytes_per_token * question.context * question.batch
    return Capacity(
        weight_bytes=config.weight_bytes,
        cache_bytes=kept,
        sram_bytes=machine.sram_bytes * question.systems,
        data_bytes=machine.pes * machine.data_bytes_per_pe * question.systems,
        used_bytes=decode.prediction.resident_bytes,
    )


def _phase(config: ModelConfig, machine: Machine, question: Question, phase: str) -> Phase:
    """Compile for the share of the requests that one copy of the program serves, and predict."""
    program, share = _shared(config, machine, question, phase)
    running = -(-question.batch // share)
    prediction = predict(program, machine, batch=share, copies=running)
    tokens = question.batch * (1 if phase == "decode" else question.context)
    step = prediction.step_seconds
    seconds = {
        name: cycles * prediction.passes / machine.clock_hz.value
        for name, cycles in prediction.pass_cycles.items()
    }
    used = program.systems * running
    most, usual = machine.power_watts_max.value * used, machine.power_watts_typical.value * used
    return Phase(
        program=program,
        prediction=prediction,
        step_seconds=step,
        tokens_per_second=step.inverse(tokens),
        tokens_per_second_per_sequence=step.inverse(tokens / question.batch),
        joules_per_token=Span(step.value * most, step.lower * usual, step.upper * most).times(1 / tokens),
        parts_seconds=seconds | {"off_wafer": prediction.off_wafer_seconds.value},
        checks=plausibility.check(program, machine, prediction),
    )


def _shared(config: ModelConfig, machine: Machine, question: Question, phase: str) -> tuple[Program, int]:
    """Return the program with the shortest step and its share of the requests.

    Tried are copies, each on the fewest systems that hold it, and rounds: a part of the requests after the other, while
    the caches of all of them stay. More of either is not tried once it stops helping.
    """
    best: tuple[float, Program, int] | None = None
    refused: list[DoesNotFit] = []
    for copies in (count for count in COPIES if count <= min(question.systems, question.batch)):
        share = -(-question.batch // copies)
        if copies > 1 and least_systems(config, machine, question, share) > question.systems // copies:
            break
        found: tuple[float, Program, int] | None = None
        for rounds in (count for count in ROUNDS if count == 1 or share >= LEAST_OF_A_ROUND * count):
            try:
                program = _on_fewest(
                    config, machine, question, phase, (share, rounds, question.systems // copies)
                )
            except DoesNotFit as error:
                refused.append(error)
                continue
            seconds = predict(program, machine, batch=share).step_seconds.value
            if found is not None and seconds >= found[0]:
                break
            found = (seconds, program, share)
        if best is not None and (found is None or found[0] >= best[0]):
            break
        best = found or best
    if best is None:
        raise min(refused, key=lambda error: error.shortfall_bytes)
    return best[1:]


def _on_fewest(
    config: ModelConfig, machine: Machine, question: Question, phase: str, split: tuple[int, int, int]
) -> Program:
    """Return the program on the fewest systems it fits on; split: requests, rounds, systems there are."""
    share, rounds, most = split
    least = least_systems(config, machine, question, share)
    for systems in sorted({count for count in COPIES if least <= count < most}):
        try:
            return _program(config, machine, replace(question, systems=systems), phase, (share, rounds))
        except DoesNotFit:
            continue
    return _program(config, machine, replace(question, systems=most), phase, (share, rounds))


def least_systems(config: ModelConfig, machine: Machine, question: Question, share: int) -> int:
    """Return the systems whose SRAM could hold weights and caches at best; nothing fits on fewer."""
    kept = config.kv_bytes_per_token * question.context * share
    kept += config.weight_bytes if question.mode is Mode.RESIDENT else 0
    return -(-kept // (machine.pes * machine.data_bytes_per_pe))


def step_seconds(config: ModelConfig, machine: Machine, question: Question, systems: int) -> float:
    """Return the seconds of one answer step of all requests when `systems` share them."""
    return _phase(config, machine, replace(question, systems=systems), "decode").step_seconds.value


def _program(
    config: ModelConfig, machine: Machine, question: Question, phase: str, split: tuple[int, int]
) -> Program:
    share, rounds = split
    batch = -(-share // rounds)
    dtype = config.dtype if config.dtype.item_bytes == 2 else DType.FLOAT32
    graph = decoder_graph(config, phase=phase, batch=batch, context=question.context, dtype=dtype)
    request = Request(batch=batch, mode=question.mode, systems=question.systems, rounds=rounds)
    return _compiled(graph, machine, request, config)


def _compiled(graph: Graph, machine: Machine, request: Request, config: ModelConfig) -> Program:
    try:
        return compile_graph(graph, machine, request)
    except DoesNotFit as error:
        raise error.with_hint(_hint(config, machine, request)) from error


def _hint(config: ModelConfig, machine: Machine, request: Request) -> str:
    """Return what could be done: more systems, or weights from outside."""
    if request.mode is Mode.WEIGHT_STREAMING:
        return "Kleinerer Kontext oder weniger Anfragen zugleich brauchen weniger Speicher."
    least = -(-config.weight_bytes // (machine.pes * machine.data_bytes_per_pe))
    if least <= request.systems:
        return (
            "Die Gewichte allein hätten Platz. Es helfen ein kleinerer Kontext, weniger Anfragen zugleich, mehr Systeme "
            "oder „Gewichte von außen“ (WEIGHT_STREAMING)."
        )
    return (
        f"Die Gewichte allein brauchen mindestens {least} Systeme; oder wählen Sie „Gewichte von außen“ "
        f"(WEIGHT_STREAMING)."
    )


def to_json(found: Estimate) -> dict[str, Any]:
    """Return the answer as JSON values; seconds, tokens per second, bytes, joules as the names say."""
    return {
        "model": found.config.name,
        "machine": found.machine.id,
        "clock_hz": found.machine.clock_hz.value,
        "context": found.question.context,
        "batch": found.question.batch,
        "systems": found.question.systems,
        "mode": found.question.mode.value,
        "decode": _phase_json(found.decode),
        "prefill": _phase_json(found.prefill) if found.prefill else {"refused": found.prefill_refusal_de},
        "capacity": asdict(found.capacity),
    }


def _phase_json(phase: Phase) -> dict[str, Any]:
    trust = phase.prediction.trust
    rect = phase.program.regions[0].rect
    return {
        "step_seconds": asdict(phase.step_seconds),
        "tokens_per_second": asdict(phase.tokens_per_second),
        "tokens_per_second_per_sequence": asdict(phase.tokens_per_second_per_sequence),
        "joules_per_token": asdict(phase.joules_per_token),
        "parts_seconds": dict(phase.parts_seconds),
        "state": trust.state,
        "reason": trust.reason,
        "family": trust.family.value,
        "region": [rect.width, rect.height],
        "regions": len(phase.program.regions),
        "off_wafer_bytes": phase.prediction.off_wafer_bytes,
        "checks": [item.to_json() for item in phase.checks],
        "program_digest": phase.program.digest(),
    }
