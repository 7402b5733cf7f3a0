"""What each operation means in ordinary NumPy: the reference that emulated results are compared with.

Every twin takes its inputs (floating ones in one precision, the others as int64 or bool) and the attributes. Nothing is
rounded in between but by `cast`. Composite operations stand in `twins_composite.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from pilots.graph import twins_composite as composite
from pilots.graph.attributes import Given
from pilots.graph.errors import refusal
from pilots.graph.ir import Array, DType, rounded

Twin: TypeAlias = Callable[[Sequence[Array], Given], Array]


def _plain(function: Callable[..., Any]) -> Twin:
    """Return the twin of a function of the inputs alone."""
    return lambda inputs, _given: np.asarray(function(*inputs))


def _log_softmax(x: Array) -> Array:
    shifted = x - x.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def _matmul(inputs: Sequence[Array], given: Given) -> Array:
    left, right = inputs
    return np.asarray(left @ (right.T if given.whole("transposed") else right))


def _row_wise(function: Callable[..., Any]) -> Twin:
    return lambda inputs, _given: np.asarray(function(inputs[0], axis=-1, keepdims=True))


def _layer_norm(inputs: Sequence[Array], given: Given) -> Array:
    x, scale, shift = inputs
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.square(centred).mean(axis=-1, keepdims=True) + float(given.text("epsilon"))
    return np.asarray(centred / np.sqrt(spread) * scale + shift)


def _rms_norm(inputs: Sequence[Array], given: Given) -> Array:
    x, scale = inputs
    square = np.square(x).mean(axis=-1, keepdims=True) + float(given.text("epsilon"))
    return np.asarray(x / np.sqrt(square) * scale)


def _cast(inputs: Sequence[Array], given: Given) -> Array:
    target = DType(given.text("dtype"))
    if target.is_float:
        return rounded(inputs[0], target)
    return np.asarray(np.trunc(inputs[0]).astype(np.int64))


def _slice(inputs: Sequence[Array], given: Given) -> Array:
    taken = range(given.whole("start"), given.whole("stop"))
    return np.asarray(np.take(inputs[0], taken, axis=given.whole("axis")))


def _pad(inputs: Sequence[Array], given: Given) -> Array:
    return np.pad(inputs[0], list(zip(given.sizes("before"), given.sizes("after"), strict=True)))


def checked_ids(ids: Array, entries: int) -> Array:
    """Return indices that all name an entry; raises GraphError."""
    if ids.size and not 0 <= ids.min() <= ids.max() < entries:
        sentence = f"Ein Index liegt außerhalb von 0 bis {entries - 1}; bitte die Eingaben prüfen."
        raise refusal("INDEX", "indices", f"0..{entries - 1}", f"{ids.min()}..{ids.max()}", sentence)
    return ids


def _gather(inputs: Sequence[Array], _given: Given) -> Array:
    table, ids = inputs
    return np.asarray(table[checked_ids(ids, table.shape[0])])


def _scatter_add(inputs: Sequence[Array], _given: Given) -> Array:
    table, ids, updates = inputs
    result = table.copy()
    np.add.at(result, checked_ids(ids, table.shape[0]), updates)
    return result


def _one_hot(inputs: Sequence[Array], given: Given) -> Array:
    depth = given.whole("depth")
    return np.asarray(checked_ids(inputs[0], depth)[:, None] == np.arange(depth), dtype=np.float64)


def _cross_entropy(inputs: Sequence[Array], _given: Given) -> Array:
    logits, targets = inputs
    chosen = checked_ids(targets, logits.shape[1])[:, None]
    return np.asarray(-np.take_along_axis(_log_softmax(logits), chosen, axis=1))


def _sgd_update(inputs: Sequence[Array], given: Given) -> Array:
    param, grad = inputs
    return np.asarray(param - float(given.text("rate")) * grad)


def _adam_m(inputs: Sequence[Array], given: Given) -> Array:
    beta = float(given.text("beta1"))
    return np.asarray(beta * inputs[0] + (1 - beta) * inputs[1])


def _adam_v(inputs: Sequence[Array], given: Given) -> Array:
    beta = float(given.text("beta2"))
    return np.asarray(beta * inputs[0] + (1 - beta) * np.square(inputs[1]))


def _adamw_update(inputs: Sequence[Array], given: Given) -> Array:
    param, first, second, steps = inputs
    step = int(steps[0])
    if step < 1:
        raise refusal("STEP", "step", "1 or more", str(step), "Der Schritt des Optimierers zählt ab 1.")
    rate, beta1, beta2, epsilon, decay = (
        float(given.text(name)) for name in ("rate", "beta1", "beta2", "epsilon", "weight_decay")
    )
    direction = first / (1 - beta1**step) / (np.sqrt(second / (1 - beta2**step)) + epsilon)
    return np.asarray(param - rate * (direction + decay * param))


TWINS: Final[dict[str, Twin]] = {
    "matmul": _matmul,
    "batch_matmul": _plain(np.matmul),
    "add": _plain(np.add),
    "sub": _plain(np.subtract),
    "mul": _plain(np.multiply),
    "div": _plain(np.divide),
    "maximum": _plain(np.maximum),
    "minimum": _plain(np.minimum),
    "neg": _plain(np.negative),
    "abs": _plain(np.abs),
    "exp": _plain(np.exp),
    "log": _plain(np.log),
    "sqrt": _plain(np.sqrt),
    "rsqrt": _plain(lambda x: 1 / np.sqrt(x)),
    "reciprocal": _plain(lambda x: 1 / x),
    "square": _plain(np.square),
    "relu": _plain(composite.relu),
    "gelu": _plain(composite.gelu),
    "silu": _plain(composite.silu),
    "sigmoid": _plain(composite.sigmoid),
    "tanh": _plain(np.tanh),
    "sin": _plain(np.sin),
    "cos": _plain(np.cos),
    "scale": lambda inputs, given: np.asarray(inputs[0] * float(given.text("factor"))),
    "cast": _cast,
    "greater": _plain(np.greater),
    "less": _plain(np.less),
    "equal": _plain(np.equal),
    "where": _plain(np.where),
    "reduce_sum": _row_wise(np.sum),
    "reduce_max": _row_wise(np.max),
    "reduce_min": _row_wise(np.min),
    "reduce_mean": _row_wise(np.mean),
    "argmax": _row_wise(np.argmax),
    "softmax": _plain(composite.softmax),
    "log_softmax": _plain(_log_softmax),
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "reshape": lambda inputs, given: inputs[0].reshape(given.sizes("shape")),
    "transpose": lambda inputs, given: np.transpose(inputs[0], given.sizes("order") or None),
    "slice": _slice,
    "concat": lambda inputs, given: np.concatenate(inputs, axis=given.whole("axis")),
    "pad": _pad,
    "broadcast_to": lambda inputs, given: np.broadcast_to(inputs[0], given.sizes("shape")),
    "gather": _gather,
    "embedding": _gather,
    "scatter_add": _scatter_add,
    "one_hot": _one_hot,
    "rope": composite.rope,
    "attention": composite.attention,
    "cache_append": composite.cache_append,
    "attention_cached": composite.attention_cached,
    "top_k_gate": composite.top_k_gate,
    "expert_ffn": composite.expert_ffn,
    "conv2d": composite.conv2d,
    "max_pool2d": composite.max_pool2d,
    "avg_pool2d": composite.avg_pool2d,
    "stencil": composite.stencil,
    "cross_entropy": _cross_entropy,
    "sgd_update": _sgd_update,
    "adam_m": _adam_m,
    "adam_v": _adam_v,
    "adamw_update": _adamw_update,
}
