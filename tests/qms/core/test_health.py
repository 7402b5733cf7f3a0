from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

import pytest
from django.core.management import CommandError, call_command
from django.db.models.functions import Now

from qms.config import env
from qms.core import clock, health, health_checks, installation, libraries, tasks
from qms.core.health import Finding
from qms.core.models import Installation, InstallationMode, Job, JobState, OutboxEntry, Pulse


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def checks(monkeypatch):
    monkeypatch.setattr(health, "_checks", {})
    return health.register_check


def test_run_keeps_the_order_and_says_what_is_mandatory(checks):
    checks("Zwei", mandatory=True)(lambda: Finding(True, "gut"))
    checks("Eins")(lambda: Finding(False, "schlecht", "Abhilfe"))
    results = health.run()
    assert [(item.name, item.mandatory, item.finding.ok) for item in results] == [
        ("Zwei", True, True),
        ("Eins", False, False),
    ]
    assert health.is_fit(results)
    assert [item.name for item in health.run(mandatory_only=True)] == ["Zwei"]


def test_failed_mandatory_check_makes_the_installation_unfit(checks):
    checks("Eins", mandatory=True)(lambda: Finding(False, "schlecht", "Abhilfe"))
    assert not health.is_fit(health.run())


def test_check_that_raises_is_a_finding(checks):
    checks("Eins")(lambda: 1 / 0)
    finding = health.run()[0].finding
    assert not finding.ok
    assert "ZeroDivisionError" in finding.text_de
    assert finding.remedy_de


def test_doctor_prints_one_line_each_with_remedy(checks, capsys):
    checks("Eins", mandatory=True)(lambda: Finding(True, "läuft"))
    checks("Zwei")(lambda: Finding(False, "fehlt", "holen"))
    call_command("doctor")
    assert capsys.readouterr().out.splitlines() == ["gut     Eins: läuft", "Hinweis Zwei: fehlt → holen"]


def test_doctor_fails_when_a_mandatory_check_fails(checks, capsys):
    checks("Eins", mandatory=True)(lambda: Finding(False, "fehlt", "holen"))
    with pytest.raises(CommandError):
        call_command("doctor")
    assert "FEHLER  Eins: fehlt → holen" in capsys.readouterr().out


def test_installed_packages_are_the_locked_ones():
    assert health_checks.python_and_lock().ok


def test_package_of_another_version_is_named(settings, tmp_path):
    (tmp_path / "requirements.lock").write_text(
        'django==1.0 \\\n    --hash=sha256:00\nnobody-has-this==1\nwin-only==1 ; sys_platform == "win32" \\\n'
    )
    settings.BASE_DIR = tmp_path
    finding = health_checks.python_and_lock()
    assert not finding.ok
    assert "django 5" in finding.text_de
    assert "nobody-has-this fehlt" in finding.text_de
    assert "win-only" not in finding.text_de


@pytest.mark.django_db
def test_settings_in_force_are_durable():
    finding = health_checks.database()
    assert finding.ok, finding.text_de
    assert finding.text_de.startswith(("SQLite", "PostgreSQL"))


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"synchronous": "1"}, "synchronous"),
        ({"journal_mode": "delete"}, "journal_mode"),
        ({"recursive_triggers": "0"}, "recursive_triggers"),
    ],
)
def test_weaker_sqlite_settings_are_named(values, wrong):
    in_force = {"journal_mode": "wal", "synchronous": "2", "recursive_triggers": "1"} | values

    class Cursor:
        def execute(self, sql):
            name = sql.removeprefix("PRAGMA ")
            self.row = (in_force.get(name, "3.40.1"),)
            return self

        def fetchone(self):
            return self.row

    finding = health_checks._sqlite(Cursor())
    assert not finding.ok
    assert wrong in finding.remedy_de


@pytest.mark.parametrize(
    ("commit", "ok"), [("on", True), ("remote_write", True), ("local", False), ("off", False)]
)
def test_postgresql_commits_have_to_reach_the_disk(commit, ok):
    class Cursor:
        def execute(self, sql):
            pass

        def fetchone(self):
            return "15.1", commit

    assert health_checks._postgresql(Cursor()).ok is ok


