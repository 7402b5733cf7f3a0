"""Wiring of the package."""

from importlib import import_module
from importlib.util import find_spec

from django.apps import AppConfig, apps

_OWN = ("qms", "pilots")
_WIRED = ("jobs", "tasks", "health_checks")


class CoreConfig(AppConfig):
    """Django app `core`."""

    name = "qms.core"
    label = "core"

    def ready(self) -> None:
        """Import `jobs`, `tasks` and `health_checks` of our packages, so that what they register is known everywhere."""
        import_module("qms.core.backup").register_own_part()
        for config in apps.get_app_configs():
            if config.name.partition(".")[0] in _OWN:
                for module in _WIRED:
                    name = f"{config.name}.{module}"
                    if find_spec(name) is not None:
                        import_module(name)
