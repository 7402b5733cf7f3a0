"""The form of the page "Kosten und Auslastung": a short part, and one amount for each category and side."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from pilots.catalog.costs import (
    ASKED,
    COMPUTE,
    CYCLE_PARTS,
    Basis,
    Capacity,
    CommercialModel,
    CostsEntry,
    LineEntry,
    RunHours,
    SideEntry,
)
from pilots.services.costs import SIDES
from qms.core import formats
from qms.core.values import Provenance
from qms.web.costs_names import CAPACITY, CATEGORIES, CYCLE, MODELS
from qms.web.evidence_costs import hours as hours_text
from qms.web.evidence_costs import month_name
from qms.web.workload_fields import DayField, NumberField

BASES: Final[dict[Basis, Promise]] = {
    Basis.HOUR: lazy("je Stunde"),
    Basis.UNIT: lazy("je Ergebnis"),
    Basis.MONTH: lazy("im Monat"),
    Basis.ONCE: lazy("einmalig"),
}
LINE_LABELS: Final[dict[str, Promise | str]] = {
    "amount": lazy("%(name)s: Betrag in €"),
    "basis": lazy("%(name)s: wofür"),
    "note": lazy("%(name)s: Quelle, bei 0 die Begründung"),
    "date": lazy("%(name)s: Preisstand"),
    "provenance": lazy("%(name)s: Herkunft"),
}
COMPUTE_LABELS: Final[dict[str, Promise | str]] = LINE_LABELS | {
    "amount": lazy("Preis der Rechenzeit in €, für die ganze Plattform"),
    "basis": lazy("Wofür gilt der Preis?"),
    "note": lazy("Begründung, nur bei Preis 0 nötig"),
}
OTHERS: Final = tuple(code for code in ASKED if code != COMPUTE)
MAX_AMOUNT: Final[dict[str, Any]] = {"max_digits": 18, "decimal_places": 6, "min_value": Decimal(0)}
LINE_PARTS: Final = ("amount", "basis", "note", "date", "provenance")
SHORT: Final = ("capacity", "hours", "paid_hours", f"{COMPUTE}_amount", f"{COMPUTE}_basis")
PRICED: Final = ("source", "date", "provenance")
CONTRACT: Final = ("commercial_model", "term_months", *CYCLE_PARTS)


@dataclass(frozen=True)
class Cell:
    """The fields of one category on one side."""

    amount: forms.BoundField
    basis: forms.BoundField
    note: forms.BoundField
    date: forms.BoundField
    provenance: forms.BoundField

    @property
    def open(self) -> bool:
        """Whether one of the folded fields is wrong, so that the page opens them."""
        return any(part.errors for part in (self.note, self.date, self.provenance))


class CostsForm(forms.Form):
    """What the command takes. months: "2026-08", newest first; measured: run times by side that need no typing."""

    units_per_month = NumberField(
        label=lazy("Wie viele Ergebnisse braucht der Workload im Monat?"),
        **MAX_AMOUNT,
        help_text=lazy("Die erwartete Menge, zum Beispiel 45 Läufe."),
    )
    result_unit = forms.CharField(
        label=lazy("Was zählt als ein Ergebnis?"),
        max_length=40,
        help_text=lazy("Zum Beispiel: Lauf, 1.000 Token, Auswertung."),
    )
    volume_per_unit = NumberField(
        label=lazy("Wie viele Samples oder Token verarbeitet ein Ergebnis?"),
        required=False,
        **MAX_AMOUNT,
        help_text=lazy(
            "Daraus folgt die Rechenzeit aus dem gemessenen Durchsatz; die Stunden dürfen dann leer bleiben."
        ),
    )
    demand_source = forms.CharField(
        label=lazy("Woher stammt diese Menge?"),
        max_length=200,
        help_text=lazy("Zum Beispiel: Auftragsplan 2027, Abrechnung der letzten Monate."),
    )
    business_reason = forms.CharField(
        label=lazy("Warum ist kürzere Zeit mehr wert als der Preis?"),
        required=False,
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=lazy("Nur nötig, wenn das Ziel teurer ist und der Zeitgewinn das aufwiegt."),
    )

    def __init__(
        self,
        data: Any = None,
        *,
        months: Sequence[str],
        initial: Mapping[str, Any],
        proposed: Collection[str],
        measured: Mapping[str, RunHours],
    ) -> None:
        """Start with what was entered before, or with proposals, whose names are marked on the page."""
        super().__init__(data, initial=dict(initial))
        self.months = tuple(months)
        for side, label in SIDES.items():
            self._add_side(side, str(label), measured.get(side))
        for month in self.months:
            self.fields[f"month_{month}"] = NumberField(label=month_name(month), required=False, **MAX_AMOUNT)
        for name in proposed:
            self.fields[name].proposed = not self.is_bound  # type: ignore[attr-defined]  # field template

    def _add_side(self, side: str, label: str, measured: RunHours | None) -> None:
        fields: dict[str, forms.Field] = {
            "capacity": forms.ChoiceField(
                label=lazy("Wie wird bezahlt?"), choices=_options(CAPACITY, _("Bitte wählen"))
            ),
            "hours": NumberField(
                label=lazy("Rechenzeit je Ergebnis in Stunden"),
                required=False,
                **MAX_AMOUNT,
                help_text=_measured(measured),
            ),
            "paid_hours": NumberField(
                label=lazy("Bezahlte Stunden im Monat"),
                required=False,
                **MAX_AMOUNT,
                help_text=lazy("Nur bei reservierter Kapazität. Rund um die Uhr sind es 720."),
            ),
            "source": forms.CharField(
                label=lazy("Woher stammen die Preise?"),
                max_length=200,
                help_text=lazy("Gilt für jeden Betrag dieser Seite, bei dem keine eigene Quelle steht."),
            ),
            "date": DayField(label=lazy("Preisstand")),
            "provenance": forms.ChoiceField(
                label=lazy("Herkunft der Preise"), choices=_provenances(_("Bitte wählen"))
            ),
            "commercial_model": forms.ChoiceField(label=lazy("Vertragsform"), choices=_options(MODELS)),
            "term_months": NumberField(
                label=lazy("Laufzeit in Monaten, über die einmalige Kosten verteilt werden"), **MAX_AMOUNT
            ),
        }
        for part in CYCLE_PARTS:
            name = lazy("%(part)s in Stunden") % {"part": CYCLE[part]}
            fields[part] = NumberField(label=name, required=False, **MAX_AMOUNT)
        for code in ASKED:
            fields |= _line_fields(code, label)
        for name, field in fields.items():
            if not field.required:
                field.asked_later = True  # type: ignore[attr-defined]  # read by the field template
            self.fields[f"{side}_{name}"] = field

    def clean(self) -> dict[str, Any]:
        """Ask for what belongs to a choice: paid hours, the reason of a zero, all times of the cycle."""
        values = super().clean() or {}
        for side in SIDES:
            self._check_hours(side, values)
            self._check_cycle(side, values)
            for code in ASKED:
                self._check_line(f"{side}_{code}", values)
        return values

    def _check_line(self, line: str, values: Mapping[str, Any]) -> None:
        amount = values.get(f"{line}_amount")
        if amount == 0 and not values.get(f"{line}_note"):
            self.add_error(f"{line}_note", _("Null braucht eine Begründung: Warum fällt hier nichts an?"))
        if amount and not values.get(f"{line}_basis") and f"{line}_basis" not in self.errors:
            self.add_error(f"{line}_basis", _("Bitte wählen Sie, wofür der Betrag gilt."))

    def _check_hours(self, side: str, values: Mapping[str, Any]) -> None:
        capacity, paid = values.get(f"{side}_capacity"), values.get(f"{side}_paid_hours")
        if capacity == Capacity.RESERVED and not paid and f"{side}_paid_hours" not in self.errors:
            self.add_error(f"{side}_paid_hours", _("Bitte nennen Sie die bezahlten Stunden im Monat."))
        if capacity == Capacity.PAY_PER_USE and paid is not None:
            sentence = _("Bezahlte Stunden gibt es nur bei reservierter Kapazität; bitte leer lassen.")
            self.add_error(f"{side}_paid_hours", sentence)

    def _check_cycle(self, side: str, values: Mapping[str, Any]) -> None:
        names = [f"{side}_{part}" for part in CYCLE_PARTS]
        if any(values.get(name) is not None for name in names):
            for name in names:
                if values.get(name) is None and name not in self.errors:
                    self.add_error(name, _("Bitte nennen Sie alle vier Zeiten, auch 0, oder keine."))

    def sides(self) -> Iterator[dict[str, Any]]:
        """Yield heading, short fields and folded fields of both sides, for the template."""
        for side, label in SIDES.items():
            folded = [self[f"{side}_{name}"] for name in CONTRACT]
            yield {
                "id": side,
                "label": label,
                "short": [self[f"{side}_{name}"] for name in (*SHORT, f"{COMPUTE}_note", *PRICED)],
                "folded": folded,
                "open": any(field.errors for field in folded),
            }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield every category but compute time with its cells."""
        for code in OTHERS:
            cells = [Cell(*(self[f"{side}_{code}_{part}"] for part in LINE_PARTS)) for side in SIDES]
            yield {"code": code, "name": CATEGORIES[code], "cells": zip(SIDES.values(), cells, strict=True)}

    def history(self) -> list[forms.BoundField]:
        """Return the fields of the past months."""
        return [self[f"month_{month}"] for month in self.months]

    @property
    def history_open(self) -> bool:
        """Whether a past month is wrong, so that the page opens them."""
        return any(field.errors for field in self.history())

    def to_entry(self) -> CostsEntry:
        """Return what the command takes."""
        values = self.cleaned_data
        months = [(month, values.get(f"month_{month}")) for month in self.months]
        return CostsEntry(
            result_unit=values["result_unit"],
            units_per_month=values["units_per_month"],
            baseline=self._side("baseline"),
            target=self._side("target"),
            volume_per_unit=values["volume_per_unit"],
            business_reason=values["business_reason"],
            demand_source=values["demand_source"],
            history=tuple((month, units) for month, units in sorted(months) if units is not None),
        )

    def _side(self, side: str) -> SideEntry:
        values = self.cleaned_data
        lines = {code: self._line(side, code) for code in ASKED}
        cycle = {part: values[f"{side}_{part}"] for part in CYCLE_PARTS}
        return SideEntry(
            capacity=Capacity(values[f"{side}_capacity"]),
            commercial_model=CommercialModel(values[f"{side}_commercial_model"]),
            term_months=values[f"{side}_term_months"],
            hours=values[f"{side}_hours"],
            paid_hours_month=values[f"{side}_paid_hours"],
            cycle={part: value for part, value in cycle.items() if value is not None},
            lines={code: line for code, line in lines.items() if line is not None},
        )

    def _line(self, side: str, code: str) -> LineEntry | None:
        """Return one line, None where nothing was entered; what is not said of it is that of its side."""
        values = {part: self.cleaned_data.get(f"{side}_{code}_{part}") for part in LINE_PARTS}
        amount: Decimal | None = values["amount"]
        if amount is None:
            return None
        note = values["note"] or ""
        return LineEntry(
            amount=amount,
            basis=Basis(values["basis"] or Basis.MONTH),
            source="" if amount == 0 else note or self.cleaned_data[f"{side}_source"],
            reason=note if amount == 0 else "",
            price_date=values["date"] or self.cleaned_data[f"{side}_date"],
            provenance=Provenance(values["provenance"] or self.cleaned_data[f"{side}_provenance"]),
        )


