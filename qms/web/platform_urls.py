"""Platforms and the organisation."""

from django.urls import path

from qms.web import platform_profile_views, platform_views

_PLATFORM = "plattformen/<uuid:platform_id>/"

urlpatterns = [
    path("plattformen/", platform_views.platforms, name="platforms"),
    path("plattformen/neu/", platform_profile_views.new, name="platform_new"),
    path(f"{_PLATFORM}angaben/", platform_profile_views.edit, name="platform_edit"),
    path(_PLATFORM, platform_views.platform, name="platform"),
    path(f"{_PLATFORM}ebenen/", platform_views.levels, name="platform_levels"),
    path(f"{_PLATFORM}angebot/", platform_views.offer, name="platform_offer"),
    path(f"{_PLATFORM}umfeld/", platform_views.environment, name="platform_environment"),
    path("organisation/", platform_views.organisation, name="organisation"),
    path("organisation/faehigkeiten/", platform_views.capability, name="organisation_capability"),
]
