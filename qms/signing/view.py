"""Document model -> what the templates show. Pure functions over JSON; German labels come from gettext."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from qms.core.hyphens import soften
from qms.signing.acts import Authenticator, Method
from qms.signing.request import CLOSING_FIELD, OPENING_FIELD, FieldRequest

SHORT_DIGEST: Final = 16
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
FIELD_DIGEST: Final = 24
_MEANINGS: Final = {
    "verfasst": gettext_lazy("Verfasst durch"),
    "geprüft": gettext_lazy("Geprüft durch"),
    "Stellungnahme abgegeben": gettext_lazy("Stellungnahme abgegeben durch"),
    "freigegeben": gettext_lazy("Freigegeben durch"),
    "bedingt freigegeben": gettext_lazy("Bedingt freigegeben durch"),
    "abgelehnt": gettext_lazy("Abgelehnt durch"),
    "widerrufen": gettext_lazy("Widerrufen durch"),
    "zurückgezogen": gettext_lazy("Zurückgezogen durch"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageInput:
    """What stands on the pages; digests in full hexadecimal, `methods` as the acts were confirmed."""

    number: str
    version: str
    organisation: str
    body: dict[str, Any]
    fields: tuple[FieldRequest, ...]
    dossier_sha256: str
    decision_sha256: str
    root_sha256: str
    log_key: str
    methods: tuple[Method, ...]
    software: bool
    demo: bool

    def texts(self) -> list[Any]:
        """Return every text that came from outside the templates."""
        labels = [[field.role, field.role_label, field.meaning] for field in self.fields]
        return [self.number, self.version, self.organisation, self.body, *labels]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppearanceInput:
    """The picture of one signature field: a heading, a big line, label-value rows and small print."""

    heading: str
    title: str
    rows: tuple[tuple[str, str], ...]
    small: str
    demo: bool
    seal: bool

    def texts(self) -> list[Any]:
        """Return every text of the picture."""
        return list(asdict(self).values())


def page_context(data: PageInput) -> dict[str, Any]:
    """Return the template context of a document."""
    body = data.body
    sections = [
        {**section, "blocks": [_block(block) for block in section["blocks"]]} for section in body["sections"]
    ]
    if not any(block["kind"] == "signatures" for section in sections for block in section["blocks"]):
        with override("de"):
            title = _("Unterschriften und Siegel")
        sections.append({"number": "", "title": title, "blocks": [{"kind": "signatures"}]})
    return {
        "number": data.number,
        "version": data.version,
        "organisation": data.organisation,
        "title": body["title"],
        "header": [_fact(row) for row in body["header"]],
        "board_sentence": body["board_sentence"],
        "figures": body["figures"][:3],
        "not_checked": body["not_checked"],
        "notices": body["notices"],
        "sections": sections,
        "fields": _fields(data.fields),
        "dossier_short": data.dossier_sha256[:SHORT_DIGEST],
        "dossier_sha256": data.dossier_sha256,
        "decision_sha256": data.decision_sha256,
        "root_sha256": data.root_sha256,
        "log_key": data.log_key,
        "act_labels": [method_label(method) for method in sorted(set(data.methods))],
        "fallback": Method.PASSWORD_TOTP in data.methods,
        "software": data.software,
        "demo": data.demo,
    }


def appearance_context(content: AppearanceInput) -> dict[str, Any]:
    """Return the template context of a field picture."""
    return asdict(content)


def person_appearance(
    *,
    name: str,
    delegated: bool,
    role: str,
    meaning: str,
    confirmed_at: datetime,
    zone: str,
    method: Method,
    authenticator: Authenticator,
    certificate_sha256: str,
    record_id: str,
    digest: str,
    demo: bool,
) -> AppearanceInput:
    """Return the picture of a person's field (signing.md 11: name, role, meaning, local time, how it was confirmed)."""
    with override("de"):
        rows = [(_("Rolle"), role), (_("Bedeutung"), meaning), (_("Zeit"), local_time(confirmed_at, zone))]
        rows += [(_("Zertifikat SHA-256"), f"{certificate_sha256[:FIELD_DIGEST]}…")]
        rows += [(_("Vorgang"), record_id), (_("Prüfsumme"), f"{digest[:FIELD_DIGEST]}…")]
        small = method_label(method)
        if authenticator is Authenticator.SOFTWARE:
            small = _("%(label)s · Muster: Software-Authenticator") % {"label": small}
        return AppearanceInput(
            heading=str(_MEANINGS[meaning]) if meaning in _MEANINGS else _("Bestätigt durch"),
            title=_("%(name)s (i. V.)") % {"name": name} if delegated else name,
            rows=tuple(rows),
            small=small,
            demo=demo,
            seal=False,
        )


