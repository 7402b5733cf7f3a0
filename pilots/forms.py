"""Forms of screens 4 and 5, and of the page "Emulator"."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from pilots import catalog
from pilots.forms_config import ConfigForm
from pilots.forms_import import FilesField
from pilots.pages_blocks import MODES, machine_label
from qms.web.widgets import ChoiceCards
from qms.workloads.choices import PlatformKind
from qms.workloads.models import PlatformProfile, Workload

CALIBRATED = _("An dieser Generation wurde das Modell angepasst.")
NOT_CALIBRATED = _("Nicht angepasst: jede Zahl ist extrapoliert.")
MODE_HINTS = {
    "RESIDENT": _("RESIDENT: Alle Gewichte liegen im SRAM. Schnell, aber nur so groß wie der Wafer."),
    "WEIGHT_STREAMING": _("WEIGHT_STREAMING: Jede Schicht kommt bei jedem Schritt von außen."),
}


class BaselineForm(forms.Form):
    """Measure this machine, or hand in the benchmark files of one run on the platform in use."""

    file = FilesField(
        label=_("Messdateien Ihrer bestehenden Plattform"),
        required=False,
        help_text=_(
            "Bis zu fünf Dateien desselben Laufs: Last aus einer, Speicher und Leistung aus einer anderen, Bewertung aus "
            "einer dritten, dazu eine Profiler-Spur. "
            "Gelesen werden Ergebnisse von vLLM, SGLang, TensorRT-LLM, GuideLLM, AIPerf, MLPerf, LLMPerf, inference-perf, "
            "lm-eval, NCCL, nvidia-smi, DCGM, Prometheus, MLflow, W&B und PyTorch-Profiler, je Datei bis 8\u00a0MiB. Größere Spuren "
            "liest „python -m pilots.baseline import“."
        ),
    )
    platform = forms.ModelChoiceField(
        label=_("Plattform, auf der gemessen wurde"),
        queryset=PlatformProfile.objects.none(),
        required=False,
        empty_label=_("Bitte wählen"),
    )
    number = forms.IntegerField(
        label=_("Nummer des Laufs"),
        required=False,
        min_value=1,
        help_text=_("Nur nötig, wenn eine Datei mehrere Läufe enthält."),
    )
    only_file = forms.BooleanField(required=False, widget=forms.HiddenInput)
    look = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["platform"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = PlatformProfile.objects.complete().filter(
            Q(is_existing=True) | Q(kind=PlatformKind.DEVELOPMENT_MACHINE)
        )
        for name in ("file", "platform", "number"):
            self.fields[name].asked_later = True  # type: ignore[attr-defined]  # read by the field template

    @property
    def measures_here(self) -> bool:
        """Whether no file was handed in, so that the measuring command runs."""
        return not self.cleaned_data.get("file")

    def clean(self) -> dict[str, Any]:
        """Ask for the platform when a file is there: a file does not know where it comes from."""
        values = super().clean() or {}
        if (
            (values.get("only_file") or values.get("look"))
            and not values.get("file")
            and "file" not in self.errors
        ):
            self.add_error("file", _("Bitte wählen Sie eine Datei."))
        if values.get("file") and not values.get("platform"):
            self.add_error("platform", _("Bitte nennen Sie die Plattform, auf der die Datei gemessen wurde."))
        return values


def own_machine() -> PlatformProfile:
    """Return the profile of this machine."""
    return PlatformProfile.objects.get(kind=PlatformKind.DEVELOPMENT_MACHINE)


class TargetForm(forms.Form):
    """Which emulated machine; one field."""

    platform = forms.ModelChoiceField(
        label=_("Zielmaschine"),
        queryset=PlatformProfile.objects.none(),
        empty_label=None,
        widget=forms.RadioSelect,
    )

    def __init__(self, *args: Any, workload: Workload, **kwargs: Any) -> None:
        """Propose the platform of the pilot."""
        super().__init__(*args, **kwargs)
        field = self.fields["platform"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = PlatformProfile.objects.filter(is_emulated=True, key__in=catalog.MACHINE_OF_PROFILE)
        pilot = getattr(workload, "pilot", None)
        if pilot is not None:
            self.initial = {"platform": pilot.platform_id}
            field.proposed = True  # type: ignore[attr-defined]  # read by the field template


class EmulatorForm(ConfigForm):
    """A question to the emulator: a model, a machine, a load. A valid form has its answer in `found`."""

    machine = forms.ChoiceField(label=_("Maschine"), widget=ChoiceCards)
    mode = forms.ChoiceField(label=_("Wo liegen die Gewichte?"), widget=ChoiceCards(hints=MODE_HINTS))
    context = forms.IntegerField(label=_("Kontext in Token"), min_value=1)
    batch = forms.IntegerField(label=_("Anfragen zugleich"), min_value=1)
    systems = forms.IntegerField(label=_("Zahl der Systeme, 1 bis 16"), min_value=1)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Propose one request on one machine the model was calibrated on."""
        super().__init__(*args, **kwargs)
        choices = catalog.choices()
        machine, mode = self.fields["machine"], self.fields["mode"]
        assert isinstance(machine, forms.ChoiceField)
        assert isinstance(mode, forms.ChoiceField)
        machine.choices = [(item.id, machine_label(item)) for item in choices]
        machine.widget.hints = {
            item.id: CALIBRATED if item.calibrated else NOT_CALIBRATED for item in choices
        }
        mode.choices = [(key, str(label)) for key, label in MODES.items()]
        proposals = {
            "machine": choices[0].id,
            "mode": catalog.MODES[0],
            "context": 4096,
            "batch": 1,
            "systems": 1,
        }
        self.propose(proposals)
        self.asked: catalog.Asked | None = None
        self.found: catalog.Estimate | None = None

    def clean(self) -> dict[str, Any]:
        """Read the model and ask; what is wrong is said at the field, or above all of them."""
        values = super().clean() or {}
        text = self.text_of_model(values)
        if self.errors:
            return values
        try:
            config = catalog.read_config(text)
        except catalog.NotAnswered as error:
            self.add_error("config", error.message_de)
            return values
        names = {
            "machine_id": "machine",
            "mode": "mode",
            "context": "context",
            "batch": "batch",
            "systems": "systems",
        }
        self.asked = catalog.Asked(config, **{key: values[name] for key, name in names.items()})
        try:
            self.found = catalog.answer(self.asked)
        except catalog.NotAnswered as error:
            self.add_error(None, error.message_de)
        return values
