"""Interim states of a run: JSON with arrays as base64, bound to one run and sealed by a SHA-256."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pilots.wafer.errors import CheckpointError
from pilots.wafer.handlers.base import Array
from qms.core import canonical

SENTENCE: Final = (
    "Der Zwischenstand ist beschädigt oder gehört zu einem anderen Lauf; bitte den Lauf neu starten."
)
TYPES: Final = ("<f4", "<f2", "<i4", "|b1")
MAX_AXES: Final = 8


def seal(kind: str, run_key: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state of this kind for the run with this key."""
    state = {"format": kind, "run_key": run_key, **content}
    return state | {"sha256": canonical.digest(state)}


def unseal(state: Mapping[str, Any], kind: str, run_key: str) -> Mapping[str, Any]:
    """Return the state after checking kind, run and hash; raises CheckpointError."""
    content = {name: value for name, value in state.items() if name != "sha256"}
    try:
        digest = canonical.digest(content)
    except (canonical.CanonicalError, TypeError, RecursionError) as error:
        raise broken(f"checkpoint is malformed: {error}") from error
    if state.get("format") != kind or state.get("run_key") != run_key:
        raise broken("checkpoint belongs to another run")
    if state.get("sha256") != digest:
        raise broken("checkpoint was changed")
    return content


def to_json(array: Array) -> dict[str, Any]:
    """Return an array as JSON: type, shape, base64 of its little-endian bytes in row-major order."""
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    data = base64.b64encode(plain.tobytes()).decode("ascii")
    return {"type": plain.dtype.str, "shape": list(array.shape), "data": data}


def from_json(data: object) -> Array:
    """Return the array of `to_json`; raises CheckpointError."""
    try:
        if not isinstance(data, Mapping) or data["type"] not in TYPES:
            raise broken("checkpoint holds no array where one belongs")
        shape = tuple(data["shape"])
        if len(shape) > MAX_AXES or not all(type(size) is int and size >= 0 for size in shape):
            raise broken(f"checkpoint holds an impossible shape {shape}")
        raw = base64.b64decode(data["data"], validate=True)
        return np.frombuffer(raw, dtype=data["type"]).reshape(shape)
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise broken(f"checkpoint is malformed: {error!r}") from error


def count(state: Mapping[str, Any], name: str, limit: int) -> int:
    """Return a whole number from 0 to `limit`; raises CheckpointError."""
    value = state.get(name)
    if type(value) is not int or not 0 <= value <= limit:
        raise broken(f"{name} is {value!r}")
    return value


def broken(message: str) -> CheckpointError:
    """Return the error for a state that cannot be used."""
    return CheckpointError(message, message_de=SENTENCE)