def seal_appearance(
    *,
    field: str,
    organisation: str,
    sealed_at: datetime,
    zone: str,
    certificate_sha256: str,
    checkpoint: str,
    demo: bool,
) -> AppearanceInput:
    """Return the picture of a seal; the closing seal also names the state of the log."""
    with override("de"):
        heading = seal_reason(field)
        rows = [(_("Zeit"), local_time(sealed_at, zone))]
        rows += [(_("Zertifikat SHA-256"), f"{certificate_sha256[:FIELD_DIGEST]}…")]
        if checkpoint:
            rows += [(_("Protokollstand"), checkpoint)]
        small = _(
            "Organisationssiegel – bestätigt Herkunft und Unverändertheit, ersetzt keine persönliche Unterschrift"
        )
        return AppearanceInput(
            heading=heading, title=organisation, rows=tuple(rows), small=small, demo=demo, seal=True
        )


def seal_reason(field: str) -> str:
    """Return the sentence of a seal, also written into the signature as its reason."""
    if field == OPENING_FIELD:
        return _("Eingangssiegel: Dokumentinhalt festgeschrieben")
    return _("Abschlusssiegel: alle erforderlichen Bestätigungen liegen vor")


def method_label(method: Method) -> str:
    """Return the label of an act; it never claims more than what happened (spec 5.2)."""
    if method is Method.PASSKEY:
        return _("Elektronische Freigabebestätigung mit personengebundenem Schlüssel (Passkey)")
    return _(
        "Elektronische Freigabebestätigung mit Passwort und Einmalcode, ohne personengebundenen Schlüssel"
    )


def local_time(moment: datetime, zone: str) -> str:
    """Return local time with its name and its distance to UTC: 17.03.2026, 10:30:00 MEZ (UTC+01:00)."""
    local = moment.astimezone(ZoneInfo(zone))
    name = {"CET": "MEZ", "CEST": "MESZ"}.get(local.tzname() or "", local.tzname() or "")
    offset = local.strftime("%z")
    return f"{local:%d.%m.%Y, %H:%M:%S} {name} (UTC{offset[:3]}:{offset[3:]})"


def _fields(requests: tuple[FieldRequest, ...]) -> list[dict[str, str]]:
    return list(_field_views(requests))


def _field_views(requests: tuple[FieldRequest, ...]) -> Iterator[dict[str, str]]:
    with override("de"):
        yield {"name": OPENING_FIELD, "label": _("Eingangssiegel der Organisation"), "hint": ""}
        for number, field in enumerate(requests, start=1):
            label = _("Bestätigung %(number)s") % {"number": number}
            role = field.role_label or field.role
            yield {"name": field.field, "label": label, "hint": f"{role} · {field.meaning}"}
        yield {"name": CLOSING_FIELD, "label": _("Abschlusssiegel der Organisation"), "hint": ""}


def _cell(text: str, numeric: bool) -> dict[str, Any]:
    return {"text": text if numeric else soften(text), "numeric": numeric}


def _fact(row: Sequence[str]) -> dict[str, Any]:
    label, value = row
    return {"label": soften(label), "value": value, "digest": bool(_DIGEST.fullmatch(value))}


def _block(block: dict[str, Any]) -> dict[str, Any]:
    if block["kind"] == "table":
        numeric = set(block.get("numeric", []))
        head = [_cell(text, index in numeric) for index, text in enumerate(block["head"])]
        rows = [[_cell(text, index in numeric) for index, text in enumerate(row)] for row in block["rows"]]
        return {
            "kind": "table",
            "caption": block.get("caption", ""),
            "head": head,
            "rows": rows,
            "widths": block.get("widths", []),
        }
    if block["kind"] == "facts":
        return {"kind": "facts", "rows": [_fact(row) for row in block["rows"]]}
    if block["kind"] == "list":
        return {"kind": "list", "items_list": block["items"]}  # a template reads `.items` as a method of dict
    if block["kind"] == "qr":
        import segno  # noqa: PLC0415 - needed by documents with a code only

        svg = segno.make(block["text"], error="m").svg_data_uri(scale=4, border=0, xmldecl=False)
        return {**block, "source": svg}
    return block
