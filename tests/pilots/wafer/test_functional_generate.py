from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from pilots.graph.decoder import decoder_graph, seeded_weights, with_weights
from pilots.graph.evaluate import evaluate
from pilots.graph.geometry import ModelConfig
from pilots.graph.ir import DType, Graph
from pilots.wafer import functional
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.errors import CheckpointError, RequestError
from pilots.wafer.functional import generation
from pilots.wafer.machine import WSE_2
from pilots.wafer.program import Program
from qms.core import canonical

BATCH, LENGTH, CAPACITY, TOKENS = 2, 5, 12, 6
LLAMA = ModelConfig(
    name="small",
    family="LLAMA",
    layers=2,
    hidden=24,
    heads=4,
    kv_heads=2,
    head_dim=6,
    ffn=40,
    vocab=61,
    experts=0,
    experts_per_token=0,
    gated=True,
    activation="silu",
    norm="rms_norm",
    position="rope",
    rope_theta=10_000,
    tied_embeddings=False,
    attention_bias=False,
    mlp_bias=False,
    parallel_block=False,
    max_context=64,
    sliding_window=0,
    dtype=DType.FLOAT32,
    norm_epsilon="0.00001",
    rotary_dim=6,
)
MODELS = {
    "llama": LLAMA,
    "window": replace(LLAMA, family="MISTRAL", sliding_window=3),
    "experts": replace(LLAMA, family="MIXTRAL", experts=3, experts_per_token=2),
    "gpt2": replace(
        LLAMA,
        family="GPT2",
        kv_heads=4,
        gated=False,
        activation="gelu",
        norm="layer_norm",
        position="learned",
        rope_theta=0,
        rotary_dim=0,
        tied_embeddings=True,
        attention_bias=True,
        mlp_bias=True,
    ),
}


@dataclass(frozen=True)
class Model:
    prefill_graph: Graph
    decode_graph: Graph
    prefill: Program
    decode: Program
    weights: dict[str, Any]


@lru_cache(maxsize=16)
def model(name: str, dtype: DType = DType.FLOAT32, capacity: int = CAPACITY) -> Model:
    config = replace(MODELS[name], dtype=dtype)
    weights = seeded_weights(config, 3)
    graphs = [
        with_weights(decoder_graph(config, phase=phase, batch=BATCH, context=context), weights)
        for phase, context in (("prefill", LENGTH), ("decode", capacity))
    ]
    programs = [compile_graph(graph, WSE_2, Request(batch=BATCH, grid=4)) for graph in graphs]
    return Model(*graphs, *programs, weights)


def prompt() -> Any:
    return (np.arange(BATCH * LENGTH, dtype=np.int32) * 17 % 61).reshape(BATCH, LENGTH)


def generate(name: str = "llama", tokens: int = TOKENS, **options: Any) -> functional.GenerationResult:
    dtype = options.pop("dtype", DType.FLOAT32)
    made = model(name, dtype)
    return functional.generate(made.prefill, made.decode, made.weights, prompt(), tokens, **options)


def twin(made: Model) -> Any:
    """Return tokens and the gap between the best and the second logit, from the reference in double precision."""
    positions = np.tile(np.arange(LENGTH, dtype=np.int32), BATCH)
    values = evaluate(
        made.prefill_graph, {"ids": prompt().reshape(-1), "positions": positions, **made.weights}
    )
    logits, *filled = (values[name] for name in made.prefill_graph.outputs)
    names = [name for name, _ in made.decode_graph.inputs if name not in {"ids", "positions"}]
    room = ((0, 0), (0, CAPACITY - LENGTH), (0, 0))
    caches = [np.pad(item.reshape(BATCH, LENGTH, -1), room) for item in filled]
    tokens, gaps = [], []
    for step in range(TOKENS):
        tokens.append(logits.argmax(axis=1).astype(np.int32))
        gaps.append(np.diff(np.sort(logits, axis=1)[:, -2:], axis=1).min())
        position = np.full(BATCH, LENGTH + step, dtype=np.int32)
        inputs = {"ids": tokens[-1], "positions": position, **dict(zip(names, caches, strict=True))}
        values = evaluate(made.decode_graph, inputs | made.weights)
        logits, *caches = (values[name] for name in made.decode_graph.outputs)
    return np.stack(tokens, axis=1), min(gaps)


@pytest.mark.parametrize("name", MODELS)
def test_tokens_are_those_of_the_reference(name: str) -> None:
    result = generate(name)
    tokens, gap = twin(model(name))
    assert gap > 1e-4  # else a rounding could decide
    assert np.array_equal(result.tokens, tokens)
    assert (result.tokens.dtype, result.tokens.shape) == (np.int32, (BATCH, TOKENS))


@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.BFLOAT16])
def test_half_precision_starts_with_the_same_token(dtype: DType) -> None:
    assert np.array_equal(generate(dtype=dtype, tokens=1).tokens, generate(tokens=1).tokens)


def test_shorter_answer_is_the_beginning_of_a_longer_one() -> None:
    whole = generate(tokens=CAPACITY - LENGTH + 1)
    for count in (1, 2, TOKENS):
        assert np.array_equal(generate(tokens=count).tokens, whole.tokens[:, :count])


