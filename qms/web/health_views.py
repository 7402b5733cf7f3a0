"""Whether the system works: one word for everybody, the findings for those who run it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from qms.core import health as checks
from qms.roles import guards
from qms.roles.permissions import Permission
from qms.web.answers import account

FAILED_STATUS = 503


@never_cache
@require_GET
def health(request: HttpRequest) -> HttpResponse:
    """Answer programs with {"status": "ok"} or "failed" (503), signed-in people with a page; details need P39."""
    signed_in = request.user.is_authenticated
    details = signed_in and guards.may(actor=account(request), permission=Permission.CONFIGURE_SYSTEM)
    results = checks.run(mandatory_only=not details)
    fit = checks.is_fit(results)
    status = 200 if fit else FAILED_STATUS
    if signed_in and "text/html" in request.headers.get("Accept", ""):
        context = {"fit": fit, "details": details, "results": _sorted(results), "crumbs": []}
        return render(request, "status/health.html", context)
    body: dict[str, Any] = {"status": "ok" if fit else "failed"}
    if details:
        body["checks"] = [
            {
                "name": str(item.name),
                "mandatory": item.mandatory,
                "ok": item.finding.ok,
                "text": item.finding.text_de,
                "remedy": item.finding.remedy_de,
            }
            for item in results
        ]
    return JsonResponse(body, status=status)


def _sorted(results: list[checks.Result]) -> list[dict[str, Any]]:
    """Return what needs somebody first."""
    rows = [
        {
            "name": item.name,
            "finding": item.finding,
            "tone": "ok" if item.finding.ok else "bad" if item.mandatory else "warn",
        }
        for item in results
    ]
    words = {"ok": _("in Ordnung"), "warn": _("zu beachten"), "bad": _("gestört")}
    order = {"bad": 0, "warn": 1, "ok": 2}
    return sorted(
        [row | {"word": words[str(row["tone"])]} for row in rows], key=lambda row: order[str(row["tone"])]
    )
