"""Files as downloads: never shown in the page, under a name that no header can be broken with."""

from __future__ import annotations

import re
from typing import IO, Final

from django.http import FileResponse, HttpResponse
from django.http.response import HttpResponseBase

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
MAX_NAME: Final = 120


def safe_name(name: str) -> str:
    """Return a file name of plain letters, digits, dot, dash and underscore; never hidden, never empty."""
    return _UNSAFE.sub("-", name).strip(".-")[-MAX_NAME:] or "datei"


def attachment(data: bytes, name: str, media_type: str) -> HttpResponse:
    """Answer with a file the browser saves and neither shows nor guesses a type for."""
    response = HttpResponse(data, content_type=media_type)
    _mark(response, name)
    return response


def attachment_file(file: IO[bytes], name: str, media_type: str) -> FileResponse:
    """Answer like `attachment` with a file of its own, sent piece by piece and closed afterwards."""
    file.seek(0)
    response = FileResponse(file, content_type=media_type)
    _mark(response, name)
    return response


def _mark(response: HttpResponseBase, name: str) -> None:
    response["Content-Disposition"] = f'attachment; filename="{safe_name(name)}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
