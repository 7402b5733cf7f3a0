"""The form that hands in a capture as the model of a workload: the file, and how secret it is."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from qms.web.widgets import ChoiceCards
from qms.workloads.choices import Level
from qms.workloads.services import model_file

HINTS: Final[dict[str, Any]] = {
    Level.PUBLIC: _("Veröffentlicht oder dafür bestimmt."),
    Level.INTERNAL: _("Für die eigene Belegschaft; bekannt geworden, wäre der Schaden begrenzt."),
    Level.CONFIDENTIAL: _("Nur für Personen, die es wissen müssen."),
    Level.STRICTLY_CONFIDENTIAL: _("Nur für benannte Personen. Diese Stufe wird hier nicht abgelegt."),
}


class CaptureForm(forms.Form):
    """Two questions; the level is proposed only where the model weights are classified (spec 4.3 rule 6)."""

    file = forms.FileField(
        label=_("Aufzeichnung (.wgraph)"),
        allow_empty_file=True,  # the reader refuses it, which leaves its event
        help_text=_("Graph, Gewichte und Beispieleingaben in einer Datei, bis 64\u00a0MiB."),
        widget=forms.FileInput(attrs={"accept": ".wgraph"}),
    )
    level = forms.ChoiceField(
        label=_("Welche Stufe haben Gewichte und Beispieleingaben?"),
        choices=[(item.value, f"{item.value} {item.label}") for item in Level],
        widget=ChoiceCards(hints=HINTS),
    )

    def __init__(self, *args: Any, classified: Level | None, **kwargs: Any) -> None:
        """Propose the level of the object class MODELLGEWICHTE."""
        super().__init__(*args, **kwargs)
        if classified is not None:
            self.initial = {"level": classified.value}
            self.fields["level"].proposed = not self.is_bound  # type: ignore[attr-defined]  # read by the field template

    def clean_file(self) -> Any:
        """Refuse a file above the limit by what the parser counted, before anything reads it."""
        upload = self.cleaned_data["file"]
        if upload.size > model_file.MAX_BYTES:
            raise forms.ValidationError(model_file.too_large())
        return upload

    @property
    def level_stated(self) -> Level:
        """The level chosen."""
        return Level(self.cleaned_data["level"])
