"""Wiring of the package."""

from importlib import import_module

from django.apps import AppConfig


class RolesConfig(AppConfig):
    """Django app `roles`."""

    name = "qms.roles"
    label = "roles"

    def ready(self) -> None:
        """Register mails and triggers."""
        import_module("qms.roles.tasks")
        import_module("qms.roles.triggers").register()
