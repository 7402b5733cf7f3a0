"""Steps of an optimiser, number by number. What depends on the step alone is made once, outside the elements."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from typing import Final

import numpy as np

from pilots.wafer.handlers.base import Array, Handler, Inputs, decimal, text, wide
from pilots.wafer.numerics import Float, square
from pilots.wafer.program import Call

DIGITS: Final = 30


def _sgd_update(call: Call, inputs: Inputs) -> Array:
    """Return parameter - rate x gradient."""
    parameter, gradient = (wide(item) for item in inputs)
    return np.subtract(parameter, np.multiply(gradient, decimal(call, "rate")))


def _adam_m(call: Call, inputs: Inputs) -> Array:
    """Return the mean of gradients: beta1 x old + (1 - beta1) x gradient."""
    old, gradient = (wide(item) for item in inputs)
    return _mixed(old, gradient, text(call, "beta1"))


def _adam_v(call: Call, inputs: Inputs) -> Array:
    """Return the mean of squared gradients: beta2 x old + (1 - beta2) x gradient^2."""
    old, gradient = (wide(item) for item in inputs)
    return _mixed(old, square(gradient), text(call, "beta2"))


def _adamw_update(call: Call, inputs: Inputs) -> Array:
    """Return parameter - rate x (m' / (sqrt(v') + epsilon) + decay x parameter); m', v' without the bias of step n."""
    parameter, first, second = (wide(item) for item in inputs[:3])
    step = int(inputs[3].reshape(-1)[0])
    first = np.divide(first, _unbiased(text(call, "beta1"), step))
    second = np.divide(second, _unbiased(text(call, "beta2"), step))
    direction = np.divide(first, np.add(np.sqrt(second), decimal(call, "epsilon")))
    direction = np.add(direction, np.multiply(parameter, decimal(call, "weight_decay")))
    return np.subtract(parameter, np.multiply(direction, decimal(call, "rate")))


def _mixed(old: Float, new: Float, beta: str) -> Float:
    return np.add(np.multiply(old, np.float32(beta)), np.multiply(new, _unbiased(beta, 1)))


def _unbiased(beta: str, step: int) -> np.float32:
    """Return 1 - beta**step, rounded once."""
    with localcontext(Context(prec=DIGITS)):
        return np.float32(float(1 - Decimal(beta) ** step))


HANDLERS: Final[dict[str, Handler]] = {
    "sgd_update": _sgd_update,
    "adam_m": _adam_m,
    "adam_v": _adam_v,
    "adamw_update": _adamw_update,
}
