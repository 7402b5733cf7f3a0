"""Backup and restore of a house with a sealed approval: what comes back, and what is refused."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.test import override_settings

from qms.approvals import selectors as approvals
from qms.audit import checkpoints, keys, notes
from qms.audit.models import AuditEvent, LogHead
from qms.core import backup, backup_database, installation, schema, store
from qms.core.backup_manifest import MANIFEST, Manifest
from qms.signing import selectors as signing
from tests.system_parts import require_system
from tests.walk import World, kinds_since, log_size

STAGE = "sealed"
ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.needs("pango"),
    pytest.mark.skipif(
        connection.vendor != "sqlite",
        reason="PostgreSQL is tested with its own tools, in test_backup_processes",
    ),
]


@pytest.fixture(autouse=True)
def _as_installed(monkeypatch):
    """Tests make tables without migrations; a real installation has a list of them. Children run on real settings."""
    with override_settings(MIGRATION_MODULES={}):
        known = sorted(MigrationLoader(None).disk_migrations)
    listed: dict[str, list[str]] = {}
    for app, name in known:
        listed.setdefault(app, []).append(name)

    def copy_with_list(path):
        path.write_bytes(connection.connection.serialize())  # the house of a module is never committed
        with closing(sqlite3.connect(path)) as link, link:
            link.execute("DROP TABLE IF EXISTS django_migrations")
            link.execute(
                "CREATE TABLE django_migrations (id integer PRIMARY KEY AUTOINCREMENT, app varchar(255) NOT NULL,"
                " name varchar(255) NOT NULL, applied datetime NOT NULL)"
            )
            rows = [(app, name, "2026-11-30 12:00:00") for app, name in known]
            link.executemany("INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, ?)", rows)

    monkeypatch.setattr(backup_database, "copy_sqlite", copy_with_list)
    monkeypatch.setattr(schema, "applied", lambda: listed)
    monkeypatch.setattr(schema, "unknown_of", lambda applied: [])
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "qms.config.settings")
    monkeypatch.setenv("QMS_DEMO", "1")
    installation.store_mode()


@pytest.fixture
def archive(world: World, tmp_path: Path) -> Path:
    require_system("pango")
    path = tmp_path / "sicherung.zip"
    call_command("backup", str(path))
    return path


def pin(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "anker.pin"
    path.write_text(notes.sign(text, keys.signers()), encoding="utf-8")
    return path


def head_text(more: int = 0, root: bytes | None = None) -> str:
    head = LogHead.objects.get()
    return notes.Head(keys.origin(), head.size + more, root or bytes(head.root)).text()


def rows(folder: Path, query: str) -> list[tuple]:
    with closing(sqlite3.connect(folder / "qms.sqlite3")) as link:
        return link.execute(query).fetchall()


def manifest_of(path: Path) -> Manifest:
    with zipfile.ZipFile(path) as archive:
        return Manifest.loads(archive.read(MANIFEST))


def nothing_left(tmp_path: Path) -> bool:
    return not (tmp_path / "neu").exists() and not list(tmp_path.glob(".*"))


def test_backup_holds_every_file_records_itself_and_no_key(world, tmp_path, capsys):
    path, size = tmp_path / "sicherung.zip", log_size()
    call_command("backup", str(path))
    manifest = manifest_of(path)
    names = {entry.name for entry in manifest.entries}
    assert names == {"qms.sqlite3", *(f"files/{store.name_of(sha256)}" for sha256 in store.all_digests())}
    assert manifest.parts["audit"]["size"] == size
    assert (manifest.mode, manifest.database, manifest.damaged) == ("DEMO", "sqlite", ())
    assert kinds_since(size) == ["SICHERUNG_ERSTELLT"]
    assert (
        re.search(r"Verzeichnis ([0-9a-f]{64})", capsys.readouterr().out)[1] in AuditEvent.objects.last().body
    )
    assert path.stat().st_mode & 0o077 == 0
    data = path.read_bytes()
    for file in (settings.LOG_KEY_FILE, settings.KEK_FILE):
        secret = [line for line in Path(file).read_bytes().split(b"\n") if line and b"-----" not in line]
        assert secret
        assert not any(line in data for line in secret)


def test_sealed_document_and_log_verify_after_the_restore(world, archive, tmp_path, capsys):
    checkpoints.sign_now()
    note = manifest_of(archive).parts["audit"]["checkpoint"]
    (tmp_path / "anker.pin").write_text(note, encoding="utf-8")
    call_command("restore", str(archive), into=tmp_path / "neu", pin=tmp_path / "anker.pin")
    assert "stimmt mit dem Anker überein" in capsys.readouterr().out
    folder = tmp_path / "neu"
    assert rows(folder, "SELECT kind FROM audit_event ORDER BY id DESC LIMIT 1") == [
        ("PROTOKOLL_WIEDERHERGESTELLT",)
    ]
    assert rows(folder, "SELECT count(*) FROM django_session") == [(0,)]
    assert sorted(path.name for path in folder.iterdir()) == ["files", "pins", "qms.sqlite3"]
    assert folder.stat().st_mode & 0o077 == 0
    document = signing.document_of(world.approval_id)
    sha256 = signing.newest_revision(document).sha256
    root = tmp_path / "root.pem"
    root.write_bytes(signing.root_certificate().public_bytes(Encoding.PEM))
    pdf = folder / "files" / store.name_of(sha256)
    command = [sys.executable, "-m", "qms.signing.verify", str(pdf), "--root", str(root)]
    verified = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert approvals.force(world.approval).in_force
    checked = subprocess.run(
        [sys.executable, "manage.py", "protokoll_pruefen"],
        cwd=ROOT,
        env=_environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Keine Abweichung" in checked.stdout, checked.stderr


def _environment(folder: Path) -> dict[str, str]:
    return os.environ | {"QMS_DATA": str(folder)}


def test_older_backup_says_how_many_events_are_missing_and_stays_frozen(world, archive, tmp_path, capsys):
    call_command(
        "restore", str(archive), into=tmp_path / "neu", pin=pin(tmp_path, head_text(more=4, root=b"r" * 32))
    )
    # one event, that of the backup itself, came after the copy
    assert "älter als der Anker: 5 Ereignisse fehlen" in capsys.readouterr().out
    restored = rows(
        tmp_path / "neu", "SELECT count(*) FROM audit_event WHERE kind = 'PROTOKOLL_WIEDERHERGESTELLT'"
    )
    assert restored == [(0,)]
    run = [sys.executable, "manage.py"]
    environment = _environment(tmp_path / "neu")
    start = subprocess.run(
        [*run, "serve", "--port", "1"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert start.returncode != 0
    assert "Start verweigert" in start.stderr
    assert "kürzer als ein bereits ausgegebener Nachweis" in start.stderr
    confirm = [*run, "protokoll_bestaetigen", "--begruendung", "Plattenausfall"]
    assert (
        subprocess.run(confirm, cwd=ROOT, env=environment, capture_output=True, check=False).returncode == 0
    )
    assert rows(tmp_path / "neu", "SELECT kind FROM audit_event ORDER BY id DESC LIMIT 1") == [
        ("PROTOKOLL_WIEDERHERGESTELLT",)
    ]


def test_log_that_differs_from_the_pin_is_refused(world, archive, tmp_path):
    with pytest.raises(CommandError, match="weicht vom Anker ab"):
        call_command(
            "restore", str(archive), into=tmp_path / "neu", pin=pin(tmp_path, head_text(-2, b"r" * 32))
        )
    assert nothing_left(tmp_path)


def test_log_changed_before_the_backup_is_refused(world, tmp_path, monkeypatch):
    """A line changed in the file, with all digests of the archive right: the log itself says so."""
    copy = backup_database.copy_sqlite

    def changed(path):
        copy(path)
        with closing(sqlite3.connect(path)) as link, link:
            for (name,) in link.execute(
                "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_event'"
            ).fetchall():
                link.execute(f"DROP TRIGGER {name}")
            link.execute("UPDATE audit_event SET body = replace(body, 'Workload', 'Werkload') WHERE id > 20")

    monkeypatch.setattr(backup_database, "copy_sqlite", changed)
    call_command("backup", str(tmp_path / "sicherung.zip"))
    with pytest.raises(CommandError, match=r"nichts zurückgespielt. Abweichung ab Ereignis \d+: Inhalt"):
        call_command("restore", str(tmp_path / "sicherung.zip"), into=tmp_path / "neu")
    assert nothing_left(tmp_path)


def test_restore_without_pin_says_that_missing_events_cannot_be_seen(world, archive, tmp_path, capsys):
    call_command("restore", str(archive), into=tmp_path / "neu")
    assert "kein Anker außerhalb der Datenbank" in capsys.readouterr().out


def test_keys_have_a_file_of_their_own_and_come_back_with_it(world, tmp_path, capsys):
    data, safe = tmp_path / "daten", tmp_path / "tresor"
    data.mkdir()
    safe.mkdir()
    call_command("backup", str(data / "a.zip"), keys=safe / "k.zip")
    assert "getrennt und unter Verschluss" in capsys.readouterr().out
    assert (safe / "k.zip").stat().st_mode & 0o077 == 0
    call_command("restore", str(data / "a.zip"), into=tmp_path / "neu", keys=safe / "k.zip")
    assert "Schlüssel wurden nicht zurückgespielt" not in capsys.readouterr().out
    restored = tmp_path / "neu" / "keys" / "log.key"
    assert restored.read_bytes() == Path(settings.LOG_KEY_FILE).read_bytes()
    assert restored.stat().st_mode & 0o077 == 0


def test_keys_beside_the_data_are_refused(world, tmp_path):
    with pytest.raises(CommandError, match="nicht in denselben Ordner"):
        call_command("backup", str(tmp_path / "a.zip"), keys=tmp_path / "k.zip")
    assert not (tmp_path / "k.zip").exists()


@pytest.mark.parametrize(("name", "said"), [("log.key", "Protokollschlüssel"), ("kek", "keys/kek")])
def test_keys_of_another_installation_are_refused(world, archive, tmp_path, name, said):
    other = tmp_path / "andere"
    shutil.copytree(settings.LOG_KEY_FILE.parent, other / "keys")
    foreign = {
        "log.key": keys._pem(Ed25519PrivateKey.generate()),
        "kek": b"QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=\n",
    }
    (other / "keys" / name).write_bytes(foreign[name])
    (tmp_path / "tresor").mkdir()
    with override_settings(DATA_DIR=other):
        backup.make_keys(tmp_path / "tresor" / "k.zip", archive)
    with pytest.raises(CommandError, match=f"{said}.* gehört nicht zu dieser Sicherung"):
        call_command("restore", str(archive), into=tmp_path / "neu", keys=tmp_path / "tresor" / "k.zip")
    assert not (tmp_path / "neu").exists()


def test_folder_in_use_is_refused_and_left_alone(world, archive, tmp_path):
    used = tmp_path / "neu"
    used.mkdir()
    (used / "pins").mkdir()
    with pytest.raises(CommandError, match="nicht leer"):
        call_command("restore", str(archive), into=used)
    assert [path.name for path in used.iterdir()] == ["pins"]


def test_empty_folder_is_filled(world, archive, tmp_path):
    (tmp_path / "neu").mkdir()
    (tmp_path / "neu" / "secret_key").write_text("made at the start of the command")
    call_command("restore", str(archive), into=tmp_path / "neu")
    assert (tmp_path / "neu" / "secret_key").read_text() == "made at the start of the command"
    assert (tmp_path / "neu" / "qms.sqlite3").exists()


@pytest.mark.parametrize("name", ["qms.sqlite3", "files/", MANIFEST])
def test_one_changed_byte_leaves_nothing_in_place(world, archive, tmp_path, name):
    with zipfile.ZipFile(archive) as opened:
        found = next(info.filename for info in opened.infolist() if info.filename.startswith(name))
        content = opened.read(found)
    data = archive.read_bytes()
    place = data.index(content) + len(content) // 2
    archive.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    with pytest.raises(CommandError, match="wurde verändert"):
        call_command("restore", str(archive), into=tmp_path / "neu")
    assert nothing_left(tmp_path)


def test_backup_from_a_newer_program_is_refused(world, archive, tmp_path, monkeypatch):
    monkeypatch.setattr(schema, "unknown_of", lambda applied: ["core.0099_spaeter"])
    with pytest.raises(CommandError, match=r"neueren Programm \(core.0099_spaeter\)"):
        call_command("restore", str(archive), into=tmp_path / "neu")


def test_backup_of_the_other_mode_is_refused(world, archive, tmp_path):
    with override_settings(DEMO=False), pytest.raises(CommandError, match="Betriebsart DEMO"):
        call_command("restore", str(archive), into=tmp_path / "neu")


def test_existing_file_is_not_overwritten(world, archive):
    before = archive.read_bytes()
    with pytest.raises(CommandError, match="gibt es schon"):
        call_command("backup", str(archive))
    assert archive.read_bytes() == before


def test_full_disk_is_said_before_anything_is_written(world, tmp_path, monkeypatch):
    monkeypatch.setattr(backup.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10}))
    size = log_size()
    with pytest.raises(CommandError, match="sind 0 MB frei"):
        call_command("backup", str(tmp_path / "a.zip"))
    assert list(tmp_path.iterdir()) == []
    assert log_size() == size


def test_damaged_stored_file_is_left_out_and_said(world, tmp_path, capsys):
    sha256 = next(iter(store.all_digests()))
    path = store.path(sha256)
    original = path.read_bytes()
    path.write_bytes(original + b"x")
    try:
        with pytest.raises(CommandError, match=f"fehlen oder beschädigt sind: .*{sha256}"):
            call_command("backup", str(tmp_path / "a.zip"))
    finally:
        path.write_bytes(original)
    call_command("restore", str(tmp_path / "a.zip"), into=tmp_path / "neu")
    assert "Schon beim Sichern fehlten" in capsys.readouterr().out
