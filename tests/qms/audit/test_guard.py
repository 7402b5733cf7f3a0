from __future__ import annotations

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import IntegrityError, connection, models, transaction

from qms.audit import guard, triggers
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.models import (
    Anchor,
    AuditContext,
    AuditEvent,
    AuditLeaf,
    Checkpoint,
    Disclosure,
    LogHead,
    LogKey,
    Tile,
)
from qms.audit.services import record, unit
from qms.core.models import Job
from tests.qms.audit.helpers import log, size

pytestmark = pytest.mark.django_db
UNANNOUNCED, ONLY_GROWS = triggers.UNANNOUNCED, triggers.ONLY_GROWS


def refused(message: str, change) -> None:
    with pytest.raises(IntegrityError, match=message), transaction.atomic():
        change()


def raw(statement: str):
    def run() -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)

    return run


@pytest.fixture
def export():
    from qms.audit.models import Export

    with unit(actor=SYSTEM):
        found = Export.objects.create(job=Job.objects.create(kind="x"), requested_by="p", purpose="z")
        record(AuditKind.EXPORT_CREATED, actor=SYSTEM, subject=found)
    return found


def test_every_unannounced_way_to_write_is_refused(export):
    model = type(export)
    job = Job.objects.create(kind="y")
    refused(UNANNOUNCED, lambda: model.objects.update(purpose="b"))
    refused(UNANNOUNCED, lambda: model.objects.bulk_create([model(job=job, requested_by="p", purpose="z")]))
    refused(UNANNOUNCED, lambda: model.objects.bulk_update([export], ["purpose"]))
    refused(UNANNOUNCED, lambda: model.objects.create(job=job, requested_by="p", purpose="z"))
    refused(UNANNOUNCED, export.save)
    refused(UNANNOUNCED, export.delete)
    refused(UNANNOUNCED, lambda: model.objects.all().delete())
    refused(UNANNOUNCED, raw("UPDATE audit_export SET purpose = 'b'"))
    refused(UNANNOUNCED, raw("DELETE FROM audit_export"))
    refused(
        UNANNOUNCED,
        lambda: model.objects.bulk_create(
            [model(job=job, requested_by="p", purpose="z")], ignore_conflicts=True
        ),
    )
    export.refresh_from_db()
    assert export.purpose == "z"


def test_announced_write_passes(export):
    with unit(actor=SYSTEM):
        type(export).objects.update(purpose="b")
        record(AuditKind.EXPORT_DELETED, actor=SYSTEM, subject=export)
    export.refresh_from_db()
    assert export.purpose == "b"


def test_announcement_ends_with_its_unit(export):
    log()
    refused(UNANNOUNCED, lambda: type(export).objects.update(purpose="b"))


def test_announcement_ends_with_a_failed_unit(export):
    with pytest.raises(ZeroDivisionError), unit(actor=SYSTEM):
        raise ZeroDivisionError
    refused(UNANNOUNCED, lambda: type(export).objects.update(purpose="b"))


def test_exempt_tables_are_free():
    Job.objects.create(kind="x")
    Job.objects.update(kind="y")
    Job.objects.all().delete()


@pytest.mark.parametrize("model", [AuditEvent, AuditLeaf, LogKey, Checkpoint, Tile, Anchor])
def test_evidence_is_never_changed_or_deleted_even_announced(model):
    log(kind=AuditKind.VOTE_CAST)
    Tile.objects.create(level=0, idx=0, hashes=b"a", root=b"b")
    Anchor.objects.create(size=1, kind="file", data=b"x")
    field = next(f for f in model._meta.concrete_fields if not f.primary_key)
    row = model.objects.order_by("pk").first()
    value = getattr(row, field.attname)

    with unit(actor=SYSTEM):
        refused(ONLY_GROWS, lambda: model.objects.update(**{field.attname: value}))
        refused(ONLY_GROWS, lambda: model.objects.all()._raw_delete("default"))
        record(AuditKind.LOG_VERIFIED, actor=SYSTEM, subject_ref=("Log", "x"))


@pytest.mark.parametrize("model", [AuditEvent, AuditLeaf, LogKey])
def test_evidence_is_not_added_without_announcement(model):
    log()
    rows = {
        AuditEvent: "INSERT INTO audit_event (uid, ts, actor_ref, kind, obj_type, obj_id, obj_seq, body)"
        " SELECT '00000000000000000000000000000001', ts, actor_ref, kind, obj_type, 'x', obj_seq, body FROM audit_event",
        AuditLeaf: "INSERT INTO audit_leaf (seq, event_id, hash) SELECT 99, event_id, hash FROM audit_leaf",
        LogKey: "INSERT INTO audit_key (vkey, valid_from) SELECT 'x', ts FROM audit_event",
    }
    refused(UNANNOUNCED, raw(rows[model]))


def test_head_moves_forward_only():
    log()
    refused(ONLY_GROWS + "|" + UNANNOUNCED, lambda: LogHead.objects.update(size=5))
    with unit(actor=SYSTEM):
        refused(ONLY_GROWS, lambda: LogHead.objects.update(root=b"x" * 32))
        refused(ONLY_GROWS, lambda: LogHead.objects.update(size=0))
        refused(ONLY_GROWS, lambda: LogHead.objects.all().delete())
        record(AuditKind.LOG_VERIFIED, actor=SYSTEM, subject_ref=("Log", "x"))
    assert size() == 2


