"""The two addresses the page frame itself needs; the style guide stands apart from the product's URL tree."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import path
from django.views.i18n import set_language

urlpatterns = [
    path("sprache/", set_language, name="set_language"),
    path("abmelden/", LogoutView.as_view(), name="account_logout"),
]
