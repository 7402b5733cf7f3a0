"""Enumerations whose members carry a translated label beside the stored code (architecture, decision 15)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

from django.utils.functional import Promise
from django.utils.translation import get_language


class Coded(StrEnum):
    """A code of the catalogue with its label: `DRAFT = "ENTWURF", _("Entwurf")`."""

    label: Promise | str

    def __new__(cls, value: str, label: Promise | str = "") -> Self:
        """Make a member; the label is no part of the value, so codes compare and store as plain text."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.label = label
        return member


def localized(row: Mapping[str, Any], field: str) -> str:
    """Return `row[field + "_en"]` if English is active and present, else the German text `row[field + "_de"]`."""
    if (get_language() or "de").startswith("en") and row.get(f"{field}_en"):
        return str(row[f"{field}_en"])
    return str(row[f"{field}_de"])
