"""Fields and forms that take files of measurements: several files of one run, and tables whose columns a person names."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from pilots.catalog.joined import (
    DECIMALS,
    MAX_FILES,
    MEANINGS,
    SEPARATORS,
    SUCCESS,
    Column,
    Layout,
    TableReading,
)
from pilots.pages_import import FIGURES
from pilots.services.handed_in import ImportedFile
from qms.core.errors import CriterionNotMet
from qms.workloads.models import PlatformProfile

MAX_FILE_BYTES: Final = 8 * 2**20
"""No more of an upload is read, plus one byte that tells the importer there is more."""
MAX_SENT_BYTES: Final = MAX_FILES * MAX_FILE_BYTES
TOO_LARGE: Final = _(
    "Eine Datei ist größer als 8\u00a0MiB. Bitte kürzen Sie die Messung; größere Spuren liest „python -m pilots.baseline import“."
)

MAX_TABLE_BYTES: Final = 4 * 2**20  # it comes back with the second step, a third larger
TABLE_TOO_LARGE: Final = _("Die Tabelle ist größer als 4\u00a0MiB. Bitte kürzen Sie die Messung.")
MEANING_LABELS: Final[dict[str, Any]] = {
    **FIGURES,
    SUCCESS: _("Anfrage erfolgreich (1 oder 0)"),
}
WRITTEN: Final = {"ratio": _("Anteil von 0 bis 1"), "us": "µs"}


class FilesInput(forms.FileInput):
    """A file field in which several files can be chosen; a browser refuses a file above the limit before it sends."""

    allow_multiple_selected = True

    def __init__(self) -> None:
        super().__init__(
            attrs={"multiple": True, "data-max-bytes": MAX_FILE_BYTES, "data-too-large": TOO_LARGE}
        )

    def value_from_datadict(
        self, data: Any, files: MultiValueDict[str, UploadedFile[Any]], name: str
    ) -> list[UploadedFile[Any]]:
        """Return all files sent under the name."""
        return files.getlist(name)


class FilesField(forms.FileField):
    """Up to five files; cleaned to a list of `ImportedFile`, whose content is the importer's to judge."""

    widget = FilesInput

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_empty_file=True, **options)  # the importer refuses it, which leaves its event

    def clean(self, data: Any, initial: Any = None) -> Any:
        """Return the files read up to the limit, each by the last part of its name; raises ValidationError."""
        if not data:
            return super().clean(None, initial) or []
        if len(data) > MAX_FILES:
            raise forms.ValidationError(_("Bitte wählen Sie höchstens fünf Dateien eines Laufs."))
        return [handed_in(super(FilesField, self).clean(item, initial)) for item in data]


def handed_in(upload: UploadedFile[Any]) -> ImportedFile:
    """Return an upload by the last part of its name, read up to the limit and one byte."""
    name = str(upload.name).replace("\\", "/").rsplit("/", 1)[-1][:120]
    return ImportedFile(upload.read(MAX_FILE_BYTES + 1), name)


