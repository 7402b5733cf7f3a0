"""Screen 3 (Ziele): targets, fallback path, pilot frame, abort rules; six fields are asked, the rest proposed."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.core import clock
from qms.web.workload_fields import DayField, NumberField
from qms.web.workload_forms import StepForm
from qms.web.workload_target_fields import chosen, quality_choices, service_choices, target_data
from qms.workloads import abort_explain, abort_grammar, abort_templates
from qms.workloads.choices import AbortCategory, Comparator, Criticality, Flag, Level, Mode
from qms.workloads.models import PlatformProfile, Workload
from qms.workloads.services.criteria import AbortRuleData, CriteriaData, TargetData

PILOT_LENGTH: Final = timedelta(days=60)  # proposal; the longest is POL-01
RTO_MIN: Final = {Criticality.NORMAL.value: 240, Criticality.BUSINESS_CRITICAL.value: 60}  # POL-17
RULES_PREFIX: Final = "regeln"


class CriteriaForm(StepForm):
    """Target, fallback, pilot and money; abort rules stand in their own form set beside it."""

    metric = forms.ChoiceField(
        label=lazy("Woran erkennen Sie, dass das Ergebnis gut genug ist?"),
        choices=quality_choices,
        help_text=lazy(
            "Eine Messgröße, die Vergleichsbasis und Ziellauf beide zeigen. Kosinusähnlichkeit: Die Ausgaben zeigen "
            "in dieselbe Richtung wie auf der bestehenden Plattform; 1 ist gleich, 0,999 fast gleich."
        ),
    )
    dataset_version = forms.CharField(
        label=lazy("An welchen Daten wird gemessen?"),
        max_length=120,
        help_text=lazy(
            "Name und Version, damit alle dieselben Daten meinen. Beispiel: Prüfdaten Stand 2026-10"
        ),
    )
    comparator = forms.ChoiceField(
        label=lazy("Vergleich"), choices=[(item.value, item.label) for item in Comparator]
    )
    threshold = NumberField(
        label=lazy("Schwelle"),
        max_digits=20,
        decimal_places=8,
    )
    service_metric = forms.ChoiceField(
        label=lazy("Welche Zeit oder welcher Durchsatz muss erreicht werden?"),
        required=False,
        choices=service_choices,
        help_text=lazy(
            "Nötig, wenn Antwortzeit oder Durchsatz der Grund für den Wafer ist: Nur ein Ziel, das Ihre bestehende "
            "Plattform verfehlt, belegt diesen Engpass (G2-1)."
        ),
    )
    service_threshold = NumberField(
        label=lazy("Zeit höchstens, Durchsatz mindestens"),
        required=False,
        max_digits=20,
        decimal_places=8,
    )
    fallback_platform = forms.ModelChoiceField(
        label=lazy("Wo läuft der Workload, wenn die Wafer-Plattform ausfällt?"),
        queryset=PlatformProfile.objects.complete().filter(is_existing=True),
        empty_label=lazy("Bitte wählen"),
        help_text=lazy("Der Ausweichpfad ist eine Plattform, die heute schon in Betrieb ist."),
    )
    pilot_end = DayField(
        label=lazy("Bis wann soll der Pilot laufen?"),
        help_text=lazy("Höchstens 90 Tage nach dem Beginn."),
    )
    budget_cap_eur = NumberField(
        label=lazy("Wie viel darf der Pilot höchstens kosten?"),
        money=True,
        max_digits=12,
        decimal_places=2,
        help_text=lazy(
            "In Euro. Ist das Budget verbraucht, stoppt ein Abbruchkriterium den Lauf. Beispiel: 20.000"
        ),
    )
    pilot_platform = forms.ModelChoiceField(
        label=lazy("Auf welcher Plattform soll der Pilot laufen?"),
        queryset=PlatformProfile.objects.complete().filter(is_existing=False, kind="WAFER_SCALE"),
        empty_label=None,
    )
    pilot_start = DayField(label=lazy("Wann beginnt der Pilot?"))
    scope = forms.CharField(
        label=lazy("Was gehört zum Pilot, was nicht?"), widget=forms.Textarea(attrs={"rows": 3})
    )
    success_measure = forms.CharField(
        label=lazy("Wann ist der Pilot ein Erfolg?"), widget=forms.Textarea(attrs={"rows": 3})
    )
    rto_min = forms.IntegerField(
        label=lazy("Wie schnell muss der Ausweichpfad laufen?"),
        min_value=1,
        max_value=100_000,
        help_text=lazy("In Minuten, von der Entscheidung bis zum Betrieb in der geforderten Qualität."),
    )
    fallback_steps = forms.CharField(
        label=lazy("Welche Schritte führen auf den Ausweichpfad?"), widget=forms.Textarea(attrs={"rows": 5})
    )

    asked = (
        "metric",
        "comparator",
        "threshold",
        "dataset_version",
        "fallback_platform",
        "pilot_end",
        "budget_cap_eur",
    )
    proposals = ("success_measure", "rto_min", "fallback_steps", "pilot_platform", "pilot_start", "scope")

    def __init__(self, data: Any = None, *, workload: Workload) -> None:
        """Fill from what is stored; what is not, is proposed."""
        stored, proposal = _stored(workload), _proposal(workload)
        super().__init__(data, initial=proposal | stored)
        self.propose(proposal.keys() - stored.keys())

    @property
    def proposal_errors(self) -> bool:
        """Return whether one of the folded fields has an error, so that the page opens them."""
        return any(name in self.errors for name in self.proposals)

    @property
    def service_open(self) -> bool:
        """Return whether the further target has an answer or an error, so that the page opens it."""
        names = ("service_metric", "service_threshold")
        return any(self[name].value() not in {None, ""} or name in self.errors for name in names)

    def to_data(self, rules: tuple[AbortRuleData, ...]) -> CriteriaData:
        """Return what the command takes."""
        data = self.cleaned_data
        names = (
            "fallback_platform",
            "fallback_steps",
            "rto_min",
            "pilot_platform",
            "pilot_start",
            "pilot_end",
            "budget_cap_eur",
            "scope",
            "success_measure",
        )
        return CriteriaData(
            targets=self._targets(), abort_rules=rules, **{name: data[name] for name in names}
        )

    def clean(self) -> dict[str, Any]:
        """Ask for metric and threshold of the further target together."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if data.get("service_metric") and "service_threshold" not in self.errors:
            if data.get("service_threshold") is None:
                self.add_error(
                    "service_threshold", _("Bitte geben Sie zum weiteren Ziel auch die Schwelle an.")
                )
        elif data.get("service_threshold") is not None:
            self.add_error("service_metric", _("Bitte wählen Sie zur Schwelle auch die Messgröße."))
        return data

    def _targets(self) -> tuple[TargetData, ...]:
        data = self.cleaned_data
        dataset = data["dataset_version"]
        quality = target_data(data["metric"], data["threshold"], dataset, Comparator(data["comparator"]))
        if not data["service_metric"]:
            return (quality,)
        return quality, target_data(data["service_metric"], data["service_threshold"], dataset)


