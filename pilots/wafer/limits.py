"""What a single run may take of the computer it is emulated on: refused before the first number is computed."""

from __future__ import annotations

from math import prod
from typing import Final

from pilots.graph.ir import Graph
from pilots.graph.spec import flops_per_sample
from pilots.wafer.errors import RequestError
from pilots.wafer.predict import Prediction

MAX_MULTIPLY_ADDS: Final = 2**37  # some minutes of NumPy on one core
MAX_VALUES: Final = 2**28  # numbers in memory at one time beside the weights: 1 GiB in fp32


def check_size(graph: Graph, prediction: Prediction, *, batch: int) -> None:
    """Raise RequestError for what would take hours, or more memory than a computer has; batch: samples at one time."""
    _check(prediction.multiply_adds, living_values(graph, batch))


def check_measured(graph: Graph, *, batch: int) -> None:
    """Raise RequestError, before anything is compiled, for what `check_size` refuses; batch: samples of a request."""
    _check(flops_per_sample(graph) * batch // 2, living_values(graph, batch))


def _check(multiply_adds: int, values: int) -> None:
    if multiply_adds > MAX_MULTIPLY_ADDS or values > MAX_VALUES:
        sentence = (
            "Diese Rechnung ist zu groß, um sie hier mit echten Zahlen auszuführen; bitte verkleinern Sie das Modell oder "
            "seine Eingaben."
        )
        raise RequestError(f"{multiply_adds} multiply-adds, {values} values", message_de=sentence)


def living_values(graph: Graph, batch: int) -> int:
    """Return the most numbers that inputs and results hold at one time; weights do not count."""
    sizes = {
        name: prod(batch if size is None else size for size in tensor.shape) for name, tensor in graph.inputs
    }
    last_use = {name: index for index, node in enumerate(graph.nodes) for name in node.inputs}
    last_use |= dict.fromkeys(graph.outputs, len(graph.nodes))
    total = most = sum(sizes.values())
    for index, node in enumerate(graph.nodes):
        sizes[node.output] = prod(batch if size is None else size for size in node.tensor.shape)
        total += sizes[node.output]
        most = max(most, total)
        for name in {*node.inputs, node.output}:
            if name in sizes and last_use.get(name, -1) <= index:
                total -= sizes.pop(name)
    return most
