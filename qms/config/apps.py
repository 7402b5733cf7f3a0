"""Wiring of the composition root: system checks, and Celery as this process talks to it."""

from importlib import import_module

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """Django app `config`; no models."""

    name = "qms.config"
    label = "config"

    def ready(self) -> None:
        """Register the system checks; make our Celery app the one that `shared_task` finds, in every thread."""
        import_module("qms.config.checks")
        import_module("qms.config.celery").app.set_default()
