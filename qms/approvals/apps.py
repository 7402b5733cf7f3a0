"""Wiring of the package."""

from importlib import import_module

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """Django app `approvals`."""

    name = "qms.approvals"
    label = "approvals"

    def ready(self) -> None:
        """Register the triggers that repeat segregation of duties, the parts of a bundle, and the check of texts."""
        import_module("qms.approvals.triggers").register()
        import_module("qms.approvals.parts").register_own_parts()
        import_module("qms.signing.hooks").add(import_module("qms.approvals.mails").tell_sealing)
        texts = import_module("qms.approvals.texts")
        import_module("qms.workloads.providers").add_content_hook(texts.check_content)
