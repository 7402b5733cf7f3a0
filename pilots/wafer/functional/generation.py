"""Text generation: a prompt fills the caches, then one token after the other, resumable after each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pilots.graph.ir import Weights, array_sha256
from pilots.wafer.errors import RequestError
from pilots.wafer.functional import checkpoint as states
from pilots.wafer.functional.counting import MultiplyAdds
from pilots.wafer.functional.interpreter import Cancel, Loaded, execute, load, stored
from pilots.wafer.functional.samples import Progress, Save
from pilots.wafer.handlers.base import Array
from pilots.wafer.program import Call, Kernel, Program
from qms.core import canonical

FORMAT: Final = "wafer-generation-1"
MAX_CACHE_BYTES: Final = 64 * 2**20  # larger caches are no part of an interim state; they are computed again
IDS: Final = "ids"
POSITIONS: Final = "positions"

Tokens = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """Tokens [batch, n], a hash over the logits of every step, a digest of all, and exact counts."""

    tokens: Tokens
    logits_sha256: str
    digest: str
    multiply_adds: int


@dataclass(slots=True)
class _State:
    """What is known after some tokens: one column of tokens and one hash of logits each, and the caches."""

    tokens: list[Tokens] = field(default_factory=list)
    logits: list[str] = field(default_factory=list)
    caches: dict[str, Array] = field(default_factory=dict)
    multiply_adds: int = 0


@dataclass(frozen=True, slots=True)
class _Task:
    """Both programs with their weights, the prompt [batch, length], and the number of tokens wanted."""

    prefill: Loaded
    decode: Loaded
    prompt: Tokens
    count: int

    @property
    def programs(self) -> dict[str, str]:
        return {"prefill": self.prefill.program.digest(), "decode": self.decode.program.digest()}

    @property
    def key(self) -> str:
        return canonical.digest(self.programs | {"prompt": array_sha256(self.prompt), "tokens": self.count})


def generate(
    program_prefill: Program,
    program_decode: Program,
    weights: Weights,
    prompt_ids: Array,
    tokens: int,
    *,
    checkpoint: Mapping[str, Any] | None = None,
    on_progress: Progress | None = None,
    on_checkpoint: Save | None = None,
    check_cancelled: Cancel | None = None,
) -> GenerationResult:
    """Continue prompts [batch, length] by `tokens` tokens each, always the likeliest one, of equal ones the lowest.

    Both programs are those of `decoder_graph`: prefill for exactly this batch and length, decode for this batch.
    checkpoint: a state given to `on_checkpoint` earlier, after any token; the result does not depend on it. Caches
    above 64 MiB are not part of a state: then the tokens are computed again and compared. check_cancelled is called
    before every token and may raise. Raises UnsupportedOps, RequestError, CheckpointError.
    """
    task = _task(load(program_prefill, weights), load(program_decode, weights), prompt_ids, tokens)
    state, expected = _restored(checkpoint, task)
    while len(state.tokens) < tokens:
        if check_cancelled is not None:
            check_cancelled()
        _add_token(task, state, check_cancelled)
        _compare(state, expected)
        if on_checkpoint is not None:
            on_checkpoint(_sealed(task, state))
        if on_progress is not None:
            on_progress(len(state.tokens), tokens)
    result = np.concatenate(state.tokens, axis=1)
    logits_sha256 = canonical.digest(state.logits)
    content = {"prompt": array_sha256(task.prompt), "tokens": array_sha256(result), "logits": logits_sha256}
    return GenerationResult(
        result, logits_sha256, canonical.digest(task.programs | content), state.multiply_adds
    )


def _task(prefill: Loaded, decode: Loaded, prompt: Array, tokens: int) -> _Task:
    if prompt.ndim != 2 or prompt.dtype.kind not in "iu" or not prompt.size:
        sentence = "Die Eingabetexte müssen als Tabelle ganzer Zahlen vorliegen, eine Zeile je Text."
        raise RequestError(f"prompt is {prompt.dtype} {prompt.shape}", message_de=sentence)
    _check_programs(prefill.program, decode, prompt.shape)
    length, capacity = prompt.shape[1], _capacity(decode.program)
    most = max(0, capacity - length + 1)  # the last token is never read back
    if not 1 <= tokens <= most:
        sentence = f"Nach einem Eingabetext von {length} Token ist Platz für {most} erzeugte; verlangt sind {tokens}."
        raise RequestError(f"{tokens} tokens after {length} of {capacity}", message_de=sentence)
    return _Task(prefill, decode, prompt.astype("<i4"), tokens)


def _check_programs(prefill: Program, decode: Loaded, shape: tuple[int, ...]) -> None:
    """Raise RequestError unless both programs are for this batch and the prefill for this length."""
    prompts = {call.shape[:2] for call in _calls(prefill, Kernel.ATTENTION)}
    batches = {call.shape[:1] for call in _calls(decode.program, Kernel.ATTENTION_CACHED)}
    if prompts != {shape} or batches != {shape[:1]}:
        sentence = f"Die Programme sind nicht für {shape[0]} Eingabetexte mit je {shape[1]} Token übersetzt."
        raise RequestError(f"programs are for {prompts} and {batches}", message_de=sentence)
    outputs = 1 + len(decode.caches)
    if len(prefill.outputs) != outputs or len(decode.program.outputs) != outputs:
        sentence = "Die Programme für Eingabetext und Antwort gehören nicht zum selben Modell."
        raise RequestError("outputs and caches do not match", message_de=sentence)


def _calls(program: Program, kernel: Kernel) -> list[Call]:
    return [call for call in program.calls if call.kernel is kernel]


def _capacity(program: Program) -> int:
    """Return the rows of the caches."""
    contexts = {call.shape[2] for call in _calls(program, Kernel.ATTENTION_CACHED)}
    if len(contexts) != 1:
        sentence = "Das Programm erzeugt keine Token: Es liest keine oder verschieden lange Zwischenspeicher."
        raise RequestError(f"caches of {sorted(contexts)} rows", message_de=sentence)
    return contexts.pop()


def _add_token(task: _Task, state: _State, check_cancelled: Cancel | None) -> None:
    counter = MultiplyAdds()
    step = _decoded if state.tokens else _prefilled
    logits = step(task, state, counter, check_cancelled)
    state.tokens.append(np.argmax(logits, axis=-1).astype(np.int32)[:, None])
    state.logits.append(array_sha256(stored(logits, task.decode.program.dtype)))
    state.multiply_adds += counter.total


def _prefilled(task: _Task, state: _State, counter: MultiplyAdds, check_cancelled: Cancel | None) -> Array:
    """Return the logits of the last tokens of the prompts; keys and values fill the front of the caches."""
    batch, length = task.prompt.shape
    inputs = {IDS: task.prompt.reshape(-1), POSITIONS: np.tile(np.arange(length, dtype=np.int32), batch)}
    program, capacity = task.prefill.program, _capacity(task.decode.program)
    values = execute(task.prefill, inputs, listener=counter, check_cancelled=check_cancelled)
    for cache, name in zip(task.decode.caches, program.outputs[1:], strict=True):
        rows = values[name].reshape(batch, length, -1)
        state.caches[cache] = np.pad(rows, ((0, 0), (0, capacity - length), (0, 0)))
    return values[program.outputs[0]]


def _decoded(task: _Task, state: _State, counter: MultiplyAdds, check_cancelled: Cancel | None) -> Array:
    """Return the logits after the last token; the caches hold it afterwards."""
    batch, length = task.prompt.shape
    position = np.full(batch, length + len(state.tokens) - 1, dtype=np.int32)
    inputs = {IDS: state.tokens[-1][:, 0], POSITIONS: position, **state.caches}
    program = task.decode.program
    values = execute(task.decode, inputs, listener=counter, check_cancelled=check_cancelled)
    state.caches = {
        cache: values[name] for cache, name in zip(task.decode.caches, program.outputs[1:], strict=True)
    }
    return values[program.outputs[0]]


def _sealed(task: _Task, state: _State) -> dict[str, Any]:
    dtype = task.decode.program.dtype
    kept = [stored(state.caches[name], dtype) for name in task.decode.caches]
    small = sum(cache.nbytes for cache in kept) <= MAX_CACHE_BYTES
    content = {
        "tokens": states.to_json(np.concatenate(state.tokens, axis=1)),
        "logits": list(state.logits),
        "multiply_adds": state.multiply_adds,
        "caches": [states.to_json(cache) for cache in kept] if small else None,
    }
    return states.seal(FORMAT, task.key, content)


def _restored(saved: Mapping[str, Any] | None, task: _Task) -> tuple[_State, _State]:
    """Return the state to go on from, and one to compare with: without caches everything is computed again."""
    if saved is None:
        return _State(), _State()
    content = states.unseal(saved, FORMAT, task.key)
    tokens, logits = states.from_json(content.get("tokens")), content.get("logits")
    done = tokens.shape[1] if tokens.ndim == 2 else 0
    if not 1 <= done <= task.count or len(tokens) != len(task.prompt) or not isinstance(logits, list):
        raise states.broken(f"checkpoint holds tokens {tokens.shape}")
    if len(logits) != done or tokens.dtype.kind != "i":
        raise states.broken(f"checkpoint holds {len(logits)} hashes for {done} tokens")
    state = _State([tokens[:, index : index + 1].astype(np.int32) for index in range(done)], list(logits))
    caches = content.get("caches")
    if caches is None:
        return _State(), state
    state.caches = _caches(caches, task)
    state.multiply_adds = states.count(content, "multiply_adds", canonical.MAX_SAFE_INTEGER)
    return state, _State()


def _caches(saved: object, task: _Task) -> dict[str, Array]:
    names = task.decode.caches
    if not isinstance(saved, list) or len(saved) != len(names):
        raise states.broken(f"checkpoint holds other caches than {len(names)}")
    caches = {name: states.from_json(item) for name, item in zip(names, saved, strict=True)}
    expected = (len(task.prompt), _capacity(task.decode.program))
    if any(cache.ndim != 3 or cache.shape[:2] != expected for cache in caches.values()):
        raise states.broken(f"checkpoint holds caches other than {expected}")
    return caches


def _compare(state: _State, expected: _State) -> None:
    last = len(state.tokens) - 1
    if last < len(expected.tokens) and (
        state.logits[last] != expected.logits[last]
        or not np.array_equal(state.tokens[last], expected.tokens[last])
    ):
        raise states.broken(f"token {last} is another one when computed again")
