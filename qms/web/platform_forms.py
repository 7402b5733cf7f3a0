"""Forms of what is recorded once at a platform or the organisation; the rules stand in `qms.evidence.holder_facts`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.evidence.holder_choices import (
    CRITERIA_OF,
    SCORES,
    CapabilityArea,
    EnvironmentItem,
    EnvironmentStatus,
    PlatformLevel,
)
from qms.evidence.holder_facts import (
    Capability,
    CapabilityAnswer,
    Entry,
    Environment,
    EnvironmentAnswer,
    LevelRating,
    Levels,
)
from qms.evidence.holders import Recording
from qms.web.workload_fields import DayField, NumberField

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    Words: TypeAlias = str | _StrPromise

TEXT_MAX: Final = 600
NAME_MAX: Final = 120


@dataclass(frozen=True, slots=True)
class Group:
    """Fields that belong together, under one heading."""

    title: str | Promise
    fields: list[forms.BoundField]


class HolderForm(forms.Form):
    """Base: starts with what was recorded last, proposes the end of validity, gives a `Recording`."""

    valid_until = DayField(
        label=lazy("Gültig bis"),
        help_text=lazy("Bis dahin übernehmen Workloads diese Angaben, höchstens ein Jahr (POL-60)."),
    )

    def __init__(self, *args: Any, facts: Mapping[str, Any], latest: date, **kwargs: Any) -> None:
        """facts: what was recorded last, {} before; latest: the last day POL-60 allows."""
        super().__init__(*args, **kwargs)
        self.add_fields()
        self.initial = self.stored(facts) if facts else {}
        if "valid_until" in self.fields:
            self.initial["valid_until"] = latest
            self.fields["valid_until"].proposed = True  # type: ignore[attr-defined]  # read by the field template
            self.order_fields([name for name in self.fields if name != "valid_until"])

    def add_fields(self) -> None:
        """Add the fields that come from a catalogue."""

    def stored(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the initial values that stored facts give."""
        raise NotImplementedError

    def entry(self) -> Entry:
        """Return what was entered; call it for a valid form."""
        raise NotImplementedError

    @property
    def groups(self) -> list[Group]:
        """Return the fields under their headings."""
        raise NotImplementedError

    def recording(self) -> Recording:
        """Return what is handed to the command."""
        return Recording(self.entry(), self.cleaned_data["valid_until"])

    def group(self, title: str | Promise, names: Iterable[str]) -> Group:
        """Return the named fields under a heading."""
        return Group(title, [self[name] for name in names])

    @property
    def _validity(self) -> Group:
        return self.group(lazy("Gültigkeit"), ["valid_until"])


def text_field(label: Words, *, rows: int = 0, required: bool = True, hint: Words = "") -> forms.CharField:
    """Return a field of one line, or of several with `rows`."""
    widget = forms.Textarea(attrs={"rows": rows}) if rows else forms.TextInput()
    longest = TEXT_MAX if rows else NAME_MAX
    return forms.CharField(label=label, max_length=longest, required=required, widget=widget, help_text=hint)


