"""The page "Modell", screens 4 and 5, the page of a run, and the page "Emulator"."""

from django.urls import path

from pilots import (
    views,
    views_announce,
    views_capture,
    views_cluster,
    views_comparison,
    views_costs,
    views_deviations,
    views_emulator,
    views_fabric,
    views_import,
    views_keys,
    views_porting,
    views_replay,
)

urlpatterns = [
    path("emulator/", views_emulator.emulator, name="emulator"),
    path("emulator/takte/", views_fabric.fabric, name="fabric"),
    path("cluster/", views_cluster.cluster, name="cluster"),
    path("emulator/karte.png", views_emulator.emulator_map, name="emulator_map"),
    path("messschluessel/", views_keys.keys, name="measuring_keys"),
    path("messschluessel/<uuid:key_id>/widerrufen/", views_keys.revoke, name="measuring_key_revoke"),
    path("<uuid:workload_id>/modell/", views_capture.model, name="pilot_model"),
    path("<uuid:workload_id>/vergleichsbasis/", views.baseline, name="pilot_baseline"),
    path("<uuid:workload_id>/vergleichsbasis/tabelle/", views_import.table, name="pilot_table"),
    path("<uuid:workload_id>/emulation/", views.target, name="pilot_target"),
    path("<uuid:workload_id>/vergleich/", views_comparison.comparison, name="pilot_comparison"),
    path("<uuid:workload_id>/ankuendigung/", views_announce.announce, name="pilot_announce"),
    path("<uuid:workload_id>/kosten/", views_costs.sheet, name="pilot_costs"),
    path("<uuid:workload_id>/prognose/", views_announce.forecast, name="pilot_forecast"),
    path("<uuid:workload_id>/abweichungen/", views_deviations.listing, name="pilot_deviations"),
    path("<uuid:workload_id>/portierung/", views_porting.effort, name="pilot_porting"),
    path("laeufe/<uuid:run_id>/", views.run, name="run"),
    path("laeufe/<uuid:run_id>/fortschritt/", views.run_progress, name="run_progress"),
    path("laeufe/<uuid:run_id>/abbrechen/", views.cancel, name="run_cancel"),
    path("laeufe/<uuid:run_id>/messdateien/", views_announce.hand_in, name="run_hand_in"),
    path("laeufe/<uuid:run_id>/zuruecknehmen/", views_announce.withdraw, name="run_withdraw"),
    path("laeufe/<uuid:run_id>/nachrechnen/", views_replay.start, name="run_replay"),
    path("laeufe/<uuid:run_id>/nachrechnen/fortschritt/", views_replay.progress, name="replay_progress"),
    path("laeufe/<uuid:run_id>/modell.wgraph", views_replay.model_file, name="run_model"),
    path("laeufe/<uuid:run_id>/karte.png", views.run_map, name="run_map"),
]
