"""Screen 1 (Angaben), the search of the list, and naming an owner."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.roles import selectors as people
from qms.roles.models import Person
from qms.roles.roles import Role
from qms.web.widgets import ChoiceCards
from qms.workloads.choices import AiActRiskClass, Criticality, Mode
from qms.workloads.models import Workload
from qms.workloads.services.registration import WorkloadData

ACCEPT, CAPTURE = "accept", "capture"


class StepForm(forms.Form):
    """A form of one step: knows which of its values are a proposal and which content it was opened on."""

    content_sha256 = forms.CharField(required=False, widget=forms.HiddenInput)

    def propose(self, names: Iterable[str]) -> None:
        """Mark the fields whose value is a proposal, so that the page says so."""
        for name in names:
            self.fields[name].proposed = True  # type: ignore[attr-defined]

    @property
    def expected_sha256(self) -> str:
        """Return the digest of the content the form was opened on, or an empty text."""
        return str(self.cleaned_data.get("content_sha256", ""))


class WorkloadForm(StepForm):
    """The eight fields of screen 1. Only the title is needed to save; accepting ownership needs all but the deputy."""

    needed_to_accept: ClassVar = (
        "purpose",
        "business_process",
        "criticality",
        "mode",
        "model_text",
        "ai_act_risk_class",
    )

    title = forms.CharField(
        label=lazy("Wie heißt der Workload?"),
        max_length=160,
        help_text=lazy(
            "Ein kurzer Name. Er steht in Listen und auf der Freigabe. Beispiel: Ersatzteil-Assistent"
        ),
    )
    purpose = forms.CharField(
        label=lazy("Wozu dient er?"),
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=lazy(
            "Zwei oder drei Sätze, mindestens 50 Zeichen: Wer nutzt das Ergebnis, und was geschieht damit? Beispiel: "
            "Der Assistent schlägt dem Service zu einer Störmeldung passende Ersatzteile vor. Bestellt wird von Hand."
        ),
    )
    business_process = forms.CharField(
        label=lazy("Zu welchem Geschäftsprozess gehört er?"),
        max_length=160,
        help_text=lazy("Beispiel: Service und Ersatzteilversand"),
    )
    criticality = forms.ChoiceField(
        label=lazy("Wie sehr hängt das Geschäft daran?"),
        choices=[(item.value, item.label) for item in Criticality],
        widget=ChoiceCards(
            hints={
                Criticality.NORMAL: lazy("Fällt er einen Tag aus, geht es mit mehr Handarbeit weiter."),
                Criticality.BUSINESS_CRITICAL: lazy("Fällt er einen Tag aus, entsteht spürbarer Schaden."),
            }
        ),
    )
    mode = forms.ChoiceField(
        label=lazy("Was soll auf der Plattform laufen?"),
        choices=[(item.value, item.label) for item in Mode],
        widget=ChoiceCards(
            hints={
                Mode.TRAINING: lazy("Ein Modell lernt von Grund auf."),
                Mode.FINE_TUNING: lazy("Ein vorhandenes Modell lernt mit eigenen Daten weiter."),
                Mode.INFERENCE: lazy("Ein fertiges Modell antwortet; seine Gewichte ändern sich nicht."),
            }
        ),
    )
    model_text = forms.CharField(
        label=lazy("Welches Modell?"),
        max_length=400,
        help_text=lazy(
            "Gelesen werden die Schichtbreiten eines mehrschichtigen Netzes vom Eingang zum Ausgang, durch "
            "Bindestriche getrennt. Beispiel: 64-256-256-8. Die Gewichte entstehen aus einem festen Startwert. "
            "Parameterzahl und Prüfsumme liest das System beim Speichern aus und zeigt sie in der Übersicht. "
            "Oder eine Aufzeichnung (.wgraph): lassen Sie das Feld leer und laden Sie sie nach dem Speichern hoch."
        ),
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocapitalize": "off", "autocomplete": "off"}),
    )
    deputy = forms.ModelChoiceField(
        label=lazy("Wer vertritt Sie?"),
        required=False,
        queryset=Person.objects.none(),
        empty_label=lazy("Noch niemand"),
        help_text=lazy(
            "Eine andere Person mit der Rolle Workload-Owner. Sie pflegt den Workload mit Ihnen und darf ihn dann "
            "weder prüfen noch freigeben. Für eine Freigabe muss jemand benannt sein; das geht auch später."
        ),
    )
    ai_act_risk_class = forms.ChoiceField(
        label=lazy("Welche Risikoklasse hat er nach der KI-Verordnung?"),
        choices=[(item.value, item.label) for item in AiActRiskClass],
        help_text=lazy(
            "Ihre Organisation gilt dabei als Betreiber. Im Zweifel fragen Sie nach, bevor Sie wählen."
        ),
        widget=ChoiceCards(
            hints={
                AiActRiskClass.MINIMAL: lazy("Keine der folgenden Beschreibungen trifft zu."),
                AiActRiskClass.TRANSPARENCY: lazy(
                    "Menschen sprechen mit dem System oder sehen erzeugte Inhalte."
                ),
                AiActRiskClass.HIGH_RISK_ANNEX_I: lazy("Sicherheitsbauteil eines geregelten Produkts."),
                AiActRiskClass.HIGH_RISK_ANNEX_III: lazy(
                    "Etwa Personalauswahl, Kreditwürdigkeit, Bildung, kritische Infrastruktur."
                ),
                AiActRiskClass.PROHIBITED: lazy("Dafür gibt es keine Freigabe."),
            }
        ),
    )

    def __init__(self, data: Any = None, *, actor_person: Person, workload: Workload | None = None) -> None:
        """Fill from `workload`, or propose values for a new one; the acting person cannot be the deputy."""
        new = {"criticality": Criticality.NORMAL.value, "mode": Mode.INFERENCE.value}
        super().__init__(data, initial=_initial(workload) if workload else new)
        if workload is None:
            self.propose(new)
        owner = workload.owner if workload and workload.owner else actor_person
        field = self.fields["deputy"]
        field.asked_later = True  # type: ignore[attr-defined]
        if isinstance(field, forms.ModelChoiceField):
            field.queryset = possible_owners(besides=owner, keep=workload.deputy if workload else None)

    def full_clean(self) -> None:
        """Ask for everything an owner answers for only when the owner role is accepted in the same act."""
        for name in self.needed_to_accept:
            field = self.fields[name]
            field.required = ACCEPT in self.data
            field.error_messages["required"] = _(
                "Bitte beantworten – oder „Nur speichern“, wenn Sie es noch nicht wissen."
            )
        super().full_clean()
        for name in self.needed_to_accept:
            self.fields[name].required = True  # the page does not call these fields optional

    def to_data(self) -> WorkloadData:
        """Return what the command takes."""
        values = {name: value for name, value in self.cleaned_data.items() if name != "content_sha256"}
        return WorkloadData(**values)


class OwnerForm(forms.Form):
    """Naming the person who shall own the workload."""

    person = forms.ModelChoiceField(
        label=lazy("Wer soll den Workload verantworten?"),
        queryset=Person.objects.none(),
        empty_label=lazy("Bitte wählen"),
        help_text=lazy("Die Person nimmt die Owner-Rolle danach selbst an."),
    )

    def __init__(self, data: Any = None, *, workload: Workload) -> None:
        super().__init__(data)
        field = self.fields["person"]
        if isinstance(field, forms.ModelChoiceField):
            field.queryset = possible_owners(besides=workload.deputy, keep=None)


def possible_owners(*, besides: Person | None, keep: Person | None) -> Any:
    """Return the people who can own or deputise: holders of the role who can act, without `besides`, with `keep`."""
    ids = list(people.able_holders(Role.WORKLOAD_OWNER).values_list("pk", flat=True))
    if keep is not None:
        ids.append(keep.pk)
    found = Person.objects.filter(pk__in=ids)
    return found.exclude(pk=besides.pk) if besides is not None else found


def _initial(workload: Workload) -> dict[str, Any]:
    names = ("title", "purpose", "business_process", "criticality", "mode", "model_text", "ai_act_risk_class")
    values = {name: getattr(workload, name) for name in names}
    return values | {"deputy": workload.deputy_id, "content_sha256": workload.content_sha256}
