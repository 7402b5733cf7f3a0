"""What a handler of an ONNX operation may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pilots.graph.frontends.emitter import Emitter
from pilots.graph.frontends.errors import Refused
from pilots.graph.frontends.values import Value, bounds, known
from pilots.graph.ir import Array, DType


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler may use: the emitter, the attributes by name, and the number of outputs asked for."""

    emit: Emitter
    attrs: Mapping[str, Any]
    outputs: int

    def whole(self, name: str, default: int) -> int:
        """Return an integer attribute."""
        value = self.attrs.get(name, default)
        if not isinstance(value, int):
            raise Refused(f"die Angabe {name} ist keine ganze Zahl")
        return value

    def wholes(self, name: str, default: Sequence[int]) -> list[int]:
        """Return an attribute that lists integers."""
        value = self.attrs.get(name, default)
        if not isinstance(value, list | tuple) or not all(isinstance(item, int) for item in value):
            raise Refused(f"die Angabe {name} ist keine Liste ganzer Zahlen")
        return list(value)

    def only(self, **usual: Any) -> None:
        """Refuse attributes that differ from what is supported; each value is the only one."""
        for name, value in usual.items():
            got = self.attrs.get(name, value)
            if got != value:
                raise Refused(f"die Angabe {name} wird nur als {value} unterstützt")


Handler: TypeAlias = Callable[..., Any]


def numbers(value: Value | None, what: str) -> list[int]:
    """Return integers that must be known now; raises Refused."""
    if value is None or value.array is None or value.dtype is not DType.INT32 or value.array.size > 64:
        raise Refused(f"{what} muss als feste Liste ganzer Zahlen im Modell stehen")
    return [int(item) for item in value.array.reshape(-1)]


def fixed(array: Array) -> Value:
    """Return integers or flags of the model that are no weights of floating point."""
    return bounds(array) if array.dtype == np.int64 else known(array)
