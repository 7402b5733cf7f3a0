"""Wiring of the package."""

from importlib import import_module

from django.apps import AppConfig


class SigningConfig(AppConfig):
    """Django app `signing`."""

    name = "qms.signing"
    label = "signing"

    def ready(self) -> None:
        """Register what this package brings to an audit bundle and to the check of a restored backup."""
        import_module("qms.signing.parts").register_own_parts()
        import_module("qms.signing.backup").register_own_part()
