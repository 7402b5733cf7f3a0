"""One emulated generation: a small decoder with seeded weights answers a seeded prompt, with real numerics.

The manifest holds all that is needed to compute it again: configuration, seed, machine, sizes, digests of programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from pilots.graph import rng
from pilots.graph.decoder import decoder_graph
from pilots.graph.decoder_weights import seeded_weights
from pilots.graph.ir import Array
from pilots.graph.model_config import ModelConfig
from pilots.wafer import functional, plausibility
from pilots.wafer.compiler import MAX_BATCH, Request, compile_graph
from pilots.wafer.costs.constants import calibration_sha256
from pilots.wafer.costs.terms import Span
from pilots.wafer.errors import RequestError
from pilots.wafer.limits import MAX_MULTIPLY_ADDS, MAX_VALUES
from pilots.wafer.machine import Machine
from pilots.wafer.manifest import EMULATOR_VERSION
from pilots.wafer.predict import Prediction, predict
from pilots.wafer.program import Program
from qms.core import canonical

MAX_TOKENS: Final = 1024
PHASES: Final = ("prefill", "decode")
MANIFEST_FORMAT: Final = "wafer-generation-manifest-1"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is generated: prompt length and tokens per sequence, sequences, seeds of weights and of the prompt."""

    prompt: int = 16
    tokens: int = 64
    batch: int = 1
    seed: int = 1
    inputs_seed: int = 1


@dataclass(frozen=True, slots=True)
class Generation:
    """What a generation yields: tokens [batch, n], both programs with their predictions, digest and manifest."""

    tokens: Array
    prefill: Program
    decode: Program
    prefill_prediction: Prediction
    decode_prediction: Prediction
    multiply_adds: int
    checks: tuple[plausibility.Check, ...]
    result_digest: str
    manifest: dict[str, Any]

    @property
    def seconds(self) -> Span:
        """Model time of the whole answer on the wafer, without the host."""
        steps = self.tokens.shape[1] - 1
        return self.prefill_prediction.step_seconds + self.decode_prediction.step_seconds.times(steps)

    @property
    def tokens_per_second(self) -> Span:
        """Tokens of the whole answer per second of model time, over all sequences."""
        return self.seconds.inverse(self.tokens.size)


def generate(
    config: ModelConfig,
    machine: Machine,
    plan: Plan,
    *,
    checkpoint: Mapping[str, Any] | None = None,
    on_progress: functional.Progress | None = None,
    on_checkpoint: functional.Save | None = None,
    check_cancelled: functional.Cancel | None = None,
) -> Generation:
    """Compile both phases and generate token by token.

    Raises GraphError (model too large to compute), DoesNotFit, RequestError, CheckpointError; whatever check_cancelled
    raises passes through. The result does not depend on interruptions.
    """
    _check(config, plan)
    weights = seeded_weights(config, plan.seed)
    programs = {phase: _program(config, machine, plan, phase) for phase in PHASES}
    done = functional.generate(
        programs["prefill"],
        programs["decode"],
        weights,
        _prompt(config, plan),
        plan.tokens,
        checkpoint=checkpoint,
        on_progress=on_progress,
        on_checkpoint=on_checkpoint,
        check_cancelled=check_cancelled,
    )
    return _generation(config, machine, plan, programs, done)


def _generation(
    config: ModelConfig,
    machine: Machine,
    plan: Plan,
    programs: Mapping[str, Program],
    done: functional.GenerationResult,
) -> Generation:
    predictions = {phase: predict(program, machine, batch=plan.batch) for phase, program in programs.items()}
    checks = [plausibility.check(programs[phase], machine, predictions[phase]) for phase in PHASES]
    manifest = _manifest(plan, machine, programs, predictions, done)
    manifest |= {"model": {"kind": "decoder", "config": config.canonical_text()}}
    return Generation(
        tokens=done.tokens,
        prefill=programs["prefill"],
        decode=programs["decode"],
        prefill_prediction=predictions["prefill"],
        decode_prediction=predictions["decode"],
        multiply_adds=done.multiply_adds,
        checks=tuple(item for group in checks for item in group),
        result_digest=manifest["result_digest"],
        manifest=manifest,
    )


def _check(config: ModelConfig, plan: Plan) -> None:
    limit = min(MAX_TOKENS, config.max_context or MAX_TOKENS)
    for name, value in (("Die Länge der Eingabe", plan.prompt), ("Die Zahl der Token", plan.tokens)):
        if not 1 <= value <= limit:
            raise RequestError(f"{name}: {value}", message_de=f"{name} muss zwischen 1 und {limit} liegen.")
    if plan.prompt + plan.tokens > limit:
        sentence = f"Eingabe und Antwort zusammen dürfen {limit} Token nicht übersteigen."
        raise RequestError(f"{plan.prompt} + {plan.tokens} tokens exceed {limit}", message_de=sentence)
    _check_work(config, plan)


def _check_work(config: ModelConfig, plan: Plan) -> None:
    """Refuse what would take hours or more memory than a machine has, before any weight is made."""
    if not 1 <= plan.batch <= MAX_BATCH:
        sentence = f"Die Zahl der Anfragen zugleich muss zwischen 1 und {MAX_BATCH} liegen."
        raise RequestError(f"batch {plan.batch}", message_de=sentence)
    length = plan.prompt + plan.tokens
    work = (
        plan.batch
        * length
        * (config.params_active + 2 * config.layers * config.heads * config.head_dim * length)
    )
    widest = max(config.ffn, config.hidden, config.heads * length)
    values = plan.batch * max(
        plan.prompt * widest, config.vocab, 2 * config.layers * config.kv_heads * config.head_dim * length
    )
    if work > MAX_MULTIPLY_ADDS or values > MAX_VALUES:
        sentence = (
            "Diese Rechnung ist zu groß, um sie mit echten Zahlen zu emulieren; bitte verkleinern Sie Modell, Eingabe, "
            "Antwort oder die Zahl der Anfragen."
        )
        raise RequestError(f"{work} multiply-adds, {values} values", message_de=sentence)


def _program(config: ModelConfig, machine: Machine, plan: Plan, phase: str) -> Program:
    context = plan.prompt if phase == "prefill" else plan.prompt + plan.tokens
    graph = decoder_graph(config, phase=phase, batch=plan.batch, context=context)
    return compile_graph(graph, machine, Request(batch=plan.batch))


def _prompt(config: ModelConfig, plan: Plan) -> Array:
    """Return seeded token ids [batch, prompt]."""
    words = rng.words(plan.inputs_seed, "prompt", plan.batch * plan.prompt)
    return (words % np.uint64(config.vocab)).astype(np.int32).reshape(plan.batch, plan.prompt)


def _manifest(
    plan: Plan,
    machine: Machine,
    programs: Mapping[str, Program],
    predictions: Mapping[str, Prediction],
    done: functional.GenerationResult,
) -> dict[str, Any]:
    manifest: dict[str, Any] = {
        "format": MANIFEST_FORMAT,
        "emulator_version": EMULATOR_VERSION,
        "calibration_sha256": calibration_sha256(),
        "machine": {"id": machine.id, "sha256": machine.sha256()},
        "plan": asdict(plan),
        "programs": {phase: program.digest() for phase, program in programs.items()},
        "predictions": {phase: prediction.to_json() for phase, prediction in predictions.items()},
        "result": {"digest": done.digest, "logits_sha256": done.logits_sha256},
    }
    digested = {key: manifest[key] for key in ("programs", "plan", "predictions", "result")}
    return manifest | {"result_digest": canonical.digest(digested)}
