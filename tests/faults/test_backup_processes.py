"""Backup, restore and upgrade of real installations: under writes, half migrated, and on PostgreSQL."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from tests.waiting import wait_until

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[2]
WRITE = """
from pathlib import Path
from django.conf import settings
from qms.audit import services
from qms.core import store
number = 0
while not (Path(settings.DATA_DIR).parent / "halt").exists():
    store.put(b"Nachweis %d" % number)
    services.verify_log()
    number += 1
"""
SIZE = "from qms.audit.models import LogHead; print(LogHead.objects.get().size)"


class House:
    """An installation in a folder, driven by its commands."""

    def __init__(self, folder: Path, **environment: str):
        self.folder = folder
        self.environment = os.environ | {
            "QMS_DATA": str(folder),
            "DJANGO_SETTINGS_MODULE": "qms.config.settings",
            "QMS_DB": "sqlite",
            **environment,
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(ROOT / "manage.py"), *arguments]
        return subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def manage(self, *arguments: str) -> str:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, out + err
        return out

    def refused(self, *arguments: str) -> str:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 1, out + err
        return out + err

    def sql(self, *statements: str) -> list[tuple]:
        with closing(sqlite3.connect(self.folder / "qms.sqlite3", timeout=60)) as link, link:
            found = [link.execute(statement).fetchall() for statement in statements]
        return found[-1]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """An empty real house made once; each test works on a copy."""
    house = House(tmp_path_factory.mktemp("haus") / "daten")
    house.manage("prepare")
    house.manage("shell", "-v0", "-c", "from qms.audit import checkpoints; checkpoints.sign_now()")
    return house.folder


@pytest.fixture
def house(template, tmp_path):
    shutil.copytree(template, tmp_path / "daten")
    return House(tmp_path / "daten")


def test_copy_taken_while_others_write_is_one_moment_of_the_log(house, tmp_path):
    writer = house.start("shell", "-v0", "-c", WRITE)
    try:
        count = "SELECT size FROM audit_log_head"
        first = house.sql(count)
        wait_until(lambda: house.sql(count) > first, what="the first write")
        house.manage("backup", str(tmp_path / "a.zip"))
        later = house.sql(count)[0][0]
    finally:
        (tmp_path / "halt").touch()
        _out, err = writer.communicate(timeout=60)
    assert writer.returncode == 0, err
    said = house.manage("restore", str(tmp_path / "a.zip"), "--into", str(tmp_path / "neu"))
    assert "Audit-Protokoll" in said
    restored = House(tmp_path / "neu").sql(
        "SELECT size FROM audit_log_head", "SELECT size FROM audit_log_head"
    )
    assert first[0][0] < restored[0][0] <= later + 1


def test_half_migrated_house_does_not_start_until_it_is_upgraded(house, tmp_path):
    house.sql("DROP TABLE django_session", "DELETE FROM django_migrations WHERE app = 'sessions'")
    said = house.refused("serve", "--port", "1")
    assert "Start verweigert" in said
    assert "Schema: 1 Schritte fehlen → Dienst beenden, dann: python manage.py upgrade" in said
    said = house.manage("upgrade", "--backup-to", str(tmp_path))
    assert "Umgestellt: sessions.0001_initial" in said
    assert "der Dienst kann starten" in said
    assert len(list(tmp_path.glob("ai-qms-*.zip"))) == 1
    assert house.sql("SELECT count(*) FROM django_session") == [(0,)]
    assert house.sql("SELECT count(*) FROM audit_event WHERE kind = 'SICHERUNG_ERSTELLT'") == [(1,)]
    assert "schon auf dem Stand" in house.manage("upgrade")


def test_upgrade_that_breaks_names_its_backup_and_the_way_back(house):
    house.sql(
        "DELETE FROM django_migrations WHERE app = 'sessions'"
    )  # the table is there: the migration fails
    said = house.refused("upgrade")
    made = next((house.folder / "backups").glob("*.zip"))
    assert "Die Umstellung brach ab" in said
    assert f"restore {made} --into" in said
    assert "Start verweigert" in house.refused("serve", "--port", "1")


def test_database_of_a_newer_program_is_neither_started_nor_upgraded(house):
    house.sql(
        "INSERT INTO django_migrations (app, name, applied) VALUES ('core', '0099_spaeter', '2026-11-30')"
    )
    assert "neuer als das Programm (core.0099_spaeter)" in house.refused("serve", "--port", "1")
    assert "es wurde nichts geändert" in house.refused("upgrade")
    assert not (house.folder / "backups").exists()


def test_upgrade_stops_before_the_database_is_touched_when_the_preflight_fails(house):
    house.sql("DROP TABLE django_session", "DELETE FROM django_migrations WHERE app = 'sessions'")
    pin = next((house.folder / "pins").iterdir())
    text = pin.read_text(encoding="utf-8").splitlines(keepends=True)
    pin.write_text("".join([text[0], f"{int(text[1]) + 9}\n", *text[2:]]), encoding="utf-8")
    said = house.refused("upgrade")
    assert "Es wurde nichts geändert" in said
    assert not (house.folder / "backups").exists()
    assert house.sql("SELECT count(*) FROM django_migrations WHERE app = 'sessions'") == [(0,)]


@pytest.fixture
def database():
    """Make empty PostgreSQL databases; they are dropped in the end."""
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL is not running: make test-postgres")
    made = []
    values = connection.settings_dict
    address = {"host": values["HOST"], "user": values["USER"], "dbname": "postgres", "autocommit": True}

    def make(name: str) -> dict[str, str]:
        with psycopg.connect(**address) as link:
            link.execute(f"CREATE DATABASE {name}")
        made.append(name)
        return {"QMS_DB": "postgresql", "QMS_DB_NAME": name}

    yield make
    for name in made:
        with psycopg.connect(**address) as link:
            link.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_postgresql_comes_back_into_an_empty_database_only(database, tmp_path):
    house = House(tmp_path / "daten", **database("qms_alt"))
    house.manage("prepare")
    house.manage("protokoll_pruefen")
    house.manage("backup", str(tmp_path / "a.zip"))
    size = int(house.manage("shell", "-v0", "-c", SIZE))
    target = ("restore", str(tmp_path / "a.zip"), "--into", str(tmp_path / "neu"))
    assert "ist nicht leer" in house.refused(*target)
    pin = ("--pin", str(next((house.folder / "pins").iterdir())))
    house.environment |= database("qms_neu")
    assert "stimmt mit dem Anker überein" in house.manage(*target, *pin)
    restored = House(tmp_path / "neu", QMS_DB="postgresql", QMS_DB_NAME="qms_neu")
    assert int(restored.manage("shell", "-v0", "-c", SIZE)) == size  # one event left out, one recorded
    assert "Keine Abweichung" in restored.manage("protokoll_pruefen")
    assert not (tmp_path / "neu" / "postgresql.dump").exists()


def test_refused_restore_leaves_the_postgresql_database_empty(database, tmp_path):
    house = House(tmp_path / "daten", **database("qms_alt"))
    house.manage("prepare")
    house.manage("backup", str(tmp_path / "a.zip"))
    pin = next((house.folder / "pins").iterdir())
    text = pin.read_text(encoding="utf-8").splitlines(keepends=True)
    pin.write_text("".join([*text[:2], "A" * 43 + "=\n", *text[3:]]), encoding="utf-8")
    house.environment |= database("qms_neu")
    target = ("restore", str(tmp_path / "a.zip"), "--into", str(tmp_path / "neu"), "--pin", str(pin))
    for _time in range(2):
        assert "weicht vom Anker ab" in house.refused(*target)
    assert not (tmp_path / "neu").exists()
