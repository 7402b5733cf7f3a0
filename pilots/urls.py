"""Screens 4 and 5, the page of a run, and the page "Emulator"."""

from django.urls import path

from pilots import views, views_emulator

urlpatterns = [
    path("emulator/", views_emulator.emulator, name="emulator"),
    path("emulator/karte.png", views_emulator.emulator_map, name="emulator_map"),
    path("<uuid:workload_id>/vergleichsbasis/", views.baseline, name="pilot_baseline"),
    path("<uuid:workload_id>/emulation/", views.target, name="pilot_target"),
    path("laeufe/<uuid:run_id>/", views.run, name="run"),
    path("laeufe/<uuid:run_id>/fortschritt/", views.run_progress, name="run_progress"),
    path("laeufe/<uuid:run_id>/abbrechen/", views.cancel, name="run_cancel"),
    path("laeufe/<uuid:run_id>/karte.png", views.run_map, name="run_map"),
]
