"""Addresses of pages that other packages bring, so that links can be made without them."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def _page(request: HttpRequest, **kwargs: object) -> HttpResponse:
    return HttpResponse("stub")


urlpatterns = [
    path("konto/", include("allauth.urls")),
    path("", include("qms.web.urls")),
    path("pilot/emulator/", _page, name="emulator"),
    path("pilot/<uuid:workload_id>/vergleichsbasis/", _page, name="pilot_baseline"),
    path("pilot/<uuid:workload_id>/emulation/", _page, name="pilot_target"),
    path("pilot/laeufe/<uuid:run_id>/", _page, name="run"),
    path("workloads/<uuid:workload_id>/beantragen/", _page, name="approval_request"),
    path("freigaben/", _page, name="approvals"),
    path("freigaben/<uuid:approval_id>/", _page, name="approval"),
    path("freigaben/<uuid:approval_id>/pruefen/", _page, name="approval_review"),
    path("freigaben/<uuid:approval_id>/entscheiden/", _page, name="approval_decide"),
    path("nachweise/<uuid:evidence_id>/", _page, name="evidence"),
    path("protokoll/", _page, name="audit_log"),
    path("gesundheit/", _page, name="health"),
]
