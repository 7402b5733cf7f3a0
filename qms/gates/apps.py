"""Wiring of the package: rule sets are checked at start and bring the permission matrix."""

from importlib import import_module

from django.apps import AppConfig


class GatesConfig(AppConfig):
    """Django app `gates`."""

    name = "qms.gates"
    label = "gates"

    def ready(self) -> None:
        """Load and check every rule set; register the matrix and the hook that moves workloads on."""
        rule_sets = import_module("qms.gates.rule_sets")
        engine = import_module("qms.gates.engine")
        services = import_module("qms.gates.services")
        for rule_set in rule_sets.load_all():
            engine.check_registry(rule_set)
        import_module("qms.roles.matrix").set_source(lambda: services.rule_set().permissions)
        import_module("qms.workloads.providers").add_content_hook(services.advance)
