"""Document model -> PDF/A-3a and PDF/UA-1 (revision 0), and the pictures of the signature fields.

The one home of WeasyPrint. Same input, same bytes: dates come from the record, fonts and styles from the package,
nothing is fetched. WeasyPrint is imported inside the functions, so that everything else runs without Pango.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation

from qms.signing import fields, glyphs, view
from qms.signing.errors import RenderFailed
from qms.signing.request import ACTS_FILE, DECISION_FILE, PROOF_FILE

_STYLES: Final = Path(settings.BASE_DIR) / "templates" / "documents"
_FONT_SCHEME: Final = "qms-font:"


@dataclass(frozen=True, slots=True)
class DocumentInput:
    """Everything the bytes of revision 0 depend on."""

    page: view.PageInput
    decision_json: bytes
    acts_json: bytes
    log_proof: bytes
    created_at: datetime


def render_document(data: DocumentInput) -> bytes:
    """Return revision 0; raises GlyphMissing before rendering, RenderFailed for anything refused while rendering."""
    glyphs.check_all(data.page.texts())
    context = view.page_context(data.page)
    created = data.created_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    with translation.override("de"):
        html = render_to_string("documents/freigabe.html", {**context, "created": created})
    names = tuple(field["name"] for field in context["fields"])
    attachments = (
        (DECISION_FILE, data.decision_json),
        (ACTS_FILE, data.acts_json),
        (PROOF_FILE, data.log_proof),
    )
    return _write(_Print(html, "document.css", attachments, data.created_at, names))


def render_appearance(content: view.AppearanceInput) -> bytes:
    """Return the one-page PDF that is drawn into a signature field; raises GlyphMissing and RenderFailed."""
    glyphs.check_all(content.texts())
    with translation.override("de"):
        html = render_to_string("documents/feld.html", view.appearance_context(content))
    return _write(_Print(html, "feld.css"))


@dataclass(frozen=True, slots=True)
class _Print:
    """What is painted. created_at: None for a picture, which carries no dates; fields: names of signature fields."""

    html: str
    style: str
    attachments: tuple[tuple[str, bytes], ...] = ()
    created_at: datetime | None = None
    fields: tuple[str, ...] = ()


def _write(job: _Print) -> bytes:
    try:
        import weasyprint  # noqa: PLC0415 - optional system library
        from weasyprint.urls import FatalURLFetchingError  # noqa: PLC0415 - as above
    except (ImportError, OSError) as error:
        raise RenderFailed("Pango is missing; the PDF cannot be rendered") from error
    for name in ("weasyprint", "fontTools"):
        logging.getLogger(name).setLevel(logging.WARNING)  # both tell every step
    try:
        return _paint(weasyprint, job)
    except FatalURLFetchingError as error:
        raise RenderFailed(str(error)) from error


def _paint(weasyprint: Any, job: _Print) -> bytes:
    from weasyprint.text.fonts import FontConfiguration  # noqa: PLC0415 - as above

    fetcher, font_config = _fetcher(), FontConfiguration()
    options = {"pdf_variant": "pdf/a-3a"} if job.fields else {}
    css = weasyprint.CSS(
        string=(_STYLES / job.style).read_text(),
        font_config=font_config,
        url_fetcher=fetcher,
        base_url="qms:",
    )
    html = weasyprint.HTML(string=job.html, url_fetcher=fetcher, base_url="qms:")
    document = html.render(stylesheets=[css], font_config=font_config, **options)
    document.metadata.attachments = [
        weasyprint.Attachment(
            file_obj=io.BytesIO(content),
            name=name,
            created=job.created_at,
            modified=job.created_at,
            relationship="Data",
        )
        for name, content in job.attachments
    ]

    def finish(_: Any, pdf: Any) -> None:
        # Verification reads every object of every revision; in object streams each read unpacks the whole stream
        # again, which made it ten times slower. Page and font streams stay compressed.
        pdf.write = partial(_without_object_streams, pdf.write)
        if job.fields:
            fields.finish(pdf, job.fields)

    return bytes(document.write_pdf(finisher=finish, **options))


def _without_object_streams(
    write: Callable[..., None], output: Any, version: Any, identifier: Any, _: bool
) -> None:
    write(output, version, identifier, False)


def _fetcher() -> Any:
    """Return a fetcher that serves bundled fonts and nothing else; anything else stops the rendering."""
    from weasyprint.urls import FatalURLFetchingError, URLFetcher, URLFetcherResponse  # noqa: PLC0415 - as above

    class PackageFetcher(URLFetcher):  # type: ignore[misc]  # weasyprint is untyped
        def fetch(self, url: str, headers: dict[str, str] | None = None) -> URLFetcherResponse:
            if url.startswith("data:image/svg+xml"):
                return super().fetch(url, headers)
            name = url.removeprefix(_FONT_SCHEME)
            if not url.startswith(_FONT_SCHEME) or name not in glyphs.FONT_FILES:
                raise FatalURLFetchingError(f"refused to fetch {url[:80]}")
            return URLFetcherResponse(url, glyphs.unpacked(name), {"Content-Type": "font/ttf"})

    return PackageFetcher(allowed_protocols=("qms-font", "data"), allow_redirects=False, fail_on_errors=True)
