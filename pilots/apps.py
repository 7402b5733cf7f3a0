"""Wiring of the package: the readers of models, and the jobs that carry out runs."""

from importlib import import_module

from django.apps import AppConfig


class PilotsConfig(AppConfig):
    """Django app `pilots`."""

    name = "pilots"
    label = "pilots"

    def ready(self) -> None:
        """Register the readers of models and the job handlers."""
        providers = import_module("qms.workloads.providers")
        providers.set_model_reader(import_module("pilots.catalog").read_model)
        providers.set_model_file_reader(import_module("pilots.catalog.capture").read_model_file)
        import_module("pilots.jobs")
