"""Emulated functions of one number: fp32 with every operation rounded once, in a fixed order. No BLAS, no libm.

Only add, subtract, multiply, divide, square root, larger and smaller, round-to-integer and exact scaling by powers of
two are used. IEEE 754 fixes the result of each of them bit for bit, so any machine and any number of threads give the
same digest. Sums stand in `numerics_sums.py`, matrix products in `numerics_products.py`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pilots.graph.ir import DType, rounded

Float = npt.NDArray[np.float32]
Double = npt.NDArray[np.float64]

_F: Final = np.float32
LOG2_E: Final = _F(1.4426950408889634)
LN2_HIGH: Final = _F(0.693359375)  # 355/512: products with small integers are exact
LN2_LOW: Final = _F(-2.12194440e-4)
# Taylor coefficients 1/7! .. 1/0!: after range reduction |r| <= 0.35, where the next term is below 6e-9.
EXP_TERMS: Final = tuple(_F(1.0 / value) for value in (5040, 720, 120, 24, 6, 2, 1, 1))
EXP_HIGH: Final = _F(89.0)  # gives infinity
EXP_LOW: Final = _F(-104.0)  # gives zero
EXPONENT_BIAS: Final = 127
MANTISSA_BITS: Final = 23
# log(m) = 2 atanh(s) with s = (m - 1) / (m + 1), |s| <= 0.172; the next term is below 5e-9 relative.
LOG_TERMS: Final = tuple(_F(2.0 / value) for value in (9, 7, 5, 3))
SQRT_HALF: Final = _F(0.70710678)
# tanh(x) = x + x^3 P(x^2) for |x| < 0.25; the next term is below 4e-9 relative.
TANH_TERMS: Final = tuple(_F(value) for value in (62.0 / 2835, -17.0 / 315, 2.0 / 15, -1.0 / 3))
TANH_NEAR: Final = _F(0.25)
GELU_SCALE: Final = _F(0.7978845608028654)  # sqrt(2/pi)
GELU_CUBE: Final = _F(0.044715)
# Sine and cosine are made in double precision: an angle of 1e5 has no fraction left in fp32 after the reduction.
TWO_OVER_PI: Final = 0.6366197723675814
HALF_PI_HIGH: Final = 1.5707963267341256  # 33 bits: products with whole numbers below 2**20 are exact
HALF_PI_LOW: Final = 6.077100506506192e-11
QUARTER_PI: Final = 0.7853981633974483
# Taylor coefficients in r^2 up to r^15 and r^14; the next term is below 3e-15 at pi/4.
SIN_TERMS: Final = tuple(
    sign / value
    for sign, value in (
        (-1, 1307674368000),
        (1, 6227020800),
        (-1, 39916800),
        (1, 362880),
        (-1, 5040),
        (1, 120),
        (-1, 6),
        (1, 1),
    )
)
COS_TERMS: Final = tuple(
    sign / value
    for sign, value in (
        (-1, 87178291200),
        (1, 479001600),
        (-1, 3628800),
        (1, 40320),
        (-1, 720),
        (1, 24),
        (-1, 2),
        (1, 1),
    )
)


def widened(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers as the interpreters hold them: floats as float32, whole and truth values as they are."""
    return array.astype(np.float32, copy=False) if array.dtype.kind == "f" else array


def narrowed(array: npt.NDArray[Any], dtype: DType) -> npt.NDArray[Any]:
    """Return float32 numbers rounded to the element type, to nearest and ties to even, but still as float32."""
    if array.dtype.kind != "f" or dtype is DType.FLOAT32:
        return array
    return np.asarray(rounded(array, dtype), dtype=np.float32)


def maximum(x: Float, y: Float) -> Float:
    """Return the larger; NaN if one is NaN. The sign of zero is always plus: processors differ there."""
    return np.asarray(np.add(np.maximum(x, y), _F(0)))


def minimum(x: Float, y: Float) -> Float:
    """Return the smaller; NaN if one is NaN. The sign of zero is always plus."""
    return np.asarray(np.add(np.minimum(x, y), _F(0)))


def polynomial(x: npt.NDArray[Any], terms: tuple[Any, ...]) -> npt.NDArray[Any]:
    """Return the polynomial with these coefficients, the highest power first, by Horner's rule."""
    result = np.full_like(x, terms[0])
    for term in terms[1:]:
        result = np.add(np.multiply(result, x), term)
    return result


def exp(x: Float) -> Float:
    """Return e**x: infinity above 88.7, zero below -103.9."""
    x = np.minimum(np.maximum(x, EXP_LOW), EXP_HIGH)
    whole = np.rint(np.multiply(x, LOG2_E))
    rest = np.subtract(x, np.multiply(whole, LN2_HIGH))
    rest = np.subtract(rest, np.multiply(whole, LN2_LOW))
    power = whole.astype(np.int32)
    half = power >> 1  # in two steps, since 2**128 and 2**-150 are no fp32 numbers
    result = np.multiply(polynomial(rest, EXP_TERMS), _power_of_two(half))
    return np.asarray(np.multiply(result, _power_of_two(power - half)))


