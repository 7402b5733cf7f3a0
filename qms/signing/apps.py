"""Wiring of the package."""

from django.apps import AppConfig


class SigningConfig(AppConfig):
    """Django app `signing`."""

    name = "qms.signing"
    label = "signing"
