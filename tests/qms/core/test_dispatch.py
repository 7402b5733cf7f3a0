from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.db.models.functions import Now
from kombu.exceptions import OperationalError as BrokerError

from qms.core import dispatch, outbox, tasks
from qms.core.dispatch import _Step, _take
from qms.core.models import OutboxEntry, Pulse


@pytest.fixture
def sent(monkeypatch):
    """What went to the broker."""
    ids = []
    monkeypatch.setattr(tasks.deliver, "apply_async", lambda args: ids.append(args[0]))
    monkeypatch.setattr(tasks.pulse, "apply_async", lambda: ids.append("pulse"))
    return ids


@pytest.fixture(autouse=True)
def _connections_stay_open(monkeypatch):
    monkeypatch.setattr(dispatch.connection, "close", lambda: None)
    monkeypatch.setattr(dispatch, "close_old_connections", lambda: None)


def step(call, every_s=10.0):
    return _Step("test", call, every_s)


@pytest.mark.parametrize("error", [OperationalError, BrokerError, ZeroDivisionError])
def test_failing_step_waits_longer_each_time_and_recovers(monkeypatch, error):
    monkeypatch.setattr(dispatch.time, "monotonic", lambda: 100.0)

    def fail():
        raise error("weg")

    failing = step(fail)
    dues = []
    for _round in range(5):
        _take(failing)
        dues.append(failing.due_s - 100.0)
    assert dues == [20.0, 40.0, 60.0, 60.0, 60.0]
    failing.call = lambda: None
    _take(failing)
    assert (failing.failures, failing.due_s) == (0, 110.0)


def test_loop_ends_when_told():
    stop = threading.Event()
    loop = dispatch.Loop(stop)
    loop._steps = [step(stop.set)]
    loop.run()
    assert stop.is_set()


@pytest.mark.django_db
def test_relay_sends_ids_and_nothing_else(sent):
    entry = OutboxEntry.objects.create(task="x", payload={"secret": "1"})
    assert tasks.relay() == 1
    assert sent == [entry.pk]
    assert tasks.relay() == 0


@pytest.mark.django_db
def test_message_comes_again_when_the_broker_refused_it(sent, monkeypatch):
    entry = OutboxEntry.objects.create(task="x")

    def refuse(args):
        raise BrokerError("weg")

    monkeypatch.setattr(tasks.deliver, "apply_async", refuse)
    with pytest.raises(BrokerError):
        tasks.relay()
    OutboxEntry.objects.update(due_at=Now() - timedelta(seconds=1))
    assert [taken.pk for taken in outbox.take_due()] == [entry.pk]


@pytest.mark.django_db
def test_pulse_is_asked_for_as_long_as_somebody_answers(sent):
    dispatch._pulse()
    dispatch._pulse()
    assert sent == ["pulse"]
    tasks.pulse()
    dispatch._pulse()
    assert sent == ["pulse", "pulse"]


@pytest.mark.django_db
def test_pulse_is_asked_for_again_after_five_minutes_of_silence(sent):
    Pulse.objects.create(name="asked", at=Now() - timedelta(minutes=5, seconds=1))
    dispatch._pulse()
    assert sent == ["pulse"]
