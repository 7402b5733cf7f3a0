"""Reads a sheet from JSON: the form somebody writes by hand and the one EV-17 holds. Computed values are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pilots.economics.amounts import date_of, decimal_of, optional_decimal
from pilots.economics.categories import BY_CODE, COMPUTE, IDLE, Capacity, CommercialModel
from pilots.economics.errors import EconomicsError
from pilots.economics.sheet import CURRENCY, ZERO, CostLine, Cycle, Exchange, Sheet, Side
from qms.core.values import Provenance

_AMOUNTS: Final = ("fixed_month", "per_unit", "one_off")


def sheet_of(data: object) -> Sheet:
    """Return the sheet of a JSON value; raises EconomicsError naming the field that is wrong."""
    found = _mapping(data, "sheet")
    value = _mapping(found.get("business_value") or {}, "business_value")
    comparable = found.get("comparable", True)
    if not isinstance(comparable, bool):
        raise EconomicsError("comparable", "comparable: Bitte true oder false angeben.")
    return Sheet(
        result_unit=_text(found, "result_unit"),
        units_per_month=decimal_of(found.get("units_per_month"), "units_per_month"),
        baseline=_side(found.get("baseline"), "baseline"),
        target=_side(found.get("target"), "target"),
        comparable=comparable,
        business_reason=_text(value, "reason"),
        currency=_text(found, "currency") or CURRENCY,
    )


def _side(data: object, field: str) -> Side:
    found = _mapping(data, field)
    capacity = Capacity(_choice(found, "capacity", list(Capacity)))
    lines = tuple(_line(item, f"{field}.lines") for item in _list(found.get("lines", []), f"{field}.lines"))
    platform = _mapping(found.get("platform"), f"{field}.platform")
    return Side(
        platform={name: _text(platform, name) for name in ("key", "name", "kind")},
        capacity=capacity,
        commercial_model=CommercialModel(_choice(found, "commercial_model", list(CommercialModel))),
        term_months=decimal_of(found.get("term_months"), f"{field}.term_months"),
        hours_per_unit=decimal_of(found.get("hours_per_unit"), f"{field}.hours_per_unit"),
        hours_provenance=Provenance(_choice(found, "hours_provenance", list(Provenance))),
        lines=_as_entered(lines, capacity),
        paid_hours_month=optional_decimal(found, "paid_hours_month", f"{field}.paid_hours_month"),
        hours_note=_text(found, "hours_note"),
        cycle=_cycle(found.get("cycle"), f"{field}.cycle"),
    )


def _line(data: object, field: str) -> CostLine:
    found = _mapping(data, field)
    category = _choice(found, "category", list(BY_CODE))
    day = found.get("price_date")
    fixed, per_unit, once = (optional_decimal(found, name, f"{category} {name}") for name in _AMOUNTS)
    line = CostLine(
        category=category,
        fixed_month=fixed,
        per_unit=per_unit,
        one_off=once,
        reason=_text(found, "reason"),
        source=_text(found, "source"),
        price_date=None if day in {None, ""} else date_of(day, f"{category} price_date"),
        provenance=Provenance(_choice(found, "provenance", list(Provenance), Provenance.ESTIMATED)),
    )
    exchange = None if found.get("exchange") is None else _exchange(found["exchange"], category)
    currency = _text(found, "currency") or CURRENCY
    if currency == CURRENCY:
        return replace(line, exchange=exchange)  # EUR already; the rate tells where they come from
    if exchange is None or exchange.currency != currency:
        sentence = f"{category}: Für {currency} fehlt der Wechselkurs mit Datum und Quelle."
        raise EconomicsError(category, sentence)
    return line.in_eur(exchange)


def _as_entered(lines: tuple[CostLine, ...], capacity: Capacity) -> tuple[CostLine, ...]:
    """Put the computed idle part back where it came from, so that a stored sheet is read as it was entered."""
    idle = next((item for item in lines if item.category == IDLE), None)
    if idle is None or (idle.provenance is not Provenance.DERIVED and not idle.missing):
        return lines
    rest = tuple(item for item in lines if item.category != IDLE)
    if capacity is Capacity.PAY_PER_USE or idle.missing:
        return rest
    whole = (
        (item.fixed_month or ZERO) + (idle.fixed_month or ZERO) for item in rest if item.category == COMPUTE
    )
    full = next(whole, None)
    return tuple(replace(item, fixed_month=full) if item.category == COMPUTE else item for item in rest)


def _exchange(data: object, category: str) -> Exchange:
    found = _mapping(data, f"{category} exchange")
    rate = decimal_of(found.get("rate"), f"{category} exchange.rate")
    return Exchange(
        _text(found, "currency"),
        rate,
        date_of(found.get("date"), f"{category} exchange.date"),
        _text(found, "source"),
    )


def _cycle(data: object, field: str) -> Cycle | None:
    if data is None:
        return None
    found = _mapping(data, field)
    return Cycle(*(decimal_of(found.get(name), f"{field}.{name}") for name in Cycle.parts()))


def _mapping(data: object, field: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise EconomicsError(field, f"{field}: Diese Angabe fehlt oder hat nicht die erwartete Form.")
    return data


def _list(data: object, field: str) -> list[Any]:
    if not isinstance(data, list):
        raise EconomicsError(field, f"{field}: Erwartet wird eine Liste.")
    return data


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise EconomicsError(key, f"{key}: Erwartet wird ein Text.")
    return value


def _choice(data: Mapping[str, Any], key: str, allowed: list[str], default: str = "") -> str:
    value = _text(data, key) or default
    if value not in allowed:
        raise EconomicsError(key, f"{key}: Möglich sind {', '.join(allowed)}.")
    return value
