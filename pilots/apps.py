"""Wiring of the package: the model reader, and the jobs that carry out runs."""

from importlib import import_module

from django.apps import AppConfig


class PilotsConfig(AppConfig):
    """Django app `pilots`."""

    name = "pilots"
    label = "pilots"

    def ready(self) -> None:
        """Register the model reader and the job handlers."""
        providers = import_module("qms.workloads.providers")
        providers.set_model_reader(import_module("pilots.catalog").read_model)
        import_module("pilots.jobs")
