"""Reading a configuration text strictly: one clear ConfigError for every way it can be wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NoReturn

from pilots.graph.errors import ConfigError

MAX_BYTES: Final = 256 * 1024
MAX_DEPTH: Final = 16
_SHOWN: Final = 60


def refuse(code: str, field: str, expected: str, got: object, sentence: str) -> ConfigError:
    """Return the error for a field; `sentence` is German and complete."""
    return ConfigError(code, position=field, expected=expected, got=shown(got), message_de=sentence)


def shown(value: object) -> str:
    """Return a value as it may stand in a sentence: short, in the notation of JSON."""
    if isinstance(value, Decimal):
        text = str(value)
    elif isinstance(value, str):
        text = f"„{value}“"
    elif value is None or isinstance(value, bool):
        text = json.dumps(value)
    elif isinstance(value, list | Mapping):
        text = "eine Liste" if isinstance(value, list) else "ein Objekt"
    else:
        text = str(value)
    printable = "".join(item if item.isprintable() else "?" for item in text[: _SHOWN + 1])
    return printable if len(printable) <= _SHOWN else printable[:_SHOWN] + "…"


def read_object(text: str) -> dict[str, Any]:
    """Return the object a text holds; numbers with a fraction or an exponent are Decimal. Raises ConfigError."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        sentence = f"Die Konfiguration ist größer als {MAX_BYTES} Byte; bitte nur die config.json des Modells angeben."
        raise refuse("TEXT_TOO_LONG", "text", f"at most {MAX_BYTES} bytes", size, sentence)
    if text.startswith("\ufeff"):
        sentence = (
            "Die Konfiguration beginnt mit einer Bytereihenfolge-Marke; bitte als UTF-8 ohne BOM speichern."
        )
        raise refuse("BOM", "text", "no byte order mark", "U+FEFF", sentence)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_float=_decimal,
            parse_constant=_constant,
            parse_int=_integer,
        )
    except json.JSONDecodeError as error:
        sentence = f"Die Konfiguration ist kein gültiges JSON (Zeile {error.lineno}, Spalte {error.colno})."
        raise refuse("NOT_JSON", "text", "JSON", error.msg, sentence) from error
    except RecursionError as error:
        raise _too_deep() from error
    if not isinstance(value, dict):
        sentence = "Die Konfiguration muss ein JSON-Objekt mit den Angaben des Modells sein."
        raise refuse("NOT_AN_OBJECT", "text", "a JSON object", value, sentence)
    _check_depth(value)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            sentence = (
                f"Die Angabe {shown(key)} steht doppelt in der Konfiguration; bitte eine davon entfernen."
            )
            raise refuse("DUPLICATE_KEY", key[:_SHOWN], "each key once", "twice", sentence)
        result[key] = value
    return result


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise _bad_number(text) from error


def _integer(text: str) -> int:
    if len(text) > _SHOWN:
        raise _bad_number(text)
    return int(text)


def _constant(text: str) -> NoReturn:
    raise _bad_number(text)


def _bad_number(text: str) -> ConfigError:
    sentence = f"Die Konfiguration enthält mit {shown(text)} keine zulässige Zahl."
    return refuse("NUMBER", "text", "a finite number of usual length", text, sentence)


def _too_deep() -> ConfigError:
    sentence = (
        f"Die Konfiguration ist tiefer als {MAX_DEPTH} Ebenen verschachtelt; bitte die config.json prüfen."
    )
    return refuse("TOO_DEEP", "text", f"at most {MAX_DEPTH} levels", "more", sentence)


def _check_depth(value: object) -> None:
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        parts = [
            item.values() if isinstance(item, dict) else item
            for item in level
            if isinstance(item, dict | list)
        ]
        level = [item for part in parts for item in part]
        if not level:
            return
    if any(isinstance(item, dict | list) for item in level):
        raise _too_deep()


@dataclass(frozen=True, slots=True)
class Fields:
    """The keys of one object, read by type. A key that is null counts as absent."""

    data: Mapping[str, Any]

    def first(self, keys: tuple[str, ...]) -> str | None:
        """Return the first of the keys that has a value; raises ConfigError if a later one contradicts it."""
        present = [key for key in keys if self.data.get(key) is not None]
        values = {key: self.data[key] for key in present}
        other = next((key for key in present if values[key] != values[present[0]]), None)
        if other is not None:
            sentence = (
                f"Die Angaben {present[0]} und {other} widersprechen sich; bitte nur die gültige angeben."
            )
            raise refuse("CONTRADICTION", other, f"the value of {present[0]}", values[other], sentence)
        return present[0] if present else None

    def whole(self, keys: tuple[str, ...], low: int, high: int, default: int | None = None) -> int:
        """Return an integer from low to high; a number such as 500000.0 counts as one. Raises ConfigError."""
        key = self.first(keys)
        if key is None:
            if default is not None:
                return default
            sentence = f"In der Konfiguration fehlt die Angabe {keys[0]}; bitte ergänzen."
            raise refuse("MISSING", keys[0], f"an integer {low}..{high}", "nothing", sentence)
        value = self.data[key]
        number = isinstance(value, int | Decimal) and not isinstance(value, bool)
        if not number or not low <= value <= high or value != int(value):
            sentence = (
                f"Die Angabe {key} muss eine ganze Zahl von {low} bis {high} sein, nicht {shown(value)}."
            )
            raise refuse("VALUE", key, f"an integer {low}..{high}", value, sentence)
        return int(value)

    def flag(self, key: str, *, default: bool) -> bool:
        """Return true or false; raises ConfigError for anything else."""
        value = self.data.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            sentence = f"Die Angabe {key} muss true oder false sein, nicht {shown(value)}."
            raise refuse("VALUE", key, "true or false", value, sentence)
        return value

    def word(self, keys: tuple[str, ...], default: str) -> str:
        """Return a text; raises ConfigError for anything else."""
        key = self.first(keys)
        if key is None:
            return default
        value = self.data[key]
        if not isinstance(value, str):
            sentence = f"Die Angabe {key} muss ein Text sein, nicht {shown(value)}."
            raise refuse("VALUE", key, "a text", value, sentence)
        return value

    def fraction(self, keys: tuple[str, ...], default: str) -> Decimal:
        """Return a number above 0 and at most 1; raises ConfigError."""
        key = self.first(keys)
        if key is None:
            return Decimal(default)
        value = self.data[key]
        number = isinstance(value, int | Decimal) and not isinstance(value, bool)
        if not number or not Decimal("1e-30") <= value <= 1 or len(str(value)) > _SHOWN:
            sentence = f"Die Angabe {key} muss eine Zahl über 0 bis 1 sein, nicht {shown(value)}."
            raise refuse("VALUE", key, "a number above 0, at most 1", value, sentence)
        return Decimal(value)

    def inner(self, key: str) -> Fields:
        """Return an object inside this one, empty if absent; raises ConfigError if it is something else."""
        value = self.data.get(key)
        if value is not None and not isinstance(value, dict):
            sentence = f"Die Angabe {key} muss ein Objekt sein, nicht {shown(value)}."
            raise refuse("VALUE", key, "an object", value, sentence)
        return Fields(value or {})