def test_multiply_adds_are_exact() -> None:
    config = LLAMA
    layer = 24 * (24 + 12 + 12 + 24) + 3 * 24 * 40
    prefill = BATCH * (LENGTH * config.layers * layer + 24 * config.vocab)
    prefill += config.layers * 2 * BATCH * (LENGTH * (LENGTH + 1) // 2) * 24
    decode = sum(
        BATCH * (config.layers * (layer + 2 * (LENGTH + step + 1) * 24) + 24 * config.vocab)
        for step in range(TOKENS - 1)
    )
    assert generate().multiply_adds == prefill + decode


class Stop(Exception):
    """Stands for a killed worker."""


def interrupted(at: int, **options: Any) -> dict[str, Any]:
    """Return the state after `at` tokens, through JSON and back."""
    saved: list[dict[str, Any]] = []

    def cancel() -> None:
        if len(saved) == at:
            raise Stop

    with pytest.raises(Stop):
        generate(check_cancelled=cancel, on_checkpoint=saved.append, **options)
    return canonical.loads(canonical.dumps(saved[-1]))  # type: ignore[no-any-return]


@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16])
def test_generation_resumed_after_every_token_gives_the_same_bits(dtype: DType) -> None:
    whole = generate(dtype=dtype)
    for at in range(1, TOKENS):
        seen: list[tuple[int, int]] = []
        state = interrupted(at, dtype=dtype)
        again = generate(
            dtype=dtype, checkpoint=state, on_progress=lambda *pair, seen=seen: seen.append(pair)
        )
        assert (again.digest, again.multiply_adds) == (whole.digest, whole.multiply_adds)
        assert again.logits_sha256 == whole.logits_sha256
        assert np.array_equal(again.tokens, whole.tokens)
        assert seen == [(count, TOKENS) for count in range(at + 1, TOKENS + 1)]


def test_large_caches_are_left_out_and_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = generate()
    size = 4 * BATCH * CAPACITY * 12 * 4  # four caches of 12 features in fp32
    monkeypatch.setattr(generation, "MAX_CACHE_BYTES", size)
    assert interrupted(2)["caches"] is not None
    monkeypatch.setattr(generation, "MAX_CACHE_BYTES", size - 1)
    state = interrupted(3)
    assert state["caches"] is None
    again = generate(checkpoint=state)
    assert (again.digest, again.multiply_adds) == (whole.digest, whole.multiply_adds)


def resealed(state: dict[str, Any]) -> dict[str, Any]:
    content = {name: value for name, value in state.items() if name != "sha256"}
    return content | {"sha256": canonical.digest(content)}


def test_tokens_that_come_out_otherwise_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "MAX_CACHE_BYTES", 0)
    state = interrupted(3)
    wrong = [*state["logits"][:1], "0" * 64, *state["logits"][2:]]
    with pytest.raises(CheckpointError, match="token 1"):
        generate(checkpoint=resealed(state | {"logits": wrong}))


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": None},
        {"tokens": {"type": "<i4", "shape": [2, 0], "data": ""}},
        {"tokens": {"type": "<f4", "shape": [2, 2], "data": "AAAAAAAAAAAAAAAAAAAAAA=="}},
        {"logits": []},
        {"logits": None},
        {"multiply_adds": "1"},
        {"caches": {}},
        {"caches": []},
        {"caches": [{"type": "<f4", "shape": [1, 1, 1], "data": "AAAAAA=="}] * 4},
        {"caches": [{"type": "<f4", "shape": [1], "data": "AAAAAA=="}] * 4},
        {"format": "wafer-checkpoint-2"},
        {"run_key": "0" * 64},
    ],
)
def test_changed_state_is_refused(change: dict[str, Any]) -> None:
    state = interrupted(2)
    for wrong in (state | change, resealed(state | change)):
        with pytest.raises(CheckpointError) as caught:
            generate(checkpoint=wrong)
        assert caught.value.message_de.endswith(".")


def test_state_of_another_request_is_refused() -> None:
    with pytest.raises(CheckpointError):
        generate(tokens=TOKENS - 1, checkpoint=interrupted(2))
    with pytest.raises(CheckpointError):
        generate("window", checkpoint=interrupted(2))


@pytest.mark.parametrize("tokens", [0, -1, CAPACITY - LENGTH + 2])
def test_number_of_tokens_has_limits(tokens: int) -> None:
    with pytest.raises(RequestError) as caught:
        generate(tokens=tokens)
    assert caught.value.message_de.endswith(".")


def test_requests_that_do_not_fit_the_programs_are_refused() -> None:
    made, other = model("llama"), model("gpt2")
    fine = prompt()
    cases = [
        (made.prefill, made.decode, fine[0]),
        (made.prefill, made.decode, fine.astype(np.float32)),
        (made.prefill, made.decode, fine[:, :0]),
        (made.prefill, made.decode, fine[:1]),
        (made.prefill, made.decode, fine[:, :4]),
        (made.decode, made.decode, fine),
        (made.prefill, made.prefill, fine),
        (replace(made.prefill, outputs=made.prefill.outputs[:-1]), made.decode, fine),
    ]
    for prefill, decode, ids in cases:
        with pytest.raises(RequestError) as caught:
            functional.generate(prefill, decode, made.weights, ids, 2)
        assert caught.value.message_de.endswith(".")
    with pytest.raises(RequestError, match="index 61"):
        functional.generate(made.prefill, made.decode, made.weights, fine + 61, 2)
    assert other.decode.digest() != made.decode.digest()
