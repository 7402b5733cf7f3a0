"""The form that registers a key for signed measurements."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

MAX_CARD = 400


class MeasuringKeyForm(forms.Form):
    """Where the key lies, and the line that `keygen` printed."""

    label = forms.CharField(
        label=_("Auf welchem Rechner liegt der Schlüssel?"),
        max_length=80,
        help_text=_("Ein Name, an dem Sie ihn wiedererkennen, zum Beispiel „Messrechner Halle 2“."),
    )
    card = forms.CharField(
        label=_("Registrierzeile"),
        max_length=MAX_CARD,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=_(
            "Die Zeile, die „python -m pilots.baseline keygen“ ausgibt; sie beginnt mit „qms-key-1:“."
        ),
    )
