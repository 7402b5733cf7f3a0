"""Form widgets of our pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.functional import Promise


class ChoiceCards(forms.RadioSelect):
    """Radio buttons as large cards; `hints` explains choices, by value. Nothing is chosen beforehand by itself."""

    def __init__(self, *args: Any, hints: Mapping[str, str | Promise] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.hints = dict(hints or {})

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Add the hint of the choice to what the template gets."""
        option = super().create_option(name, value, *args, **kwargs)
        return {**option, "hint": self.hints.get(str(value), "")}
