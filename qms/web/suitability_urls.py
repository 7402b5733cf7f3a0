"""Eignung und Bedarf of a workload."""

from django.urls import path

from qms.web import suitability_views

urlpatterns = [
    path("workloads/<uuid:workload_id>/eignung/", suitability_views.suitability, name="workload_suitability"),
]
