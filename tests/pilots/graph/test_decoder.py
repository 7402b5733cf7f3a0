from __future__ import annotations

import json
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest

from pilots.graph.decoder import (
    PHASES,
    decoder_graph,
    from_recipe,
    seeded_inputs,
    seeded_weights,
    with_weights,
)
from pilots.graph.decoder_weights import MAX_PARAMS, decoder_weights
from pilots.graph.errors import GraphError
from pilots.graph.evaluate import evaluate
from pilots.graph.families import FAMILIES
from pilots.graph.ir import SHAPE_ONLY, Array, DType, graph_signature, model_digest, rounded
from pilots.graph.known_models import KNOWN, find
from pilots.graph.model_config import ModelConfig, parse_config
from pilots.graph.spec import flops_per_sample, verify

GOLDEN = json.loads(Path(__file__).with_name("golden_logits.json").read_text(encoding="utf-8"))
MODELS = sorted(GOLDEN["models"])


def small(name: str = "LLAMA with biases") -> ModelConfig:
    return parse_config(json.dumps(GOLDEN["models"][name]["config"]))


def known(name: str) -> ModelConfig:
    found = find(name)
    assert found is not None
    return found


def test_golden_logits_cover_every_family() -> None:
    assert {small(name).family for name in MODELS} == set(FAMILIES)


@pytest.mark.parametrize("name", MODELS)
def test_prefill_gives_the_logits_of_the_public_implementation(name: str) -> None:
    config, ids = small(name), np.array(GOLDEN["ids"])
    graph = decoder_graph(config, phase="prefill", batch=1, context=len(ids))
    values = seeded_weights(config, 7) | {"ids": ids, "positions": np.arange(len(ids))}
    logits = evaluate(graph, values)[graph.outputs[0]][0]
    assert np.abs(logits - GOLDEN["models"][name]["logits"]).max() < 2e-6


@pytest.mark.parametrize("name", MODELS)
def test_decode_token_by_token_equals_prefill(name: str) -> None:
    config, batch, length = small(name), 2, 5
    weights = seeded_weights(config, 3)
    prompt = decoder_graph(config, phase="prefill", batch=batch, context=length)
    inputs = seeded_inputs(prompt, inputs_seed=5)
    whole = evaluate(prompt, weights | inputs)
    step = decoder_graph(config, phase="decode", batch=batch, context=length + 2)
    caches = {
        key: np.zeros([item or 1 for item in tensor.shape]) for key, tensor in step.inputs if "_cache" in key
    }
    found: dict[str, Array] = {}
    for token in range(length):
        ids = inputs["ids"].reshape(batch, length)[:, token]
        found = evaluate(step, {**weights, **caches, "ids": ids, "positions": np.full(batch, token)})
        caches = {key: found[f"{key}.next"] for key in caches}
    assert found[step.outputs[0]] == pytest.approx(whole[prompt.outputs[0]])
    kept = list(zip(step.outputs[1:], prompt.outputs[1:], strict=True))
    assert len(kept) == 2 * config.layers
    for cache, rows in kept:
        assert found[cache][:, :length] == pytest.approx(whole[rows].reshape(batch, length, -1))
        assert not found[cache][:, length:].any()


@pytest.mark.parametrize(
    "config", [*KNOWN, *map(small, MODELS)], ids=lambda item: f"{item.family}-{item.params}"
)
def test_weights_of_the_graph_add_up_to_the_parameters_of_the_config(config: ModelConfig) -> None:
    weights = decoder_weights(config)
    assert sum(prod(item.shape) for item in weights) == config.params
    assert len({item.name for item in weights}) == len(weights)


@pytest.mark.parametrize("name", [item.name for item in KNOWN])
@pytest.mark.parametrize("phase", PHASES)
def test_every_known_model_has_a_legal_graph_that_uses_every_weight(name: str, phase: str) -> None:
    config = known(name)
    graph = decoder_graph(config, phase=phase, batch=2, context=16)
    verify(graph)
    used = {item for node in graph.nodes for item in node.inputs}
    assert {item.name for item in graph.constants} <= used
    assert {item.sha256 for item in graph.constants} == {SHAPE_ONLY}
    assert graph.dtype is config.dtype
    types = graph.tensors()
    assert types[graph.outputs[0]].shape == (2, config.vocab)
    cache = (2, 16, config.kv_width) if phase == "decode" else (32, config.kv_width)
    assert {types[item].shape for item in graph.outputs[1:]} == {cache}


