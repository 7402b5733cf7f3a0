"""The same model from three frameworks: the same numbers, the same graph, the same bits on the emulator."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import numpy as np
import pytest

from pilots.graph.capture import Captured, from_bytes, to_bytes
from pilots.graph.evaluate import evaluate
from pilots.graph.ir import graph_signature, model_digest
from pilots.graph.mlp import mlp_from_text
from pilots.graph.porting import porting_report
from pilots.graph.rng import uniform
from pilots.wafer import functional
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.equivalence import DEFAULT_RTOL, compare
from pilots.wafer.lowering import kernel_name
from pilots.wafer.machine import lab_mesh
from tests.pilots.graph.frontends.extras import need

torch, jax, onnx = need("torch", "jax", "onnx")

from pilots.graph.frontends import jax as from_jax  # noqa: E402 - after the skip
from pilots.graph.frontends import onnx as from_onnx  # noqa: E402
from pilots.graph.frontends import pytorch as from_torch  # noqa: E402
from pilots.graph.frontends.errors import UnsupportedModel  # noqa: E402
from tests.pilots.graph.frontends import models_jax, models_onnx, models_pytorch  # noqa: E402

pytestmark = pytest.mark.frontends
MODELS = {
    "perceptron": (models_pytorch.Perceptron, (3, 8)),
    "pictures": (models_pytorch.Pictures, (2, 1, 8, 8)),
    "encoder": (models_pytorch.Encoder, (2, 5, 16)),
    "decoder": (models_pytorch.Decoder, (2, 5, 16)),
    "embedder": (models_pytorch.Embedder, (2, 3)),
}
FRAMEWORKS = ("pytorch", "jax", "onnx")
# The table of JAX reads negative indices from the end, and its decoder and the one in ONNX write attention out.
SAME_GRAPH = {
    "perceptron": FRAMEWORKS,
    "pictures": FRAMEWORKS,
    "encoder": FRAMEWORKS,
    "decoder": ("jax", "onnx"),
    "embedder": ("pytorch", "onnx"),
}
EVERY = [(name, framework) for name in MODELS for framework in FRAMEWORKS]


@lru_cache
def module(name):
    return models_pytorch.seeded(MODELS[name][0]())


def weights(name):
    return {key: value.detach().numpy() for key, value in module(name).state_dict().items()}


def inputs(name):
    shape = MODELS[name][1]
    return np.array([[1, 2, 10], [0, 3, 3]], np.int32) if name == "embedder" else uniform(1, name, shape)


def tensor(name):
    found = torch.from_numpy(inputs(name))
    return found.long() if name == "embedder" else found


@lru_cache
def captured(name, framework) -> Captured:
    if framework == "pytorch":
        return from_torch.capture(module(name), (tensor(name),))
    if framework == "jax":
        return from_jax.capture(getattr(models_jax, name), weights(name), (inputs(name),))
    return from_onnx.capture_bytes(getattr(models_onnx, name)(weights(name), MODELS[name][1]))


def own_result(name, framework):
    """Return what the framework itself computes; ONNX has no runtime here but the reference of its package."""
    if framework == "pytorch":
        return module(name)(tensor(name)).detach().numpy()
    if framework == "jax":
        return np.asarray(getattr(models_jax, name)(weights(name), inputs(name)))
    model = onnx.load_from_string(getattr(models_onnx, name)(weights(name), MODELS[name][1]))
    from onnx.reference import ReferenceEvaluator

    given = inputs(name).astype(np.int64) if name == "embedder" else inputs(name)
    return ReferenceEvaluator(model).run(None, {"x": given})[0]


def values(name, found):
    return {found.graph.inputs[0][0]: inputs(name)}


@pytest.mark.parametrize(("name", "framework"), EVERY)
def test_the_twin_agrees_with_the_framework_itself(name, framework):
    found = captured(name, framework)
    (result,) = evaluate(found.graph, values(name, found) | found.weights).values()
    assert compare(name, result, own_result(name, framework), rtol=1e-6).within


@pytest.mark.parametrize(("name", "framework"), EVERY)
def test_the_emulator_agrees_with_the_framework_itself(name, framework):
    found = captured(name, framework)
    program = compile_graph(found.graph, lab_mesh(64, 64), Request(batch=1))
    result = functional.run(program, found.weights, values(name, found)).outputs
    expected = own_result(name, framework)
    assert compare(name, result.reshape(expected.shape), expected, rtol=DEFAULT_RTOL["float32"]).within


@pytest.mark.parametrize("name", MODELS)
def test_three_frameworks_agree_and_equal_graphs_have_one_fingerprint(name):
    results = [own_result(name, framework) for framework in FRAMEWORKS]
    assert all(compare(name, result, results[0], rtol=1e-5).within for result in results)
    same = {framework: captured(name, framework).graph for framework in SAME_GRAPH[name]}
    assert len({graph_signature(graph) for graph in same.values()}) == 1
    assert len({model_digest(graph) for graph in same.values()}) == 1


@pytest.mark.parametrize(("name", "framework"), EVERY)
def test_file_holds_the_whole_model(name, framework):
    found = captured(name, framework)
    data = to_bytes(found)
    again = from_bytes(data)
    assert (again.graph, again.trail) == (found.graph, found.trail)
    assert to_bytes(again) == data


@pytest.mark.parametrize(("name", "framework"), EVERY)
def test_every_operation_has_a_kernel_and_a_place(name, framework):
    found = captured(name, framework)
    kernels = {op: kernel_name(op) for op in {node.op for node in found.graph.nodes} | {*_emitted(found)}}
    report = porting_report(found.trail, found.graph, kernels=kernels, capacity_bytes=10**6)
    assert report.unsupported == ()
    assert report.unsupported_ratio == "0"
    assert report.partitioning_required is False
    assert all(item.places for item in report.operations)


@pytest.mark.parametrize(("name", "framework"), EVERY)
def test_rows_of_the_trail_say_what_became_of_them(name, framework):
    """Every operation of the finished graph is in the rows as often as it is there, and rows name no other."""
    found = captured(name, framework)
    became = Counter(op for row in found.trail.rows for op in row.became)
    there = Counter(node.op for node in found.graph.nodes)
    assert set(became) == set(there)
    assert became >= there


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_operation_a_formula_took_in_names_the_formula(framework):
    rows = captured("encoder", framework).trail.rows
    for op in ("layer_norm", "softmax", "gelu"):
        assert any(op in row.became for row in rows)
    if framework == "jax":  # the mean, the root and the product are all part of it
        assert sum("layer_norm" in row.became for row in rows) > 10


def _emitted(found):
    return {op for row in found.trail.rows for op in row.became}


def test_perceptron_is_the_one_of_our_own_text():
    graph, _ = mlp_from_text("8-16-4")
    for found in (
        from_torch.capture(module("perceptron"), (tensor("perceptron"),), open_batch=True),
        from_jax.capture(
            models_jax.perceptron, weights("perceptron"), (inputs("perceptron"),), open_batch=True
        ),
        from_onnx.capture_bytes(models_onnx.perceptron(weights("perceptron"), ("batch", 8))),
    ):
        assert graph_signature(found.graph) == graph_signature(graph)


UNSUPPORTED = {
    "pytorch": (
        lambda: from_torch.capture(models_pytorch.Unsupported(), (torch.ones(2, 3),)),
        {"aten.cumsum.default": "models_pytorch.py:", "aten.sort.default": "models_pytorch.py:"},
    ),
    "jax": (
        lambda: from_jax.capture(models_jax.unsupported, {}, (np.ones((2, 3), np.float32),)),
        {"cumsum": "models_jax.py:", "sort": "models_jax.py:"},
    ),
    "onnx": (
        lambda: from_onnx.capture_bytes(models_onnx.unsupported({}, (2, 3))),
        {"CumSum": "cumsum_0", "com.example.Special": "special_2"},
    ),
}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_unsupported_operations_are_named_with_their_place(framework):
    capture, expected = UNSUPPORTED[framework]
    with pytest.raises(UnsupportedModel) as caught:
        capture()
    rows = caught.value.trail.unsupported
    assert {row.op for row in rows} == set(expected)
    assert all(row.place.startswith(expected[row.op]) for row in rows)
    assert all(op in caught.value.message_de for op in expected)
    report = porting_report(caught.value.trail, None)
    assert {item.op for item in report.unsupported} == set(expected)
    assert 0 < float(report.unsupported_ratio) < 1
    assert [item.custom for item in report.unsupported] == [
        item.op.startswith("com.") for item in report.unsupported
    ]
