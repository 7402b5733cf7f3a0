"""What a handler of an ATen operation may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pilots.graph.frontends.emitter import Emitter
from pilots.graph.frontends.errors import Refused
from pilots.graph.frontends.values import Value, known_as
from pilots.graph.ir import DType, Shape


@dataclass(frozen=True, slots=True)
class Result:
    """What torch says about the result: its shape and type; None for several results."""

    shape: Shape
    dtype: DType
    wide: bool  # int64 in torch


Handler: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler may use beside the arguments."""

    emit: Emitter
    result: Result | None

    @property
    def out(self) -> Result:
        """The one result; raises Refused."""
        if self.result is None:
            raise Refused("die Operation hat ein Ergebnis unbekannter Form")
        return self.result

    def value(self, item: Any, dtype: DType) -> Value:
        """Return an argument as a value of a type."""
        if isinstance(item, Value):
            return self.emit.cast(item, dtype)
        if isinstance(item, bool | int | float):
            return known_as(np.asarray(item), dtype)
        raise Refused("ein Argument ist keine Zahl und kein Tensor")
