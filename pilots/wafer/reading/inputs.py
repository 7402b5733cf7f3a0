"""What a prediction may see of a published entry, and what it became (wafer.md, validation 7)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pilots.wafer.workloads import Case, Family

Scalar = int | float | str
MAX_TEXT: Final = 200
BINARY: Final = {
    "": 1,
    "k": 1024,
    "m": 1024**2,
}  # sizes of tensors and contexts are powers of two: 16K is 16 384

# Names in `params` that describe a workload. Everything else is taken away before anything is read.
ALLOWED_PARAMS: Final = frozenset(
    """P tile dtype precision clock_GHz M K N Mt Kt Nt width height grid iters max_ite padded cores PEs batch MSL seq ctx
    context in out B wavelets words bytes algorithm nx ny nz zDim points layers model systems num_csx n size
    """.casefold().split()
)
_ASSIGNED: Final = re.compile(r"((?:\b[A-Za-z_]\w*\s*=\s*)+)(\d+(?:\.\d+)?)\s*([kKmM]?)(?![\w*.^])")


@dataclass(frozen=True, slots=True)
class Inputs:
    """The allowed part of an entry; params: name in lower case -> number or short text."""

    system: str
    workload: str
    metric: str
    unit: str
    params: Mapping[str, Scalar]

    @property
    def text(self) -> str:
        """Workload and metric, where most sizes are written."""
        return f"{self.workload} {self.metric}"

    def number(self, *names: str) -> int | None:
        """Return the whole number given under one of these names, in `params` or as `name=value` in a text."""
        wanted = [name.casefold() for name in names]
        for name in wanted:
            found = _whole(self.params.get(name))
            if found is not None:
                return found
        texts = [str(item) for _, item in sorted(self.params.items()) if isinstance(item, str)]
        assigned = _assigned(" ; ".join([*texts, self.workload]))
        return next((assigned[name] for name in wanted if name in assigned), None)

    def word(self, *names: str) -> str:
        """Return the text given under one of these names in `params`, or nothing."""
        return next((str(self.params[n.casefold()]) for n in names if n.casefold() in self.params), "")


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that is not predicted: a German sentence with the reason, and the family if one can be told."""

    reason_de: str
    family: Family | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A case and the unit of the answer.

    unit_scale: SI units in one unit of the entry; repeats: runs that one figure covers; gaps: names of the rules
    in `gaps.RULES` that filled in what the publication does not give; software: what ran on the machine;
    per_request: a rate is that of one request of the batch.
    """

    case: Case
    unit: str
    unit_scale: float
    repeats: int = 1
    gaps: tuple[str, ...] = ()
    software: str = ""
    per_request: bool = False


class NotReadable(Exception):
    """A reader cannot build the case; `reason_de` becomes the reason of the refusal."""

    def __init__(self, reason_de: str) -> None:
        super().__init__(reason_de)
        self.reason_de = reason_de


def size(text: str) -> int | None:
    """Return a size such as 4096, 16K or 2k; None if it is no whole number."""
    match = re.fullmatch(r"\s*(\d{1,9})\s*([kKmM]?)\s*", text)
    return int(match[1]) * BINARY[match[2].casefold()] if match else None


def rectangle(text: str) -> tuple[int, int] | None:
    """Return (width, height) of the first `600x600`, `600×600` or `600^2` in a text."""
    match = re.search(r"(?<![\w^])(\d{1,5})\s*(?:[x×]\s*(\d{1,5})(?![\w^]|\s*[x×])|\^2(?!\d))", text)
    return (int(match[1]), int(match[2] or match[1])) if match else None


def allowed(value: object) -> bool:
    """Say whether a parameter of an allowed name has a form that is read: a number or a short text."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (isinstance(value, str) and len(value) <= MAX_TEXT)


def _whole(value: Scalar | None) -> int | None:
    if isinstance(value, str):
        match = re.match(r"\s*(\d{1,9})\s*([kKmM]?)(?![\w.^]|\s*[x×*])", value)
        return int(match[1]) * BINARY[match[2].casefold()] if match else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value


def _assigned(text: str) -> dict[str, int]:
    """Return name -> number for `M=K=N=4096`, `Mt=Kt=Nt=14`; the first mention wins."""
    found: dict[str, int] = {}
    for match in _ASSIGNED.finditer(text):
        number = size(match[2] + match[3])
        for name in match[1].split("="):
            if name.strip() and number is not None:
                found.setdefault(name.strip().casefold(), number)
    return found
