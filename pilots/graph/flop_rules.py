"""How many floating point operations an operation takes per sample: products count two, a batch counts once."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeAlias

from pilots.graph.attributes import Given
from pilots.graph.ir import Shape
from pilots.graph.shape_rules import Shapes

FlopRule: TypeAlias = Callable[[Shapes, Shape, Given], int]
SOFTMAX_FLOPS = 5  # per element: greatest, difference, exponential, sum, quotient


def size(shape: Shape) -> int:
    """Return the number of elements, the batch counted once."""
    return prod(1 if item is None else item for item in shape)


def none(_inputs: Shapes, _output: Shape, _given: Given) -> int:
    """Data only changes its place."""
    return 0


def per_element(count: int) -> FlopRule:
    """Return the rule for `count` operations per element of the first input."""
    return lambda inputs, _output, _given: count * size(inputs[0])


def matmul(inputs: Shapes, output: Shape, _given: Given) -> int:
    """Two per product; the last dimension of the left side is summed."""
    return 2 * size(output) * (inputs[0][-1] or 1)


def conv2d(inputs: Shapes, output: Shape, _given: Given) -> int:
    """Two per product; every result sums over one kernel."""
    return 2 * size(output) * size(inputs[1][1:])


def pool2d(_inputs: Shapes, output: Shape, given: Given) -> int:
    """One per element of a window."""
    return size(output) * given.whole("size") ** 2


def scatter_add(inputs: Shapes, _output: Shape, _given: Given) -> int:
    """One per number added."""
    return size(inputs[2])


def rope(inputs: Shapes, _output: Shape, given: Given) -> int:
    """Three per turning feature; the angles are a table."""
    turning = given.whole("rotary_dim", given.whole("head_dim"))
    return 3 * (inputs[0][0] or 1) * given.whole("heads") * turning


def _attended(pairs: int, given: Given) -> int:
    return pairs * given.whole("heads") * (4 * given.whole("head_dim") + SOFTMAX_FLOPS)


def attention(inputs: Shapes, _output: Shape, given: Given) -> int:
    """Two products and a softmax over the pairs of positions that see each other."""
    batch = given.whole("batch")
    length = (inputs[0][0] or 1) // batch
    window = min(given.whole("window", length), length)
    backwards = window * (window + 1) // 2 + (length - window) * window
    return _attended(batch * (backwards if given.whole("causal") else 2 * backwards - length), given)


def attention_cached(inputs: Shapes, _output: Shape, given: Given) -> int:
    """One query per sequence against the whole capacity of its cache, or the window."""
    batch, capacity = inputs[1][0] or 1, inputs[1][1] or 1
    return _attended(batch * min(given.whole("window", capacity), capacity), given)


def expert_ffn(inputs: Shapes, _output: Shape, given: Given) -> int:
    """Three products, the activation, the gate and the weighted sum in each of k experts per row."""
    _experts, hidden, width = (item or 1 for item in inputs[2])
    return (inputs[0][0] or 1) * given.whole("k") * (6 * hidden * width + 6 * width + 2 * hidden)


def stencil(inputs: Shapes, _output: Shape, given: Given) -> int:
    """Two per point."""
    return 2 * given.whole("points") * size(inputs[0])