def _line_fields(code: str, side: str) -> dict[str, forms.Field]:
    """Return the fields of a category; in the table they are told apart by a label for readers alone."""
    name = f"{CATEGORIES[code]}, {side}"
    labels: dict[str, Promise | str] = COMPUTE_LABELS if code == COMPUTE else LINE_LABELS
    fields: dict[str, forms.Field] = {
        "amount": NumberField(required=False, money=True, **MAX_AMOUNT),
        "basis": forms.ChoiceField(required=False, choices=_options(BASES, _("wofür?"))),
        "note": forms.CharField(required=False, max_length=300),
        "date": DayField(required=False),
        "provenance": forms.ChoiceField(required=False, choices=_provenances(_("wie oben"))),
    }
    for part, field in fields.items():
        field.label = str(labels[part]) % {"name": name}
        if code != COMPUTE:
            field.widget.attrs["aria-label"] = field.label
    return {f"{code}_{part}": field for part, field in fields.items()}


def _options(labels: Mapping[Any, Any], empty: str = "") -> list[tuple[str, str]]:
    found = [(str(value), str(label)) for value, label in labels.items()]
    return [("", empty), *found] if empty else found


def _provenances(empty: str) -> list[tuple[str, str]]:
    return [("", empty), *((item.value, str(formats.AXIS_WORDS[item])) for item in Provenance)]


def _measured(found: RunHours | None) -> str:
    if found is None:
        return ""
    values = {
        "hours": hours_text(str(found.hours)),
        "origin": formats.AXIS_WORDS[found.provenance],
        "note": f", {found.note}" if found.note else "",
    }
    return _("Aus der Messung folgen %(hours)s (%(origin)s%(note)s); das Feld darf leer bleiben.") % values