class TableForm(forms.Form):
    """First step: the table, where it was measured, and how it is written. German tables are asked, never guessed."""

    file = forms.FileField(
        label=_("Tabelle"),
        allow_empty_file=True,
        help_text=_("CSV oder TSV in UTF-8, eine Zeile je Messung, bis 4\u00a0MiB."),
        widget=forms.FileInput(attrs={"data-max-bytes": MAX_TABLE_BYTES, "data-too-large": TABLE_TOO_LARGE}),
    )
    platform = forms.ModelChoiceField(
        label=_("Plattform, auf der gemessen wurde"),
        queryset=PlatformProfile.objects.none(),
        empty_label=_("Bitte wählen"),
    )
    separator = forms.ChoiceField(
        label=_("Was trennt die Spalten?"),
        choices=[("KOMMA", _("Komma")), ("SEMIKOLON", _("Semikolon")), ("TAB", _("Tabulator"))],
        widget=forms.RadioSelect,
    )
    decimal = forms.ChoiceField(
        label=_("Was steht vor den Nachkommastellen?"),
        choices=[("PUNKT", _("Punkt (0.19)")), ("KOMMA", _("Komma (0,19)"))],
        widget=forms.RadioSelect,
    )
    headed = forms.BooleanField(
        label=_("Die erste Zeile enthält Überschriften"), required=False, initial=True
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["platform"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = PlatformProfile.objects.complete().filter(is_existing=True)

    def clean_file(self) -> ImportedFile:
        """Return the table as handed in; raises ValidationError above the limit."""
        upload = self.cleaned_data["file"]
        if upload.size > MAX_TABLE_BYTES:
            raise forms.ValidationError(TABLE_TOO_LARGE)
        return handed_in(upload)

    @property
    def layout(self) -> Layout:
        """How the person says the table is written."""
        return Layout(*(self.cleaned_data[name] for name in ("separator", "decimal", "headed")))


class ColumnsForm(forms.Form):
    """Second step: what each column is. The table comes back with the answers, byte for byte; nothing is kept between.

    Fields `key_N` and `unit_N` for column N from 1; an empty key leaves the column out.
    """

    content = forms.CharField(widget=forms.HiddenInput)
    name = forms.CharField(widget=forms.HiddenInput, max_length=120)
    platform = forms.ModelChoiceField(
        queryset=PlatformProfile.objects.complete().filter(is_existing=True), widget=forms.HiddenInput
    )
    separator = forms.ChoiceField(choices=[(key, key) for key in SEPARATORS], widget=forms.HiddenInput)
    decimal = forms.ChoiceField(choices=[(key, key) for key in DECIMALS], widget=forms.HiddenInput)
    headed = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, names: Sequence[str], **kwargs: Any) -> None:
        """names: of the columns of the table."""
        super().__init__(*args, **kwargs)
        self.names = tuple(names)
        keys = [("", _("nicht übernehmen")), *((key, MEANING_LABELS[key]) for key in (*MEANINGS, SUCCESS))]
        units = dict.fromkeys(unit for meaning in MEANINGS.values() for unit in meaning.units if unit)
        for place, name in enumerate(self.names, 1):
            self.fields[f"key_{place}"] = forms.ChoiceField(
                label=_("Größe in Spalte %(name)s") % {"name": name}, choices=keys, required=False
            )
            self.fields[f"unit_{place}"] = forms.ChoiceField(
                label=_("Einheit in Spalte %(name)s") % {"name": name},
                choices=[("", _("ohne Einheit")), *((unit, WRITTEN.get(unit, unit)) for unit in units)],
                required=False,
            )
            for kind in ("key", "unit"):
                self.fields[f"{kind}_{place}"].asked_later = True  # type: ignore[attr-defined]  # read by the field template

    @classmethod
    def first(cls, form: TableForm, names: Sequence[str]) -> ColumnsForm:
        """Return the empty second step for a valid first one."""
        given, file = form.cleaned_data, form.cleaned_data["file"]
        initial = {name: given[name] for name in ("platform", "separator", "decimal", "headed")}
        content = base64.b64encode(file.data).decode("ascii")
        return cls(names=names, initial=initial | {"content": content, "name": file.name})

    @property
    def pairs(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        """The two fields of each column."""
        return [(self[f"key_{place}"], self[f"unit_{place}"]) for place in range(1, len(self.names) + 1)]

    @property
    def file(self) -> ImportedFile:
        """The table as it was handed in."""
        return ImportedFile(table_bytes(self.cleaned_data["content"]), self.cleaned_data["name"])

    @property
    def reading(self) -> TableReading:
        """What the person says of the table."""
        given = self.cleaned_data
        columns = [
            Column(
                place,
                given[f"key_{place + 1}"],
                "" if given[f"key_{place + 1}"] == SUCCESS else given[f"unit_{place + 1}"],
            )
            for place in range(len(self.names))
            if given[f"key_{place + 1}"]
        ]
        return TableReading(layout_of(given), tuple(columns))


def layout_of(given: Mapping[str, Any]) -> Layout:
    """Return how a table is written, from what a form sent; unknown words raise KeyError later, so they are replaced."""
    separator, decimal = str(given.get("separator")), str(given.get("decimal"))
    return Layout(
        separator if separator in SEPARATORS else "KOMMA",
        decimal if decimal in DECIMALS else "PUNKT",
        str(given.get("headed")) == "True" or given.get("headed") == "on",
    )


def table_bytes(content: str) -> bytes:
    """Return the table that came back with the answers; raises CriterionNotMet for one that was changed on its way."""
    try:
        return base64.b64decode(content, validate=True)
    except ValueError as error:
        sentence = gettext("Die Tabelle ist auf dem Weg beschädigt worden; bitte laden Sie sie erneut hoch.")
        raise CriterionNotMet(sentence, id="EV-02", code="NACHWEIS_VERWEIGERT") from error
