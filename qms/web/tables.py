"""The context of the table component. Pure preparation, no rules."""

from __future__ import annotations

from typing import Any


def table(label: str, columns: list[tuple[str, bool]], rows: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the context of the table component; columns: (label, numeric); the first cell heads its row."""
    filled = [
        {
            "cells": [
                {"label": name, "numeric": numeric, "header": index == 0, **cell}
                for index, ((name, numeric), cell) in enumerate(zip(columns, row, strict=True))
            ]
        }
        for row in rows
    ]
    return {
        "label": label,
        "columns": [{"label": name, "numeric": numeric} for name, numeric in columns],
        "rows": filled,
    }
