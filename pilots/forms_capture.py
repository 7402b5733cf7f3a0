"""The form that hands in a capture as the model of a workload: the file, and how secret it is."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from qms.core import store
from qms.core.errors import CriterionNotMet
from qms.gates import services as gates
from qms.web.widgets import ChoiceCards
from qms.workloads.choices import Level
from qms.workloads.models import Workload
from qms.workloads.services import model_file

HINTS: Final[dict[str, Any]] = {
    Level.PUBLIC: _("Veröffentlicht oder dafür bestimmt."),
    Level.INTERNAL: _("Für die eigene Belegschaft; bekannt geworden, wäre der Schaden begrenzt."),
    Level.CONFIDENTIAL: _("Nur für Personen, die es wissen müssen."),
    Level.STRICTLY_CONFIDENTIAL: _("Nur für benannte Personen. Diese Stufe wird hier nicht abgelegt."),
}


class CaptureForm(forms.Form):
    """Two questions; the level is proposed only where the model weights are classified (spec 4.3 rule 6).

    A workload that has a file already takes another level without the file. `upload` has its bytes.
    """

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

    def __init__(self, *args: Any, workload: Workload, **kwargs: Any) -> None:
        """Propose the level of the object class MODELLGEWICHTE; say which levels no criterion covers (EM-13)."""
        super().__init__(*args, **kwargs)
        self.workload = workload
        field, file = self.fields["level"], self.fields["file"]
        assert isinstance(field, forms.ChoiceField)
        field.widget.hints = {level: _hint(level) for level in Level}
        classified = model_file.weights_level(workload)
        if classified is not None:
            self.initial = {"level": classified.value}
            field.proposed = not self.is_bound  # type: ignore[attr-defined]  # read by the field template
        file.widget.attrs |= {
            "data-max-bytes": model_file.MAX_BYTES,
            "data-too-large": model_file.too_large(),
        }
        if workload.model_file_sha256:
            file.required = False
            file.asked_later = True  # type: ignore[attr-defined]  # read by the field template
            file.help_text = _("Bis 64\u00a0MiB. Ohne neue Datei ändert sich nur die Stufe.")

    def clean_file(self) -> Any:
        """Refuse a file above the limit by what the parser counted, before anything reads it."""
        upload = self.cleaned_data["file"]
        if upload and upload.size > model_file.MAX_BYTES:
            raise forms.ValidationError(model_file.too_large())
        return upload

    def upload(self) -> tuple[bytes, str]:
        """Return bytes and name of the file handed in, else of the one in use; raises CriterionNotMet if it is gone."""
        upload = self.cleaned_data["file"]
        if upload:
            return upload.read(model_file.MAX_BYTES + 1), upload.name
        try:
            return store.get(self.workload.model_file_sha256), self.workload.model_file_name
        except store.StoredFileError as error:
            sentence = gettext(
                "Die bisherige Aufzeichnung ist nicht mehr lesbar; bitte laden Sie sie erneut hoch."
            )
            raise CriterionNotMet(sentence, id="G0-5") from error

    @property
    def level_stated(self) -> Level:
        """The level chosen."""
        return Level(self.cleaned_data["level"])


def _hint(level: Level) -> str:
    """Return what a level means here; one without criteria is a level like any other, with an end before the run."""
    covered = level in gates.rule_set().covers.levels or level is Level.STRICTLY_CONFIDENTIAL
    more = gettext(
        "Für diese Stufe gibt es in diesem Regelwerk noch keine Kriterien: Ein Lauf ist damit nicht möglich."
    )
    return str(HINTS[level]) if covered else f"{HINTS[level]} {more}"
