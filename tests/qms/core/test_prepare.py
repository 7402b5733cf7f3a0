from __future__ import annotations

import sqlite3

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from qms.audit.models import AuditEvent
from qms.core import installation
from qms.core.management.commands import prepare
from qms.core.models import Installation, InstallationMode
from qms.workloads import selectors as workloads
from qms.workloads.models import PlatformProfile


class Executor:
    """A migration executor that has something, or nothing, to do."""

    plan: list = []
    applied: dict = {}

    def __init__(self, connection):
        self.loader = type("Loader", (), {"applied_migrations": self.applied})()
        self.loader.graph = type("Graph", (), {"leaf_nodes": lambda self: []})()

    def migration_plan(self, targets):
        return self.plan


@pytest.fixture
def migrated(monkeypatch):
    """What `prepare` did, with the plan it was told."""
    done = []
    monkeypatch.setattr(prepare, "MigrationExecutor", Executor)
    monkeypatch.setattr(prepare, "call_command", lambda name, **options: done.append(name))
    monkeypatch.setattr(prepare, "_back_up", lambda: done.append("backup"))
    return done


@pytest.mark.django_db
def test_new_database_is_migrated_and_marked(migrated, monkeypatch, capsys):
    monkeypatch.setattr(Executor, "plan", ["0001"])
    call_command("prepare")
    assert migrated == ["migrate"]
    assert Installation.objects.get().mode == InstallationMode.REAL
    assert "Datenbank bereit (Betrieb)" in capsys.readouterr().out


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL is backed up with its own tools")
def test_database_in_use_is_backed_up_before_it_is_migrated(migrated, monkeypatch):
    monkeypatch.setattr(Executor, "plan", ["0002"])
    monkeypatch.setattr(Executor, "applied", {"0001": 1})
    call_command("prepare")
    assert migrated == ["backup", "migrate"]


@pytest.mark.django_db
def test_database_that_is_up_to_date_is_left_alone(migrated):
    call_command("prepare")
    assert migrated == []


@pytest.mark.django_db
def test_database_of_the_other_mode_is_refused(migrated, settings):
    installation.store_mode()
    settings.DEMO = True
    with pytest.raises(CommandError, match="Betrieb"):
        call_command("prepare")


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL is backed up with its own tools")
def test_backup_is_a_database_with_the_same_rows(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    installation.store_mode()
    path = prepare._back_up()
    copy = sqlite3.connect(path)
    assert copy.execute("SELECT mode FROM core_installation").fetchall() == [("REAL",)]
    copy.close()
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.django_db
def test_empty_house_has_organisation_and_platforms_and_a_second_time_changes_nothing(settings):
    settings.ORGANISATION_NAME = "Beispielwerk AG (fiktiv)"
    for _time in range(2):
        call_command("prepare")
    assert workloads.organisation().name == "Beispielwerk AG (fiktiv)"
    assert PlatformProfile.objects.filter(is_existing=True).exists()
    assert AuditEvent.objects.filter(kind="ORGANISATION_GEAENDERT").count() == 1
