"""Screen 2 (Daten): the four plain questions, the changed levels, and the confirmation by another person."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.web.workload_forms import StepForm
from qms.workloads import questions
from qms.workloads.choices import Flag, Level, ObjectClass
from qms.workloads.models import Workload
from qms.workloads.questions import Answers


@dataclass(frozen=True, slots=True)
class Option:
    """One answer on the page: radio button or checkbox, ticked or not."""

    code: str
    text: str
    type: str
    checked: bool
    id: str


@dataclass(frozen=True, slots=True)
class QuestionView:
    """One question on the page with its answers and errors."""

    id: str
    text: str
    hint: str
    options: tuple[Option, ...]
    additional: tuple[Option, ...]
    errors: Any
    field: Any


class AnswersForm(StepForm):
    """Four questions, and where the data go if they leave the own environment (asked by KF-3 b)."""

    provider = forms.CharField(
        label=lazy("Zu welchem Anbieter?"), required=False, max_length=120, help_text=lazy("Firmenname")
    )
    region = forms.CharField(
        label=lazy("In welche Region?"),
        required=False,
        max_length=120,
        help_text=lazy("Wie der Anbieter sie nennt. Beispiel: Frankfurt"),
    )
    country = forms.CharField(label=lazy("In welches Land?"), required=False, max_length=120)

    def __init__(self, data: Any = None, *, workload: Workload) -> None:
        """Show the stored answers; nothing is ticked before somebody answered."""
        super().__init__(data, initial=_initial(workload))
        for name in ("provider", "region", "country"):
            self.fields[name].asked_later = True  # type: ignore[attr-defined]
        for question in questions.questions():
            self.fields[question.id] = forms.MultipleChoiceField(
                label=question.text,
                choices=[(answer.code, answer.text) for answer in question.answers],
                error_messages={"required": _("Bitte beantworten Sie diese Frage.")},
            )

    def clean(self) -> dict[str, Any]:
        """Refuse answers that exclude each other, and a place without a name."""
        data = super().clean() or {}
        for problem in questions.problems(self.answers()):
            if problem.question not in self.errors:
                self.add_error(problem.question, problem.message)
        if "b" in data.get("KF-3", []):
            for name in ("provider", "region", "country"):
                if not data.get(name):
                    self.add_error(name, _("Bitte ausfüllen: Etwas verlässt die eigene Umgebung."))
        return data

    @property
    def place_open(self) -> bool:
        """Return whether the page shows the fields of the place: something leaves, or one of them is wrong."""
        names = ("provider", "region", "country")
        return "b" in (self["KF-3"].value() or []) or any(name in self.errors for name in names)

    def answers(self) -> Answers:
        """Return the chosen codes by question."""
        data = self.cleaned_data
        return {
            item.id: frozenset(data.get(item.id, [])) for item in questions.questions() if data.get(item.id)
        }

    def views(self) -> list[QuestionView]:
        """Return the questions as the page shows them."""
        return [self._view(question) for question in questions.questions()]

    def _view(self, question: questions.Question) -> QuestionView:
        field = self[question.id]
        ticked = set(field.value() or [])
        single = not question.combinable
        main = [answer for answer in question.answers if answer.code not in question.additional]
        added = [answer for answer in question.answers if answer.code in question.additional]
        hint = "" if single else _("Mehrere Antworten sind möglich.")
        return QuestionView(
            question.id,
            question.text,
            hint,
            _options(question.id, main, ticked, "radio" if single else "checkbox"),
            _options(question.id, added, ticked, "checkbox"),
            field.errors,
            field,
        )


class ChangeClassForm(StepForm):
    """Another level or other flags for one object class, with the reason."""

    object_class = forms.ChoiceField(
        choices=[(item.value, item.label) for item in ObjectClass], widget=forms.HiddenInput
    )
    level = forms.ChoiceField(
        label=lazy("Stufe"), choices=[(item.value, f"{item.value} {item.label}") for item in Level]
    )
    flags = forms.MultipleChoiceField(
        label=lazy("Kennzeichen"),
        required=False,
        choices=[(item.value, item.label) for item in Flag],
        widget=forms.CheckboxSelectMultiple,
    )
    reason = forms.CharField(
        label=lazy("Begründung"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=lazy(
            "Nötig, wenn die Stufe unter dem Vorschlag liegt. Sie steht neben dem Vorschlag im Dokument."
        ),
    )


class ConfirmForm(StepForm):
    """Which object classes the reviewer confirms; all seven in one act, or fewer."""

    classes = forms.MultipleChoiceField(
        label=lazy("Bestätigt werden"), choices=[(item.value, item.label) for item in ObjectClass]
    )


def _options(
    name: str, answers: Iterable[questions.Answer], ticked: set[str], type_: str
) -> tuple[Option, ...]:
    return tuple(
        Option(answer.code, answer.text, type_, answer.code in ticked, f"id_{name}_{answer.code}")
        for answer in answers
    )


def _initial(workload: Workload) -> dict[str, Any]:
    values: dict[str, Any] = {"content_sha256": workload.content_sha256}
    stored = getattr(workload, "answers", None)
    if stored is not None:
        values |= {key: list(codes) for key, codes in stored.answers.items()}
    location = getattr(workload, "location", None)
    if location is not None:
        values |= {name: getattr(location, name) for name in ("provider", "region", "country")}
    return values
