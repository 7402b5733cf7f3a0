"""Form of the page "Takt für Takt": what to look at, and how large."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from pilots.catalog import fabric_view
from pilots.catalog.whatif import NotAnswered

FIRST: Final = "chain"
ELEMENTS: Final = {
    "line": _("Elemente der Zeile"),
    "square": _("Elemente je Seite"),
    "free": _("Elemente nebeneinander"),
}


UNKNOWN: Final = _("Diesen Ablauf gibt es nicht; bitte wählen Sie einen aus der Liste.")


class FabricForm(forms.Form):
    """Which kernel, on how many elements; what is not said is proposed. A valid form has its answer in `seen`."""

    ablauf = forms.ChoiceField(
        label=_("Welcher Ablauf"),
        choices=[(name, name) for name in fabric_view.SHOWS],
        widget=forms.HiddenInput,
        error_messages=dict.fromkeys(("required", "invalid_choice"), UNKNOWN),
    )
    breite = forms.IntegerField(min_value=1)
    hoehe = forms.IntegerField(label=_("Elemente untereinander"), min_value=1)
    groesse = forms.IntegerField(label=_("Größe der Aufgabe je Element"), min_value=1)
    zahlentyp = forms.ChoiceField(label=_("Zahlentyp"), choices=[(name, name) for name in fabric_view.DTYPES])

    def __init__(self, query: Mapping[str, str]) -> None:
        """Fill the gaps of a query with what the kernel is usually shown with, and leave out what it does not ask."""
        name = query.get("ablauf", FIRST)
        self.show = show = fabric_view.SHOWS.get(name, fabric_view.SHOWS[FIRST])
        usual = dict(zip(("breite", "hoehe", "groesse"), show.usual, strict=True))
        proposed = {"ablauf": FIRST, **usual, "zahlentyp": fabric_view.DTYPES[0]}
        super().__init__({**proposed, **{key: query[key] for key in proposed if key in query}})
        limits = {
            "breite": (show.smallest, show.largest),
            "hoehe": (show.smallest, show.largest),
            "groesse": (1, show.sizes),
        }
        for key, (low, high) in limits.items():
            self._limit(key, low, high)
        self.fields["breite"].label = ELEMENTS[show.sides]
        if show.sides != "free":
            del self.fields["hoehe"]
        if not show.op:
            del self.fields["zahlentyp"]
        self.wanted: fabric_view.Wanted | None = None
        self.seen: fabric_view.Seen | None = None

    def _limit(self, key: str, low: int, high: int) -> None:
        limits = {"low": low, "high": high}
        self.fields[key] = forms.IntegerField(
            label=self.fields[key].label,
            min_value=low,
            max_value=high,
            help_text=_("%(low)s bis %(high)s") % limits,
        )

    def clean(self) -> dict[str, Any]:
        """Run what is asked for."""
        values = super().clean() or {}
        if self.errors:
            return values
        height = values.get("hoehe", 1)
        dtype = values.get("zahlentyp", fabric_view.DTYPES[0])
        self.wanted = fabric_view.Wanted(values["ablauf"], values["breite"], height, values["groesse"], dtype)
        try:
            self.seen = fabric_view.watch(self.wanted)
        except NotAnswered as error:
            self.add_error(None, error.message_de)
        return values

    def query(self) -> dict[str, str]:
        """Return what was asked, as a query says it."""
        return {key: str(self.cleaned_data[key]) for key in self.fields}
