"""Operations that reduce the last axis: its elements are cut into tiles of the call, summed inside, then where they meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from pilots.wafer.handlers.base import Array, Handler, Inputs, decimal, indices, wide
from pilots.wafer.numerics import Float, rsqrt, square
from pilots.wafer.numerics_sums import largest, log_softmax, mean, meeting_sum, smallest, softmax
from pilots.wafer.program import Call

Reduction = Callable[[Float, int], Float]


def _reduce(function: Reduction) -> Handler:
    def handle(call: Call, inputs: Inputs) -> Array:
        return function(wide(inputs[0]), call.tile[1])

    return handle


def _argmax(_call: Call, inputs: Inputs) -> Array:
    """Return the index of the largest; the lowest of equal ones, and the first NaN before any number."""
    return np.asarray(np.argmax(inputs[0], axis=-1, keepdims=True), dtype=np.int32)


def _layer_norm(call: Call, inputs: Inputs) -> Array:
    """Return (x - mean) / sqrt(variance + epsilon), times scale, plus shift."""
    x, weight, shift = (wide(item) for item in inputs)
    tile = call.tile[1]
    centred = np.subtract(x, mean(x, tile))
    root = rsqrt(np.add(mean(square(centred), tile), decimal(call, "epsilon")))
    return np.add(np.multiply(np.multiply(centred, root), weight), shift)


def _rms_norm(call: Call, inputs: Inputs) -> Array:
    """Return x / sqrt(mean of squares + epsilon), times scale."""
    x, weight = (wide(item) for item in inputs)
    root = rsqrt(np.add(mean(square(x), call.tile[1]), decimal(call, "epsilon")))
    return np.multiply(np.multiply(x, root), weight)


def _cross_entropy(call: Call, inputs: Inputs) -> Array:
    """Return minus the logarithm of the share softmax gives to the target of each row, [rows, 1]."""
    logits = wide(inputs[0])
    targets = indices(inputs[1], logits.shape[-1])
    shares = log_softmax(logits, call.tile[1])
    return np.negative(np.take_along_axis(shares, targets[:, None], axis=-1))


REDUCE: Final[dict[str, Handler]] = {
    "reduce_sum": _reduce(lambda x, tile: meeting_sum(x, tile)[..., None]),
    "reduce_mean": _reduce(mean),
    "reduce_max": _reduce(lambda x, _tile: largest(x)),
    "reduce_min": _reduce(lambda x, _tile: smallest(x)),
    "argmax": _argmax,
    "cross_entropy": _cross_entropy,
}
SOFTMAX: Final[dict[str, Handler]] = {"softmax": _reduce(softmax), "log_softmax": _reduce(log_softmax)}
NORM: Final[dict[str, Handler]] = {"layer_norm": _layer_norm, "rms_norm": _rms_norm}
