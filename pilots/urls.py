"""The page "Modell", screens 4 and 5, the page of a run, and the page "Emulator"."""

from django.urls import path

from pilots import views, views_capture, views_emulator, views_fabric, views_porting, views_replay

urlpatterns = [
    path("emulator/", views_emulator.emulator, name="emulator"),
    path("emulator/takte/", views_fabric.fabric, name="fabric"),
    path("emulator/karte.png", views_emulator.emulator_map, name="emulator_map"),
    path("<uuid:workload_id>/modell/", views_capture.model, name="pilot_model"),
    path("<uuid:workload_id>/vergleichsbasis/", views.baseline, name="pilot_baseline"),
    path("<uuid:workload_id>/emulation/", views.target, name="pilot_target"),
    path("<uuid:workload_id>/portierung/", views_porting.effort, name="pilot_porting"),
    path("laeufe/<uuid:run_id>/", views.run, name="run"),
    path("laeufe/<uuid:run_id>/fortschritt/", views.run_progress, name="run_progress"),
    path("laeufe/<uuid:run_id>/abbrechen/", views.cancel, name="run_cancel"),
    path("laeufe/<uuid:run_id>/nachrechnen/", views_replay.start, name="run_replay"),
    path("laeufe/<uuid:run_id>/nachrechnen/fortschritt/", views_replay.progress, name="replay_progress"),
    path("laeufe/<uuid:run_id>/modell.wgraph", views_replay.model_file, name="run_model"),
    path("laeufe/<uuid:run_id>/karte.png", views.run_map, name="run_map"),
]
