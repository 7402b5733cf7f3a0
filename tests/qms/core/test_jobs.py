from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import transaction
from django.db.models.functions import Now

from qms.core import jobs, outbox, tasks
from qms.core.errors import WrongState
from qms.core.models import Job, JobState, OutboxEntry

pytestmark = pytest.mark.django_db


@pytest.fixture
def kind(monkeypatch):
    """Register a handler under a name of its own; gone after the test."""

    def register(handler, **options):
        monkeypatch.setattr(jobs, "_kinds", dict(jobs._kinds))
        jobs.register("test.kind", **options)(handler)
        with transaction.atomic():
            return tasks.enqueue_job(kind="test.kind")

    return register


@pytest.fixture(autouse=True)
def _no_heartbeat_thread(monkeypatch):
    """The heartbeat has a test of its own; a thread cannot see the transaction of a test."""

    class Still:
        def __init__(self, **options):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

    monkeypatch.setattr(jobs, "Heartbeat", Still)


def finish(ctx):
    with transaction.atomic():
        jobs.finish(ctx)


def expire(job):
    Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))


def open_messages(job):
    return OutboxEntry.objects.filter(job=job, done_at__isnull=True).count()


def test_enqueue_job_outside_a_transaction_is_refused(transactional_db):
    with pytest.raises(RuntimeError, match="expected a transaction"):
        tasks.enqueue_job(kind="test.kind")


def test_enqueue_job_leaves_nothing_when_the_transaction_rolls_back():
    @transaction.atomic
    def change():
        tasks.enqueue_job(kind="test.kind")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change()
    assert not Job.objects.exists()
    assert not OutboxEntry.objects.exists()


def test_run_pending_ends_the_job_and_its_message(kind):
    job = kind(finish)
    assert jobs.run_pending() == 1
    job.refresh_from_db()
    assert (job.state, job.attempt, job.progress_permille) == (JobState.SUCCEEDED, 1, 1000)
    assert job.lease_until is None
    assert job.finished_at is not None
    assert open_messages(job) == 0


def test_claim_succeeds_once(kind):
    job = kind(finish)
    assert jobs._claim(job.pk).attempt == 1
    assert jobs._claim(job.pk) is None


def test_claim_takes_over_when_the_lease_has_expired(kind):
    job = kind(finish)
    first = jobs._claim(job.pk)
    first.save_checkpoint({"step": 4})
    expire(job)
    second = jobs._claim(job.pk)
    assert (second.attempt, second.checkpoint) == (2, {"step": 4})


def test_every_write_of_the_loser_is_refused(kind):
    job = kind(finish)
    first = jobs._claim(job.pk)
    expire(job)
    jobs._claim(job.pk)
    with pytest.raises(jobs.LeaseLost):
        first.save_checkpoint({"step": 5})
    with pytest.raises(jobs.LeaseLost):
        first.progress(1)
    with pytest.raises(jobs.LeaseLost):
        finish(first)
    with pytest.raises(jobs.LeaseLost):
        first.check_cancelled()
    job.refresh_from_db()
    assert (job.state, job.checkpoint, job.attempt) == (JobState.RUNNING, {}, 2)


def test_finish_outside_a_transaction_is_refused(kind, transactional_db):
    ctx = jobs._claim(kind(finish).pk)
    with pytest.raises(RuntimeError, match="inside the transaction"):
        jobs.finish(ctx)


def test_progress_is_written_at_most_once_a_second(kind):
    ctx = jobs._claim(kind(finish).pk)
    ctx.progress(100, "Schritt 1")
    ctx.progress(200, "Schritt 2")
    job = Job.objects.get(pk=ctx.job_id)
    assert (job.progress_permille, job.progress_text) == (100, "Schritt 1")


@pytest.mark.parametrize(("given", "kept"), [(-1, 0), (0, 0), (1000, 1000), (1001, 1000)])
def test_progress_stays_between_0_and_1000(kind, given, kept):
    ctx = jobs._claim(kind(finish).pk)
    ctx.progress(given)
    assert Job.objects.get(pk=ctx.job_id).progress_permille == kept


def test_cancel_of_a_waiting_job_ends_it_with_its_hook(kind):
    ended = []
    job = kind(finish, on_failure=lambda job_id, reason: ended.append((job_id, reason)))
    jobs.request_cancel(job_id=job.pk)
    assert Job.objects.get(pk=job.pk).state == JobState.CANCELLED
    assert ended == [(job.pk, "Auf Wunsch abgebrochen.")]
    jobs.run_pending()
    assert Job.objects.get(pk=job.pk).attempt == 0


def test_cancel_of_a_running_job_ends_it_at_the_next_look(kind):
    ended = []

    def handler(ctx):
        jobs.request_cancel(job_id=ctx.job_id)
        ctx.check_cancelled()

    job = kind(handler, on_cancel=lambda job_id, reason: ended.append(job_id))
    jobs.run(job.pk)
    assert Job.objects.get(pk=job.pk).state == JobState.CANCELLED
    assert ended == [job.pk]


