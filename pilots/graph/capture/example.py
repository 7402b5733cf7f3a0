"""Example inputs of a capture and what the framework itself computed from them: how they are checked, stored and read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pilots.graph.capture import fields as read
from pilots.graph.capture.errors import refuse
from pilots.graph.capture.limits import check
from pilots.graph.ir import Array, DType, Graph, Node, Tensor, array_sha256, rounded
from qms.core import canonical

PREFIX: Final = "@"  # no name of a graph begins with it, so arrays of an example never meet weights
AGAIN_DE: Final = "bitte das Modell neu aufzeichnen"
_MOVES: Final = ("reshape", "transpose", "broadcast_to")  # every number of the input is in the result
_ROWS: Final[dict[str, tuple[int, Callable[[Node, Mapping[str, Tensor]], int | None]]]] = {
    # operation -> place of its indices, and how many entries they may name
    "embedding": (1, lambda node, types: types[node.inputs[0]].shape[0]),
    "gather": (1, lambda node, types: types[node.inputs[0]].shape[0]),
    "scatter_add": (1, lambda node, types: types[node.inputs[0]].shape[0]),
    "cross_entropy": (1, lambda node, types: types[node.inputs[0]].shape[1]),
    "cache_append": (2, lambda node, types: types[node.inputs[0]].shape[1]),
    "attention_cached": (3, lambda node, types: types[node.inputs[1]].shape[1]),
    "one_hot": (0, lambda node, _types: _whole(node, "depth")),
}


@dataclass(frozen=True, slots=True)
class Example:
    """Arrays by the names of graph inputs and outputs, in the memory form of their types (`DType.little_endian`)."""

    inputs: dict[str, Array]
    outputs: dict[str, Array]

    @property
    def inputs_sha256(self) -> str:
        """One digest over all inputs: names, shapes, types in memory and bytes; their order does not matter."""
        rows = [
            {
                "name": name,
                "shape": list(array.shape),
                "dtype": array.dtype.name,
                "sha256": array_sha256(array),
            }
            for name, array in sorted(self.inputs.items())
        ]
        return canonical.digest({"format": "wgraph-inputs-1", "inputs": rows})


def verify(graph: Graph, example: Example) -> None:
    """Refuse an example that does not belong to the graph; raises CaptureError naming the value."""
    types = graph.tensors()
    sides = (
        ("input", dict(graph.inputs), example.inputs),
        ("output", _outputs(graph, types), example.outputs),
    )
    batch: int | None = None
    for side, wanted, given in sides:
        if set(wanted) != set(given):
            odd = min(set(wanted) ^ set(given))
            sentence = (
                f"Beispiel und Graph gehören nicht zusammen: {odd} steht nur in einem von beiden; {AGAIN_DE}."
            )
            raise refuse("EXAMPLE_NAMES", f"example {side}", ", ".join(wanted), odd, sentence)
        for name, tensor in wanted.items():
            array = given[name]
            _check_type(f"example {side} {name}", name, tensor, array, batch)
            if tensor.shape[0] is None:
                batch = array.shape[0]
    _check_indices(graph, example.inputs)


def to_json(graph: Graph, example: Example | None) -> dict[str, Any] | None:
    """Return the entry of a verified example in the graph of a file."""
    if example is None:
        return None
    return {
        "inputs": [_entry(name, item) for name, item in _arrays(graph, example)[0].items()],
        "outputs": [_entry(name, item) for name, item in _arrays(graph, example)[1].items()],
        "inputs_sha256": example.inputs_sha256,
    }


def stored(graph: Graph, example: Example | None) -> dict[str, tuple[Tensor, Array]]:
    """Return the arrays of an example under the names they have in the file."""
    if example is None:
        return {}
    sides = zip(("in", "out"), _arrays(graph, example), strict=True)
    return {
        f"{PREFIX}{side}.{index}": item
        for side, arrays in sides
        for index, item in enumerate(arrays.values())
    }


def from_json(value: Any, graph: Graph, arrays: Mapping[str, tuple[Tensor, Array]]) -> Example | None:
    """Return the example of a file, or None; every array must agree with its entry. Raises CaptureError."""
    if value is None:
        _same_names([], arrays)
        return None
    entry = read.fields(value, "example", "inputs outputs inputs_sha256")
    inputs, outputs = read.items(entry, "inputs"), read.items(entry, "outputs")
    check("tensors", len(inputs) + len(outputs), "example")
    names = [f"{PREFIX}in.{index}" for index in range(len(inputs))]
    names += [f"{PREFIX}out.{index}" for index in range(len(outputs))]
    _same_names(names, arrays)
    found = [_read(item, *arrays[name], name) for item, name in zip([*inputs, *outputs], names, strict=True)]
    example = Example(dict(found[: len(inputs)]), dict(found[len(inputs) :]))
    verify(graph, example)
    listed = [name for name, _ in found]
    if listed != [*dict(graph.inputs), *dict.fromkeys(graph.outputs)]:
        sentence = f"Die Beispieldaten stehen nicht in der Reihenfolge des Graphen; {AGAIN_DE}."
        raise refuse("ORDER", "example", "the order of inputs and outputs", listed[:3], sentence)
    if entry["inputs_sha256"] != example.inputs_sha256:
        sentence = f"Die Prüfsumme der Beispieleingaben (inputs_sha256) stimmt nicht; {AGAIN_DE}."
        raise refuse("DATA_HASH", "example", str(entry["inputs_sha256"]), example.inputs_sha256, sentence)
    return example


def _read(item: Any, tensor: Tensor, array: Array, position: str) -> tuple[str, Array]:
    entry = read.fields(item, f"example {position}", "name shape dtype sha256")
    name = read.name(entry["name"], f"example {position}")
    if read.tensor(entry, f"example {position}") != tensor:
        sentence = f"Form oder Zahlentyp der Beispieldaten {name} widersprechen dem Graphen."
        raise refuse("EXAMPLE_SHAPE", f"example {name}", str(tensor.to_json()), entry["shape"], sentence)
    if array_sha256(array, tensor.dtype) != entry["sha256"]:
        sentence = f"Die Prüfsumme der Beispieldaten {name} stimmt nicht; die Datei ist beschädigt."
        raise refuse("EXAMPLE_HASH", f"example {name}", str(entry["sha256"]), "another", sentence)
    return name, array


def _entry(name: str, item: tuple[Tensor, Array]) -> dict[str, Any]:
    tensor, array = item
    return tensor.to_json() | {"name": name, "sha256": array_sha256(array, tensor.dtype)}


def _arrays(graph: Graph, example: Example) -> tuple[dict[str, tuple[Tensor, Array]], ...]:
    """Return inputs and outputs in the order of the graph, with the shape they have here."""
    types = graph.tensors()
    sides: tuple[tuple[Iterable[str], dict[str, Array]], ...] = (
        (dict(graph.inputs), example.inputs),
        (_outputs(graph, types), example.outputs),
    )
    return tuple(
        {name: (Tensor(given[name].shape, types[name].dtype), given[name]) for name in names}
        for names, given in sides
    )


def _outputs(graph: Graph, types: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: types[name] for name in graph.outputs}


def _same_names(names: list[str], arrays: Mapping[str, object]) -> None:
    if names != list(arrays):
        odd = min(set(names) ^ set(arrays), default="")
        sentence = f"Die Datei nennt andere Beispieldaten, als sie enthält; {AGAIN_DE}."
        raise refuse("EXAMPLE_NAMES", "example", ", ".join(names[:4]), odd or list(arrays)[:3], sentence)


def _check_type(position: str, name: str, tensor: Tensor, array: Array, batch: int | None) -> None:
    shape = tensor.shape
    if shape[0] is None and array.shape[:1] and array.shape[0] >= 1:
        shape = (array.shape[0] if batch is None else batch, *shape[1:])
    if array.shape != shape or array.dtype != tensor.dtype.little_endian:
        sentence = f"Die Beispieldaten {name} haben eine andere Form oder einen anderen Zahlentyp als der Graph; {AGAIN_DE}."
        got = f"{array.shape} {array.dtype.name}"
        raise refuse("EXAMPLE_SHAPE", position, f"{tensor.to_json()}, batch {batch}", got, sentence)
    finite = not tensor.dtype.is_float or bool(np.isfinite(array).all())
    if tensor.dtype is DType.BFLOAT16 and finite:
        finite = np.array_equal(array, rounded(array, DType.BFLOAT16))
    if not finite:
        sentence = f"Die Beispieldaten {name} enthalten Werte, die keine endlichen Zahlen ihres Typs sind; {AGAIN_DE}."
        raise refuse("NOT_FINITE", position, f"finite {tensor.dtype.value}", "others", sentence)


def index_limits(graph: Graph) -> dict[str, int]:
    """Return for every graph input that is used as an index, also after mere moves, how many entries it may name."""
    types = graph.tensors()
    source = {name: name for name, tensor in graph.inputs if tensor.dtype is DType.INT32}
    found: dict[str, int] = {}
    for node in graph.nodes:
        if node.op in _MOVES and node.inputs[0] in source:
            source[node.output] = source[node.inputs[0]]
        place, entries = _ROWS.get(node.op, (0, None))
        name = source.get(node.inputs[place])
        most = entries(node, types) if entries is not None else None
        if name is not None and most is not None:
            found[name] = min(most, found.get(name, most))
    return found


def _check_indices(graph: Graph, inputs: Mapping[str, Array]) -> None:
    for name, most in index_limits(graph).items():
        least, greatest = int(inputs[name].min()), int(inputs[name].max())
        if least < 0 or greatest >= most:
            sentence = (
                f"Die Beispieldaten {name} enthalten Indizes außerhalb von 0 bis {most - 1}; {AGAIN_DE}."
            )
            raise refuse("EXAMPLE_INDEX", f"input {name}", f"0..{most - 1}", f"{least}..{greatest}", sentence)


def _whole(node: Node, name: str) -> int | None:
    value = node.attr(name)
    return value if isinstance(value, int) else None
