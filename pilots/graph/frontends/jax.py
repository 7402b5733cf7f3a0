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
from pilots.graph.frontends.errors import Refused, refuse
from pilots.graph.frontends.jax_ops import CONTROL_FLOW, HANDLERS, Context, shape_of
from pilots.graph.frontends.optimisers import Optimiser, moments, update
from pilots.graph.frontends.values import Value, dtype_of, known_as
from pilots.graph.frontends.walk import Walk
from pilots.graph.ir import DType

FRAMEWORK: Final = "jax"
NOTE_DE: Final = "eigene Brücke (Emulator)"
_INNER: Final = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_FOREIGN: Final = ("pallas_call", "ffi_call", "custom_call", "pure_callback", "io_callback")


def capture(
    function: Callable[..., Any], params: Any, examples: Sequence[Any], *, open_batch: bool = False
) -> Captured:
    """Return the graph of `function(params, *examples)`; the leaves of `params` become weights named by their path.

    open_batch: leave the first dimension of all examples open. Raises UnsupportedModel or FrontEndError.
    """
    walk = Walk(FRAMEWORK, jax.__version__)
    leaves = _leaves(params)
    batch = export.symbolic_shape("batch")[0] if open_batch else None
    shapes = [
        jax.ShapeDtypeStruct((batch, *item.shape[1:]) if open_batch else item.shape, item.dtype)
        for item in map(jnp.asarray, examples)
    ]
    closed = _traced(function, (params, *shapes))
    weights = [_weight(item, label) for label, item in leaves.items()]
    inputs = [
        walk.emit.input(f"x{index}", shape_of(item.shape), _dtype(item.dtype))
        for index, item in enumerate(shapes)
    ]
    return walk.finish(_closed(walk, closed, [*weights, *inputs]))


def capture_training_step(
    loss: Callable[..., Any], params: Any, examples: Sequence[Any], optimiser: Optimiser
) -> Captured:
    """Return one training step of `loss(params, *examples)`, one number; raises as `capture`.

    Inputs: parameters by path, then moments and step for AdamW, then the examples as x0, x1, ...
    Outputs: the loss, new parameters, and for AdamW new first and second moments.
    """
    leaves = _leaves(params)
    closed = _traced(jax.value_and_grad(loss), (params, *examples))
    walk = Walk(FRAMEWORK, jax.__version__)
    inputs = {
        label: walk.emit.input(label, shape_of(item.shape), _dtype(item.dtype))
        for label, item in leaves.items()
    }
    state = moments(walk.emit, inputs, optimiser)
    arrays = [jnp.asarray(item) for item in examples]
    data = [
        walk.emit.input(f"x{index}", shape_of(item.shape), _dtype(item.dtype))
        for index, item in enumerate(arrays)
    ]
    results = _closed(walk, closed, [*inputs.values(), *data])
    gradients = results[1:]
    changed = walk.step(
        "optimiser",
        type(optimiser).__name__,
        gradients,
        lambda: update(walk.emit, inputs, [item for item in gradients if item is not None], optimiser, state),
    )
    return walk.finish([results[0], *(changed or [])])


def _leaves(params: Any) -> dict[str, Any]:
    found, _ = jax.tree_util.tree_flatten_with_path(params)
    return {
        jax.tree_util.keystr(path, simple=True, separator=".") or "weight": jnp.asarray(item)
        for path, item in found
    }


def _traced(function: Callable[..., Any], args: tuple[Any, ...]) -> core.ClosedJaxpr:
    try:
        return jax.make_jaxpr(function)(*args)
    except Exception as error:  # jax raises many classes here
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        sentence = (
            "JAX kann die Funktion nicht als festen Graphen ausgeben; Kontrollfluss und Formen dürfen nicht von "
            f"Daten abhängen ({first[:160]})."
        )
        raise refuse("NOT_TRACEABLE", "function", "a static graph", first, sentence) from error


def _closed(
    walk: Walk, closed: core.ClosedJaxpr, inputs: Sequence[Value | None], place: str = ""
) -> list[Value | None]:
    consts = [
        _weight(item, f"const{index}" if np.size(item) > 1 else "")
        for index, item in enumerate(closed.consts)
    ]
    return _walked(walk, closed.jaxpr, [*consts, *inputs], place)


def _walked(walk: Walk, jaxpr: Any, inputs: Sequence[Value | None], place: str) -> list[Value | None]:
    """Translate every equation; `place` is that of the call, for library code. Returns the outputs."""
    known: dict[Any, Value | None] = dict(zip([*jaxpr.constvars, *jaxpr.invars], inputs, strict=True))

    def read(item: Any) -> Value | None:
        if isinstance(item, core.Literal):
            return _weight(np.asarray(item.val, dtype=item.aval.dtype), "")
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
    traceback = eqn.source_info.traceback
    for frame in traceback.frames if traceback is not None else ():
        if not any(
            part in frame.file_name for part in ("site-packages", "dist-packages", "<frozen", __file__)
        ):
            return f"{frame.file_name.replace(chr(92), '/').rsplit('/', 1)[-1]}:{frame.line_num}"
    return ""


def _dtype(dtype: Any) -> DType:
    try:
        return dtype_of(np.dtype(dtype).name)
    except Refused as error:
        sentence = f"Den Zahlentyp {np.dtype(dtype).name} gibt es im Graphen nicht."
        raise refuse("DTYPE", "array", ", ".join(DType), dtype, sentence) from error


def _weight(item: Any, label: str) -> Value:
    array = np.asarray(item)
    dtype = _dtype(array.dtype)
    wide = array.astype(np.float32) if dtype is DType.BFLOAT16 else array
    return known_as(wide, dtype, label)