@pytest.mark.parametrize("name", ["Llama3.1-70B", "Mixtral-8x7B", "GPT-J-6B"])
def test_decode_takes_two_operations_per_active_parameter(name: str) -> None:
    config = known(name)
    tables = config.vocab * config.hidden  # read, not multiplied
    flops = flops_per_sample(decoder_graph(config, phase="decode", batch=1, context=1))
    assert flops / (2 * (config.params_active - tables)) == pytest.approx(1, abs=0.01)


def test_names_are_legible_and_ops_those_of_the_family() -> None:
    graph = decoder_graph(known("Llama3.1-8B"), phase="decode", batch=1, context=4096)
    assert {"l3.q", "l3.q.turned", "l31.down", "l0.k_cache.next", "logits"} <= {
        node.output for node in graph.nodes
    }
    assert [node.op for node in graph.nodes if node.output.startswith("l0.")] == [
        "rms_norm", "matmul", "rope", "matmul", "rope", "matmul", "cache_append", "cache_append",
        "attention_cached", "matmul", "add", "rms_norm", "matmul", "silu", "matmul", "mul", "matmul", "add",
    ]  # fmt: skip
    mixtral = decoder_graph(known("Mixtral-8x7B"), phase="prefill", batch=1, context=2)
    experts = next(node for node in mixtral.nodes if node.op == "expert_ffn")
    assert experts.attrs == (("activation", "silu"), ("k", 2))
    window = next(node for node in decoder_graph(known("Mistral-7B"), phase="decode", batch=1, context=1).nodes
                  if node.op == "attention_cached")  # fmt: skip
    assert window.attr("window") == 4096


def test_parallel_block_adds_both_parts_at_once() -> None:
    graph = decoder_graph(known("GPT-J-6B"), phase="decode", batch=1, context=1)
    by_output = {node.output: node for node in graph.nodes}
    assert by_output["l0.parallel"].inputs == ("l0.o", "l0.down")
    assert by_output["l0.out"].inputs == ("embed", "l0.parallel")
    assert "l0.norm2" not in by_output


def test_single_token_prompt_needs_no_slice() -> None:
    ops = {node.op for node in decoder_graph(small(), phase="prefill", batch=3, context=1).nodes}
    assert not ops & {"slice", "reshape"}


def test_graph_depends_on_type_batch_context_and_phase_but_not_on_the_name() -> None:
    config = known("GPT-2")
    base = {"phase": "decode", "batch": 1, "context": 8}
    changed = [base, base | {"batch": 2}, base | {"context": 9}, base | {"phase": "prefill"},
               base | {"dtype": DType.BFLOAT16}]  # fmt: skip
    assert len({model_digest(decoder_graph(config, **item)) for item in changed}) == len(changed)
    renamed = decoder_graph(replace(config, name="other"), phase="decode", batch=1, context=8)
    assert model_digest(renamed) == model_digest(decoder_graph(config, phase="decode", batch=1, context=8))


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"phase": "train"}, "PHASE"),
        ({"batch": 0}, "BATCH"),
        ({"batch": True}, "BATCH"),
        ({"batch": 65_537}, "BATCH"),
        ({"context": 0}, "CONTEXT"),
        ({"context": 1025}, "CONTEXT"),
        ({"context": 1.0}, "CONTEXT"),
        ({"dtype": DType.INT32}, "CONTRADICTION"),
    ],
)
def test_requests_beyond_the_model_are_refused(request_: dict[str, object], code: str) -> None:
    with pytest.raises(GraphError) as caught:
        decoder_graph(known("GPT-2"), **{"phase": "decode", "batch": 1, "context": 1024} | request_)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert caught.value.message_de.endswith(".")


