"""Wiring of the package: `prepare` sets up the organisation and the shipped platform profiles."""

from importlib import import_module

from django.apps import AppConfig


class WorkloadsConfig(AppConfig):
    """Django app `workloads`."""

    name = "qms.workloads"
    label = "workloads"

    def ready(self) -> None:
        """Register the first step."""
        setup = import_module("qms.workloads.services.setup")
        import_module("qms.core.installation").add_step(setup.complete_house)
