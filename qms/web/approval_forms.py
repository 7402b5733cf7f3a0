"""Forms of request, review, decision and evidence. Nothing is chosen beforehand; the rules stand in the commands."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.approvals.choices import ApprovalType, Decision, Meaning, VoteValue
from qms.approvals.documents import Wording
from qms.approvals.services.reviews import SubjectAnswer
from qms.evidence.choices import EvidenceType
from qms.gates.rule_rows import Subject
from qms.web import condition_forms
from qms.web.widgets import ChoiceCards

PURPOSE_MAX = 400


def _area(rows: int = 4) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows})


_DECISIONS: Final = (
    (Decision.APPROVE.value, lazy("Freigeben")),
    (Decision.APPROVE_WITH_CONDITIONS.value, lazy("Bedingt freigeben")),
    (Decision.REJECT.value, lazy("Ablehnen")),
)
_DECISION_MEANINGS: Final = (Meaning.APPROVED, Meaning.CONDITIONALLY_APPROVED, Meaning.REJECTED)


def _meanings(*meanings: Meaning) -> list[tuple[str, Any]]:
    return [("", lazy("Bitte wählen")), *((item.value, item.label) for item in meanings)]


class MeaningField(forms.ChoiceField):
    """Meaning of the signature: the person chooses it, so the first entry is empty (spec 5.2)."""

    def __init__(self, *meanings: Meaning) -> None:
        super().__init__(
            label=lazy("Bedeutung Ihrer Unterschrift"),
            choices=_meanings(*meanings),
            help_text=lazy("Sie steht mit Ihrem Namen im signierten Dokument."),
            error_messages={"required": lazy("Bitte wählen Sie die Bedeutung Ihrer Unterschrift (G7-10).")},
        )


class RequestForm(forms.Form):
    """Screen 6 asks nothing; the type travels hidden."""

    type = forms.ChoiceField(
        choices=[(item.value, item.label) for item in ApprovalType],
        widget=forms.HiddenInput,
        initial=ApprovalType.PRELIMINARY.value,
    )

    @property
    def approval_type(self) -> ApprovalType:
        """Return the type that is requested."""
        return ApprovalType(self.cleaned_data["type"])


class LockableCards(ChoiceCards):
    """Cards of which some are shown but cannot be chosen; the server refuses them all the same."""

    locked: frozenset[str] = frozenset()

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Disable what is locked."""
        option = super().create_option(name, value, *args, **kwargs)
        if str(value) in self.locked:
            option["attrs"]["disabled"] = True
        return option


