from __future__ import annotations

import json
import logging
import threading

import pytest
from django.db import connection, transaction

from qms.audit import door, units
from qms.audit.actors import SYSTEM, Actor
from qms.audit.errors import ActorMissing, LineInvalid, NothingRecorded, NotInUnit
from qms.audit.events import AuditKind
from qms.audit.merkle import Frontier, leaf_hash
from qms.audit.models import AuditContext, AuditEvent, AuditLeaf, Checkpoint, Disclosure, LogHead, LogKey
from qms.audit.services import audited, record, unit
from qms.core.errors import CriterionNotMet, NotVisible, PermissionMissing, SodViolation, WrongState
from tests.qms.audit.helpers import PERSON, kinds, last, log, size

pytestmark = pytest.mark.django_db
VKEY = "name+00000000+AAAA"


@audited
def add_key(*, actor, vkey: str = VKEY, refusal: Exception | None = None, silent: bool = False) -> LogKey:
    key = LogKey.objects.create(vkey=vkey)
    if refusal:
        raise refusal
    if not silent:
        record(AuditKind.KEY_ISSUED, actor=actor, subject_ref=("LogKey", vkey), facts={"vkey": vkey})
    return key


@audited
def add_two_keys(*, actor) -> None:
    add_key(actor=actor, vkey="one")
    add_key(actor=actor, vkey="two", silent=True)


def test_command_leaves_change_event_and_leaf():
    add_key(actor=PERSON)
    event, leaf, head = AuditEvent.objects.get(), AuditLeaf.objects.get(), LogHead.objects.get()
    line = json.loads(event.body)
    assert LogKey.objects.get().vkey == VKEY
    assert (leaf.seq, bytes(leaf.hash)) == (0, leaf_hash(event.line))
    assert (head.size, bytes(head.root)) == (1, bytes(leaf.hash))
    assert (line["actor"]["pid"], line["acting_role"]) == (PERSON.pid, "QM")
    assert not AuditContext.objects.exists()


def test_events_of_one_unit_share_the_request_and_follow_each_other():
    log(4)
    lines = [json.loads(row.event.body) for row in AuditLeaf.objects.order_by("seq").select_related("event")]
    assert [row["object"] for row in lines] == [
        {"type": "Workload", "id": "0", "seq": 0},
        {"type": "Workload", "id": "1", "seq": 0},
        {"type": "Workload", "id": "2", "seq": 0},
        {"type": "Workload", "id": "0", "seq": 1},
    ]
    assert len({row["request"]["id"] for row in lines}) == 1


def test_counter_of_an_object_goes_on_in_the_next_unit():
    log()
    log()
    assert list(AuditEvent.objects.order_by("pk").values_list("obj_seq", flat=True)) == [0, 1]


def test_head_holds_the_frontier_of_all_leaves():
    log(5)
    log(6)
    frontier = Frontier.empty()
    for leaf in AuditLeaf.objects.order_by("seq"):
        frontier = frontier.append(bytes(leaf.hash))
    head = LogHead.objects.get()
    assert (head.size, bytes(head.frontier), bytes(head.root)) == (11, frontier.pack(), frontier.root())


def test_command_left_without_event_is_rolled_back():
    with pytest.raises(NothingRecorded):
        add_key(actor=PERSON, silent=True)
    assert not LogKey.objects.exists()
    assert size() == 0


def test_failing_command_leaves_nothing_behind():
    with pytest.raises(ZeroDivisionError):
        add_key(actor=PERSON, refusal=ZeroDivisionError())
    assert not LogKey.objects.exists()
    assert not AuditContext.objects.exists()
    assert size() == 0
    assert units.current() is None


def test_inner_commands_join_the_unit_and_may_record_nothing():
    add_two_keys(actor=PERSON)
    assert LogKey.objects.count() == 2
    assert kinds() == ["SCHLUESSEL_AUSGESTELLT"]


def test_refused_inner_command_rolls_back_the_outer_one():
    @audited
    def outer(*, actor) -> None:
        add_key(actor=actor, vkey="one")
        add_key(actor=actor, vkey="two", refusal=WrongState("spät", id="T-08"))

    with pytest.raises(WrongState):
        outer(actor=PERSON)
    assert not LogKey.objects.exists()
    assert kinds() == ["AENDERUNG_VERWEIGERT"]


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (SodViolation("x", id="SoD-01"), "SOD_VERLETZUNG"),
        (PermissionMissing("x", id="P23"), "ZUGRIFF_VERWEIGERT"),
        (WrongState("x", id="T-11", code="LAUF_VERWEIGERT"), "LAUF_VERWEIGERT"),
        (CriterionNotMet("x", id="G1-1", facts={"missing": ["EV-01"]}), "GATE_NICHT_ERFUELLT"),
    ],
)
def test_refusal_changes_nothing_and_leaves_exactly_one_event(refusal, code):
    with pytest.raises(type(refusal)):
        add_key(actor=PERSON, refusal=refusal)
    assert not LogKey.objects.exists()
    assert kinds() == [code]
    data = json.loads(last().body)["data"]
    assert data == {"id": refusal.id, "action": "add_key", **refusal.facts}


