from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models.functions import Now

from qms.core import effects, outbox, tasks
from qms.core.models import OutboxEntry, Pulse

pytestmark = pytest.mark.django_db


@pytest.fixture
def calls(monkeypatch):
    """A registered handler `test.note` that keeps its payloads, and `test.fail` that fails after a write."""
    monkeypatch.setattr(outbox, "_handlers", dict(outbox._handlers))
    seen = []
    outbox.handler("test.note")(seen.append)

    @outbox.handler("test.fail")
    def fail(payload):
        with transaction.atomic():
            Pulse.objects.create(name="effect", at=Now())
            effects.complete()
            raise ZeroDivisionError

    return seen


def add(task="test.note", **payload):
    with transaction.atomic():
        return outbox.add(task=task, payload=payload)


def make_due(entry):
    OutboxEntry.objects.filter(pk=entry.pk).update(due_at=Now() - timedelta(seconds=1))


def test_enqueue_outside_a_transaction_is_refused(transactional_db):
    with pytest.raises(RuntimeError, match="expected a transaction"):
        tasks.enqueue(task="test.note", payload={})


def test_enqueue_refuses_a_payload_that_is_not_text():
    with pytest.raises(TypeError, match="expected text"), transaction.atomic():
        tasks.enqueue(task="test.note", payload={"n": 1})  # type: ignore[dict-item]


def test_deliver_runs_the_effect_once(calls):
    entry = add(a="1")
    assert outbox.deliver(entry.pk)
    assert not outbox.deliver(entry.pk)
    assert calls == [{"a": "1"}]


def test_deliver_of_a_failing_effect_leaves_message_and_no_effect(calls, transactional_db):
    entry = add("test.fail")
    with pytest.raises(ZeroDivisionError):
        outbox.deliver(entry.pk)
    entry.refresh_from_db()
    assert entry.done_at is None
    assert not Pulse.objects.exists()


def test_deliver_ends_the_message_in_the_transaction_of_its_effect(calls):
    seen = []

    @outbox.handler("test.unit")
    def unit(payload):
        with transaction.atomic():
            effects.complete()
            seen.append(OutboxEntry.objects.get(task="test.unit").done_at)

    outbox.deliver(add("test.unit").pk)
    assert seen[0] is not None


def test_second_delivery_at_the_same_time_has_no_effect(calls, transactional_db):
    @outbox.handler("test.race")
    def race(payload):
        OutboxEntry.objects.filter(task="test.race").update(done_at=Now())  # what the other delivery does
        with transaction.atomic():
            Pulse.objects.create(name="effect", at=Now())
            effects.complete()

    assert not outbox.deliver(add("test.race").pk)
    assert not Pulse.objects.exists()


def test_complete_outside_a_handler_does_nothing():
    effects.complete()


def test_complete_outside_a_transaction_is_refused(calls, transactional_db):
    @outbox.handler("test.bare")
    def bare(payload):
        effects.complete()

    with pytest.raises(RuntimeError, match="inside the transaction"):
        outbox.deliver(add("test.bare").pk)


def test_task_keeps_the_error_beside_the_message(calls, transactional_db):
    entry = add("test.fail")
    tasks.deliver(entry.pk)
    entry.refresh_from_db()
    assert entry.error.startswith("ZeroDivisionError")
    assert entry.done_at is None


def test_deliver_without_a_handler_names_the_task():
    entry = add("nobody.knows")
    with pytest.raises(LookupError, match=r"nobody\.knows"):
        outbox.deliver(entry.pk)


def test_second_handler_of_the_same_name_is_refused(calls):
    with pytest.raises(ValueError, match="expected one handler"):

        @outbox.handler("test.fail")
        def other(payload):
            pass


def test_take_due_publishes_and_waits_longer_each_time(calls):
    entry = add()
    waits = []
    for _try in range(4):
        assert [taken.pk for taken in outbox.take_due()] == [entry.pk]
        assert outbox.take_due() == []
        entry.refresh_from_db()
        waits.append(round((entry.due_at - entry.published_at).total_seconds()))
        make_due(entry)
    assert waits == [6, 12, 24, 48]
    assert entry.tries == 4


def test_take_due_never_waits_longer_than_ten_minutes(calls):
    entry = add()
    OutboxEntry.objects.filter(pk=entry.pk).update(tries=50)
    outbox.take_due()
    entry.refresh_from_db()
    assert round((entry.due_at - entry.published_at).total_seconds()) == 600


def test_take_due_leaves_messages_with_a_delay_and_done_ones(calls):
    with transaction.atomic():
        outbox.add(task="test.note", payload={}, delay=timedelta(seconds=60))
    outbox.deliver(add().pk)
    assert outbox.take_due() == []


def test_purge_keeps_open_and_recent_messages(calls):
    old, recent, waiting = add(), add(), add()
    OutboxEntry.objects.filter(pk=old.pk).update(done_at=Now() - timedelta(days=8))
    OutboxEntry.objects.filter(pk=recent.pk).update(done_at=Now() - timedelta(days=6))
    assert outbox.purge(older_than=timedelta(days=7)) == 1
    assert set(OutboxEntry.objects.values_list("pk", flat=True)) == {recent.pk, waiting.pk}


def test_scheduled_task_is_handed_out_once_per_interval(calls):
    schedule = {"test.note": 60}
    assert tasks.hand_out_due(schedule) == ["test.note"]
    assert tasks.hand_out_due(schedule) == []
    outbox.deliver(OutboxEntry.objects.get(task="test.note").pk)
    Pulse.objects.filter(pk="schedule.test.note").update(at=Now() - timedelta(seconds=59))
    assert tasks.hand_out_due(schedule) == []
    Pulse.objects.filter(pk="schedule.test.note").update(at=Now() - timedelta(seconds=60))
    assert tasks.hand_out_due(schedule) == ["test.note"]


def test_scheduled_task_does_not_pile_up_while_no_worker_runs(calls):
    tasks.hand_out_due({"test.note": 60})
    Pulse.objects.update(at=Now() - timedelta(seconds=61))
    assert tasks.hand_out_due({"test.note": 60}) == []
    assert OutboxEntry.objects.count() == 1


def test_every_scheduled_task_has_a_handler(settings):
    assert set(settings.SCHEDULE) <= outbox.handler_names()


def test_pulse_is_written_and_renewed():
    tasks.pulse()
    Pulse.objects.update(at=Now() - timedelta(hours=1))
    before = Pulse.objects.get(pk=tasks.PULSE_WORKER).at
    tasks.pulse()
    assert Pulse.objects.get(pk=tasks.PULSE_WORKER).at > before
