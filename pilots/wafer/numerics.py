"""Emulated arithmetic: fp32 with every operation rounded once, in an order the program fixes. No BLAS, no libm.

Only multiply, add, subtract, divide, maximum, round-to-integer and exact scaling by powers of two are used. IEEE 754
fixes the result of each of them bit for bit, so any machine and any number of threads give the same digest.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float32]

_F: Final = np.float32
LOG2_E: Final = _F(1.4426950408889634)
LN2_HIGH: Final = _F(0.693359375)  # 355/512: products with small integers are exact
LN2_LOW: Final = _F(-2.12194440e-4)
# Taylor coefficients 1/7! .. 1/0!: after range reduction |r| <= 0.35, where the next term is below 6e-9.
EXP_TERMS: Final = tuple(_F(1.0 / value) for value in (5040, 720, 120, 24, 6, 2, 1, 1))
# tanh(x) = x + x^3 P(x^2) for |x| < 0.25; the next term is below 4e-9 relative.
TANH_TERMS: Final = tuple(_F(value) for value in (62.0 / 2835, -17.0 / 315, 2.0 / 15, -1.0 / 3))
GELU_SCALE: Final = _F(0.7978845608028654)  # sqrt(2/pi)
GELU_CUBE: Final = _F(0.044715)
EXP_LIMIT: Final = _F(87.0)


def accumulate_product(left: Float, right: Float) -> Float:
    """Return left [m, k] times right [k, n]: for k ascending, one rounded product and one rounded sum per step."""
    m, k = left.shape
    total = np.zeros((m, right.shape[1]), dtype=np.float32)
    step = np.empty_like(total)
    columns = np.ascontiguousarray(left.T)
    for index in range(k):
        np.multiply(columns[index][:, None], right[index][None, :], out=step)
        np.add(total, step, out=total)
    return total


def chained_product(left: Float, right: Float, tile_k: int) -> Float:
    """Return the product when k is cut into tiles: each tile sums from zero, then tiles add up from top to bottom."""
    total = np.zeros((left.shape[0], right.shape[1]), dtype=np.float32)
    for start in range(0, left.shape[1], tile_k):
        part = accumulate_product(left[:, start : start + tile_k], right[start : start + tile_k])
        total = part if start == 0 else np.add(total, part)
    return total


def exp(x: Float) -> Float:
    """Return e**x; arguments are limited to +-87, where fp32 still holds normal numbers."""
    x = np.minimum(np.maximum(x, -EXP_LIMIT), EXP_LIMIT)
    whole = np.rint(np.multiply(x, LOG2_E))
    rest = np.subtract(x, np.multiply(whole, LN2_HIGH))
    rest = np.subtract(rest, np.multiply(whole, LN2_LOW))
    result = np.full_like(rest, EXP_TERMS[0])
    for term in EXP_TERMS[1:]:
        result = np.add(np.multiply(result, rest), term)
    return np.asarray(np.ldexp(result, whole.astype(np.int32)), dtype=np.float32)


def sigmoid(x: Float) -> Float:
    """Return 1 / (1 + e**-x)."""
    return np.asarray(np.divide(_F(1), np.add(_F(1), exp(np.negative(x)))))


def tanh(x: Float) -> Float:
    """Return the hyperbolic tangent: a polynomial near zero, else (1 - e) / (1 + e) with e = e**(-2|x|)."""
    size = np.abs(x)
    power = exp(np.multiply(size, _F(-2)))
    far = np.divide(np.subtract(_F(1), power), np.add(_F(1), power))
    square = np.multiply(x, x)
    series = np.full_like(x, TANH_TERMS[0])
    for term in TANH_TERMS[1:]:
        series = np.add(np.multiply(series, square), term)
    near = np.add(x, np.multiply(np.multiply(x, square), series))
    return np.asarray(np.where(size < _F(0.25), near, np.copysign(far, x)), dtype=np.float32)


def gelu(x: Float) -> Float:
    """Return the tanh form of GELU."""
    cube = np.multiply(np.multiply(np.multiply(x, x), x), GELU_CUBE)
    inner = tanh(np.multiply(np.add(x, cube), GELU_SCALE))
    return np.asarray(np.multiply(np.multiply(x, _F(0.5)), np.add(inner, _F(1))))


def relu(x: Float) -> Float:
    """Return the larger of x and zero."""
    return np.asarray(np.maximum(x, _F(0)))


def softmax(x: Float) -> Float:
    """Return e**(x - max) over its sum per row, summed from the first column to the last."""
    largest = np.maximum.reduce(x, axis=1, keepdims=True)
    powers = exp(np.subtract(x, largest))
    total = np.zeros(x.shape[0], dtype=np.float32)
    for column in range(x.shape[1]):
        np.add(total, powers[:, column], out=total)
    return np.asarray(np.divide(powers, total[:, None]))