@pytest.mark.parametrize(("free", "ok"), [(2**30, True), (2**30 - 1, False)])
def test_free_space_below_a_gigabyte_is_a_finding(monkeypatch, free, ok):
    monkeypatch.setattr(health_checks.shutil, "disk_usage", lambda path: Usage(2**40, 0, free))
    assert health_checks.free_space().ok is ok


@pytest.mark.parametrize(
    ("url", "ok"),
    [
        ("http://localhost:8000", True),
        ("https://qms.example", True),
        ("http://qms.example", False),
        ("https://10.0.0.5", False),
        ("http://127.0.0.1:8000", False),
    ],
)
def test_public_url_has_to_allow_passkeys(settings, url, ok):
    settings.PUBLIC = env.PublicUrl(url)
    assert health_checks.public_url().ok is ok


def test_folder_that_cannot_be_written_is_named(settings, tmp_path):
    settings.DATA_DIR = tmp_path / "missing"
    finding = health_checks.data_folder()
    assert not finding.ok
    assert str(tmp_path) in finding.text_de
    assert "chown" in finding.remedy_de


@pytest.mark.parametrize(("missing", "ok"), [([], True), (["Pango"], False)])
def test_missing_pdf_library_is_named_with_the_install_line(monkeypatch, missing, ok):
    monkeypatch.setattr(libraries, "missing", lambda: missing)
    finding = health_checks.pdf_libraries()
    assert finding.ok is ok
    if not ok:
        assert "Pango fehlt" in finding.text_de
        assert "apt-get" in finding.remedy_de


def test_library_nobody_has_is_missing(monkeypatch):
    monkeypatch.setattr(libraries, "FILES", {"Niemand": ("libnobody-has-this.so.0",)})
    assert libraries.missing() == ["Niemand"]


@pytest.mark.django_db
def test_worker_that_never_answered_is_a_finding():
    assert not health_checks.worker().ok


@pytest.mark.django_db
@pytest.mark.parametrize(("age_s", "ok"), [(80, True), (100, False)])
def test_age_of_the_last_pulse_decides(age_s, ok):
    Pulse.objects.create(name=tasks.PULSE_WORKER, at=Now() - timedelta(seconds=age_s))
    assert health_checks.worker().ok is ok


@pytest.mark.django_db
def test_worker_busy_with_a_job_is_alive():
    Job.objects.create(kind="x", state=JobState.RUNNING, heartbeat_at=Now())
    assert health_checks.worker().ok


@pytest.mark.django_db
@pytest.mark.parametrize(("age_min", "tries", "ok"), [(14, 3, True), (16, 3, False), (16, 0, True)])
def test_message_that_waits_too_long_is_a_finding(age_min, tries, ok):
    OutboxEntry.objects.create(
        task="x", tries=tries, error="ValueError: x", created_at=Now() - timedelta(minutes=age_min)
    )
    finding = health_checks.messages()
    assert finding.ok is ok
    assert ("ValueError" in finding.text_de) is not ok


@pytest.mark.django_db
def test_clock_that_is_wrong_is_a_finding(monkeypatch):
    monkeypatch.setattr(health_checks, "_now", lambda: clock.now() + timedelta(seconds=6))
    assert not health_checks.clocks().ok
    monkeypatch.setattr(health_checks, "_now", lambda: clock.now() + timedelta(seconds=4))
    assert health_checks.clocks().ok


@pytest.mark.django_db
def test_mode_is_stored_once_and_cannot_be_changed_by_a_restart(settings):
    with pytest.raises(installation.WrongMode, match="noch nicht eingerichtet"):
        installation.check_mode()
    assert installation.store_mode() == InstallationMode.REAL
    settings.DEMO = True
    with pytest.raises(installation.WrongMode, match="anderen Datenordner"):
        installation.store_mode()
    assert not installation.is_demo()
    assert not health_checks.mode().ok
    assert Installation.objects.get().mode == InstallationMode.REAL


@pytest.mark.django_db
def test_demo_needs_both_the_process_and_the_database(settings):
    settings.DEMO = True
    assert not installation.is_demo()
    installation.store_mode()
    assert installation.is_demo()
    settings.DEMO = False
    assert not installation.is_demo()


def test_broker_in_memory_answers():
    assert health_checks.broker().ok
