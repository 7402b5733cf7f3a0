"""Front end for ONNX files: data only, read within limits, never code. Needs the extra `onnx`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import AttributeProto

from pilots.graph.capture import Captured
from pilots.graph.capture.limits import LIMITS
from pilots.graph.errors import GraphError
from pilots.graph.frontends import onnx_limits as limits
from pilots.graph.frontends.errors import Refused, refuse
from pilots.graph.frontends.onnx_context import Context, fixed
from pilots.graph.frontends.onnx_ops import HANDLERS
from pilots.graph.frontends.values import Value, known_as
from pilots.graph.frontends.walk import Walk
from pilots.graph.ir import DType
from pilots.graph.trail import plain

FRAMEWORK: Final = "onnx"
_NUMBERS: Final = (AttributeProto.FLOAT, AttributeProto.INT, AttributeProto.FLOATS, AttributeProto.INTS)
_STANDARD: Final = ("", "ai.onnx")


def capture(path: Path) -> Captured:
    """Return the graph of a file; raises UnsupportedModel, FrontEndError or OSError."""
    with path.open("rb") as file:
        return capture_bytes(file.read(LIMITS["file_bytes"].most + 1))


def capture_bytes(data: bytes) -> Captured:
    """Return the graph of the bytes of a file; raises UnsupportedModel or FrontEndError, each with one sentence."""
    model = limits.parse(data)
    walk = Walk(FRAMEWORK, f"opset {limits.opset(model)}")
    try:
        seen = _given(walk, model.graph)
    except Refused as error:
        raise refuse(
            "INPUT", "graph", "inputs of the graph", error, f"Ein Eingang: {error.reason_de}."
        ) from error
    for index, node in enumerate(model.graph.node):
        _translate(walk, node, index, seen)
    outputs = []
    for item in model.graph.output:
        if item.name not in seen:
            sentence = f"Der Ausgang {plain(item.name)} ist nicht definiert."
            raise refuse("UNDEFINED", "graph", "a defined output", item.name, sentence)
        outputs.append(seen[item.name])
    try:
        return walk.finish(outputs)
    except (ValueError, OverflowError, MemoryError) as error:
        if isinstance(error, GraphError):
            raise
        sentence = "Das ONNX-Modell ist in sich widersprüchlich; bitte neu erzeugen."
        raise refuse("GRAPH", "graph", "a legal graph", error, sentence) from error


def _given(walk: Walk, graph: onnx.GraphProto) -> dict[str, Value | None]:
    seen: dict[str, Value | None] = {}
    for item in graph.initializer:
        array = limits.array_of(item)
        dtype = DType(limits.type_name(item.data_type))
        label = item.name if array.ndim else ""  # one number by itself belongs to the formula
        seen[item.name] = known_as(array, dtype, label) if dtype.is_float else fixed(array)
    for info in graph.input:
        if info.name not in seen:
            shape = limits.input_shape(info)
            dtype = DType(limits.type_name(info.type.tensor_type.elem_type))
            seen[info.name] = walk.emit.input(info.name, shape, dtype)
    return seen


def _translate(walk: Walk, node: onnx.NodeProto, index: int, seen: dict[str, Value | None]) -> None:
    custom = node.domain not in _STANDARD
    name = f"{node.domain}.{node.op_type}" if custom else node.op_type
    place = plain(node.name or f"node {index}")
    handler = None if custom else HANDLERS.get(node.op_type)
    missing = next((item for item in node.input if item and item not in seen), None)
    if missing is not None:
        sentence = f"Ein Eingang von {place} ist nicht definiert oder steht erst später: {plain(missing)}."
        raise refuse("UNDEFINED", place, "inputs defined before", missing, sentence)
    given = [seen[item] if item else None for item in node.input]

    def action() -> Any:
        assert handler is not None
        context = Context(walk.emit, _attributes(node), max(1, len([item for item in node.output if item])))
        try:
            return handler(context, *given)
        except (TypeError, ValueError, IndexError, ZeroDivisionError, OverflowError, StopIteration) as error:
            raise Refused("Zahl oder Form der Eingänge passen nicht zur Operation") from error

    present = [seen[item] for item in node.input if item]
    result = walk.step(name, place, present, action if handler else None, custom=custom)
    results = result if isinstance(result, list) else [result]
    for position, output in enumerate(node.output):
        if output:
            seen[output] = results[position] if position < len(results) else None


def _attributes(node: onnx.NodeProto) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for item in node.attribute:
        if item.name in found:
            raise Refused("eine Angabe steht doppelt")
        if item.type == AttributeProto.TENSOR:
            limits.check_tensor(item.t)
            array = limits.array_of(item.t)
            found[item.name] = array.astype(np.float32) if array.dtype == np.float64 else array
        elif item.type == AttributeProto.STRING:
            found[item.name] = item.s.decode("utf-8", "replace")
        elif item.type in _NUMBERS:
            value = onnx.helper.get_attribute_value(item)
            found[item.name] = value if isinstance(value, int | float) else list(value)
        else:
            raise Refused(
                "Angaben, die selbst Graphen oder Texte sind, gibt es im Graphen nicht (Kontrollfluss)"
            )
    return found
