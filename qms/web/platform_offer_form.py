"""The form of offer, contract and way out (EV-20); the rules stand in `qms.evidence.holder_facts`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as lazy

from qms.evidence.holder_choices import CommercialModel
from qms.evidence.holder_facts import Offer
from qms.evidence.holders import MAX_FILE_BYTES, Recording, months_after
from qms.web.platform_forms import NAME_MAX, Group, HolderForm, text_field
from qms.web.workload_fields import DayField, NumberField


class OfferForm(HolderForm):
    """Offer, contract and way out; it holds until the end of the term."""

    valid_until = None  # type: ignore[assignment]  # the end of the term
    commercial_model = forms.ChoiceField(
        label=lazy("Geschäftsmodell"),
        choices=[("", lazy("Bitte wählen")), *((item.value, item.label) for item in CommercialModel)],
    )
    reference = text_field(
        lazy("Angebot oder Vertrag"), hint=lazy("Nummer oder Bezeichnung, unter der man es wiederfindet.")
    )
    offered_at = DayField(label=lazy("Datum des Angebots"))
    file = forms.FileField(
        label=lazy("Datei des Angebots"),
        required=False,
        help_text=lazy(
            "Bis 8\u00a0MiB. Mit Datei gelten die Angaben als Herstellerangabe, ohne sie als geschätzt."
        ),
    )
    term_months = forms.IntegerField(
        label=lazy("Laufzeit in Monaten"),
        min_value=1,
        max_value=240,
        help_text=lazy(
            "Ohne feste Laufzeit: die Monate, mit denen Sie planen. So lange übernehmen Workloads die Angaben."
        ),
    )
    notice_months = forms.IntegerField(label=lazy("Kündigungsfrist in Monaten"), min_value=0, max_value=240)
    transition = text_field(lazy("Übergang nach der Kündigung"), rows=2)
    data_return = text_field(lazy("Rückgabe der Daten"), rows=2)
    export_format = text_field(lazy("Exportformat"))
    exit_cost_eur = NumberField(
        label=lazy("Kosten des Ausstiegs in Euro"), money=True, min_value=0, decimal_places=2
    )
    exit_cost_reason = text_field(lazy("Kosten des Ausstiegs: Begründung, nur bei 0 nötig"), required=False)
    switching_charges_eur = NumberField(
        label=lazy("Wechselentgelte in Euro"), money=True, min_value=0, decimal_places=2
    )
    switching_reason = text_field(lazy("Wechselentgelte: Begründung, nur bei 0 nötig"), required=False)

    _offer: Final = ("commercial_model", "reference", "offered_at", "file")
    _contract: Final = ("term_months", "notice_months", "transition", "data_return", "export_format")
    _exit: Final = ("exit_cost_eur", "exit_cost_reason", "switching_charges_eur", "switching_reason")

    def add_fields(self) -> None:
        """Mark the reasons, which only a zero needs."""
        for name in ("exit_cost_reason", "switching_reason"):
            self.fields[name].asked_later = True  # type: ignore[attr-defined]  # read by the field template

    def stored(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields recorded last."""
        return {name: value for name, value in facts.items() if name in self.fields}

    def clean_file(self) -> Any:
        """Keep only the last part of the name of the file."""
        upload = self.cleaned_data.get("file")
        if upload:
            upload.name = upload.name.replace("\\", "/").rsplit("/", 1)[-1][:NAME_MAX]
        return upload

    def entry(self) -> Offer:
        """Return the offer."""
        values = {name: value for name, value in self.cleaned_data.items() if name != "file"}
        return Offer(**values | {"commercial_model": CommercialModel(values["commercial_model"])})

    def recording(self) -> Recording:
        """Return the offer with its file; one byte more than allowed is read, so that the command can tell."""
        entry, upload = self.entry(), self.cleaned_data.get("file")
        raw = upload.read(MAX_FILE_BYTES + 1) if upload else b""
        until = months_after(entry.offered_at, entry.term_months)
        return Recording(entry, until, raw, upload.name if upload else "")

    @property
    def groups(self) -> list[Group]:
        """Return offer, contract and exit."""
        return [
            self.group(lazy("Angebot"), self._offer),
            self.group(lazy("Vertrag"), self._contract),
            self.group(lazy("Ausstieg"), self._exit),
        ]
