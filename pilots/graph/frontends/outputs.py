"""Outputs get the names the framework has for them, else output_0, output_1 and so on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pilots.graph.ir import Graph

MAX_NAME: Final = 180
_STEP: Final = ("key", "idx", "name")  # what PyTorch and JAX call a step into a structure, by its kind
_BAD: Final = re.compile(r"[^A-Za-z0-9_.]", re.ASCII)


def named(graph: Graph, labels: Sequence[str]) -> Graph:
    """Return the graph with its outputs renamed; an output that is an input or a weight keeps its name."""
    made = {node.output for node in graph.nodes}
    taken = {name for name in graph.tensors() if name not in graph.outputs or name not in made}
    names: dict[str, str] = {}
    for index, old in enumerate(graph.outputs):
        if old in made and old not in names:
            label = labels[index] if index < len(labels) else ""
            names[old] = _free(_BAD.sub("_", label)[:MAX_NAME] or f"output_{index}", taken)
    nodes = tuple(
        replace(
            node,
            inputs=tuple(names.get(name, name) for name in node.inputs),
            output=names.get(node.output, node.output),
        )
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes, outputs=tuple(names.get(name, name) for name in graph.outputs))


def path_label(path: Sequence[object]) -> str:
    """Return the name of a leaf of a structure of outputs: its keys and places, "" where no key is among them."""
    parts = [next(getattr(step, name) for name in _STEP if hasattr(step, name)) for step in path]
    return ".".join(map(str, parts)) if any(isinstance(part, str) for part in parts) else ""


def _free(name: str, taken: set[str]) -> str:
    found, index = name, 1
    while found in taken:
        found, index = f"{name}_{index}", index + 1
    taken.add(found)
    return found