def _power_of_two(exponent: npt.NDArray[np.int32]) -> Float:
    return np.asarray((exponent + EXPONENT_BIAS) << MANTISSA_BITS).view(np.float32)


def log(x: Float) -> Float:
    """Return the natural logarithm; minus infinity for zero, NaN below."""
    fraction, exponent = np.frexp(x)  # exact
    small = fraction < SQRT_HALF
    fraction = np.where(small, np.add(fraction, fraction), fraction)
    whole = np.subtract(exponent, small).astype(np.float32)
    part = np.divide(np.subtract(fraction, _F(1)), np.add(fraction, _F(1)))
    square = np.multiply(part, part)
    series = np.multiply(np.multiply(part, square), polynomial(square, LOG_TERMS))
    series = np.add(series, np.add(part, part))
    result = np.add(np.multiply(whole, LN2_HIGH), np.add(series, np.multiply(whole, LN2_LOW)))
    result = np.where(np.isfinite(x), result, x)
    result = np.where(x > 0, result, np.where(x == 0, _F(-np.inf), _F(np.nan)))
    return np.asarray(result, dtype=np.float32)


def sin(x: npt.NDArray[Any]) -> Float:
    """Return the sine, correct to fp32 up to |x| = 1e5; far beyond it loses meaning but stays within +-1."""
    return _wave(x, shift=0)


def cos(x: npt.NDArray[Any]) -> Float:
    """Return the cosine, correct to fp32 up to |x| = 1e5; far beyond it loses meaning but stays within +-1."""
    return _wave(x, shift=1)


def _wave(x: npt.NDArray[Any], *, shift: int) -> Float:
    wide = x.astype(np.float64)
    whole = np.rint(np.multiply(wide, TWO_OVER_PI))
    rest = np.subtract(np.subtract(wide, np.multiply(whole, HALF_PI_HIGH)), np.multiply(whole, HALF_PI_LOW))
    rest = np.minimum(np.maximum(rest, -QUARTER_PI), QUARTER_PI)
    square = np.multiply(rest, rest)
    sine = np.multiply(rest, polynomial(square, SIN_TERMS))
    cosine = polynomial(square, COS_TERMS)
    # The remainder is exact in floats; a cast of what no int64 holds would differ between processors.
    turns = np.where(np.isfinite(whole), whole, 0.0)
    remainder = np.subtract(turns, np.multiply(np.floor(np.divide(turns, 4.0)), 4.0))
    quadrant = np.add(remainder.astype(np.int64), shift) & 3
    value = np.where(quadrant & 1, cosine, sine)
    return np.asarray(np.where(quadrant & 2, np.negative(value), value), dtype=np.float32)


def sigmoid(x: Float) -> Float:
    """Return 1 / (1 + e**-x)."""
    return np.asarray(np.divide(_F(1), np.add(_F(1), exp(np.negative(x)))))


def silu(x: Float) -> Float:
    """Return x times its sigmoid."""
    return np.asarray(np.multiply(x, sigmoid(x)))


def tanh(x: Float) -> Float:
    """Return the hyperbolic tangent: a polynomial near zero, else (1 - e) / (1 + e) with e = e**(-2|x|)."""
    size = np.abs(x)
    power = exp(np.multiply(size, _F(-2)))
    far = np.divide(np.subtract(_F(1), power), np.add(_F(1), power))
    square = np.multiply(x, x)
    near = np.add(x, np.multiply(np.multiply(x, square), polynomial(square, TANH_TERMS)))
    return np.asarray(np.where(size < TANH_NEAR, near, np.copysign(far, x)), dtype=np.float32)


def gelu(x: Float) -> Float:
    """Return the tanh form of GELU."""
    cube = np.multiply(np.multiply(np.multiply(x, x), x), GELU_CUBE)
    inner = tanh(np.multiply(np.add(x, cube), GELU_SCALE))
    return np.asarray(np.multiply(np.multiply(x, _F(0.5)), np.add(inner, _F(1))))


def relu(x: Float) -> Float:
    """Return the larger of x and zero."""
    return maximum(x, np.zeros((), dtype=np.float32))


def square(x: Float) -> Float:
    """Return x times x."""
    return np.asarray(np.multiply(x, x))


def reciprocal(x: Float) -> Float:
    """Return 1 / x."""
    return np.asarray(np.divide(_F(1), x))


def rsqrt(x: Float) -> Float:
    """Return 1 / sqrt(x): two roundings."""
    return np.asarray(np.divide(_F(1), np.sqrt(x)))
