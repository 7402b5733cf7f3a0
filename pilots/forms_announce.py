"""Forms of a target run on a real system: announce it, and hand in its files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, Final

from django import forms
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from pilots.forms_import import FilesField
from pilots.services.announced import TUPLE, Handed
from qms.workloads.choices import PlatformKind
from qms.workloads.models import PlatformProfile

OFFSETS: Final = tuple(range(-12 * 60, 14 * 60 + 1, 30))
"""Offsets from UTC in minutes that a clock can have, in steps of half an hour."""


def real_systems() -> QuerySet[PlatformProfile]:
    """Return the profiles of real wafer-scale systems with their full tuple (T-11, G4-7)."""
    found = PlatformProfile.objects.filter(kind=PlatformKind.WAFER_SCALE, is_emulated=False)
    return found.exclude(reduce(or_, (Q(**{name: ""}) for name in TUPLE)))


class AnnounceForm(forms.Form):
    """On which real system the run will take place."""

    platform = forms.ModelChoiceField(
        label=_("Wafer-Scale-System"),
        queryset=PlatformProfile.objects.none(),
        empty_label=_("Bitte wählen"),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["platform"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = real_systems()


class HandInForm(forms.Form):
    """The files of an announced run, and what they may not say of its start."""

    file = FilesField(
        label=_("Messdateien des Laufs"),
        help_text=_(
            "Bis zu fünf Dateien desselben Laufs, je bis 8\u00a0MiB; die Formate sind die der Vergleichsbasis."
        ),
    )
    number = forms.IntegerField(
        label=_("Nummer des Laufs"),
        required=False,
        min_value=1,
        help_text=_("Nur nötig, wenn eine Datei mehrere Läufe enthält."),
    )
    utc_offset = forms.TypedChoiceField(
        label=_("Zeitzone der Messung"),
        required=False,
        coerce=int,
        empty_value=None,
        choices=lambda: [
            ("", _("steht in der Datei")),
            *((minutes, _offset(minutes)) for minutes in OFFSETS),
        ],
        help_text=_("Nur nötig, wenn die Datei keine Zeitzone nennt."),
    )
    began_at = forms.DateTimeField(
        label=_("Beginn der Messung"),
        required=False,
        input_formats=["%Y-%m-%dT%H:%M", "%d.%m.%Y %H:%M"],
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text=_("Nur nötig, wenn keine Datei ihn nennt; in der Zeitzone darüber."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("number", "utc_offset", "began_at"):
            self.fields[name].asked_later = True  # type: ignore[attr-defined]  # read by the field template

    def clean(self) -> dict[str, Any]:
        """Ask for the zone of a start that a person states."""
        values = super().clean() or {}
        if values.get("began_at") and values.get("utc_offset") is None and "utc_offset" not in self.errors:
            self.add_error("utc_offset", _("Bitte nennen Sie die Zeitzone des Beginns."))
        return values

    @property
    def handed(self) -> Handed:
        """What is handed in."""
        given = self.cleaned_data
        minutes, began_at = given["utc_offset"], given["began_at"]
        offset = None if minutes is None else timedelta(minutes=minutes)
        return Handed(given["file"], given["number"], _in_utc(began_at, offset), offset)


def _in_utc(local: datetime | None, offset: timedelta | None) -> datetime | None:
    """Return a wall time of a zone in UTC; the form read it in the zone of the server, which does not matter here."""
    if local is None or offset is None:
        return None
    return (local.replace(tzinfo=None) - offset).replace(tzinfo=UTC)


def _offset(minutes: int) -> str:
    sign = "+" if minutes >= 0 else "−"
    return f"UTC{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}" if minutes else "UTC"
