"""The form that changes what is known about a claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as lazy

from qms.evidence.claim_choices import ClaimStatus
from qms.evidence.claim_services import ClaimChange
from qms.evidence.claims import Entry
from qms.evidence.models import EvidenceItem
from qms.web.workload_fields import DayField

if TYPE_CHECKING:
    _Choice = forms.ModelChoiceField[EvidenceItem]
else:
    _Choice = forms.ModelChoiceField

CHOICES: Final = [(item.value, item.label) for item in ClaimStatus if item is not ClaimStatus.OPINION]


class EvidenceField(_Choice):
    """Evidence by type, title and workload."""

    def label_from_instance(self, obj: Any) -> str:
        """Return how one item is named in the list."""
        return f"{obj.type} {obj.title} ({obj.holder})"


class ClaimForm(forms.Form):
    """Status, reason, the evidence it rests on, and when it is looked at again."""

    status = forms.ChoiceField(label=lazy("Was ist über die Aussage bekannt?"), choices=CHOICES)
    reason = forms.CharField(
        label=lazy("Warum?"),
        widget=forms.Textarea(attrs={"rows": 3}),
        max_length=1000,
        help_text=lazy("Ein Satz: woran man es sieht und unter welchen Bedingungen es gilt."),
    )
    evidence = EvidenceField(
        label=lazy("Welcher Nachweis zeigt es?"),
        required=False,
        queryset=EvidenceItem.objects.none(),
        empty_label=lazy("keiner"),
        help_text=lazy(
            "„Gemessen, bestätigt“ und „widerlegt“ verlangen einen geprüften, gemessenen Nachweis."
        ),
    )
    next_review = DayField(
        label=lazy("Wann wird sie wieder geprüft?"),
        required=False,
        help_text=lazy("Leer lassen für die längste Frist."),
    )
    version = forms.IntegerField(widget=forms.HiddenInput, min_value=0)

    def __init__(self, data: Any = None, *, entry: Entry, choices: QuerySet[EvidenceItem]) -> None:
        """Fill from what is stored; before anybody changed it, propose what the emulator says."""
        super().__init__(data, initial=_initial(entry))
        field = self.fields["evidence"]
        if isinstance(field, forms.ModelChoiceField):
            field.queryset = choices
        if entry.stored is None and entry.emulator is not None:
            for name in ("status", "reason"):
                self.fields[name].proposed = True  # type: ignore[attr-defined]  # field template

    def to_change(self) -> ClaimChange:
        """Return what the command takes."""
        data = self.cleaned_data
        item = data["evidence"]
        return ClaimChange(
            status=ClaimStatus(data["status"]),
            reason=data["reason"],
            version=data["version"],
            evidence_id=item.pk if item else None,
            next_review=data["next_review"],
        )


def _initial(entry: Entry) -> dict[str, Any]:
    values: dict[str, Any] = {"version": entry.version, "status": entry.status.value}
    if entry.stored is not None:
        return values | {"reason": entry.stored.reason, "evidence": entry.stored.evidence_id}
    if entry.emulator is not None:
        return values | {"status": entry.emulator.status.value, "reason": entry.emulator.sentence_de}
    return values
