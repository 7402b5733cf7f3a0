"""The form of the effort of porting: person days and, for a zero, a reason, for each category."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from pilots.choices import EFFORT_LABELS
from pilots.services.porting import MAX_DAYS, Effort


class EffortForm(forms.Form):
    """One number and one text for each category of spec S086."""

    def __init__(self, *args: Any, entered: Mapping[str, Effort], **kwargs: Any) -> None:
        """Start with what was entered before, and never with a number nobody entered."""
        super().__init__(*args, **kwargs)
        for category in EFFORT_LABELS:
            before = entered.get(category)
            self.fields[f"days_{category}"] = forms.DecimalField(
                label=lazy("%(name)s: Personentage") % {"name": EFFORT_LABELS[category]},
                min_value=Decimal(0),
                max_value=MAX_DAYS,
                decimal_places=1,
                localize=True,
                initial=before.days if before else None,
            )
            self.fields[f"reason_{category}"] = forms.CharField(
                label=lazy("%(name)s: Begründung, nur bei 0 nötig") % {"name": EFFORT_LABELS[category]},
                required=False,
                max_length=300,
                initial=before.reason if before else "",
            )
            self.fields[f"reason_{category}"].asked_later = True  # type: ignore[attr-defined]  # field template

    def clean(self) -> dict[str, Any]:
        """Ask for the reason of a zero at its field."""
        values = super().clean() or {}
        for category in EFFORT_LABELS:
            days, reason = values.get(f"days_{category}"), values.get(f"reason_{category}", "")
            if days == 0 and not reason.strip():
                self.add_error(
                    f"reason_{category}", _("Bitte begründen Sie, warum hier kein Aufwand entsteht.")
                )
        return values

    @property
    def efforts(self) -> dict[str, Effort]:
        """What was entered, by category."""
        values = self.cleaned_data
        return {
            category: Effort(values[f"days_{category}"], values[f"reason_{category}"])
            for category in EFFORT_LABELS
        }