def test_cancel_of_an_ended_job_changes_nothing(kind):
    job = kind(finish)
    jobs.run_pending()
    jobs.request_cancel(job_id=job.pk)
    job.refresh_from_db()
    assert (job.state, job.cancel_requested) == (JobState.SUCCEEDED, False)


def test_unexpected_error_is_tried_three_times_then_fails_with_a_readable_reason(kind):
    ended = []

    def handler(ctx):
        raise ZeroDivisionError

    job = kind(handler, on_failure=lambda job_id, reason: ended.append(reason))
    for attempt in (1, 2):
        assert jobs.run(job.pk)
        job.refresh_from_db()
        assert (job.state, job.attempt, open_messages(job)) == (JobState.QUEUED, attempt, 1)
        assert ended == []
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempt, open_messages(job)) == (JobState.FAILED, 3, 0)
    assert "Unerwarteter Fehler in allen 3 Versuchen (ZeroDivisionError)" in job.error
    assert ended == [job.error]
    assert not jobs.run(job.pk)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (jobs.JobFailed("PDF nicht möglich: libpango fehlt"), "PDF nicht möglich: libpango fehlt"),
        (WrongState("Der Lauf ist beendet."), "Der Lauf ist beendet."),
    ],
)
def test_error_made_on_purpose_fails_at_once(kind, error, reason):
    def handler(ctx):
        raise error

    job = kind(handler)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempt, job.error) == (JobState.FAILED, 1, reason)


def test_handler_that_never_finishes_fails(kind):
    job = kind(lambda ctx: None)
    jobs.run(job.pk)
    assert Job.objects.get(pk=job.pk).error == "Der Auftrag endete ohne Ergebnis."


def test_unknown_kind_fails_readably():
    with transaction.atomic():
        job = tasks.enqueue_job(kind="nobody.knows")
    jobs.run(job.pk)
    assert "nobody.knows" in Job.objects.get(pk=job.pk).error


def test_run_pending_raises_what_a_worker_would_retry(kind):
    def handler(ctx):
        raise ZeroDivisionError

    kind(handler)
    with pytest.raises(ZeroDivisionError):
        jobs.run_pending()


def test_failed_job_stays_running_when_its_hook_fails(kind, transactional_db):
    def broken(job_id, reason):
        raise ZeroDivisionError

    def handler(ctx):
        raise jobs.JobFailed("Grund")

    job = kind(handler, on_failure=broken)
    with pytest.raises(ZeroDivisionError):
        jobs.run(job.pk)
    assert Job.objects.get(pk=job.pk).state == JobState.RUNNING


def test_reconcile_sends_an_expired_job_again(kind):
    job = kind(finish)
    jobs._claim(job.pk)
    assert jobs.reconcile() == 0
    expire(job)
    assert jobs.reconcile() == 1
    assert open_messages(job) == 1
    assert jobs.reconcile() == 0
    jobs.run_pending()
    job.refresh_from_db()
    assert (job.state, job.attempt) == (JobState.SUCCEEDED, 2)


def test_reconcile_sends_a_forgotten_waiting_job_again(kind):
    job = kind(finish)
    OutboxEntry.objects.all().update(done_at=Now())
    assert jobs.reconcile() == 1
    assert open_messages(job) == 1


def test_reconcile_fails_a_job_that_killed_its_worker_three_times(kind):
    ended = []
    job = kind(finish, on_failure=lambda job_id, reason: ended.append(reason))
    for _attempt in range(3):
        assert jobs._claim(job.pk)
        expire(job)
    assert jobs._claim(job.pk) is None
    jobs.reconcile()
    job.refresh_from_db()
    assert job.state == JobState.FAILED
    assert job.error == "Der Arbeitsprozess meldete sich in allen 3 Versuchen nicht mehr zurück."
    assert ended == [job.error]


def test_reconcile_ends_an_expired_job_that_was_cancelled(kind):
    job = kind(finish)
    jobs._claim(job.pk)
    jobs.request_cancel(job_id=job.pk)
    expire(job)
    jobs.reconcile()
    assert Job.objects.get(pk=job.pk).state == JobState.CANCELLED


def test_reconcile_survives_a_broken_hook_and_waits_a_minute(kind, transactional_db):
    def broken(job_id, reason):
        raise ZeroDivisionError

    job = kind(finish, on_failure=broken)
    for _attempt in range(3):
        jobs._claim(job.pk)
        expire(job)
    assert jobs.reconcile() == 1
    assert jobs.reconcile() == 0
    assert Job.objects.get(pk=job.pk).state == JobState.RUNNING


def test_message_of_a_job_somebody_else_has_is_ended(kind):
    job = kind(finish)
    jobs._claim(job.pk)
    with transaction.atomic():
        jobs.add_message(job)
    entry = OutboxEntry.objects.get(job=job, done_at__isnull=True)
    assert outbox.deliver(entry.pk)
    assert open_messages(job) == 0
    assert Job.objects.get(pk=job.pk).attempt == 1


def test_request_cancel_of_an_unknown_job_is_an_error():
    with pytest.raises(Job.DoesNotExist):
        jobs.request_cancel(job_id=UUID(int=1))
