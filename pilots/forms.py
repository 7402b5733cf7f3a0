"""Forms of screens 4 and 5."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from pilots import catalog
from qms.workloads.choices import PlatformKind
from qms.workloads.models import PlatformProfile, Workload

MAX_FILE_BYTES = 8 * 2**20
"""No more of an upload is read, plus one byte that tells the importer there is more."""


class BaselineForm(forms.Form):
    """Measure this machine, or hand in a benchmark file of the platform in use."""

    file = forms.FileField(
        label=_("Messdatei Ihrer bestehenden Plattform"),
        required=False,
        allow_empty_file=True,  # the importer refuses it, which leaves its event
        help_text=_(
            "Gelesen werden vLLM-Benchmark (JSON) und MLPerf LoadGen (summary und detail), bis 8\u00a0MiB."
        ),
    )
    platform = forms.ModelChoiceField(
        label=_("Plattform, auf der gemessen wurde"),
        queryset=PlatformProfile.objects.none(),
        required=False,
        empty_label=_("Bitte wählen"),
    )
    only_file = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["platform"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = PlatformProfile.objects.filter(is_existing=True)
        for name in ("file", "platform"):
            self.fields[name].asked_later = True  # type: ignore[attr-defined]  # read by the field template

    @property
    def measures_here(self) -> bool:
        """Whether no file was handed in, so that the measuring command runs."""
        return not self.cleaned_data.get("file")

    def clean_file(self) -> Any:
        """Keep only the last part of the name of the file; its content is the importer's to judge."""
        upload = self.cleaned_data.get("file")
        if upload:
            upload.name = upload.name.replace("\\", "/").rsplit("/", 1)[-1][:120]
        return upload

    def clean(self) -> dict[str, Any]:
        """Ask for the platform when a file is there: a file does not know where it comes from."""
        values = super().clean() or {}
        if values.get("only_file") and not values.get("file") and "file" not in self.errors:
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