class TextForm(forms.Form):
    """One text: a question, its answer, or the reason for giving back or withdrawing."""

    text = forms.CharField(widget=_area(), max_length=4000)

    def __init__(self, *args: Any, label: str, missing: str, help_text: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["text"].label = label
        self.fields["text"].help_text = help_text
        self.fields["text"].error_messages["required"] = missing

    @property
    def text_value(self) -> str:
        """Return what was written."""
        return str(self.cleaned_data["text"])


class ReviewForm(forms.Form):
    """Screen 7: one answer per subject the rule set asks, reason, meaning."""

    reason = forms.CharField(
        label=lazy("Begründung"),
        required=False,
        widget=_area(),
        max_length=2000,
        help_text=lazy("Nötig bei einer Ablehnung. Erscheint im signierten Dokument."),
    )
    compared_with = forms.CharField(
        label=lazy("Womit haben Sie die Nachweise verglichen?"),
        required=False,
        max_length=400,
        help_text=lazy(
            "Zum Beispiel mit der Ausgabedatei des Messwerkzeugs, bei Kosten mit Angebot und Rechnung. Steht im Audit-Protokoll."
        ),
    )
    meaning = MeaningField(Meaning.REVIEWED)

    def __init__(self, *args: Any, subjects: tuple[Subject, ...], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.subjects = subjects
        for subject in subjects:
            self.fields[f"subject_{subject.code}"] = forms.ChoiceField(
                label=subject.name,
                choices=[(VoteValue.AGREE.value, _("Zustimmen")), (VoteValue.REFUSE.value, _("Ablehnen"))],
                widget=ChoiceCards,
                error_messages={"required": _("Bitte antworten Sie zu %(name)s.") % {"name": subject.name}},
            )
        self.order_fields(
            [*(f"subject_{item.code}" for item in subjects), "reason", "compared_with", "meaning"]
        )

    @property
    def answers(self) -> tuple[SubjectAnswer, ...]:
        """Return the answers; the one reason stands with every refusal."""
        found = []
        for subject in self.subjects:
            value = VoteValue(self.cleaned_data[f"subject_{subject.code}"])
            reason = self.cleaned_data["reason"] if value is VoteValue.REFUSE else ""
            found.append(SubjectAnswer(subject.code, value, reason))
        return tuple(found)


class DecisionForm(forms.Form):
    """Screen 8: decision, conditions, reason, for a no the alternative, meaning. What is not possible is locked."""

    decision = forms.ChoiceField(
        label=lazy("Ihre Entscheidung"),
        widget=LockableCards,
        choices=_DECISIONS,
        error_messages={"required": lazy("Bitte wählen Sie Ihre Entscheidung.")},
    )
    reason = forms.CharField(
        label=lazy("Begründung"),
        widget=_area(),
        max_length=2000,
        help_text=lazy("Pflichtfeld. Erscheint im signierten Dokument."),
        error_messages={
            "required": lazy(
                "Bitte begründen Sie die Entscheidung; die Begründung steht im signierten Dokument."
            )
        },
    )
    alternative = forms.CharField(
        label=lazy("Empfohlene Alternative"),
        required=False,
        max_length=300,
        help_text=lazy("Nur bei einer Ablehnung, dort nötig. Zum Beispiel: bisherige Plattform behalten."),
    )
    meaning = MeaningField(*_DECISION_MEANINGS)

    def __init__(
        self,
        *args: Any,
        possible: tuple[Decision, ...] = tuple(Decision),
        basis: condition_forms.Basis = condition_forms.NOTHING,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        widget = self.fields["decision"].widget
        if isinstance(widget, LockableCards):
            widget.locked = frozenset({item.value for item in Decision} - set(possible))
        conditional = Decision.APPROVE_WITH_CONDITIONS
        if conditional not in possible and self.data.get("decision") != conditional:
            self._leave_out(conditional.value)
        self.basis, self._plain = basis, list(self.fields)
        self._criteria = basis.criteria(self.data)
        for criterion in self._criteria:
            self.fields.update(condition_forms.fields(basis, criterion))

    def _leave_out(self, code: str) -> None:
        """Offer no decision and no meaning of `code`: where no condition could help, none is spoken of."""
        for name, choices in (("decision", _DECISIONS), ("meaning", _meanings(*_DECISION_MEANINGS))):
            field = self.fields[name]
            if isinstance(field, forms.ChoiceField):
                field.choices = [(value, label) for value, label in choices if value != code]

    def before(self) -> list[forms.BoundField]:
        """Return the decision, which comes before the conditions."""
        return [self["decision"]]

    def after(self) -> list[forms.BoundField]:
        """Return what comes after the conditions."""
        return [self[name] for name in self._plain if name != "decision"]

    def groups(self) -> list[condition_forms.Group]:
        """Return the fields of the conditions that can be given, by criterion."""
        return [
            condition_forms.Group(
                item.row.id,
                item.row.title,
                [self[name] for name in self.fields if name.startswith(f"auflage_{item.row.id}_")],
            )
            for item in self.basis.coverable
        ]

    def clean(self) -> dict[str, Any]:
        """Ask for whole conditions only where they are given."""
        cleaned = super().clean() or {}
        if cleaned.get("decision") == Decision.APPROVE_WITH_CONDITIONS.value:
            offered = [item.row.id for item in self.basis.coverable]
            for name, text in condition_forms.missing(cleaned, offered).items():
                if name not in self.errors:
                    self.add_error(name, text)
        return cleaned

    def wording(self) -> Wording:
        """Return what the approver chose."""
        values = self.cleaned_data
        return Wording(
            Decision(values["decision"]),
            values["reason"],
            Meaning(values["meaning"]),
            values["alternative"],
            condition_forms.wordings(values, self._criteria),
        )


class ActForm(forms.Form):
    """The answer to a challenge: what the passkey said, or password and code; the draft it belongs to, if any."""

    challenge = forms.UUIDField()
    draft = forms.CharField(required=False)
    response = forms.CharField(required=False)
    password = forms.CharField(required=False, strip=False)
    code = forms.CharField(required=False)
    software = forms.CharField(required=False)


# What a person compares with, by type of evidence; every other type was measured or computed.
_BOOKED: Final = lazy(
    "Zum Beispiel mit Angebot, Rechnung oder Auftragsliste. Hebt die Absicherung auf „gegengeprüft“."
)
_STATED: Final = lazy(
    "Zum Beispiel mit dem Beleg, den die Zeile nennt. Hebt die Absicherung auf „gegengeprüft“."
)
COMPARED_WITH: Final = {
    EvidenceType.COSTS: _BOOKED,
    EvidenceType.DEMAND: _BOOKED,
    EvidenceType.OFFER: lazy(
        "Zum Beispiel mit dem vorliegenden Angebot oder Vertrag. Hebt die Absicherung auf „gegengeprüft“."
    ),
    EvidenceType.LEVELS: _STATED,
    EvidenceType.ENVIRONMENT: _STATED,
    EvidenceType.CAPABILITY: _STATED,
}


class EvidenceReviewForm(forms.Form):
    """Acceptance of one piece of evidence by itself; kind: its type, which says what to compare it with."""

    accept = forms.ChoiceField(
        label=lazy("Ihr Ergebnis"),
        widget=ChoiceCards,
        choices=[("ja", lazy("Annehmen")), ("nein", lazy("Ablehnen"))],
        error_messages={"required": lazy("Bitte wählen Sie Annehmen oder Ablehnen.")},
    )
    compared_with = forms.CharField(
        label=lazy("Womit haben Sie verglichen?"),
        required=False,
        max_length=400,
        help_text=lazy(
            "Zum Beispiel mit der Ausgabedatei des Messwerkzeugs. Hebt die Absicherung auf „gegengeprüft“."
        ),
    )
    reason = forms.CharField(
        label=lazy("Begründung"),
        required=False,
        widget=_area(3),
        max_length=2000,
        help_text=lazy("Nötig bei einer Ablehnung."),
    )

    def __init__(self, *args: Any, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["compared_with"]
        field.help_text = COMPARED_WITH.get(EvidenceType(kind), field.help_text)


class ExportForm(forms.Form):
    """Why an audit export is asked for, and whether clear texts go with it."""

    purpose = forms.CharField(
        label=lazy("Wozu brauchen Sie den Export?"),
        max_length=PURPOSE_MAX,
        error_messages={"required": lazy("Ein Export braucht einen Zweck.")},
        help_text=lazy(
            "Steht im Paket und im Audit-Protokoll. Beispiel: Überwachungsaudit 2027, Stichprobe Freigaben"
        ),
    )
    with_disclosures = forms.BooleanField(
        label=lazy("Klartext zu Begründungen und Zwecken beilegen"),
        required=False,
        help_text=lazy("Ohne Klartext enthält das Paket dazu nur Prüfwerte; es bleibt vollständig prüfbar."),
    )
