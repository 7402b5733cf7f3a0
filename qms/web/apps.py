"""Wiring of the package."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    """Django app `web`."""

    name = "qms.web"
    label = "web"
