"""Describing a platform of the organisation: hardware, system, software, operating model (S037, P39)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_http_methods

from qms.evidence import selectors
from qms.web.answers import account, done, submit
from qms.web.workload_fields import NumberField
from qms.workloads.choices import PlatformKind
from qms.workloads.models import PLATFORM_TUPLE, PlatformProfile
from qms.workloads.services import platforms
from qms.workloads.services.platforms import PlatformData

_FIELDS = ("provider", "hardware_gen", "system_release", "framework_release", "operating_model")


class PlatformForm(forms.Form):
    """The platform tuple; what is not known yet may stay empty, then nobody can choose the platform."""

    name = forms.CharField(
        label=lazy("Name"), max_length=120, help_text=lazy("Beispiel: Trainingscluster Halle 2")
    )
    kind = forms.ChoiceField(
        label=lazy("Art"),
        choices=[("", lazy("Bitte wählen")), *((kind.value, kind.label) for kind in platforms.KINDS)],
    )
    is_existing = forms.BooleanField(label=lazy("Die Plattform ist heute in Betrieb"), required=False)
    provider = forms.CharField(label=lazy("Anbieter"), max_length=120, required=False)
    hardware_gen = forms.CharField(
        label=lazy("Hardware"),
        max_length=120,
        help_text=lazy("Generation und Zahl. Beispiel: 32 H100 SXM in 4 Knoten"),
    )
    system_release = forms.CharField(label=lazy("Systemsoftware"), max_length=120, required=False)
    framework_release = forms.CharField(label=lazy("Framework"), max_length=120, required=False)
    operating_model = forms.CharField(
        label=lazy("Betriebsmodell"),
        max_length=120,
        required=False,
        help_text=lazy("Beispiel: Eigenbetrieb, gemietet, Cloud"),
    )
    devices = NumberField(
        label=lazy("Zahl der Geräte"),
        required=False,
        help_text=lazy("Ohne diese Zahl wird keine Auslastung der Rechenleistung (MFU) berechnet."),
    )
    memory_gb = NumberField(
        label=lazy("Speicher je Gerät in GB"),
        required=False,
        help_text=lazy("Größter zusammenhängender Speicher, 1 GB = 10⁹ Byte. Beispiel: 80"),
    )
    peak_tflops = NumberField(
        label=lazy("Rechenleistung je Gerät in TFLOP/s"),
        required=False,
        help_text=lazy("Bei 16 Bit und dichten Matrizen. Beispiel: 989"),
    )
    figures_source = forms.CharField(
        label=lazy("Quelle der Zahlen"),
        max_length=200,
        required=False,
        help_text=lazy("Beispiel: Datenblatt des Herstellers, Ausgabe 2025"),
    )

    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, platform: PlatformProfile | None = None, **kwargs: Any) -> None:
        """Start with what is stored."""
        super().__init__(*args, **kwargs)
        for name in (*PLATFORM_TUPLE, *platforms.FIGURES, "figures_source"):
            self.fields[name].asked_later = True  # type: ignore[attr-defined]  # read by the field template
        if platform is not None:
            texts = {name: getattr(platform, name) for name in self.fields if hasattr(platform, name)}
            self.initial = texts | platforms.entered(platform)

    def to_data(self) -> PlatformData:
        """Return what the command takes."""
        values = self.cleaned_data
        texts = {name: values[name].strip() for name in (*_FIELDS, "figures_source")}
        figures = {name: values[name] for name in platforms.FIGURES}
        return PlatformData(
            values["name"].strip(), PlatformKind(values["kind"]), values["is_existing"], **texts, **figures
        )


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Add a platform."""
    actor = account(request)
    selectors.check_sees_holders(actor)
    platforms.check_may_describe(actor=actor)
    form = PlatformForm(request.POST or None)

    def command() -> HttpResponse:
        made = platforms.register_platform(actor=actor, data=form.to_data())
        return _saved(request, made)

    return _answer(request, form, command, None)


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, platform_id: UUID) -> HttpResponse:
    """Change a platform into its next version."""
    actor = account(request)
    selectors.check_sees_holders(actor)
    platforms.check_may_describe(actor=actor)
    found = selectors.holder(PlatformProfile, platform_id, actor=actor)
    form = PlatformForm(request.POST or None, platform=found)

    def command() -> HttpResponse:
        made = platforms.update_platform(
            actor=actor,
            platform_id=platform_id,
            data=form.to_data(),
            expected_version=form.cleaned_data["version"],
        )
        return _saved(request, made)

    return _answer(request, form, command, found)


def _answer(
    request: HttpRequest, form: PlatformForm, command: Any, found: PlatformProfile | None
) -> HttpResponse:
    def page() -> HttpResponse:
        crumbs = [{"label": _("Plattformen"), "url": reverse("platforms")}]
        if found is not None:
            crumbs.append({"label": found.name, "url": reverse("platform", args=[found.pk])})
        crumbs.append({"label": _("Angaben") if found else _("Neue Plattform")})
        context = {"form": form, "platform": found, "crumbs": crumbs, "back": crumbs[-2]["url"]}
        return render(request, "platforms/edit.html", context)

    return submit(request, form, command, page) if request.method == "POST" else page()


def _saved(request: HttpRequest, made: PlatformProfile) -> HttpResponse:
    if made.is_complete:
        messages.success(request, _("Die Plattform ist gespeichert."))
    else:
        messages.success(
            request,
            _("Gespeichert, aber unvollständig: Erst mit allen Angaben lässt sich die Plattform wählen."),
        )
    return done(request, made, reverse("platform", args=[made.pk]))
