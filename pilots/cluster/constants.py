"""The calibration record: fitted constants per family and software, what they rest on, their range and interval."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from pilots.cluster import measured
from pilots.cluster.measured import Tables

FILE: Final = Path(__file__).parent / "data" / "calibration.json"


@cache
def record() -> dict[str, Any]:
    """Return the calibration in use."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def constants_of(known: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the constants of every key of a record as numbers."""
    return {
        key: {name: float(text) for name, text in item["constants"].items()}
        for key, item in known["keys"].items()
    }


def tables_of(known: Mapping[str, Any]) -> dict[str, Tables]:
    """Return the tables of known systems of every key of a record."""
    return {key: measured.from_json(item.get("tables", {})) for key, item in known["keys"].items()}


@cache
def tables() -> dict[str, Tables]:
    """Return the tables in use."""
    return tables_of(record())


@cache
def constants() -> dict[str, dict[str, float]]:
    """Return the constants in use."""
    return constants_of(record())
