"""Functional equivalence of outputs (POL-06): max |delta| <= rtol * max |reference|, 16 bit also by direction.

Whole numbers and truth values have to be the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from math import fsum, isfinite, sqrt
from typing import Any, Final

import numpy as np

from pilots.graph.ir import Array, DType, Graph
from qms.core.values import decimal_text, rounded

MIN_COSINE_16_BIT: Final = 0.999  # POL-06
DEFAULT_RTOL: Final = {"float32": 1e-5, "float16": 1e-2}  # POL-06
CHUNK: Final = 2**20  # numbers that are Python objects at one time
BITS_16: Final = ("float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """One output compared: largest deviation, largest reference value, cosine; `within` is the verdict.

    A NaN or an infinity on either side makes the verdict False and the figures None.
    """

    name: str
    dtype: str
    max_abs_delta: float | None
    max_abs_reference: float | None
    rtol: float
    cosine: float | None
    within: bool

    def to_json(self) -> dict[str, Any]:
        """Return the row of the evidence file; decimals are strings."""
        return {
            "name": self.name,
            "dtype": self.dtype,
            "max_abs_delta": _text(self.max_abs_delta),
            "max_abs_reference": _text(self.max_abs_reference),
            "rtol": _text(self.rtol),
            "cosine": _text(self.cosine),
            "within": self.within,
        }


def compare_outputs(
    graph: Graph,
    actual: Mapping[str, Array],
    reference: Mapping[str, Array],
    *,
    fp32_rtol: float,
    bit16_rtol: float,
    bit16_cosine_min: float,
) -> tuple[OutputComparison, ...]:
    """Compare every output of a graph, in its order, with the tolerance of its own type (POL-06).

    Raises ValueError if shapes differ, KeyError for a missing one.
    """
    types = graph.tensors()
    return tuple(
        compare(
            name,
            actual[name],
            reference[name],
            rtol={4: fp32_rtol, 2: bit16_rtol}[dtype.item_bytes] if dtype.is_float else 0.0,
            dtype=dtype,
            least_cosine=bit16_cosine_min,
        )
        for name, dtype in ((name, types[name].dtype) for name in dict.fromkeys(graph.outputs))
    )


def compare(
    name: str,
    actual: Array,
    reference: Array,
    *,
    rtol: float,
    dtype: DType | None = None,
    least_cosine: float = MIN_COSINE_16_BIT,
) -> OutputComparison:
    """Compare one output with its reference; raises ValueError if the shapes differ.

    dtype: element type, where the arrays in memory do not say it (bfloat16 is held as float32).
    """
    if actual.shape != reference.shape:
        raise ValueError(f"output {name}: expected shape {reference.shape}, got {actual.shape}")
    kind = dtype.value if dtype else actual.dtype.name
    left, right = actual.astype(np.float64), reference.astype(np.float64)
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return OutputComparison(name, kind, None, None, rtol, None, within=False)
    delta = float(np.max(np.abs(left - right), initial=0.0))
    largest = float(np.max(np.abs(right), initial=0.0))
    cosine = _cosine(left, right)
    within = delta <= rtol * largest and (kind not in BITS_16 or cosine >= least_cosine)
    return OutputComparison(name, kind, delta, largest, rtol, cosine, within)


def _cosine(left: Array, right: Array) -> float:
    sizes = sqrt(_total(left * left)) * sqrt(_total(right * right))
    if sizes == 0.0:
        return 1.0 if np.array_equal(left, right) else 0.0
    return _total(left * right) / sizes


def _total(values: Array) -> float:
    """Return the sum rounded once: no order of additions, so no processor decides its last bit."""
    flat = values.ravel()
    return fsum(
        chain.from_iterable(flat[start : start + CHUNK].tolist() for start in range(0, flat.size, CHUNK))
    )


def _text(value: float | None) -> str | None:
    return None if value is None or not isfinite(value) else decimal_text(rounded(value, 9))