class AbortRuleForm(forms.Form):
    """One abort rule as text; an empty text removes the rule."""

    category = forms.ChoiceField(
        label=lazy("Was schützt die Regel?"), choices=[(item.value, item.label) for item in AbortCategory]
    )
    text = forms.CharField(
        label=lazy("Regel"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "class": "code"}),
    )
    template = forms.CharField(required=False, widget=forms.HiddenInput)
    position = ""

    def clean_text(self) -> str:
        """Return the text if the grammar reads it; the error says line and column and keeps the place for the page."""
        text = str(self.cleaned_data["text"]).strip()
        if not text:
            return ""
        try:
            abort_grammar.parse(text)
        except abort_grammar.AbortSyntaxError as error:
            self.position = _caret(text, error.line, error.column)
            raise forms.ValidationError(error.message) from error
        return text

    @property
    def is_new(self) -> bool:
        """Return whether this is the empty form for a rule of one's own."""
        return not self.initial and not str(self["text"].value() or "").strip()

    @property
    def sentence(self) -> str:
        """Return the rule in plain words, or an empty text for one that cannot be read."""
        text = str(self["text"].value() or "").strip()
        try:
            return abort_explain.explain(abort_grammar.parse(text)) if text else ""
        except abort_grammar.AbortSyntaxError:
            return ""

    @property
    def category_label(self) -> str:
        """Return the label of the chosen category."""
        value = str(self["category"].value() or "")
        return str(AbortCategory(value).label) if value in list(AbortCategory) else ""

    @property
    def is_sendable(self) -> bool:
        """Return whether the command can take the rule; it refuses an unreadable text itself, which leaves its event."""
        return set(self.errors) <= {"text"}

    def to_data(self) -> AbortRuleData | None:
        """Return what the command takes, None for a removed rule; an unreadable text goes as it was written."""
        data = self.cleaned_data
        text = str(self["text"].value()) if "text" in self.errors else data.get("text")
        if not text:
            return None
        return AbortRuleData(AbortCategory(data["category"]), text, data.get("template", ""))


if TYPE_CHECKING:
    _BaseRules = forms.BaseFormSet[AbortRuleForm]
else:
    _BaseRules = forms.BaseFormSet


