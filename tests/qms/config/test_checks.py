from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from qms.config import checks


def ids(found):
    return [item.id for item in found]


@pytest.fixture
def database(monkeypatch):
    """The database settings the checks see; ours for SQLite to begin with."""
    values = {
        "ENGINE": checks.SQLITE,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
        },
    }
    monkeypatch.setattr(checks, "settings", SimpleNamespace(DATABASES={"default": values}))
    return values


def test_our_settings_pass():
    assert checks.check_database(None) == []


def test_our_sqlite_settings_pass(database):
    assert checks.check_database(None) == []


@pytest.mark.parametrize("value", ["PRAGMA synchronous=NORMAL;", "", "PRAGMA synchronous=OFF"])
def test_weaker_synchronous_is_refused(database, value):
    database["OPTIONS"]["init_command"] = value
    assert ids(checks.check_database(None)) == ["qms.E002"]


def test_deferred_transactions_are_refused(database):
    del database["OPTIONS"]["transaction_mode"]
    assert ids(checks.check_database(None)) == ["qms.E003"]


def test_atomic_requests_are_refused(database):
    database["ATOMIC_REQUESTS"] = True
    assert ids(checks.check_database(None)) == ["qms.E001"]


@pytest.mark.parametrize(("options", "expected"), [("-c synchronous_commit=off", ["qms.E004"]), ("", [])])
def test_asynchronous_commit_is_refused(database, options, expected):
    database |= {"ENGINE": "django.db.backends.postgresql", "OPTIONS": {"options": options}}
    assert ids(checks.check_database(None)) == expected


def test_switching_the_origin_check_off_is_refused_outside_tests(settings, monkeypatch):
    settings.MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = True
    assert checks.check_origin_check(None) == []
    monkeypatch.delitem(sys.modules, "pytest")
    assert ids(checks.check_origin_check(None)) == ["qms.E005"]
