"""The URL tree: governance pages, which take over some of allauth's, then accounts, then pilots."""

from django.urls import include, path

urlpatterns = [
    path("", include("qms.web.urls")),
    path("konto/", include("allauth.urls")),
    path("pilot/", include("pilots.urls")),
]
