"""Wiring of the package."""

from importlib import import_module

from django.apps import AppConfig


class RolesConfig(AppConfig):
    """Django app `roles`."""

    name = "qms.roles"
    label = "roles"

    def ready(self) -> None:
        """Register triggers, and the check of permissions for the log, which lies below this package."""
        import_module("qms.roles.triggers").register()
        guards = import_module("qms.roles.guards")
        permission = import_module("qms.roles.permissions").Permission
        import_module("qms.audit.access").set_require(
            lambda actor, code: guards.require(actor=actor, permission=permission(code)).value
        )
