"""Front end for JAX: closed jaxprs, training steps through `jax.grad` included. Needs the extra `jax`.

A bridge of our own ("eigene Brücke (Emulator)"): the vendor documents no front end for JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.extend import core

from pilots.graph.capture import Captured
from pilots.graph.frontends.errors import Refused, refuse, shown
from pilots.graph.frontends.examples import with_example
from pilots.graph.frontends.jax_ops import CONTROL_FLOW, HANDLERS, Context, shape_of
from pilots.graph.frontends.optimisers import (
    Optimiser,
    Sgd,
    first_step_inputs,
    moments,
    result_labels,
    update,
)
from pilots.graph.frontends.outputs import path_label
from pilots.graph.frontends.values import Value, dtype_of, known_as
from pilots.graph.frontends.walk import NARROWED_DE, Walk, line_of, place_of
from pilots.graph.ir import DType

FRAMEWORK: Final = "jax"
NAME: Final = "JAX"
WANTED_DE: Final = "die Funktion muss (Funktion, Gewichte, Beispiele) zurückgeben, die Beispiele als Tupel von Feldern, etwa (f, w, (x,))"
_INNER: Final = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_FOREIGN: Final = ("pallas_call", "ffi_call", "custom_call", "pure_callback", "io_callback")


def capture(
    function: Callable[..., Any],
    params: Any,
    examples: Sequence[Any],
    *,
    open_batch: bool = False,
    example: bool = True,
) -> Captured:
    """Return the graph of `function(params, *examples)`; the leaves of `params` become weights named by their path.

    open_batch: leave the first dimension of all examples open; example: keep the examples with what JAX computes from
    them by calling the function. Raises UnsupportedModel or FrontEndError.
    """
    if not isinstance(examples, tuple | list):
        sentence = f"Die Beispiele sind kein Tupel, sondern {type(examples).__name__}; {WANTED_DE}."
        raise refuse("EXAMPLE", "example", "a function and a tuple", type(examples).__name__, sentence)
    walk = Walk(FRAMEWORK, jax.__version__)
    leaves = _leaves(params)
    batch = export.symbolic_shape("batch")[0] if open_batch else None
    shapes = [
        jax.ShapeDtypeStruct((batch, *item.shape[1:]) if open_batch else item.shape, item.dtype)
        for item in map(jnp.asarray, examples)
    ]
    closed, structure = _traced(walk, function, (params, *shapes), (params, *examples))
    weights = [_weight(walk, item, label) for label, item in leaves.items()]
    inputs = [_input(walk, f"x{index}", item) for index, item in enumerate(shapes)]
    found = walk.finish(_closed(walk, closed, [*weights, *inputs]), _labels(structure))
    if not example:
        return found
    held, given = jax.tree_util.tree_map(
        jnp.asarray, (params, list(examples))
    )  # NumPy arrays would compute in NumPy
    return with_example(found, NAME, given, lambda: jax.tree_util.tree_leaves(function(held, *given)))


def capture_training_step(
    loss: Callable[..., Any],
    params: Any,
    examples: Sequence[Any],
    optimiser: Optimiser,
    *,
    example: bool = True,
) -> Captured:
    """Return one training step of `loss(params, *examples)`, one number; raises as `capture`.

    Inputs: parameters by path, then moments and step for AdamW, then the examples as x0, x1, ...
    Outputs: the loss, new parameters, and for AdamW new first and second moments.
    """
    leaves = _leaves(params)
    walk = Walk(FRAMEWORK, jax.__version__)
    closed, _ = _traced(walk, jax.value_and_grad(loss), *[(params, *examples)] * 2)
    inputs = {label: _input(walk, label, item) for label, item in leaves.items()}
    walk.refuse_unsupported()
    state = moments(walk.emit, inputs, optimiser)
    arrays = [jnp.asarray(item) for item in examples]
    data = [_input(walk, f"x{index}", item) for index, item in enumerate(arrays)]
    results = _closed(walk, closed, [*inputs.values(), *data])
    gradients = results[1:]
    changed = walk.step(
        "optimiser",
        type(optimiser).__name__,
        gradients,
        lambda: update(walk.emit, inputs, [item for item in gradients if item is not None], optimiser, state),
    )
    found = walk.finish([results[0], *(changed or [])], result_labels(list(inputs), optimiser))
    if not example:
        return found
    given = first_step_inputs([np.asarray(item) for item in leaves.values()], optimiser, arrays)
    return with_example(found, NAME, given, lambda: _stepped(loss, params, arrays, optimiser))


def _stepped(
    loss: Callable[..., Any], params: Any, examples: Sequence[Any], optimiser: Optimiser
) -> list[Any]:
    """Return the loss, new parameters and new moments after the first step; JAX has no optimiser, so its arithmetic is used."""
    value, found = jax.value_and_grad(loss)(params, *examples)
    held, gradients = (
        [jnp.asarray(item) for item in jax.tree_util.tree_leaves(tree)] for tree in (params, found)
    )
    pairs = list(zip(held, gradients, strict=True))
    rate = float(optimiser.rate)
    if isinstance(optimiser, Sgd):
        return [value, *(item - rate * gradient for item, gradient in pairs)]
    beta1, beta2 = float(optimiser.beta1), float(optimiser.beta2)
    first = [(1 - beta1) * gradient for gradient in gradients]
    second = [(1 - beta2) * jnp.square(gradient) for gradient in gradients]
    changed = []
    for item, m, v in zip(held, first, second, strict=True):
        direction = m / (1 - beta1) / (jnp.sqrt(v / (1 - beta2)) + float(optimiser.epsilon))
        changed.append(item - rate * (direction + float(optimiser.weight_decay) * item))
    return [value, *changed, *first, *second]


def _leaves(params: Any) -> dict[str, Any]:
    found, _ = jax.tree_util.tree_flatten_with_path(params)
    return {
        jax.tree_util.keystr(path, simple=True, separator=".") or "weight": jnp.asarray(item)
        for path, item in found
    }


def _labels(structure: Any) -> list[str]:
    """Return the names of the outputs by the keys of the structure the function returns."""
    paths, _ = jax.tree_util.tree_flatten_with_path(structure)
    return [path_label(path) for path, _ in paths]


def _traced(
    walk: Walk, function: Callable[..., Any], args: tuple[Any, ...], numbers: tuple[Any, ...]
) -> tuple[core.ClosedJaxpr, Any]:
    """Return the equations and the structure of the result; what cannot be computed on `numbers` either is said so."""
    try:
        found: tuple[core.ClosedJaxpr, Any] = jax.make_jaxpr(function, return_shape=True)(*args)
    except Exception as error:  # jax raises many classes here
        _computable(function, numbers)
        raise walk.untraceable("jax.make_jaxpr", error) from error
    return found


def _computable(function: Callable[..., Any], numbers: tuple[Any, ...]) -> None:
    try:
        function(*jax.tree_util.tree_map(jnp.asarray, numbers))
    except Exception as error:  # the function is the user's
        place = line_of(error)
        where = f" ({place})" if place else ""
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        sentence = f"JAX kann die Funktion mit den Beispielen nicht rechnen{where}: {shown(first).rstrip('.')}; Form und Zahlentyp der Beispiele müssen zur Funktion passen."
        raise refuse("EXAMPLE", "example", "what the function takes", first, sentence) from error


def _closed(
    walk: Walk, closed: core.ClosedJaxpr, inputs: Sequence[Value | None], place: str = ""
) -> list[Value | None]:
    consts = [
        _weight(walk, item, f"const{index}" if np.size(item) > 1 else "")
        for index, item in enumerate(closed.consts)
    ]
    return _walked(walk, closed.jaxpr, [*consts, *inputs], place)


def _walked(walk: Walk, jaxpr: Any, inputs: Sequence[Value | None], place: str) -> list[Value | None]:
    """Translate every equation; `place` is that of the call, for library code. Returns the outputs."""
    known: dict[Any, Value | None] = dict(zip([*jaxpr.constvars, *jaxpr.invars], inputs, strict=True))

    def read(item: Any) -> Value | None:
        if isinstance(item, core.Literal):
            return _weight(walk, np.asarray(item.val, dtype=item.aval.dtype), "")
        return known[item]

    for eqn in _needed(jaxpr):
        given = [read(item) for item in eqn.invars]
        known |= dict(zip(eqn.outvars, _equation(walk, eqn, given, place), strict=True))
    return [read(item) for item in jaxpr.outvars]


def _needed(jaxpr: Any) -> list[Any]:
    """Return the equations the outputs depend on, in order."""
    needed = {id(item) for item in jaxpr.outvars}
    found = []
    for eqn in reversed(jaxpr.eqns):
        if any(id(item) in needed for item in eqn.outvars):
            needed |= {id(item) for item in eqn.invars}
            found.append(eqn)
    return found[::-1]


def _equation(walk: Walk, eqn: Any, given: list[Value | None], caller: str) -> Sequence[Value | None]:
    name = eqn.primitive.name
    place = _place(eqn) or caller
    inner = next((eqn.params[key] for key in _INNER if key in eqn.params), None)
    if inner is not None and name not in {*CONTROL_FLOW, *_FOREIGN}:
        if isinstance(inner, core.ClosedJaxpr):
            return _closed(walk, inner, given, place)
        return _walked(walk, inner, given, place)
    handler = HANDLERS.get(name)

    def action() -> Any:
        if name in CONTROL_FLOW:
            raise Refused("Kontrollfluss gibt es im Graphen nicht; bitte feste Schleifen ausrollen")
        assert handler is not None
        out = eqn.outvars[0].aval
        return handler(Context(walk.emit, eqn.params, shape_of(out.shape), dtype_of(out.dtype.name)), *given)

    known = handler is not None or name in CONTROL_FLOW
    result = walk.step(name, place, given, action if known else None, custom=name in _FOREIGN)
    if isinstance(result, list):
        return result
    return [result, *[None] * (len(eqn.outvars) - 1)]


def _place(eqn: Any) -> str:
    """Return file and line of the user's code."""
    found = eqn.source_info.traceback
    frames = [(frame.file_name, frame.line_num) for frame in found.frames] if found is not None else []
    return place_of(frames[::-1], own_only=True)


def _input(walk: Walk, name: str, item: Any) -> Any:
    """Add a graph input like an array of JAX; None if the graph has no such type."""
    if np.dtype(item.dtype) == np.int64:
        walk.adapt(name, NARROWED_DE)
    return walk.taken(
        "input",
        name,
        lambda: walk.emit.input(name, shape_of(item.shape), dtype_of(np.dtype(item.dtype).name)),
    )


def _weight(walk: Walk, item: Any, label: str) -> Value | None:
    """Return the numbers of a weight; None if the graph has no such type."""

    def action() -> Value:
        array = np.asarray(item)
        dtype = dtype_of(array.dtype.name)
        return known_as(array.astype(np.float32) if dtype is DType.BFLOAT16 else array, dtype, label)

    found: Value | None = walk.taken("weight", label or "Zahl", action)
    return found
