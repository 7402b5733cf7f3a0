"""Policy parameters POL-01 to POL-60 as typed values of the rule set; no threshold stands in code. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from qms.gates.errors import RuleSetError

_SPAN = {"d": 86400, "h": 3600, "min": 60, "s": 1}


@dataclass(frozen=True)
class Policy:
    """The parameters of one rule-set version: id -> name -> {"value", "unit"}."""

    values: Mapping[str, Mapping[str, Mapping[str, Any]]]

    def raw(self, pol: str, name: str) -> Mapping[str, Any]:
        """Return value and unit; raises RuleSetError for an unknown parameter."""
        try:
            return self.values[pol][name]
        except KeyError as error:
            raise RuleSetError(f"policy has no {pol}/{name}") from error

    def number(self, pol: str, name: str) -> Decimal:
        """Return the number in its own unit."""
        try:
            return Decimal(str(self.raw(pol, name)["value"]))
        except InvalidOperation as error:
            raise RuleSetError(f"policy {pol}/{name} is not a number") from error

    def integer(self, pol: str, name: str) -> int:
        """Return a whole number."""
        number = self.number(pol, name)
        if number != number.to_integral_value():
            raise RuleSetError(f"policy {pol}/{name} is not a whole number")
        return int(number)

    def share(self, pol: str, name: str) -> Decimal:
        """Return a parameter of unit % as a number between 0 and 1."""
        if self.raw(pol, name)["unit"] != "%":
            raise RuleSetError(f"policy {pol}/{name} is not a percentage")
        return self.number(pol, name) / 100

    def span(self, pol: str, name: str) -> timedelta:
        """Return a parameter of unit d, h, min or s as a time span."""
        unit = self.raw(pol, name)["unit"]
        if unit not in _SPAN:
            raise RuleSetError(f"policy {pol}/{name} is not a time span")
        return timedelta(seconds=self.integer(pol, name) * _SPAN[unit])

    def text(self, pol: str, name: str) -> str:
        """Return a parameter that is a code or a word."""
        return str(self.raw(pol, name)["value"])
