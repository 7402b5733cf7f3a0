"""Addresses for the tests of people: our pages before allauth's, as in the product, and stand-ins for the frame's links."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def stand_in(request: HttpRequest) -> HttpResponse:
    return HttpResponse("Muster")


urlpatterns = [
    path("", stand_in, name="start"),
    *(
        path(f"{name}/", stand_in, name=name)
        for name in (
            "workloads",
            "approvals",
            "emulator",
            "platforms",
            "measuring_keys",
            "audit_log",
            "health",
        )
    ),
    path("", include("qms.web.people_urls")),
    path("konto/", include("allauth.urls")),
    path("sprache/", include("django.conf.urls.i18n")),
]