def test_a_pass_larger_than_any_machine_is_refused_by_its_size() -> None:
    endless = replace(known("Llama3.1-405B"), max_context=2**27)
    with pytest.raises(GraphError) as caught:
        decoder_graph(endless, phase="prefill", batch=65_536, context=2**27)
    assert caught.value.code == "SIZE"


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_seeded_weights_are_repeatable_rounded_and_verified(dtype: str) -> None:
    config = replace(small(), dtype=DType(dtype))
    weights = seeded_weights(config, 11)
    graph = with_weights(decoder_graph(config, phase="decode", batch=1, context=4), weights, seed=11)
    verify(graph, weights)
    again = seeded_weights(config, 11)
    assert all(np.array_equal(array, again[name]) for name, array in weights.items())
    assert all(np.array_equal(array, rounded(array, config.dtype)) for array in weights.values())
    other = seeded_weights(config, 12)
    assert not any(np.array_equal(array, other[name]) for name, array in weights.items())
    assert np.abs(weights["l0.norm1.w"].astype(np.float64) - 1).max() <= 0.11
    assert 0.8 < np.abs(weights["embed.w"]).max() <= 1


def test_digests_tell_weights_apart_and_the_signature_does_not() -> None:
    config = small("GPT2")
    shapes = decoder_graph(config, phase="decode", batch=1, context=4)
    graphs = [shapes, *(with_weights(shapes, seeded_weights(config, seed)) for seed in (1, 2))]
    assert len({model_digest(graph) for graph in graphs}) == 3
    assert len({graph_signature(graph) for graph in graphs}) == 1


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", MODELS)
def test_recipe_builds_the_same_graph_again(name: str, phase: str) -> None:
    config = small(name)
    shapes = decoder_graph(config, phase=phase, batch=2, context=3, dtype=DType.BFLOAT16)
    assert from_recipe(shapes.recipe) == (shapes, {})
    weights = seeded_weights(replace(config, dtype=DType.BFLOAT16), 4)
    graph = with_weights(shapes, weights, seed=4)
    rebuilt, again = from_recipe(graph.recipe)
    assert rebuilt == graph
    verify(rebuilt, again)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "mlp"},
        {"config": 1},
        {"config": "{}"},
        {"phase": None},
        {"batch": "1"},
        {"context": None},
        {"seed": -1},
    ],
)
def test_recipes_that_were_changed_are_refused(change: dict[str, object]) -> None:
    recipe = dict(decoder_graph(small(), phase="decode", batch=1, context=1).recipe) | change
    with pytest.raises(GraphError):
        from_recipe(tuple(recipe.items()))  # type: ignore[arg-type]


def test_seeded_weights_have_a_limit() -> None:
    edge = replace(small("LLAMA with tied embeddings"), vocab=2**21)
    assert edge.params <= MAX_PARAMS
    for config in (known("GPT-2"), replace(edge, vocab=2**22)):
        with pytest.raises(GraphError) as caught:
            seeded_weights(config, 1)
        assert caught.value.code == "PARAM_COUNT"
    with pytest.raises(GraphError):
        seeded_weights(small(), 2**53)


def test_weights_that_are_missing_or_misshapen_are_refused() -> None:
    graph = decoder_graph(small(), phase="decode", batch=1, context=1)
    weights = seeded_weights(small(), 1)
    for wrong in ({}, weights | {"l1.q.w": weights["l1.q.w"][:, :-1]}):
        with pytest.raises(GraphError) as caught:
            with_weights(graph, wrong)
        assert caught.value.code == "WEIGHTS"


def test_seeded_inputs_fit_the_graph_and_repeat() -> None:
    for phase in PHASES:
        graph = decoder_graph(small(), phase=phase, batch=2, context=4)
        inputs = seeded_inputs(graph, inputs_seed=1)
        assert {name: array.shape for name, array in inputs.items()} == {
            name: tensor.shape for name, tensor in graph.inputs
        }
        assert 0 <= inputs["ids"].min() <= inputs["ids"].max() < 13
        assert inputs["positions"].tolist() == ([3, 3] if phase == "decode" else [0, 1, 2, 3] * 2)
        again = seeded_inputs(graph, inputs_seed=1)
        assert all(np.array_equal(array, again[name]) for name, array in inputs.items())
