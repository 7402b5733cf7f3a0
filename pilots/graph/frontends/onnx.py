"""Front end for ONNX files: data only, read within limits, never code. Needs the extra `onnx`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import AttributeProto
from onnx.reference import ReferenceEvaluator

from pilots.graph.capture import Captured
from pilots.graph.capture.limits import LIMITS
from pilots.graph.errors import GraphError
from pilots.graph.frontends import onnx_limits as limits
from pilots.graph.frontends.errors import Refused, refuse
from pilots.graph.frontends.examples import WITHOUT_DE, seeded_inputs, with_example
from pilots.graph.frontends.onnx_context import Context, fixed
from pilots.graph.frontends.onnx_ops import HANDLERS
from pilots.graph.frontends.values import Value, known_as
from pilots.graph.frontends.walk import NARROWED_DE, Walk
from pilots.graph.ir import Array, DType
from pilots.graph.trail import plain

FRAMEWORK: Final = "onnx"
NAME: Final = "ONNX"
_NUMBERS: Final = (AttributeProto.FLOAT, AttributeProto.INT, AttributeProto.FLOATS, AttributeProto.INTS)
_STANDARD: Final = ("", "ai.onnx")


def capture(path: Path, *, example: bool = True, inputs: Mapping[str, Array] | None = None) -> Captured:
    """Return the graph of a file; raises UnsupportedModel, FrontEndError or OSError."""
    with path.open("rb") as file:
        data = file.read(LIMITS["file_bytes"].most + 1)
    return capture_bytes(data, example=example, inputs=inputs)


def capture_bytes(
    data: bytes, *, example: bool = True, inputs: Mapping[str, Array] | None = None
) -> Captured:
    """Return the graph of the bytes of a file; raises UnsupportedModel or FrontEndError, each with one sentence.

    example: keep `inputs` by their names in the model, seeded ones if none are given, with what the reference of the
    ONNX package computes from them.
    """
    model = limits.parse(data)
    found = _translated(model)
    if not example:
        return found
    infos = _infos(model.graph)
    arrays = seeded_inputs(found.graph) if inputs is None else [inputs.get(item.name) for item in infos]
    missing = next((item.name for item, array in zip(infos, arrays, strict=True) if array is None), None)
    if missing is not None:
        sentence = f"Für den Eingang {plain(missing)} fehlt das Beispiel; {WITHOUT_DE}."
        raise refuse("EXAMPLE", plain(missing), "an array", "none", sentence)
    given = [np.asarray(array) for array in arrays]
    return with_example(found, NAME, given, lambda: _reference(model, given))


def _reference(model: onnx.ModelProto, arrays: Sequence[Array]) -> list[Array]:
    """Return what the reference of the package computes, in the order of the outputs."""
    feeds = {
        item.name: array.astype(onnx.helper.tensor_dtype_to_np_dtype(item.type.tensor_type.elem_type))
        for item, array in zip(_infos(model.graph), arrays, strict=True)
    }
    with np.errstate(all="ignore"):
        return [np.asarray(item) for item in ReferenceEvaluator(model).run(None, feeds)]


def _infos(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """Return the inputs that are no weights."""
    weights = {item.name for item in graph.initializer}
    return [item for item in graph.input if item.name not in weights]


def _translated(model: onnx.ModelProto) -> Captured:
    walk = Walk(FRAMEWORK, f"opset {limits.opset(model)}")
    seen = _given(walk, model.graph)
    for index, node in enumerate(model.graph.node):
        _translate(walk, node, index, seen)
    outputs = []
    for item in model.graph.output:
        if item.name not in seen:
            sentence = f"Der Ausgang {plain(item.name)} ist nicht definiert."
            raise refuse("UNDEFINED", "graph", "a defined output", item.name, sentence)
        outputs.append(seen[item.name])
        if item.type.tensor_type.elem_type == onnx.TensorProto.INT64:
            walk.adapt(item.name, NARROWED_DE)
    try:
        return walk.finish(outputs, [item.name for item in model.graph.output])
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
    for info in _infos(graph):
        seen[info.name] = _input(walk, info)
    return seen


def _input(walk: Walk, info: onnx.ValueInfoProto) -> Any:
    """Add a graph input; None if the graph has no such type. Raises FrontEndError for a shape that is not legal."""
    shape = limits.input_shape(info)
    if info.type.tensor_type.elem_type == onnx.TensorProto.INT64:
        walk.adapt(info.name, NARROWED_DE)

    def action() -> Value:
        return walk.emit.input(info.name, shape, DType(limits.type_name(info.type.tensor_type.elem_type)))

    return walk.taken("input", info.name, action)


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