def test_disclosures_are_deleted_with_an_event_and_never_changed():
    log(private={"reason": "ein Grund"})
    refused(UNANNOUNCED, lambda: Disclosure.objects.all()._raw_delete("default"))
    refused(ONLY_GROWS, lambda: Disclosure.objects.update(value="x"))
    with unit(actor=SYSTEM):
        Disclosure.objects.all().delete()
        record(AuditKind.DISCLOSURE_ERASED, actor=SYSTEM, subject_ref=("AuditEvent", "x"))
    assert not Disclosure.objects.exists()


@pytest.mark.skipif("connection.vendor != 'sqlite'")
def test_replace_is_no_way_round():
    log()
    for table in ("audit_leaf", "audit_event", "audit_log_head"):
        refused(f"{ONLY_GROWS}|{UNANNOUNCED}", raw(f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}"))


@pytest.mark.skipif("connection.vendor != 'postgresql'")
@pytest.mark.django_db(transaction=True)
def test_truncate_is_no_way_round(export):
    refused(ONLY_GROWS, raw("TRUNCATE audit_export CASCADE"))
    refused(ONLY_GROWS, raw("TRUNCATE audit_leaf"))
    refused(ONLY_GROWS, raw("TRUNCATE audit_log_head"))


def test_every_table_is_governed_or_exempt_by_name():
    special = {"audit.LogHead", "audit.Disclosure"} | guard.GROWING.keys() | guard.EXEMPT.keys()
    covered = {model._meta.label for model in guard.governed_models()} | special
    for model in apps.get_models(include_auto_created=True):
        if model._meta.app_label in guard.EXEMPT_APPS or not model._meta.managed:
            continue
        assert model._meta.label in covered, f"{model._meta.label} is neither governed nor exempt by name"


def test_every_governed_table_refuses_a_bare_insert():
    for model in guard.governed_models():
        refused(UNANNOUNCED, raw(f'INSERT INTO "{model._meta.db_table}" DEFAULT VALUES'))


def test_exemptions_name_existing_models():
    for label in guard.EXEMPT.keys() | guard.GROWING.keys():
        assert apps.get_model(label)


def test_check_finds_nothing_on_a_fresh_database():
    assert guard.check().ok


def test_check_names_a_missing_trigger_and_install_puts_it_back():
    trigger = next(item for item in guard.expected(connection.vendor) if item.table == "audit_export")
    raw(triggers.MAKERS[connection.vendor].drop(trigger))()
    assert guard.check().missing == (f"audit_export: {trigger.name}",)
    guard.install()
    assert guard.check().ok


def test_check_finds_a_leftover_announcement():
    AuditContext.objects.create(uid="00000000-0000-0000-0000-000000000001")
    assert guard.check().leftover == 1


@pytest.mark.skipif("connection.vendor != 'sqlite'")
@pytest.mark.django_db(transaction=True)
def test_remade_table_gets_its_triggers_back(export):
    field = models.CharField(max_length=99)
    field.set_attributes_from_name("requested_by")
    with connection.schema_editor() as editor:
        editor.alter_field(type(export), type(export)._meta.get_field("requested_by"), field)
    assert len(guard.check().missing) == 3
    call_command("migrate", run_syncdb=True, verbosity=0)
    assert guard.check().ok
    assert type(export).objects.count() == 1


def test_registered_trigger_is_installed_and_checked(monkeypatch):
    monkeypatch.setattr(guard, "_extra", {})
    sqlite = "CREATE TRIGGER no_job BEFORE INSERT ON core_job FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'keiner'); END"
    postgresql = (
        "CREATE OR REPLACE FUNCTION no_job() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'keiner'"
        " USING ERRCODE = 'integrity_constraint_violation'; END $$;"
        " CREATE TRIGGER no_job BEFORE INSERT ON core_job FOR EACH ROW EXECUTE FUNCTION no_job()"
    )
    guard.register_sql("sqlite", "no_job", "core_job", sqlite)
    guard.register_sql("postgresql", "no_job", "core_job", postgresql)
    assert guard.check().missing == ("core_job: no_job",)
    guard.install()
    assert guard.check().ok
    refused("keiner", lambda: Job.objects.create(kind="x"))
    guard.uninstall()
    Job.objects.create(kind="x")


@pytest.mark.skipif("not apps.is_installed('qms.roles')")
def test_account_may_change_its_password_but_not_its_power():
    from qms.roles.models import Person, User

    with unit(actor=SYSTEM):
        person = Person.objects.create(display_name="Person 1", email="person@example.org")
        user = User.objects.create_user("person1", person=person, password="ein-langes-kennwort")
        record(AuditKind.ACCOUNT_CREATED, actor=SYSTEM, subject=user)
    user.set_password("ein-anderes-kennwort")
    user.save()
    user.is_superuser = True
    refused(UNANNOUNCED, user.save)
    refused(UNANNOUNCED, lambda: User.objects.update(is_active=False))
    refused(UNANNOUNCED, lambda: User.objects.update(is_staff=True))
    refused(UNANNOUNCED, lambda: User.objects.all()._raw_delete("default"))
    refused(UNANNOUNCED, lambda: User.groups.through.objects.create(user_id=user.pk, group_id=1))
