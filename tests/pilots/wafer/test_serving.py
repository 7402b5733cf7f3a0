"""What is refused before any weight is made: too much work, too many numbers, no request at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pilots.graph.ir import DType
from pilots.graph.known_models import find
from pilots.graph.model_config import ModelConfig
from pilots.wafer import serving
from pilots.wafer.compiler import MAX_BATCH
from pilots.wafer.errors import RequestError
from pilots.wafer.machine import lab_mesh
from pilots.wafer.serving import MAX_MULTIPLY_ADDS, MAX_TOKENS, MAX_VALUES, Plan, generate

SIZES: dict[str, Any] = {
    "layers": 1,
    "hidden": 8,
    "heads": 1,
    "kv_heads": 1,
    "head_dim": 8,
    "rotary_dim": 8,
    "ffn": 8,
    "vocab": 64,
    "max_context": 4096,
    "dtype": DType.FLOAT32,
}
TINY = replace(find("LLaMA3-8B"), **SIZES)


class Passed(Exception):
    """Every check let the plan pass."""


@pytest.fixture(autouse=True)
def _no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(config: ModelConfig, seed: int) -> None:
        raise Passed

    monkeypatch.setattr(serving, "seeded_weights", reached)


def passes(plan: Plan, config: ModelConfig = TINY) -> None:
    with pytest.raises(Passed):
        generate(config, lab_mesh(8, 8), plan)


def refused(plan: Plan, config: ModelConfig = TINY) -> str:
    with pytest.raises(RequestError) as caught:
        generate(config, lab_mesh(8, 8), plan)
    assert caught.value.message_de.endswith(".")
    assert caught.value.message_de.count(".") == 1
    return caught.value.message_de


@pytest.mark.parametrize("batch", [0, -1, MAX_BATCH + 1])
def test_requests_at_once_have_a_range(batch: int) -> None:
    assert f"zwischen 1 und {MAX_BATCH}" in refused(Plan(prompt=1, tokens=1, batch=batch))
    for inside in (1, MAX_BATCH):
        passes(Plan(prompt=1, tokens=1, batch=inside))


def test_prompt_and_answer_have_a_range_each_and_together() -> None:
    for wrong in (Plan(prompt=0), Plan(tokens=0), Plan(prompt=MAX_TOKENS + 1), Plan(tokens=-1)):
        assert f"zwischen 1 und {MAX_TOKENS}" in refused(wrong)
    passes(Plan(prompt=1, tokens=MAX_TOKENS - 1))
    assert "zusammen" in refused(Plan(prompt=1, tokens=MAX_TOKENS))


@pytest.mark.parametrize(
    ("batch", "prompt", "tokens", "change"),
    [
        (2**12, 1, 1, {"vocab": 2**16}),  # logits
        (2**8, 2**9, 1, {"ffn": 2**11}),  # widest activation
        (2**10, 2**8, 2**8 - 1, {"heads": 2}),  # scores: 2**8 rows of 2 * (2**9 - 1)
    ],
)
def test_numbers_in_memory_end_at_their_limit(
    batch: int, prompt: int, tokens: int, change: dict[str, int]
) -> None:
    plan = Plan(prompt, tokens, batch)
    passes(plan, replace(TINY, **change))
    name, size = next(iter(change.items()))
    too_large = replace(TINY, **{name: size + 1})
    assert "zu groß" in refused(plan, too_large)


def test_caches_end_at_their_limit() -> None:
    config = replace(TINY, layers=32, kv_heads=4, heads=4)
    values = 2 * 32 * 4 * 8 * 64
    batch = MAX_VALUES // values
    assert batch * values == MAX_VALUES
    passes(Plan(1, 63, batch), config)
    assert "zu groß" in refused(Plan(1, 63, batch + 1), config)
    assert "zu groß" in refused(Plan(1, 64, batch), config)


@pytest.mark.parametrize("plan", [Plan(1, 1, 1), Plan(16, 48, 3), Plan(100, 24, 7)])
def test_multiply_adds_end_at_their_limit(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    length = plan.prompt + plan.tokens
    attention = 2 * TINY.layers * TINY.heads * TINY.head_dim * length
    work = plan.batch * length * (TINY.params_active + attention)
    assert work < MAX_MULTIPLY_ADDS == 2**37
    monkeypatch.setattr(serving, "MAX_MULTIPLY_ADDS", work)
    passes(plan)
    monkeypatch.setattr(serving, "MAX_MULTIPLY_ADDS", work - 1)
    assert "zu groß" in refused(plan)
