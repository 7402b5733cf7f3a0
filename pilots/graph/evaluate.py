"""Run a graph in ordinary NumPy, in double precision unless asked otherwise: the reference, not the emulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pilots.graph.attributes import Given
from pilots.graph.errors import refusal
from pilots.graph.ir import Array, DType, Graph, Shape, Tensor
from pilots.graph.spec import verify
from pilots.graph.twins import TWINS


def evaluate(
    graph: Graph, values: Mapping[str, Array], *, dtype: npt.DTypeLike = np.float64
) -> dict[str, Array]:
    """Return every output by name. `values` holds inputs and weights; floating ones are computed in `dtype`.

    Overflow and invalid numbers give infinity and NaN, as on hardware. Raises GraphError if the graph is not legal,
    a value is missing or misshapen, or an index is outside its table.
    """
    verify(graph)
    precision = np.dtype(dtype)
    known: dict[str, Array] = {}
    batch: int | None = None
    named = [*graph.inputs, *((item.name, item.tensor) for item in graph.constants)]
    for name, tensor in named:
        array = _checked(name, tensor, values, batch)
        if tensor.shape[0] is None:
            batch = array.shape[0]
        known[name] = _working(array, tensor.dtype, precision)
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            inputs = [known[name] for name in node.inputs]
            result = TWINS[node.op](inputs, Given(dict(node.attrs)))
            known[node.output] = _working(result, node.tensor.dtype, precision)
    return {name: known[name] for name in graph.outputs}


def _working(array: Array, dtype: DType, precision: np.dtype[Any]) -> Array:
    if dtype.is_float:
        return array.astype(precision, copy=False)
    return array.astype(np.bool_ if dtype is DType.BOOL else np.int64, copy=False)


def _checked(name: str, tensor: Tensor, values: Mapping[str, Array], batch: int | None) -> Array:
    array = values.get(name)
    kinds = "f" if tensor.dtype.is_float else "b" if tensor.dtype is DType.BOOL else "iu"
    if array is None or array.dtype.kind not in kinds or not _fits(array.shape, tensor.shape, batch):
        expected = f"{tensor.shape} {tensor.dtype.value}, batch {batch}"
        found = "nothing" if array is None else f"{array.shape} {array.dtype.name}"
        sentence = f"Der Wert {name} fehlt oder hat eine falsche Form oder einen falschen Typ."
        raise refusal("VALUES", f"value {name}", expected, found, sentence)
    return array


def _fits(found: tuple[int, ...], wanted: Shape, batch: int | None) -> bool:
    if wanted[0] is not None or not found:
        return found == wanted
    return found[0] >= 1 and batch in {None, found[0]} and found[1:] == wanted[1:]
