"""A form that asks for a language model by its config.json: pasted, or as a file."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from pilots import catalog


class ConfigForm(forms.Form):
    """The two fields of a model; what is wrong with it is said at them."""

    config = forms.CharField(
        label=_("config.json des Modells"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
        help_text=_(
            "Der Inhalt der Datei aus Hugging Face; Llama, Mistral, Qwen, Mixtral und GPT, bis 256\u00a0KiB. "
            "Gewichte werden nicht gebraucht."
        ),
    )
    file = forms.FileField(label=_("Oder die Datei selbst"), required=False, allow_empty_file=True)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("config", "file"):
            self.fields[name].asked_later = True  # type: ignore[attr-defined]  # read by the field template

    def propose(self, proposals: dict[str, Any]) -> None:
        """Fill fields with what is usually asked, marked as a proposal."""
        self.initial = {**proposals, **self.initial}
        for name in proposals:
            self.fields[name].proposed = not self.is_bound  # type: ignore[attr-defined]  # read by the field template

    def text_of_model(self, values: dict[str, Any]) -> str:
        """Return the text of the model; that of a file goes into the field, so that it is there next time."""
        upload = values.get("file")
        if not upload:
            text: str = values.get("config") or ""
            if not text.strip() and "config" not in self.errors:
                self.add_error("config", _("Bitte fügen Sie die config.json ein, oder wählen Sie die Datei."))
            return text
        try:
            text = upload.read(catalog.MAX_CONFIG_BYTES + 1).decode("utf-8")
        except UnicodeDecodeError:
            self.add_error(
                "file", _("Die Datei ist kein Text in UTF-8. Bitte wählen Sie die config.json des Modells.")
            )
            return ""
        if "\0" in text:
            self.add_error(
                "file", _("Die Datei enthält Nullzeichen. Bitte wählen Sie die config.json des Modells.")
            )
            return ""
        self.data = {name: self.data[name] for name in self.data} | {"config": text}
        return text
