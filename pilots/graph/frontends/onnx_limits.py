"""What an ONNX file may hold: read with the public package, then checked before any number of it is used."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, numpy_helper

from pilots.graph.capture.limits import LIMITS
from pilots.graph.frontends.errors import FrontEndError, Refused, refuse
from pilots.graph.frontends.values import dtype_of
from pilots.graph.ir import Array, Shape
from pilots.graph.trail import plain

OPSETS: Final = (13, 24)
MAX_ATTRIBUTES: Final = 64
ITEM_BYTES: Final = {
    TensorProto.FLOAT: 4,
    TensorProto.FLOAT16: 2,
    TensorProto.BFLOAT16: 2,
    TensorProto.INT32: 4,
    TensorProto.INT64: 8,
    TensorProto.BOOL: 1,
}
_LISTS: Final = ("float_data", "int32_data", "int64_data")
_FOREIGN_LISTS: Final = ("string_data", "double_data", "uint64_data")


def parse(data: bytes) -> onnx.ModelProto:
    """Return the model of a file within all limits; raises FrontEndError with one German sentence."""
    if len(data) > LIMITS["file_bytes"].most:
        raise _limit("file", LIMITS["file_bytes"].most, len(data))
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        sentence = "Die Datei ist kein lesbares ONNX-Modell; bitte erneut hochladen oder neu erzeugen."
        raise refuse("NOT_ONNX", "file", "an ONNX model", error, sentence) from error
    _check_whole(model)
    _check_names(model.graph)
    for item in model.graph.initializer:
        check_tensor(item)
    return model


def opset(model: onnx.ModelProto) -> int:
    """Return the version of the standard operations; raises FrontEndError."""
    versions = [item.version for item in model.opset_import if item.domain in {"", "ai.onnx"}]
    if len(versions) != 1 or not OPSETS[0] <= versions[0] <= OPSETS[1]:
        sentence = f"Das ONNX-Modell braucht genau eine Operationsfassung von {OPSETS[0]} bis {OPSETS[1]}."
        raise refuse("OPSET", "model", f"{OPSETS[0]}..{OPSETS[1]}", versions, sentence)
    return int(versions[0])


def input_shape(item: onnx.ValueInfoProto) -> Shape:
    """Return the shape of a graph input; a named first dimension is the batch. Raises FrontEndError."""
    name = plain(item.name)
    if not item.type.HasField("tensor_type") or not item.type.tensor_type.HasField("shape"):
        sentence = f"Zum Eingang {name} fehlt die Form; bitte das Modell mit Formen ausgeben."
        raise refuse("SHAPE", name, "a tensor with a shape", "none", sentence)
    sizes: list[int | None] = []
    for index, dimension in enumerate(item.type.tensor_type.shape.dim):
        size = dimension.dim_value if dimension.HasField("dim_value") else None
        if (size is None and index > 0) or (size is not None and size < 1):
            sentence = f"Nur die erste Dimension eines Eingangs darf offen sein (Stapel), nicht bei {name}."
            raise refuse("DYNAMIC", name, "known sizes but for the batch", size, sentence)
        sizes.append(size)
    _check_size(name, [size or 1 for size in sizes])
    return tuple(sizes)


def check_tensor(item: TensorProto) -> None:
    """Refuse a tensor that is not wholly inside the file, or whose shape does not match its numbers."""
    name = plain(item.name)
    if item.data_location == TensorProto.EXTERNAL or item.external_data:
        sentence = f"Das Gewicht {name} verweist auf eine andere Datei; bitte alles in einer Datei speichern."
        raise refuse("EXTERNAL", name, "numbers in the file", "external data", sentence)
    size = ITEM_BYTES.get(item.data_type)
    if size is None:
        kind = _kind(item.data_type)
        sentence = f"Den Zahlentyp {kind} des Gewichts {name} gibt es im Graphen nicht."
        raise refuse("DTYPE", name, "a type of the graph", kind, sentence)
    dims = list(item.dims)
    if any(dim < 0 for dim in dims):
        raise _mismatch(name, "sizes from 0 on", dims)
    _check_size(name, dims)
    count = prod(dims)
    held = len(item.raw_data)
    lists = [len(getattr(item, field)) for field in _LISTS]
    if any(len(getattr(item, field)) for field in _FOREIGN_LISTS) or item.HasField("segment"):
        raise _mismatch(name, "numbers of its type", "others")
    if (held and (any(lists) or held != count * size)) or (not held and sum(lists) != count):
        raise _mismatch(name, f"{count} numbers", f"{held} bytes, {sum(lists)} numbers")


def array_of(item: TensorProto) -> Array:
    """Return the numbers of a tensor that was checked; bfloat16 as float32."""
    try:
        array: Any = numpy_helper.to_array(item)
    except (ValueError, TypeError) as error:
        raise _mismatch(plain(item.name), "readable numbers", error) from error
    if item.data_type == TensorProto.BFLOAT16:
        return np.asarray(array).astype(np.float32)
    if item.data_type == TensorProto.BOOL:
        return np.asarray(np.asarray(array).view(np.uint8) != 0)  # a byte may hold any number
    return np.asarray(array)


def _check_whole(model: onnx.ModelProto) -> None:
    graph = model.graph
    counts = {
        "nodes": len(graph.node),
        "tensors": len(graph.initializer) + len(graph.input),
        "inputs": max((len(node.input) + len(node.output) for node in graph.node), default=0),
    }
    for name, count in counts.items():
        if count > LIMITS[name].most:
            raise _limit(name, LIMITS[name].most, count)
    if len(model.functions) or len(graph.sparse_initializer) or len(graph.quantization_annotation):
        sentence = "Eigene Funktionen, dünn besetzte und quantisierte Gewichte werden nicht gelesen."
        raise refuse("PARTS", "model", "nodes and dense weights", "functions or sparse weights", sentence)
    if not len(graph.node) or not len(graph.output):
        sentence = "Das ONNX-Modell hat keine Operationen oder keinen Ausgang."
        raise refuse("EMPTY", "graph", "nodes and outputs", "none", sentence)
    opset(model)


def _check_names(graph: onnx.GraphProto) -> None:
    weights = {item.name for item in graph.initializer}
    names = [item.name for item in graph.initializer]
    names += [item.name for item in graph.input if item.name not in weights]
    names += [name for node in graph.node for name in node.output if name]
    used = [*names, *(item.name for item in graph.output)]
    for node in graph.node:
        used += [node.name, node.op_type, node.domain, *node.input, *(item.name for item in node.attribute)]
    if not all(isinstance(name, str) for name in used):  # the package hands on bytes that are no UTF-8
        sentence = "Ein Name im ONNX-Modell ist kein lesbarer Text; bitte das Modell neu erzeugen."
        raise refuse("NAME", "graph", "UTF-8", "bytes", sentence)
    seen: set[str] = set()
    for name in names:
        if not name or len(name) > LIMITS["name"].most or name in seen:
            sentence = f"Ein Name ist leer, zu lang oder doppelt vergeben: {plain(name)[:60]}."
            raise refuse("NAME", "graph", "each name once", name, sentence)
        seen.add(name)
    for node in graph.node:
        if len(node.attribute) > MAX_ATTRIBUTES:
            raise _limit("attributes", MAX_ATTRIBUTES, len(node.attribute))


def _check_size(name: str, dims: list[int]) -> None:
    if len(dims) > LIMITS["dimensions"].most:
        raise _limit("dimensions", LIMITS["dimensions"].most, len(dims))
    if prod(dims) > LIMITS["elements"].most:
        raise _limit(name, LIMITS["elements"].most, prod(dims))


def _limit(name: str, most: int, got: int) -> FrontEndError:
    sentence = f"Das ONNX-Modell ist zu groß ({name}: {got}); erlaubt sind höchstens {most}."
    return refuse("LIMIT", name, f"at most {most}", got, sentence)


def _mismatch(name: str, expected: str, got: object) -> FrontEndError:
    sentence = f"Form und Zahlen des Gewichts {name} passen nicht zusammen."
    return refuse("WEIGHTS", name, expected, got, sentence)


def _kind(code: int) -> str:
    return TensorProto.DataType.Name(code) if code in TensorProto.DataType.values() else "?"


def type_name(code: int) -> str:
    """Return the name of an ONNX element type as NumPy writes it; raises Refused."""
    names = {
        TensorProto.FLOAT: "float32",
        TensorProto.FLOAT16: "float16",
        TensorProto.BFLOAT16: "bfloat16",
        TensorProto.INT32: "int32",
        TensorProto.INT64: "int64",
        TensorProto.BOOL: "bool",
    }
    if code not in names:
        raise Refused(f"den Zahlentyp {_kind(code)} gibt es im Graphen nicht")
    return dtype_of(names[code]).value
