"""The form of the list of deviations: up to five rows, each complete or empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from pilots.services.deviations import LONGEST, MOST, Deviation
from qms.workloads.choices import DeviationField

TEXTS: Final = {
    "baseline": lazy("Vergleichsbasis"),
    "target": lazy("Ziellauf"),
    "reason": lazy("Warum ist das so?"),
    "effect": lazy("Was ändert es am Ergebnis?"),
}


class DeviationsForm(forms.Form):
    """Fields `field_N` and one for each text, for row N from 1."""

    def __init__(self, *args: Any, listed: Sequence[Mapping[str, str]], **kwargs: Any) -> None:
        """listed: what stands in the manifest now."""
        super().__init__(*args, **kwargs)
        choices = [("", lazy("keine")), *((item.value, item.label) for item in DeviationField)]
        for place in range(1, MOST + 1):
            before = listed[place - 1] if place <= len(listed) else {}
            self.fields[f"field_{place}"] = forms.ChoiceField(
                label=lazy("Abweichung"), choices=choices, required=False, initial=before.get("field", "")
            )
            for name, label in TEXTS.items():
                self.fields[f"{name}_{place}"] = forms.CharField(
                    label=label, required=False, max_length=LONGEST, initial=before.get(name, "")
                )
        for field in self.fields.values():
            field.asked_later = True  # type: ignore[attr-defined]  # read by the field template

    def clean(self) -> dict[str, Any]:
        """Ask for what is missing in a row that somebody began."""
        values = super().clean() or {}
        for place in range(1, MOST + 1):
            names = [f"{name}_{place}" for name in ("field", *TEXTS)]
            if any(values.get(name) for name in names):
                for name in names:
                    if not values.get(name) and name not in self.errors:
                        self.add_error(name, _("Bitte ergänzen Sie die Angabe, oder leeren Sie die Zeile."))
        return values

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The fields of each row; open: somebody filled it, so that the page does not fold it."""
        found = [[self[f"{name}_{place}"] for name in ("field", *TEXTS)] for place in range(1, MOST + 1)]
        return [{"fields": row, "open": any(field.value() or field.errors for field in row)} for row in found]

    @property
    def deviations(self) -> list[Deviation]:
        """What was entered."""
        given = self.cleaned_data
        return [
            Deviation(
                DeviationField(given[f"field_{place}"]), *(given[f"{name}_{place}"].strip() for name in TEXTS)
            )
            for place in range(1, MOST + 1)
            if given[f"field_{place}"]
        ]
