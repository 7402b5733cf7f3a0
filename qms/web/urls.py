"""All pages of the governance packages."""

from importlib.util import find_spec

from django.urls import include, path

_PARTS = ("people_urls", "workload_urls", "approval_urls", "platform_urls", "suitability_urls", "claim_urls")

urlpatterns = [path("", include(f"qms.web.{part}")) for part in _PARTS if find_spec(f"qms.web.{part}")]
