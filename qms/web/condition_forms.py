"""Fields of the conditions on screen 8, one group per open criterion, and the forms of their fulfilment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.approvals.choices import Meaning, Severity
from qms.approvals.conditions import ConditionWording
from qms.evidence.models import EvidenceItem
from qms.gates.report import CriterionReport
from qms.roles.models import Person
from qms.web.widgets import ChoiceCards
from qms.web.workload_fields import DayField

TEXT_MAX: Final = 1000
_POSTED: Final = re.compile(r"\Aauflage_(G\d-\d{1,2})_text\Z")


@dataclass(frozen=True, slots=True)
class Group:
    """The fields of one condition under the criterion it covers."""

    id: str
    title: str
    fields: list[forms.BoundField]


@dataclass(frozen=True, slots=True)
class Basis:
    """What conditions may be given on: open W criteria, who may own one, the days proposed and latest (POL-21).

    grace: working days of grace of the severity NORMAL (POL-47).
    """

    coverable: Sequence[CriterionReport] = ()
    owners: Sequence[Person] = ()
    proposed: date | None = None
    latest: date | None = None
    grace: int = 0

    def criteria(self, data: Mapping[str, Any] | None) -> list[str]:
        """Return the criteria with fields: what can be covered, and whatever was sent beyond that."""
        offered = [item.row.id for item in self.coverable]
        sent = [found[1] for key in data or () if (found := _POSTED.match(key))]
        return [*offered, *(name for name in sent if name not in offered)]


NOTHING: Final = Basis()
"""No condition is possible."""


def fields(basis: Basis, criterion: str) -> dict[str, forms.Field]:
    """Return the fields of a condition on `criterion`; whether they are needed depends on the decision.

    Where none is offered only the text is read, so that the command can name what refuses it.
    """
    if criterion not in {item.row.id for item in basis.coverable}:
        return {f"auflage_{criterion}_text": forms.CharField(required=False, max_length=TEXT_MAX)}
    owners = [(str(person.pk), person.display_name) for person in basis.owners]
    until = {"latest": f"{basis.latest:%d.%m.%Y}"} if basis.latest else {"latest": ""}
    found: dict[str, forms.Field] = {
        "text": forms.CharField(
            label=_("Auflage"),
            widget=forms.Textarea(attrs={"rows": 2}),
            max_length=TEXT_MAX,
            help_text=_("Was bis wann nachgeholt wird. Erscheint im signierten Dokument."),
        ),
        "measure": forms.CharField(
            label=_("Erfüllt, wenn"),
            max_length=400,
            help_text=_("Woran die Prüfung es misst. Beispiel: zwei Alternativen mit Begründung liegen vor."),
        ),
        "owner": forms.ChoiceField(
            label=_("Verantwortliche Person"), choices=[("", _("Bitte wählen")), *owners]
        ),
        "due": DayField(label=_("Fällig am"), help_text=_("Spätestens am %(latest)s (POL-21).") % until),
        "severity": forms.ChoiceField(
            label=_("Schwere"),
            choices=[(item.value, item.label) for item in Severity],
            widget=ChoiceCards(hints=_hints(basis)),
        ),
    }
    for field in found.values():
        field.required = False
        field.asked_later = True  # type: ignore[attr-defined]  # read by the field template: needed with one decision
    if basis.proposed:
        found["due"].initial = basis.proposed
        found["due"].proposed = True  # type: ignore[attr-defined]
    return {f"auflage_{criterion}_{name}": field for name, field in found.items()}


def _hints(basis: Basis) -> dict[str, str]:
    normal = _("Überfällig: nach %(days)d Werktagen Nachfrist nicht mehr wirksam.") % {"days": basis.grace}
    return {
        Severity.NORMAL.value: normal,
        Severity.HIGH.value: _("Überfällig: sofort nicht mehr wirksam."),
        Severity.IMMEDIATE.value: _("Ohne Aufschub zu beginnen; überfällig: sofort nicht mehr wirksam."),
    }


def missing(cleaned: Mapping[str, Any], criteria: Iterable[str]) -> dict[str, str]:
    """Return a sentence for each field that a condition on one of `criteria` lacks."""
    sentences = {
        "text": _("Bitte beschreiben Sie die Auflage."),
        "measure": _("Bitte sagen Sie, woran die Erfüllung gemessen wird."),
        "owner": _("Bitte wählen Sie eine verantwortliche Person."),
        "due": _("Bitte geben Sie die Frist an."),
        "severity": _("Bitte wählen Sie die Schwere."),
    }
    keys = [
        (f"auflage_{criterion}_{name}", text) for criterion in criteria for name, text in sentences.items()
    ]
    return {key: text for key, text in keys if not cleaned.get(key)}


def wordings(cleaned: Mapping[str, Any], criteria: Iterable[str]) -> tuple[ConditionWording, ...]:
    """Return the conditions that were written."""
    found = []
    for criterion in criteria:
        value = {
            name: cleaned.get(f"auflage_{criterion}_{name}")
            for name in ("text", "measure", "owner", "due", "severity")
        }
        if not value["text"]:
            continue
        found.append(
            ConditionWording(
                criterion,
                value["text"],
                value["measure"] or "",
                UUID(value["owner"]) if value["owner"] else None,
                value["due"],
                Severity(value["severity"]) if value["severity"] else None,
            )
        )
    return tuple(found)


class ProofForm(forms.Form):
    """The proof of one condition: in words, and a piece of evidence of the workload if there is one."""

    text = forms.CharField(
        label=lazy("Womit ist die Auflage erfüllt?"),
        widget=forms.Textarea(attrs={"rows": 3}),
        max_length=2000,
        help_text=lazy("Steht nach der Bestätigung im signierten Nachtrag."),
        error_messages={"required": lazy("Bitte beschreiben Sie, womit die Auflage erfüllt ist.")},
    )
    evidence = forms.ChoiceField(label=lazy("Nachweis des Workloads"), required=False)

    def __init__(self, *args: Any, items: Sequence[EvidenceItem], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["evidence"]
        if isinstance(field, forms.ChoiceField):
            rows = [(str(item.pk), f"{item.type} {item.title}") for item in items]
            field.choices = [("", _("keiner")), *rows]

    @property
    def evidence_id(self) -> UUID | None:
        """Return the chosen piece of evidence."""
        return UUID(self.cleaned_data["evidence"]) if self.cleaned_data["evidence"] else None


class AddendumForm(forms.Form):
    """What the person who completes a conditional approval adds: a remark and the meaning of the signature."""

    reason = forms.CharField(
        label=lazy("Bemerkung"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        max_length=2000,
        help_text=lazy("Erscheint im signierten Nachtrag."),
    )
    meaning = forms.ChoiceField(
        label=lazy("Bedeutung Ihrer Unterschrift"),
        choices=[("", lazy("Bitte wählen")), (Meaning.REVIEWED.value, Meaning.REVIEWED.label)],
        help_text=lazy("Sie steht mit Ihrem Namen im signierten Dokument."),
        error_messages={"required": lazy("Bitte wählen Sie die Bedeutung Ihrer Unterschrift (G7-10).")},
    )
