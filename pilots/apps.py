"""Wiring of the package: the readers of models, the lister of runs, and the jobs that carry runs out."""

from importlib import import_module

from django.apps import AppConfig


class PilotsConfig(AppConfig):
    """Django app `pilots`."""

    name = "pilots"
    label = "pilots"

    def ready(self) -> None:
        """Register readers, lister and job handlers."""
        providers = import_module("qms.workloads.providers")
        providers.set_model_reader(import_module("pilots.catalog").read_model)
        providers.set_model_file_reader(import_module("pilots.catalog.capture").read_model_file)
        providers.set_run_lister(import_module("pilots.pages_start").latest_runs)
        import_module("qms.evidence.claims").set_emulator(import_module("pilots.claims_register").answers)
        import_module("pilots.jobs")
