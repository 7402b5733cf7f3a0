"""What a language model would do on a wafer: a question of a person, answered from shapes alone. Nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pilots.catalog.figures import (
    COUNTED,
    EXTRAPOLATED,
    FROM_MACHINE,
    PUBLISHED,
    Figure,
    State,
    by_cause,
    emulated,
    plain,
)
from pilots.graph.config_text import MAX_BYTES
from pilots.graph.errors import GraphError
from pilots.graph.model_config import ConfigError, ModelConfig, from_canonical, parse_config
from pilots.wafer.costs.constants import calibration_sha256
from pilots.wafer.costs.terms import Span
from pilots.wafer.emulator import ENERGY_NOTE
from pilots.wafer.errors import WaferError
from pilots.wafer.estimate import Estimate, Phase, Question, estimate
from pilots.wafer.listing import listing
from pilots.wafer.machine import MACHINES, Machine, UnknownMachine, find
from pilots.wafer.manifest import EMULATOR_VERSION
from pilots.wafer.program import Mode
from qms.core.values import Metric, Unit

MAX_CONFIG_BYTES: Final = MAX_BYTES
MAX_LAYERS: Final = 256  # what a page answers at once; the deepest published models have half of it
SERVED: Final = ("wse-2", "wse-3")
HOST_NOTE: Final = "Host und Energie wurden in keinem veröffentlichten Lauf gemessen"
MODES: Final = (Mode.RESIDENT.value, Mode.WEIGHT_STREAMING.value)


class NotAnswered(ValueError):
    """The question has no answer; `message_de` says in one German sentence what was wrong and what to do."""

    def __init__(self, message_de: str) -> None:
        super().__init__(message_de)
        self.message_de = message_de


@dataclass(frozen=True, slots=True)
class Choice:
    """A machine at one of its clocks, by the id that `Asked` takes."""

    id: str
    name: str
    clock_hz: int
    calibrated: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """The question: model, machine at its clock, tokens of context, requests at once, systems, place of the weights."""

    config: ModelConfig
    machine_id: str
    context: int
    batch: int
    systems: int
    mode: str

    def to_json(self) -> dict[str, Any]:
        """Return a form that `asked_from_json` reads back."""
        return {
            "config": self.config.canonical_text(),
            "machine_id": self.machine_id,
            "context": self.context,
            "batch": self.batch,
            "systems": self.systems,
            "mode": self.mode,
        }

    @property
    def machine(self) -> Machine:
        """The machine; raises NotAnswered."""
        try:
            return find(self.machine_id)
        except UnknownMachine as error:
            raise NotAnswered(error.message_de) from error

    @property
    def question(self) -> Question:
        """The question without model and machine."""
        return Question(self.context, self.batch, self.systems, Mode(self.mode))


def choices() -> tuple[Choice, ...]:
    """Return the machines that may be asked for, each at each of its clocks."""
    machines = (MACHINES[name].with_clock(clock.name) for name in SERVED for clock in MACHINES[name].clocks)
    return tuple(Choice(item.id, item.name, item.clock_hz.value, item.calibrated) for item in machines)


def read_config(text: str) -> ModelConfig:
    """Return the sizes of a model from the text of its config.json; raises NotAnswered."""
    try:
        config = parse_config(text)
    except ConfigError as error:
        raise NotAnswered(error.message_de) from error
    if config.layers > MAX_LAYERS:
        sentence = f"Diese Seite rechnet Modelle mit bis zu {MAX_LAYERS} Schichten; die Konfiguration nennt {config.layers}."
        raise NotAnswered(sentence)
    return config


def asked_from_json(data: dict[str, Any]) -> Asked:
    """Return the question of `Asked.to_json`; raises NotAnswered."""
    try:
        return Asked(**data | {"config": from_canonical(data["config"])})
    except ConfigError as error:
        raise NotAnswered(error.message_de) from error


def answer(asked: Asked) -> Estimate:
    """Return what serving the model takes; raises NotAnswered with the shortfall, the limit or what is not known."""
    try:
        return estimate(asked.config, asked.machine, asked.question)
    except (WaferError, GraphError) as error:
        raise NotAnswered(error.message_de) from error


def state_of(phase: Phase) -> State:
    """Return what a phase is worth."""
    trust = phase.prediction.trust
    return State(trust.state, trust.reason)


def figures(found: Estimate) -> dict[str, Figure]:
    """Return the figures people ask for first, by key; those of the prompt only if it fits."""
    decode, state = found.decode, state_of(found.decode)
    per_second, each = decode.tokens_per_second, decode.tokens_per_second_per_sequence
    rate = Unit.TOKENS_PER_SECOND
    shown = {
        "tokens": emulated("throughput_tokens_s", per_second, rate, state),
        "tokens_each": emulated("throughput_tokens_s_each", each, rate, state),
        "step": emulated("step_ms", decode.step_seconds.times(1e3), Unit.MILLISECONDS, state),
    }
    energy = emulated(
        "energy_joules_per_token", decode.joules_per_token, Unit.JOULES, _with_host(state), note=ENERGY_NOTE
    )
    return shown | _prompt(found.prefill) | {"energy": energy}


def _prompt(phase: Phase | None) -> dict[str, Figure]:
    if phase is None:
        return {}
    state = state_of(phase)
    first, per_second = phase.prediction.request_seconds.times(1e3), phase.tokens_per_second
    return {
        "first_token": emulated("ttft_ms", first, Unit.MILLISECONDS, _with_host(state)),
        "prompt": emulated("prompt_tokens_s", per_second, Unit.TOKENS_PER_SECOND, state),
    }


def _with_host(state: State) -> State:
    """Return the state of a value that also rests on host or energy: never better than EXTRAPOLIERT."""
    reason = "; ".join(text for text in (state.reason_de, HOST_NOTE) if text)
    code = state.code if state.code != "KALIBRIERT" else EXTRAPOLATED
    return State(code, reason)


def causes(found: Estimate) -> dict[str, Figure]:
    """Return the milliseconds of one answer step by cause."""
    return by_cause(found.decode.prediction, found.machine)


def memory(found: Estimate) -> dict[str, Metric]:
    """Return the balance of the SRAM in bytes over all systems, from what the vendor states to what is left."""
    sizes, machine, systems = found.capacity, found.machine, found.question.systems
    prediction = found.decode.prediction
    span = Span(sizes.used_bytes, sizes.used_bytes, prediction.resident_upper_bytes)
    used = emulated("used_bytes", span, Unit.BYTES, state_of(found.decode))
    stated = machine.stated_sram_bytes
    rows = {
        "stated": plain("stated_sram_bytes", stated * systems, Unit.BYTES, PUBLISHED) if stated else None,
        "usable": plain("sram_bytes", sizes.sram_bytes, Unit.BYTES, FROM_MACHINE),
        "data": plain("data_bytes", sizes.data_bytes, Unit.BYTES, FROM_MACHINE),
        "weights": plain("weight_bytes", sizes.weight_bytes, Unit.BYTES, COUNTED),
        "cache": plain("cache_bytes", sizes.cache_bytes, Unit.BYTES, COUNTED),
        "used": used.metric,
        "free": plain("free_bytes", sizes.sram_bytes - sizes.used_bytes, Unit.BYTES, COUNTED),
    }
    return {name: row for name, row in rows.items() if row is not None}


def listing_of(found: Estimate) -> str:
    """Return the kernel listing of the answer phase."""
    return listing(found.decode.program, found.machine, batch=found.question.batch)


def provenance(found: Estimate) -> dict[str, str]:
    """Return what the figures rest on (EM-02): version of the emulator, digests of machine, calibration and program."""
    return {
        "emulator_version": EMULATOR_VERSION,
        "machine_id": found.machine.id,
        "machine_sha256": found.machine.sha256(),
        "calibration_sha256": calibration_sha256(),
        "program_digest": found.decode.program.digest(),
    }