class _RuleFormSet(_BaseRules):
    """All rules of a workload, with an empty one at the end."""

    @property
    def is_sendable(self) -> bool:
        """Return whether the command can take the rules: nothing is wrong with them but a text it will refuse."""
        return self.is_valid() or (
            not self.non_form_errors() and all(form.is_sendable for form in self.forms)
        )

    def to_data(self) -> tuple[AbortRuleData, ...]:
        """Return the rules that have a text."""
        found = [form.to_data() for form in self.forms if form.has_changed() or form.initial]
        return tuple(rule for rule in found if rule is not None)


_factory: Any = forms.formset_factory(AbortRuleForm, formset=_RuleFormSet, extra=1, max_num=40)


def rule_forms(data: Any, workload: Workload, level: Level | None, flags: tuple[Flag, ...]) -> _RuleFormSet:
    """Return the rules as stored, or as proposed for mode, level and flags; `data` of a POST that has none is ignored."""
    initial = stored_rules(workload) or proposed_rules(workload, level, flags)
    bound = data if data is not None and f"{RULES_PREFIX}-TOTAL_FORMS" in data else None
    made: _RuleFormSet = _factory(bound, initial=initial, prefix=RULES_PREFIX)
    return made


def stored_rules(workload: Workload) -> list[dict[str, str]]:
    """Return the stored abort rules."""
    rows = workload.abort_criteria.all()
    return [{"category": rule.category, "text": rule.text, "template": rule.template} for rule in rows]


def proposed_rules(workload: Workload, level: Level | None, flags: tuple[Flag, ...]) -> list[dict[str, str]]:
    """Return the rules proposed from the templates for the workload."""
    mode = Mode(workload.mode) if workload.mode else Mode.INFERENCE
    rules = abort_templates.default_rules(mode, level, flags)
    return [{"category": rule.category.value, "text": rule.text, "template": rule.template} for rule in rules]


def rules_data(rules: _RuleFormSet, initial: list[dict[str, str]]) -> tuple[AbortRuleData, ...]:
    """Return the rules of the form set, or `initial` where the caller sent none."""
    if rules.is_bound:
        return rules.to_data()
    return tuple(
        AbortRuleData(AbortCategory(row["category"]), row["text"], row["template"]) for row in initial
    )


def _caret(text: str, line: int, column: int) -> str:
    lines = text.splitlines()
    shown = lines[line - 1] if line <= len(lines) else (lines[-1] if lines else "")
    return f"{shown}\n{' ' * (column - 1)}^"


def _stored(workload: Workload) -> dict[str, Any]:
    values: dict[str, Any] = {"content_sha256": workload.content_sha256}
    for number, target in enumerate(workload.quality_targets.order_by("target_id")[:2]):
        if number == 0:
            values |= {
                name: getattr(target, name) for name in ("dataset_version", "comparator", "threshold")
            } | {"metric": chosen(target)}
        else:
            values |= {"service_metric": chosen(target), "service_threshold": target.threshold}
    fallback = getattr(workload, "fallback", None)
    if fallback is not None:
        values |= {"fallback_platform": fallback.platform_id, "fallback_steps": fallback.steps}
        values["rto_min"] = fallback.rto_min
    pilot = getattr(workload, "pilot", None)
    if pilot is not None:
        values |= {"pilot_platform": pilot.platform_id, "pilot_start": pilot.start, "pilot_end": pilot.end}
        values |= {name: getattr(pilot, name) for name in ("budget_cap_eur", "scope", "success_measure")}
    return values


def _proposal(workload: Workload) -> dict[str, Any]:
    today = clock.now().date()
    existing = PlatformProfile.objects.complete().filter(is_existing=True)[:2]
    wafer = PlatformProfile.objects.complete().filter(is_existing=False, kind="WAFER_SCALE").first()
    return {
        **(
            {"fallback_platform": existing[0].pk} if len(existing) == 1 else {}
        ),  # of several a person chooses
        "comparator": Comparator.AT_LEAST.value,
        "pilot_platform": wafer.pk if wafer else None,
        "pilot_start": today,
        "pilot_end": today + PILOT_LENGTH,
        "rto_min": RTO_MIN.get(workload.criticality, RTO_MIN[Criticality.NORMAL.value]),
        "scope": _(
            "Läufe von „%(title)s“ auf der Pilotplattform mit den klassifizierten Daten. Kein produktiver Betrieb."
        )
        % {"title": workload.title},
        "success_measure": _(
            "Das Qualitätsziel ist erreicht, kein Abbruchkriterium ist verletzt, und die Zielplattform ist in der "
            "wichtigsten Messgröße besser als die Vergleichsbasis."
        ),
        "fallback_steps": _(
            "1. Neue Anfragen an die Wafer-Plattform sperren.\n"
            "2. Das Modell mit derselben Prüfsumme auf der Ausweichplattform starten.\n"
            "3. Eine Stichprobe gegen das Qualitätsziel prüfen.\n"
            "4. Die Anfragen umschalten und den Owner benachrichtigen."
        ),
    }
