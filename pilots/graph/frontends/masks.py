"""Scores with minus infinity where nothing is attended to: kept as a condition, as no graph holds infinity.

Only a softmax may read them, where every number far below all others means the same: its share is exactly 0.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from pilots.graph.frontends.values import Value, combined, known_as
from pilots.graph.ir import DType

RULE: Final = "masked"  # parts: condition that holds where the score is minus infinity, and the scores
LOWEST: Final = {DType.FLOAT32: -1e30, DType.BFLOAT16: -1e30, DType.FLOAT16: -3e4}  # e^LOWEST is 0 in each


def chooses(condition: Value, infinite: Value, other: Value) -> bool:
    """Say whether a condition puts minus infinity in some places of scores, and the result is not known now."""
    array, known = infinite.array, condition.array
    if array is None or not infinite.dtype.is_float or not array.size or not np.isneginf(array).all():
        return False
    return known is None or (other.array is None and bool(known.any()) and not bool(known.all()))


def parts_of(value: Value) -> tuple[Value, Value] | None:
    """Return condition and scores if a value has minus infinity that is known, or from a condition; else None."""
    if value.rule == RULE:
        return value.parts[0], value.parts[1]
    array = value.array
    if array is None or not value.dtype.is_float or not np.isneginf(array).any():
        return None
    away = np.isneginf(array)
    return known_as(away, DType.BOOL), known_as(np.where(away, 0, array), value.dtype, value.label)


def masked(condition: Value, scores: Value) -> Value:
    """Return scores with minus infinity where a condition of their shape holds."""
    return Value(scores.shape, scores.dtype, rule=RULE, parts=(condition, scores))


def either(first: Value, second: Value) -> Value:
    """Return the condition that one of two of one shape holds."""
    return combined("or", (first, second), first.shape)
