"""The URL tree: governance pages, which take over some of allauth's, then accounts, then pilots."""

from django.urls import include, path
from django.views.i18n import set_language

urlpatterns = [
    path("sprache/", set_language, name="set_language"),
    path("", include("qms.web.urls")),
    path("konto/", include("allauth.urls")),
    path("pilot/", include("pilots.urls")),
]