def test_invisible_object_leaves_no_event():
    with pytest.raises(NotVisible):
        add_key(actor=PERSON, refusal=NotVisible("x"))
    assert size() == 0


def test_refusal_names_the_object_by_its_id():
    @audited
    def decide(*, actor, log_key_id: int, reason: str) -> None:
        raise WrongState("x", id="T-08")

    with pytest.raises(WrongState):
        decide(actor=PERSON, log_key_id=7, reason="geheim")
    assert (last().obj_type, last().obj_id) == ("log_key", "7")
    assert "geheim" not in last().body


def test_refusal_with_unknown_code_is_still_the_answer(caplog):
    with caplog.at_level(logging.ERROR), pytest.raises(WrongState):
        add_key(actor=PERSON, refusal=WrongState("x", id="T-08", code="UNBEKANNT"))
    assert size() == 0
    assert "could not be recorded" in caplog.text


def test_command_without_actor_is_an_error():
    with pytest.raises(ActorMissing):
        add_key(actor=None)
    with pytest.raises(ActorMissing), unit(actor=SYSTEM):
        record(AuditKind.VOTE_CAST, actor=Actor("", "QM"), subject_ref=("a", "1"))


def test_only_keyword_commands_with_actor_can_be_audited():
    with pytest.raises(TypeError, match="keyword-only"):
        audited(lambda actor: None)
    with pytest.raises(TypeError, match="actor"):
        audited(lambda *, other: None)


def test_record_outside_a_unit_is_an_error():
    with pytest.raises(NotInUnit):
        record(AuditKind.VOTE_CAST, actor=SYSTEM, subject_ref=("a", "1"))


def test_subject_needs_type_and_key():
    with pytest.raises(LineInvalid), unit(actor=SYSTEM):
        record(AuditKind.VOTE_CAST, actor=SYSTEM, subject=LogKey(vkey="x"))


def test_private_text_stands_in_the_side_table_only():
    log(private={"reason": "Erika Beispiel\u2028war dagegen"}, facts={"remark": "noch ein Satz"})
    rows = dict(Disclosure.objects.values_list("path", "value"))
    assert set(rows) == {"reason", "remark"}
    assert json.loads(rows["reason"]) == "Erika Beispiel\u2028war dagegen"
    columns = str(list(AuditEvent.objects.values()))
    assert not any(text in columns for text in ("Erika", "Beispiel", "Satz"))


def test_legally_relevant_event_is_signed_after_the_unit():
    log(kind=AuditKind.VOTE_CAST)
    checkpoint = Checkpoint.objects.get()
    assert kinds() == ["MITZEICHNUNG_ABGEGEBEN", "SCHLUESSEL_AUSGESTELLT"]
    assert checkpoint.size == 2


def test_other_events_wait_for_the_timer():
    log()
    assert not Checkpoint.objects.exists()


def test_unusable_key_does_not_undo_the_decision(settings, caplog):
    settings.LOG_KEY_FILE.parent.mkdir()
    settings.LOG_KEY_FILE.write_text("kein Schlüssel")
    log(kind=AuditKind.VOTE_CAST)
    assert size() == 1
    assert not Checkpoint.objects.exists()
    assert "could not be signed" in caplog.text


def test_plain_transaction_around_a_command_is_refused():
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        add_key(actor=PERSON)


@pytest.mark.django_db(transaction=True)
def test_committed_unit_leaves_event_and_no_announcement():
    add_key(actor=PERSON)
    assert size() == 1
    assert not AuditContext.objects.exists()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT coalesce(current_setting('audit.event', true), '')")
            assert cursor.fetchone()[0] == ""


def test_unit_belongs_to_its_thread():
    seen = []
    with unit(actor=SYSTEM):
        thread = threading.Thread(target=lambda: seen.append(units.current()))
        thread.start()
        thread.join()
        record(AuditKind.WORKLOAD_CHANGED, actor=SYSTEM, subject_ref=("Workload", "1"))
    assert seen == [None]


def test_type_of_an_id_is_the_type_of_its_model():
    assert door._type_of("export") == "Export"
