"""Wiring of the package."""

from django.apps import AppConfig


class EvidenceConfig(AppConfig):
    """Django app `evidence`."""

    name = "qms.evidence"
    label = "evidence"
