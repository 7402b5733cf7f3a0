"""The form of "Eignung und Bedarf": what holds the workload up, how much it runs, what else was considered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.web.widgets import ChoiceCards
from qms.web.workload_fields import NumberField
from qms.web.workload_forms import StepForm
from qms.workloads import selectors
from qms.workloads.choices import AlternativeOption, BottleneckType, OrganisationProfile, UsageKind
from qms.workloads.metrics import catalogue
from qms.workloads.models import Workload
from qms.workloads.services.suitability import MAX_NUMBER, SuitabilityData

# Metrics that a measured baseline and a target run can both show.
PRIMARY_METRICS: Final = (
    "throughput_samples_s",
    "throughput_tokens_s",
    "throughput_items_s",
    "e2e_latency_ms",
    "ttft_ms",
    "tpot_ms",
    "step_time_ms",
    "time_to_quality_h",
    "cycle_time_h",
)
NUMBERS: Final = (
    "runs_per_month",
    "hours_per_run",
    "requests_per_day",
    "planned_runs",
    "team_size",
    "state_gb",
)
TEXTS: Final = ("org_profile", "org_profile_reason", "business_reason", "usage_kind")


def metric_choices() -> list[tuple[str, str]]:
    """Return the metrics that can be the most important one."""
    return [(key, catalogue()[key].name) for key in PRIMARY_METRICS]


def primary_choices() -> list[tuple[str, str]]:
    """Return the same, led by what counts when nobody chose."""
    return [("", _("Durchsatz, wie die Vergleichsbasis ihn nennt")), *metric_choices()]


def _number(label: Any, help_text: Any = "", *, places: int = 0) -> NumberField:
    return NumberField(
        label=label,
        help_text=help_text,
        required=False,
        min_value=0,
        max_value=MAX_NUMBER,
        decimal_places=places,
        money=places < 3,  # "50.000" requests are fifty thousand, "1.500" GB could be one and a half
    )


class SuitabilityForm(StepForm):
    """All answers; only the kind of organisation and of use are asked for to save, the gates say what else is missing."""

    bottleneck_types = forms.MultipleChoiceField(
        label=lazy("Was bremst den Workload heute?"),
        required=False,
        choices=[(item.value, item.label) for item in BottleneckType],
        widget=forms.CheckboxSelectMultiple,
        help_text=lazy(
            "Mehrere Antworten sind möglich. Jede braucht einen Messwert Ihrer bestehenden Plattform. Speicherbandbreite "
            "allein genügt nicht."
        ),
    )
    business_reason = forms.CharField(
        label=lazy("Warum zählen Antwortzeit oder Durchsatz für das Geschäft?"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=lazy("Nur nötig, wenn Sie „Antwortzeit oder Durchsatz“ gewählt haben."),
    )
    usage_kind = forms.ChoiceField(
        label=lazy("Wie wird der Workload genutzt?"),
        choices=[(item.value, item.label) for item in UsageKind],
        widget=ChoiceCards(
            hints={
                UsageKind.REGULAR: lazy("Er läuft immer wieder, andere verlassen sich darauf."),
                UsageKind.PROTOTYPE: lazy("Ein Versuch, der zeigen soll, ob es geht."),
                UsageKind.NOTEBOOK: lazy("Gelegentliche Arbeit einzelner Personen."),
            }
        ),
    )
    runs_per_month = _number(lazy("Wie viele Läufe im Monat?"), places=2)
    hours_per_run = _number(
        lazy("Wie viele Stunden dauert ein Lauf?"), lazy("Auf Ihrer bestehenden Plattform."), places=2
    )
    requests_per_day = _number(lazy("Wie viele Anfragen am Tag?"))
    planned_runs = _number(lazy("Wie viele Läufe sind insgesamt geplant?"))
    team_size = _number(lazy("Wie viele Personen arbeiten damit?"))
    org_profile = forms.ChoiceField(
        label=lazy("Was für eine Organisation sind Sie?"),
        choices=[(item.value, item.label) for item in OrganisationProfile],
        widget=ChoiceCards(),
    )
    org_profile_reason = forms.CharField(
        label=lazy("In einem Satz, wenn keine Art passt"),
        required=False,
        max_length=400,
        help_text=lazy("Nur nötig bei „Sonstige“."),
    )
    state_gb = _number(
        lazy("Wie viel Speicher braucht der Workload zusammenhängend?"),
        lazy("In GB. Leer lassen, wenn der aus dem Modell gerechnete Wert stimmt."),
        places=3,
    )
    primary_metric = forms.ChoiceField(
        label=lazy("Welche Messgröße soll besser werden?"),
        required=False,
        choices=primary_choices,
        help_text=lazy("An ihr wird der Nutzen gemessen (G6-8)."),
    )
    further_metrics = forms.MultipleChoiceField(
        label=lazy("Welche Messgrößen dürfen dabei nicht schlechter werden?"),
        required=False,
        choices=metric_choices,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: Any = None, *, workload: Workload, editable: bool = True) -> None:
        """Fill from what is stored; frozen metrics and, for readers, everything cannot be changed."""
        super().__init__(data, initial=_initial(workload))
        for option in AlternativeOption:
            self.fields[alternative(option)] = forms.CharField(
                label=str(option.label), required=False, widget=forms.Textarea(attrs={"rows": 2})
            )
        frozen = {"primary_metric", "further_metrics"} if workload.criteria_frozen_at else set()
        for name, field in self.fields.items():
            field.asked_later = True  # type: ignore[attr-defined]  # field template
            field.disabled = name in frozen or not editable

    def alternatives(self) -> Iterator[forms.BoundField]:
        """Return the fields of the alternatives."""
        return (self[alternative(option)] for option in AlternativeOption)

    def depth_open(self) -> bool:
        """Return whether a folded field is wrong, so that the page opens them."""
        names = ("planned_runs", "team_size", "state_gb", "primary_metric", "further_metrics")
        return any(name in self.errors for name in names)

    def to_data(self) -> SuitabilityData:
        """Return what the command takes; an alternative without a text was not considered."""
        data = self.cleaned_data
        first, further = data["primary_metric"], data["further_metrics"]
        chosen = [first, *(key for key in further if key != first)]
        reasons = ((option, data[alternative(option)].strip()) for option in AlternativeOption)
        whole = ("requests_per_day", "planned_runs", "team_size")
        return SuitabilityData(
            org_profile=OrganisationProfile(data["org_profile"]),
            usage_kind=UsageKind(data["usage_kind"]),
            org_profile_reason=data["org_profile_reason"],
            bottleneck_types=tuple(BottleneckType(code) for code in data["bottleneck_types"]),
            business_reason=data["business_reason"],
            primary_metrics=tuple(key for key in chosen if key),
            alternatives=tuple((option, reason) for option, reason in reasons if reason),
            runs_per_month=data["runs_per_month"],
            hours_per_run=data["hours_per_run"],
            state_gb=data["state_gb"],
            **{name: None if data[name] is None else int(data[name]) for name in whole},
        )

    def clean(self) -> dict[str, Any]:
        """Ask which metric leads where only further ones are chosen."""
        data = super().clean() or {}
        if data.get("further_metrics") and not data.get("primary_metric"):
            self.add_error("primary_metric", _("Bitte wählen Sie, welche Messgröße an erster Stelle steht."))
        return data


def alternative(option: AlternativeOption) -> str:
    """Return the name of the field of an alternative."""
    return f"alternative_{option.value.lower()}"


def _initial(workload: Workload) -> dict[str, Any]:
    values: dict[str, Any] = {"content_sha256": workload.content_sha256}
    answers = getattr(workload, "suitability", None)
    if answers is None:
        return values
    first, *further = selectors.primary_metrics(workload) or [""]
    return (
        values
        | {name: getattr(answers, name) for name in (*TEXTS, *NUMBERS)}
        | {"bottleneck_types": answers.bottleneck_types, "primary_metric": first, "further_metrics": further}
        | {alternative(AlternativeOption(row["option"])): row["verdict"] for row in answers.alternatives}
    )
