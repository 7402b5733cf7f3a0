"""Wiring of the package."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate  # noqa: TID251 - a remade table loses its triggers


class AuditConfig(AppConfig):
    """Django app `audit`."""

    name = "qms.audit"
    label = "audit"

    def ready(self) -> None:
        """Have the guard installed after every migrate, and register the parts of a bundle and of a backup."""
        from qms.audit import backup, guard, parts  # noqa: PLC0415 - models exist only now

        post_migrate.connect(guard.after_migrate, sender=self, dispatch_uid="qms.audit.guard")
        parts.register_own_parts()
        backup.register_own_part()