class LevelsForm(HolderForm):
    """Scores by criterion, assessor and evidence of each of the three levels."""

    def add_fields(self) -> None:
        """Add a select for each criterion, assessor and evidence for each level."""
        for level in PlatformLevel:
            for item in CRITERIA_OF[level]:
                self.fields[f"score_{item.value}"] = forms.TypedChoiceField(
                    label=str(item.label),
                    choices=[
                        ("", lazy("nicht bewertet")),
                        *((str(score), text) for score, text in SCORES.items()),
                    ],
                    coerce=int,
                    empty_value=None,
                    required=False,
                )
                self.fields[f"score_{item.value}"].asked_later = True  # type: ignore[attr-defined]  # field template
            name = {"name": level.label}
            self.fields[f"assessor_{level.value}"] = text_field(_("%(name)s: bewertet von") % name)
            self.fields[f"evidence_{level.value}"] = text_field(
                _("%(name)s: Grundlage der Bewertung") % name, rows=2
            )

    def stored(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return scores, assessors and evidence recorded last."""
        found: dict[str, Any] = {}
        for code, row in facts["levels"].items():
            found |= {f"assessor_{code}": row["assessor"], f"evidence_{code}": row["evidence"]}
            found |= {f"score_{one['name']}": one["score"] for one in row["criteria"]}
        return found

    def entry(self) -> Levels:
        """Return the ratings; the score of a level is the lowest of its criteria."""
        values = self.cleaned_data
        return Levels(
            {
                level: LevelRating(
                    {
                        item: values[f"score_{item.value}"]
                        for item in CRITERIA_OF[level]
                        if values[f"score_{item.value}"] is not None
                    },
                    values[f"assessor_{level.value}"],
                    values[f"evidence_{level.value}"],
                )
                for level in PlatformLevel
            }
        )

    @property
    def groups(self) -> list[Group]:
        """Return one group for each level."""
        found = [
            self.group(
                level.label,
                [
                    *(f"score_{item.value}" for item in CRITERIA_OF[level]),
                    f"assessor_{level.value}",
                    f"evidence_{level.value}",
                ],
            )
            for level in PlatformLevel
        ]
        return [*found, self._validity]


class EnvironmentForm(HolderForm):
    """Status, responsible, cost and note of five items."""

    def add_fields(self) -> None:
        """Add four fields for each item."""
        statuses = [("", lazy("Bitte wählen")), *((item.value, item.label) for item in EnvironmentStatus)]
        for item in EnvironmentItem:
            name = {"name": item.label}
            self.fields[f"status_{item.value}"] = forms.ChoiceField(
                label=_("%(name)s: Stand") % name, choices=statuses
            )
            self.fields[f"responsible_{item.value}"] = text_field(_("%(name)s: zuständig") % name)
            self.fields[f"cost_{item.value}"] = NumberField(
                label=_("%(name)s: Kosten in Euro") % name,
                money=True,
                min_value=0,
                decimal_places=2,
                required=False,
            )
            self.fields[f"note_{item.value}"] = text_field(
                _("%(name)s: Anmerkung") % name, required=False, hint=lazy("Bei „entfällt“ nötig.")
            )

    def stored(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the five items recorded last."""
        names = {"status": "status", "responsible": "responsible", "cost": "cost_eur", "note": "note"}
        return {
            f"{field}_{row['item']}": row[name] for row in facts["items"] for field, name in names.items()
        }

    def entry(self) -> Environment:
        """Return the checklist."""
        values = self.cleaned_data
        return Environment(
            {
                item: EnvironmentAnswer(
                    EnvironmentStatus(values[f"status_{item.value}"]),
                    *(values[f"{name}_{item.value}"] for name in ("responsible", "cost", "note")),
                )
                for item in EnvironmentItem
            }
        )

    @property
    def groups(self) -> list[Group]:
        """Return one group for each item."""
        names = ("status", "responsible", "cost", "note")
        found = [
            self.group(item.label, [f"{name}_{item.value}" for name in names]) for item in EnvironmentItem
        ]
        return [*found, self._validity]


class CapabilityForm(HolderForm):
    """Who answers for each of four areas, and what shows it."""

    def add_fields(self) -> None:
        """Add two fields for each area."""
        for area in CapabilityArea:
            name = {"name": area.label}
            self.fields[f"responsible_{area.value}"] = text_field(
                _("%(name)s: zuständig") % name, required=False
            )
            self.fields[f"evidence_{area.value}"] = text_field(
                _("%(name)s: Beleg") % name, rows=2, required=False
            )
            for part in ("responsible", "evidence"):  # G2-4 asks for all of them, a draft for none
                self.fields[f"{part}_{area.value}"].asked_later = True  # type: ignore[attr-defined]  # read by the field template

    def stored(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the four rows recorded last."""
        names = ("responsible", "evidence")
        return {f"{name}_{row['row']}": row[name] for row in facts["rows"] for name in names}

    def entry(self) -> Capability:
        """Return the matrix; an area nobody answers for stays empty."""
        values = self.cleaned_data
        return Capability(
            {
                area: CapabilityAnswer(values[f"responsible_{area.value}"], values[f"evidence_{area.value}"])
                for area in CapabilityArea
            }
        )

    @property
    def groups(self) -> list[Group]:
        """Return one group for each area."""
        found = [
            self.group(area.label, [f"responsible_{area.value}", f"evidence_{area.value}"])
            for area in CapabilityArea
        ]
        return [*found, self._validity]
