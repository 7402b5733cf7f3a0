"""Wiring of the package."""

from django.apps import AppConfig


class WorkloadsConfig(AppConfig):
    """Django app `workloads`."""

    name = "qms.workloads"
    label = "workloads"
