"""Attributes of operations: which kinds there are, how they are checked, and how they are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pilots.graph.ir import FLOATS, Attr, Attrs

MAX_COUNT: Final = 2**48
MAX_DIMENSIONS: Final = 8
MAX_TEXT: Final = 4096
EXPERT_ACTIVATIONS: Final = ("silu", "gelu", "relu")
_DECIMAL: Final = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,40})?", re.ASCII)


def _whole(value: object, low: int) -> bool:
    return type(value) is int and low <= value <= MAX_COUNT


def _wholes(value: object, low: int) -> bool:
    if not isinstance(value, tuple) or not 1 <= len(value) <= MAX_DIMENSIONS:
        return False
    return all(_whole(item, low) for item in value)


def _decimal(value: object) -> bool:
    return isinstance(value, str) and _DECIMAL.fullmatch(value) is not None


def _decimals(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_TEXT and all(map(_decimal, value.split(" ")))


# kind -> test and the kind in words
KINDS: Final[dict[str, tuple[Callable[[object], bool], str]]] = {
    "count": (lambda value: _whole(value, 1), "an integer from 1 on"),
    "index": (lambda value: _whole(value, 0), "an integer from 0 on"),
    "flag": (lambda value: type(value) is int and value in {0, 1}, "0 or 1"),
    "decimal": (_decimal, "a decimal such as 0.00001 as text"),
    "decimals": (_decimals, "decimals as text, joined by single spaces"),
    "sizes": (lambda value: _wholes(value, 1), "a tuple of integers from 1 on"),
    "indices": (lambda value: _wholes(value, 0), "a tuple of integers from 0 on"),
    "float": (lambda value: value in [item.value for item in FLOATS], "float32, float16 or bfloat16"),
    "dtype": (
        lambda value: value in [*(item.value for item in FLOATS), "int32"],
        "float32, float16, bfloat16 or int32",
    ),
    "activation": (lambda value: value in EXPERT_ACTIVATIONS, "silu, gelu or relu"),
}


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute an operation may have: its kind (KINDS), and whether it must be there."""

    kind: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Given:
    """The attributes of one node, read by type; whoever reads them has checked them before."""

    values: Mapping[str, Attr]

    def whole(self, name: str, default: int = 0) -> int:
        """Return an integer."""
        value: Any = self.values.get(name, default)
        return int(value)

    def text(self, name: str) -> str:
        """Return a text, empty if absent."""
        return str(self.values.get(name, ""))

    def sizes(self, name: str) -> tuple[int, ...]:
        """Return a tuple of integers, empty if absent."""
        value: Any = self.values.get(name, ())
        return tuple(value)


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule an attribute breaks: its code, the rule, what was found, and the sentence."""

    code: str
    expected: str
    got: str
    sentence: str


def check(attrs: Attrs, schema: Mapping[str, Attribute]) -> Broken | None:
    """Return the first rule the attributes break, or None."""
    names = [name for name, _ in attrs]
    if names != sorted(set(names)):
        text = "Die Zusatzangaben sind nicht nach Namen geordnet oder doppelt."
        return Broken("ATTRIBUTE_ORDER", "sorted, each name once", ", ".join(names)[:200], text)
    unknown = next((name for name in names if name not in schema), None)
    if unknown is not None:
        known = ", ".join(schema) or "none"
        text = f"Die Zusatzangabe {unknown[:60]} ist bei dieser Operation unbekannt."
        return Broken("ATTRIBUTE_UNKNOWN", f"one of {known}", unknown[:200], text)
    missing = next((name for name, item in schema.items() if item.required and name not in names), None)
    if missing is not None:
        text = f"Die Zusatzangabe {missing} fehlt."
        return Broken("ATTRIBUTE_MISSING", f"{missing}: {KINDS[schema[missing].kind][1]}", "nothing", text)
    for name, value in attrs:
        test, words = KINDS[schema[name].kind]
        if not test(value):
            text = f"Die Zusatzangabe {name} hat einen unzulässigen Wert."
            return Broken("ATTRIBUTE_VALUE", f"{name}: {words}", repr(value)[:200], text)
    return None
