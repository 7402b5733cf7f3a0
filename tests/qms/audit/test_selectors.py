from __future__ import annotations

import pytest

from qms.audit import health_checks, selectors
from qms.audit.events import AuditKind
from qms.audit.models import AuditEvent, Disclosure
from qms.audit.services import record, unit
from tests.qms.audit.helpers import PERSON, log

pytestmark = pytest.mark.django_db


def test_history_is_paged_by_sequence():
    log(9)
    first = selectors.history("Workload", "0", limit=2)
    rest = selectors.history("Workload", "0", before=first[-1].seq, limit=2)
    assert [entry.seq for entry in (*first, *rest)] == [6, 3, 0]


def test_histories_of_several_objects_come_in_one_order():
    log(6)
    found = selectors.histories([("Workload", "0"), ("Workload", "2")])
    assert [(entry.seq, entry.obj_id) for entry in found] == [(5, "2"), (3, "0"), (2, "2"), (0, "0")]
    assert selectors.histories([]) == []


def test_entry_tells_who_did_what_in_german():
    with unit(actor=PERSON):
        uid = record(
            AuditKind.VOTE_CAST,
            actor=PERSON,
            subject_ref=("Vote", "7"),
            facts={"value": "ZUSTIMMUNG"},
            private={"reason": "passt so"},
            refs=["ab" * 32],
        )
    entry = selectors.entry(0, with_texts=True)
    assert entry is not None
    assert entry.sentence == "Mitzeichnung abgegeben."
    assert (entry.pid, entry.role, entry.kind) == (PERSON.pid, "QM", AuditKind.VOTE_CAST)
    assert (entry.data, entry.refs) == ({"value": "ZUSTIMMUNG"}, ("ab" * 32,))
    assert (entry.texts, entry.withheld) == ({"reason": "passt so"}, 0)
    assert selectors.seq_of(uid) == 0


def test_texts_are_withheld_unless_asked_for_and_after_erasure():
    log(private={"reason": "ein Grund"})
    assert selectors.entry(0).withheld == 1
    assert selectors.entry(0).texts == {}
    with unit(actor=PERSON):
        Disclosure.objects.all().delete()
        record(AuditKind.DISCLOSURE_ERASED, actor=PERSON, subject_ref=("AuditEvent", "x"))
    assert selectors.entry(0, with_texts=True).withheld == 1


def test_newest_is_filtered_by_kind_and_person():
    log(2)
    with unit(actor=PERSON):
        record(AuditKind.VOTE_RESET, actor=PERSON, subject_ref=("Vote", "7"))
    assert [entry.seq for entry in selectors.newest()] == [2, 1, 0]
    assert [entry.seq for entry in selectors.newest(kinds=[AuditKind.WORKLOAD_CHANGED])] == [1, 0]
    assert [entry.seq for entry in selectors.newest(pid=PERSON.pid)] == [2]


def test_unknown_place_has_no_entry():
    assert selectors.entry(0) is None


def test_unknown_kind_has_no_sentence():
    with pytest.raises(ValueError, match="FREMD"):
        selectors.sentence(AuditEvent(kind="FREMD"))


def test_health_checks_find_nothing_on_a_fresh_database():
    for check in (health_checks.check_guard, health_checks.check_pin, health_checks.check_signed):
        assert check().ok, check().text_de


def test_unsigned_log_is_a_finding():
    log()
    assert not health_checks.check_signed().ok
