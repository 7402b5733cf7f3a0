"""Weights as safetensors, by our own strict reader and writer.

The format: length of the header (8 bytes, little endian), header (JSON: name -> dtype, shape, data_offsets), then the
bytes of all tensors. Public readers of the format accept what we write. We accept less than they do: offsets in order
and without gaps, each name once, every byte used, finite numbers, no metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

import numpy as np

from pilots.graph.capture.errors import CaptureError, refuse
from pilots.graph.capture.fields import shown
from pilots.graph.capture.limits import check
from pilots.graph.ir import Array, DType, Tensor, array_bytes
from qms.core import canonical

LENGTH_BYTES: Final = 8
TRUNCATED_DE: Final = "Die Datei ist unvollständig; bitte neu übertragen."
ALIGNMENT: Final = 8
NAMES: Final = {
    DType.FLOAT32: "F32",
    DType.FLOAT16: "F16",
    DType.BFLOAT16: "BF16",
    DType.INT32: "I32",
    DType.BOOL: "BOOL",
}
_TYPES: Final = {name: dtype for dtype, name in NAMES.items()}
_KEYS: Final = {"dtype", "shape", "data_offsets"}


def write(weights: Mapping[str, tuple[Tensor, Array]]) -> bytes:
    """Return the bytes of all tensors in the order given, which is the order of their offsets."""
    header: dict[str, Any] = {}
    parts: list[bytes] = []
    start = 0
    for name, (tensor, array) in weights.items():
        data = array_bytes(array, tensor.dtype)
        stop = start + len(data)
        shape = list(tensor.shape)
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": shape, "data_offsets": [start, stop]}
        parts.append(data)
        start = stop
    text = canonical.dumps(header)
    text += b" " * (-len(text) % ALIGNMENT)
    return len(text).to_bytes(LENGTH_BYTES, "little") + text + b"".join(parts)


def read(data: memoryview) -> dict[str, tuple[Tensor, Array]]:
    """Return every tensor by name; raises CaptureError. Arrays are as `Graph` weights: bfloat16 as rounded float32."""
    header, start = _header(data)
    body = data[start:]
    found: dict[str, tuple[Tensor, Array]] = {}
    position = 0
    for name, entry in sorted(header.items(), key=lambda item: _offsets(*item)):
        tensor, first, last = _entry(name, entry)
        if first == position and last > len(body):
            raise _truncated(f"tensor {shown(name)}", last, len(body))
        if first != position:
            sentence = f"Die Bytes des Gewichts {shown(name)} überschneiden sich mit anderen oder lassen Lücken; bitte die Datei neu erzeugen."
            raise refuse("OFFSETS", f"tensor {name}", f"start at {position}", f"{first}..{last}", sentence)
        found[name] = (tensor, _array(name, tensor, body[first:last]))
        position = last
    if position != len(body):
        sentence = (
            "Hinter dem letzten Gewicht stehen Bytes, die zu nichts gehören; bitte die Datei neu erzeugen."
        )
        raise refuse("TRAILING", "weights", f"{position} bytes", len(body), sentence)
    return found


def parse(text: bytes, position: str, what: str) -> Any:
    """Return canonical JSON of limited size; raises CaptureError."""
    try:
        return canonical.loads(text)
    except (ValueError, RecursionError) as error:
        sentence = f"{what} ist kein gültiges JSON der erlaubten Form; bitte die Datei neu erzeugen."
        raise refuse("NOT_JSON", position, "canonical JSON", error, sentence) from error


def _header(data: memoryview) -> tuple[dict[str, Any], int]:
    if len(data) < LENGTH_BYTES:
        raise _truncated("weights", LENGTH_BYTES, len(data))
    size = int.from_bytes(data[:LENGTH_BYTES], "little")
    check("header_bytes", size, "weights")
    if LENGTH_BYTES + size > len(data):
        raise _truncated("weights", LENGTH_BYTES + size, len(data))
    text = bytes(data[LENGTH_BYTES : LENGTH_BYTES + size])
    header = parse(text, "weights", "Das Verzeichnis der Gewichte")
    written = canonical.dumps(header)
    if not isinstance(header, dict) or text != written + b" " * (-len(written) % ALIGNMENT):
        sentence = "Das Verzeichnis der Gewichte steht nicht in der festgelegten Schreibweise."
        raise refuse("NOT_CANONICAL", "weights", "one canonical object", text[:60], sentence)
    check("tensors", len(header), "weights")
    return header, LENGTH_BYTES + size


def _offsets(name: str, entry: Any) -> tuple[int, int]:
    offsets = entry.get("data_offsets") if isinstance(entry, dict) and set(entry) == _KEYS else None
    if isinstance(offsets, list) and len(offsets) == 2 and all(type(item) is int for item in offsets):
        start, end = offsets
        if 0 <= start <= end:
            return start, end
    sentence = f"Die Angaben zum Gewicht {shown(name)} sind unvollständig oder falsch."
    raise refuse("ENTRY", "weights", "dtype, shape, data_offsets", entry, sentence)


def _entry(name: str, entry: dict[str, Any]) -> tuple[Tensor, int, int]:
    first, last = _offsets(name, entry)
    check("name", len(name), "weights")
    dtype = _TYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if dtype is None:
        sentence = (
            f"Der Zahlentyp des Gewichts {shown(name)} ist unbekannt; möglich sind: {', '.join(_TYPES)}."
        )
        raise refuse("DTYPE", "weights", ", ".join(_TYPES), entry["dtype"], sentence)
    shape = entry["shape"]
    if not isinstance(shape, list) or not shape or any(type(item) is not int or item < 1 for item in shape):
        sentence = f"Die Form des Gewichts {shown(name)} ist unzulässig; jede Größe ist eine ganze Zahl ab 1."
        raise refuse("SHAPE", "weights", "sizes from 1 on", shape, sentence)
    check("dimensions", len(shape), "weights")
    elements = prod(shape)
    check("elements", elements, "weights")
    if elements * dtype.item_bytes != last - first:
        sentence = f"Die Länge des Gewichts {shown(name)} passt nicht zu Form und Zahlentyp."
        raise refuse("LENGTH", "weights", str(elements * dtype.item_bytes), last - first, sentence)
    return Tensor(tuple(shape), dtype), first, last


def _array(name: str, tensor: Tensor, data: memoryview) -> Array:
    if tensor.dtype is DType.BFLOAT16:
        upper = np.frombuffer(data, dtype="<u2").astype("<u4")
        array: Array = (upper << np.uint32(16)).view("<f4")
    else:
        array = np.frombuffer(data, dtype=tensor.dtype.little_endian).copy()
    legal = np.isfinite(array).all() if tensor.dtype.is_float else True
    if tensor.dtype is DType.BOOL:
        legal = bool((np.frombuffer(data, dtype=np.uint8) <= 1).all())
    if not legal:
        sentence = f"Das Gewicht {shown(name)} enthält Werte, die keine endlichen Zahlen seines Typs sind."
        raise refuse("NOT_FINITE", f"tensor {name}", "finite numbers", "others", sentence)
    return array.reshape(tuple(size or 1 for size in tensor.shape))


def _truncated(position: str, expected: int, got: int) -> CaptureError:
    sentence = TRUNCATED_DE
    return refuse("TRUNCATED", position, f"{expected} bytes", got, sentence)
