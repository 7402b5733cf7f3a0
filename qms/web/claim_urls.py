"""The claims register."""

from django.urls import path

from qms.web import claim_views

urlpatterns = [
    path("behauptungen/", claim_views.register, name="claims"),
    path("behauptungen/<slug:key>/", claim_views.claim, name="claim"),
]
