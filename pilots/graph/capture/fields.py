"""Reads single fields of the JSON of a capture: each has one legal form, all else is refused by name."""

from __future__ import annotations

import re
from typing import Any, Final

from pilots.graph.capture.errors import CaptureError, refuse
from pilots.graph.capture.limits import check
from pilots.graph.ir import SHAPE_ONLY, DType, Shape, Tensor
from pilots.graph.trail import MAX_TEXT

NAME: Final = re.compile(r"[A-Za-z0-9_.:/+-]+", re.ASCII)
_SHA256: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


def fields(value: Any, position: str, names: str) -> dict[str, Any]:
    """Return an object that has exactly the fields named."""
    if not isinstance(value, dict) or set(value) != set(names.split(" ")):
        raise wrong(position, f"exactly {names}", sorted(value) if isinstance(value, dict) else value)
    return value


def items(entry: dict[str, Any], name: str) -> list[Any]:
    """Return a field that is a list."""
    value = entry[name]
    if not isinstance(value, list):
        raise wrong(name, "a list", value)
    return value


def name(value: Any, position: str) -> str:
    """Return the name of a value of the graph."""
    if isinstance(value, str):
        check("name", len(value), position)
    if not isinstance(value, str) or not NAME.fullmatch(value):
        sentence = f"Ein Name besteht aus Buchstaben, Ziffern und _.:/+- ({position})."
        raise refuse("NAME", position, NAME.pattern, value, sentence)
    return value


def text(value: Any, position: str, most: int = MAX_TEXT) -> str:
    """Return a printable text."""
    if not isinstance(value, str) or len(value) > most or not value.isprintable():
        raise wrong(position, f"a printable text of at most {most} characters", value)
    return value


def sha256(value: Any, position: str) -> str:
    """Return a SHA-256, or "" where it may be missing."""
    if not isinstance(value, str) or (value != SHAPE_ONLY and not _SHA256.fullmatch(value)):
        raise wrong(position, "a SHA-256 in lower-case hexadecimal", value)
    return value


def tensor(entry: dict[str, Any], position: str) -> Tensor:
    """Return shape and type; only the first dimension may be open."""
    shape, dtype = entry["shape"], entry["dtype"]
    if dtype not in [item.value for item in DType]:
        sentence = f"Der Zahlentyp ist unbekannt ({position}); möglich sind: {', '.join(DType)}."
        raise refuse("DTYPE", position, ", ".join(DType), dtype, sentence)
    if not isinstance(shape, list):
        raise wrong(position, "a list of sizes", shape)
    check("dimensions", len(shape), position)
    for index, size in enumerate(shape):
        if size is None and index > 0:
            raise dynamic(position, shape)
        if size is not None and (type(size) is not int or size < 1):
            sentence = f"Die Form ist unzulässig ({position}); jede Größe ist eine ganze Zahl ab 1."
            raise refuse("SHAPE", position, "sizes from 1 on", shape, sentence)
    whole: Shape = tuple(shape)
    return Tensor(whole, DType(dtype))


def shown(value: str) -> str:
    """Return the beginning of a foreign text, fit for a sentence."""
    return "".join(item if " " <= item <= "~" else "?" for item in value[:60])


def dynamic(position: str, got: object) -> CaptureError:
    """Return the error for an open dimension where none may be."""
    sentence = f"Nur die erste Dimension eines Eingangs darf offen sein (Stapel), nicht bei {position}."
    return refuse("DYNAMIC", position, "known sizes but for the batch", got, sentence)


def wrong(position: str, expected: str, got: object) -> CaptureError:
    """Return the error for a field that is missing or of another form."""
    sentence = f"Die Beschreibung des Graphen ist unvollständig oder falsch ({position}); bitte neu erzeugen."
    return refuse("FIELD", position, expected, got, sentence)
