"""Every table of ours is governed by the audit guard or exempt by name, with a reason."""

from __future__ import annotations

from django.apps import apps

from qms.audit import guard


def test_every_exempt_table_exists_and_has_a_reason():
    assert all(apps.get_model(name) for name in guard.EXEMPT)
    assert all(len(reason) > 10 for reason in guard.EXEMPT.values())


EXEMPT = {
    "core.Job",
    "core.OutboxEntry",
    "core.Pulse",
    "core.Installation",
    "signing.ActChallenge",
    "audit.AuditContext",
}


def test_no_other_table_is_exempt():
    """Who adds one here says why in the guard."""
    assert set(guard.EXEMPT) == EXEMPT


def test_every_table_of_ours_is_governed_grows_or_is_exempt():
    ours = {
        model._meta.label
        for model in apps.get_models(include_auto_created=True)
        if model.__module__.partition(".")[0] in {"qms", "pilots"}
    }
    known = {model._meta.label for model in guard.governed_models()} | set(guard.EXEMPT) | set(guard.GROWING)
    assert ours - known - {"audit.LogHead", "audit.Disclosure"} == set()
