"""What the JAX front end takes, and what it refuses by name."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from pilots.graph.agreement import agreements
from pilots.graph.capture import to_bytes
from pilots.graph.errors import GraphError
from pilots.graph.evaluate import evaluate
from pilots.graph.porting import porting_report
from pilots.graph.rng import uniform
from tests.pilots.graph.frontends.extras import need

(jax,) = need("jax")

import jax.numpy as jnp  # noqa: E402 - after the skip
from jax import lax  # noqa: E402

from pilots.graph.frontends import jax as from_jax  # noqa: E402
from pilots.graph.frontends.errors import FrontEndError, UnsupportedModel  # noqa: E402

pytestmark = pytest.mark.frontends
X = uniform(1, "x", (2, 3, 4))
IDS = np.array([1, 0, 2], np.int32)
TABLE = uniform(2, "t", (3, 4))

FUNCTIONS = {
    "arithmetic": lambda x: (x + 1) * 2 - x / 3 + (1 - x) + 2 / (x + 3),
    "unary": lambda x: jnp.sqrt(jnp.abs(x)) + jnp.exp(x) + jnp.log(jnp.abs(x) + 1) + jnp.sin(x) + jnp.cos(x),
    "activations": lambda x: (
        jax.nn.relu(x) + jax.nn.silu(x) + jax.nn.gelu(x) + jax.nn.sigmoid(x) + jnp.tanh(x)
    ),
    "powers": lambda x: x**2 + x**3 + jnp.abs(x) ** 0.5 + lax.rsqrt(jnp.abs(x) + 1) + jnp.square(x),
    "limits": lambda x: jnp.clip(x, -0.5, 0.5) + jnp.maximum(x, -x) + jnp.minimum(x, 0.1),
    "choice": lambda x: jnp.where((x >= 0.5) | ~(x <= 0.1) & (x != 0), x, -x),
    "moves": lambda x: jnp.concatenate([x.transpose(1, 0, 2)[:, :, 1:], x.swapaxes(0, 1)], -1)[None].reshape(
        3, -1
    ),
    "wider": lambda x: jnp.pad(x, ((0, 0), (1, 0), (0, 2))) + jnp.broadcast_to(x[:1, :1, :1], (2, 4, 6)),
    "reduced": lambda x: x.sum() + x.mean(1).max() + x.min((0, 2)).sum() + jnp.var(x),
    "argmax": lambda x: jnp.argmax(-x, -1),
    "rows": lambda x: jax.nn.softmax(x, 1) + jax.nn.log_softmax(x),
    "products": lambda x: jnp.einsum("bij,bkj->bik", x, x) + x[0] @ x[1].T,
    "types": lambda x: x.astype(jnp.float16).astype(jnp.float32) + (x > 0),
    "mask": lambda x: jnp.where(jnp.arange(3)[:, None] >= jnp.arange(4), x, 0.0),
    "inner": lambda x: jax.jit(lambda y: jax.checkpoint(jnp.sin)(y + 1))(x) + lax.stop_gradient(x),
    "several": lambda x: (x + 1, x * 2),
    "split": lambda x: sum(jnp.split(x, 2, axis=-1)),
}


def agrees(function, *examples, params=None):
    found = from_jax.capture(lambda p, *items: function(*items), params or {}, examples)
    given = {name: item for (name, _), item in zip(found.graph.inputs, examples, strict=True)}
    results = evaluate(found.graph, given | found.weights)
    expected = function(*examples)
    for name, item in zip(
        found.graph.outputs, expected if isinstance(expected, tuple) else (expected,), strict=True
    ):
        assert np.allclose(results[name].reshape(item.shape), item, rtol=1e-5, atol=1e-6)
    to_bytes(found)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_arrays(name):
    agrees(FUNCTIONS[name], jnp.asarray(X))


def test_tables_and_their_gradients():
    table = jnp.asarray(TABLE)
    agrees(lambda ids: table[ids] + jnp.take(table, ids, axis=0, mode="clip"), jnp.asarray(IDS))
    agrees(lambda ids, t: jax.grad(lambda u: jnp.sum(u[ids] ** 2))(t), jnp.asarray(IDS), table)


@pytest.mark.parametrize("name", ["unary", "activations", "powers", "rows", "products", "reduced"])
def test_gradients_of_functions(name):
    function = FUNCTIONS[name]
    agrees(jax.grad(lambda x: jnp.sum(function(x))), jnp.asarray(X))


def test_names_of_weights_are_their_paths():
    params = {"layers": [{"w": TABLE}, {"w": TABLE * 2}]}
    found = from_jax.capture(
        lambda p, x: x @ p["layers"][0]["w"].T + p["layers"][1]["w"][0, :3], params, (X[0],)
    )
    assert sorted(item.name for item in found.graph.constants) == ["layers.0.w", "layers.1.w"]
    assert found.trail.framework == "jax"
    assert porting_report(found.trail, found.graph).to_json()["provenance"] == "eigene Brücke (Emulator)"


def test_error_function_agrees_and_outputs_have_the_names_of_their_keys():
    x = jnp.asarray(uniform(1, "x", (4, 8))) * 3

    def function(_, x):
        return {"gelu": jax.nn.gelu(x, approximate=False), "parts": (lax.erf(x), lax.erfc(x))}

    found = from_jax.capture(function, {}, (x,))
    assert found.graph.outputs == ("gelu", "parts.0", "parts.1")
    assert all(row.within for row in agreements(found))
    assert "gelu" not in {node.op for node in found.graph.nodes}


def refused(function, *examples) -> GraphError:
    with pytest.raises(GraphError) as caught:
        from_jax.capture(lambda p, *items: function(*items), {}, examples or (X,))
    assert caught.value.message_de.endswith(".")
    return caught.value


@pytest.mark.parametrize(
    ("function", "op", "words"),
    [
        (lambda x: jnp.cumsum(x, 1), "cumsum", "keine Entsprechung"),
        (lambda x: lax.fori_loop(0, 3, lambda _, y: y * 2, x), "scan", "Kontrollfluss"),
        (lambda x: lax.while_loop(lambda y: y.sum() < 9, lambda y: y + 1, x), "while", "Kontrollfluss"),
        (lambda x: lax.cond(x.sum() > 0, lambda y: y, lambda y: -y, x), "cond", "Kontrollfluss"),
        (lambda x: jnp.where(x > 0, x, -jnp.inf) * 2, "mul", "endliche"),
        (lambda x: jnp.abs(x) ** 1.7, "pow", "Potenz"),
        (lambda x: x[:, ::2], "slice", "Schrittweite"),
        (lambda x: x[:, IDS], "gather", "ersten Dimension"),
    ],
)
def test_operation_that_is_not_there_is_named(function, op, words):
    error = refused(function)
    assert isinstance(error, UnsupportedModel)
    assert op in {row.op.removesuffix("c") for row in error.trail.unsupported} | {
        row.op for row in error.trail.unsupported
    }
    assert words in error.message_de


def test_place_is_the_line_of_the_model():
    def function(x):
        y = x + 1
        return jnp.cumsum(y, 0)

    line = inspect.getsourcelines(function)[1] + 2
    (row,) = refused(function).trail.unsupported
    assert row.place == f"test_jax.py:{line}"


def test_control_flow_on_data_is_a_row_with_its_line():
    def function(x):
        y = x + 1
        return y if y.sum() > 0 else x

    line = inspect.getsourcelines(function)[1] + 2
    report = porting_report(refused(function).trail, None).to_json()
    (row,) = report["operations"]
    assert "Kontrollfluss" in row["reason"]
    assert row["places"] == [f"test_jax.py:{line}"]
    assert (report["unsupported_ratio"], report["provenance"]) == ("1", "eigene Brücke (Emulator)")


def test_type_of_an_input_is_a_row_of_the_report():
    row = refused(lambda x: x + 1, X.astype(np.complex64)).trail.unsupported[0]
    assert (row.op, row.place) == ("input", "x0")
    assert "complex64" in row.reason


def test_what_depends_on_data_and_foreign_types_are_refused():
    assert isinstance(refused(lambda x: x + 1 if x.sum() > 0 else x), FrontEndError)
    assert "complex64" in refused(lambda x: x + 1, X.astype(np.complex64)).message_de
    assert "int8" in refused(lambda x: x + 1, X.astype(np.int8)).message_de
    foreign = refused(lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
    assert [row.custom for row in foreign.trail.unsupported] == [True]
