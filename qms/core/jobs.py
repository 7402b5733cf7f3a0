"""Jobs: claim by fencing token, lease, heartbeat, progress, checkpoint, cancel (stack.md 4.1).

A handler `fn(ctx)` is registered with `register(kind)`. It may lose its process at any point and is then started
again with its last checkpoint. Its result becomes visible in one audited command that calls `finish(ctx)` inside.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from qms.core import outbox
from qms.core.effects import effect
from qms.core.errors import QmsError, Refusal
from qms.core.heartbeat import Heartbeat
from qms.core.isolation import ChildCrashed, run_in_child
from qms.core.models import Job, JobState, OutboxEntry

logger = logging.getLogger(__name__)

RUN_JOB: Final = "core.run_job"
MAX_ATTEMPTS: Final = 3
RETRY_AFTER: Final = timedelta(seconds=2)
_PROGRESS_EVERY_S: Final = 1.0
_CANCEL_LOOK_EVERY_S: Final = 0.25


class JobCancelled(QmsError):
    """Somebody asked for the end of this job; the handler lets it pass."""


class LeaseLost(QmsError):
    """Another worker has this job, or it has ended: stop at once, nothing may be written."""


class JobFailed(QmsError):
    """The work cannot succeed and trying again would not help; the text is one German sentence for people."""


Handler = Callable[["JobContext"], None]
EndHook = Callable[[UUID, str], None]


@dataclass(frozen=True, slots=True)
class _Kind:
    handler: Handler
    isolated: bool
    on_failure: EndHook | None
    on_cancel: EndHook | None


_kinds: dict[str, _Kind] = {}


def register(
    kind: str, *, isolated: bool = False, on_failure: EndHook | None = None, on_cancel: EndHook | None = None
) -> Callable[[Handler], Handler]:
    """Register the handler of a kind of job.

    isolated: run it in a child process that can be killed; for CPU-heavy work and fragile libraries.
    on_failure(job_id, reason), on_cancel(job_id, reason): the audited command that writes the domain row; the job
    ends in its transaction. Without `on_cancel` a cancelled job calls `on_failure` too.
    """

    def decorate(handler: Handler) -> Handler:
        _kinds[kind] = _Kind(handler, isolated, on_failure, on_cancel or on_failure)
        return handler

    return decorate


def kind_names() -> frozenset[str]:
    """Return the names of all registered kinds."""
    return frozenset(_kinds)


@dataclass(slots=True)
class JobContext:
    """What a handler may know and do: its token, its last checkpoint, progress, cancel."""

    job_id: UUID
    attempt: int
    checkpoint: dict[str, Any]
    lost: threading.Event = field(default_factory=threading.Event, repr=False)
    _progress_at: float = field(default=float("-inf"), repr=False)
    _looked_at: float = field(default=float("-inf"), repr=False)

    def progress(self, permille: int, text: str = "") -> None:
        """Show progress from 0 to 1000; written at most once a second, the rest is dropped. Raises LeaseLost."""
        self._check_lease()
        if time.monotonic() - self._progress_at < _PROGRESS_EVERY_S:
            return
        self._progress_at = time.monotonic()
        self._write(progress_permille=max(0, min(1000, permille)), progress_text=text[:200])

    def save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keep where to go on after a crash; JSON values only. Raises LeaseLost."""
        self._write(checkpoint=checkpoint)
        self.checkpoint = checkpoint

    def check_cancelled(self) -> None:
        """Raise JobCancelled when somebody asked for it, LeaseLost when the job is no longer ours; cheap to call."""
        self._check_lease()
        if time.monotonic() - self._looked_at < _CANCEL_LOOK_EVERY_S:
            return
        self._looked_at = time.monotonic()
        if Job.objects.filter(pk=self.job_id, attempt=self.attempt, cancel_requested=True).exists():
            raise JobCancelled(str(self.job_id))

    def _check_lease(self) -> None:
        if self.lost.is_set():
            raise LeaseLost(str(self.job_id))

    def _write(self, **values: Any) -> None:
        if not _held(self.job_id, self.attempt).update(**values):
            self.lost.set()
            raise LeaseLost(str(self.job_id))


def finish(ctx: JobContext) -> None:
    """End the job as succeeded, inside the transaction that writes its result.

    Raises LeaseLost, so that the result is rolled back, when the job was taken over, cancelled or ended.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("expected finish() inside the transaction that writes the result, got none")
    if not _held(ctx.job_id, ctx.attempt).update(
        state=JobState.SUCCEEDED, progress_permille=1000, **_end_values()
    ):
        ctx.lost.set()
        raise LeaseLost(str(ctx.job_id))


def request_cancel(*, job_id: UUID) -> None:
    """Ask for the end of a job: one that waits ends here, with its hook; one that runs ends at its next look."""
    job = Job.objects.get(pk=job_id)
    ended = (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)
    Job.objects.filter(pk=job_id).exclude(state__in=ended).update(cancel_requested=True)
    waiting = Job.objects.filter(pk=job_id, state=JobState.QUEUED)
    _settle(job, waiting, JobState.CANCELLED, _("Auf Wunsch abgebrochen."))


def run(job_id: UUID) -> bool:
    """Claim the job and run it in this thread, with heartbeat; False when somebody else has it or it has ended."""
    ctx = _claim(job_id)
    if ctx is None:
        return False
    with Heartbeat(lease=lease(), beat=lambda: _beat(ctx), lost=ctx.lost):
        _execute_guarded(ctx)
    return True


def run_pending(limit: int = 10_000) -> int:
    """Deliver every open message and run every waiting job here and now; for tests and the demo command.

    No worker, no child process, no waiting. Errors that a worker would log and retry are raised. Returns how many.
    """
    count = 0
    while count < limit:
        entry = OutboxEntry.objects.filter(done_at__isnull=True).order_by("id").first()
        if entry is None:
            return count
        if entry.task == RUN_JOB:
            _run_inline(UUID(entry.payload["job"]))
        else:
            outbox.deliver(entry.pk)
        count += 1
    raise RuntimeError(f"expected an end after {limit} messages, got more")


def run_claimed(job_id: UUID, attempt: int) -> None:
    """Run a job that the parent process has claimed; the whole life of a child process."""
    job = Job.objects.get(pk=job_id, attempt=attempt)
    ctx = JobContext(job.pk, attempt, job.checkpoint)
    try:
        _kind(job.kind).handler(ctx)
    except QmsError as error:
        _end_with(ctx, error)


def reconcile(limit: int = 100) -> int:
    """Send jobs again whose worker is gone or whose message was lost, and end those tried too often; returns how many."""
    open_messages = OutboxEntry.objects.filter(job=OuterRef("pk"), done_at__isnull=True)
    expired = Q(state=JobState.RUNNING, lease_until__lt=Now())
    stale = Job.objects.filter(expired | Q(state=JobState.QUEUED)).exclude(Exists(open_messages))
    jobs = list(stale.order_by("created_at")[:limit])
    for job in jobs:
        try:
            _reconcile_one(job)
        except Exception:  # outermost frame: one job with a broken hook must not hold up the others
            logger.exception("job %s could not be reconciled", job.pk)
            _held(job.pk, job.attempt).update(lease_until=Now() + timedelta(minutes=1))
    return len(jobs)


def lease() -> timedelta:
    """Return how long a claim holds without a heartbeat."""
    return timedelta(seconds=settings.JOB_LEASE_SECONDS)


def add_message(job: Job, delay: timedelta = timedelta()) -> None:
    """Write the message that starts the job, inside the caller's transaction."""
    outbox.add(task=RUN_JOB, payload={"job": str(job.pk)}, job=job, delay=delay)


@outbox.handler(RUN_JOB, ends_itself=True)
def _run_message(payload: dict[str, str]) -> None:
    if not run(UUID(payload["job"])):
        outbox.end(entry_id=int(payload["entry"]))


def _claim(job_id: UUID) -> JobContext | None:
    """One conditional UPDATE decides who has the job; its messages end with it."""
    free = Q(state=JobState.QUEUED) | Q(state=JobState.RUNNING, lease_until__lt=Now())
    with transaction.atomic():
        claimed = Job.objects.filter(
            free, pk=job_id, attempt__lt=MAX_ATTEMPTS, cancel_requested=False
        ).update(
            state=JobState.RUNNING,
            attempt=F("attempt") + 1,
            lease_until=Now() + lease(),
            heartbeat_at=Now(),
            error="",
        )
        if not claimed:
            return None
        OutboxEntry.objects.filter(job_id=job_id, done_at__isnull=True).update(done_at=Now())
        job = Job.objects.get(pk=job_id)
        return JobContext(job.pk, job.attempt, job.checkpoint)


def _held(job_id: UUID, attempt: int) -> QuerySet[Job]:
    """The job, as long as this attempt has it: the condition of every write."""
    return Job.objects.filter(pk=job_id, attempt=attempt, state=JobState.RUNNING)


def _beat(ctx: JobContext) -> bool:
    return bool(_held(ctx.job_id, ctx.attempt).update(lease_until=Now() + lease(), heartbeat_at=Now()))


def _end_values() -> dict[str, Any]:
    return {"lease_until": None, "finished_at": Now()}


def _kind(name: str) -> _Kind:
    try:
        return _kinds[name]
    except KeyError:
        raise JobFailed(
            _("Für Aufträge der Art „%(kind)s“ ist nichts hinterlegt.") % {"kind": name}
        ) from None


def _execute_guarded(ctx: JobContext) -> None:
    """Outermost frame of a job in a worker: nothing but the end of the process gets past it."""
    try:
        _execute(ctx)
    except QmsError as error:
        _end_with(ctx, error)
    except Exception as error:
        logger.exception("job %s, attempt %d", ctx.job_id, ctx.attempt)
        _retry_or_fail(ctx, error)


def _execute(ctx: JobContext) -> None:
    kind = _kind(Job.objects.values_list("kind", flat=True).get(pk=ctx.job_id))
    if kind.isolated:
        run_in_child(ctx.job_id, ctx.attempt, ctx.check_cancelled)
    else:
        kind.handler(ctx)
    if _held(ctx.job_id, ctx.attempt).exists():
        raise JobFailed(_("Der Auftrag endete ohne Ergebnis."))


def _run_inline(job_id: UUID) -> None:
    ctx = _claim(job_id)
    if ctx is None:
        OutboxEntry.objects.filter(job_id=job_id, done_at__isnull=True).update(done_at=Now())
        return
    kind = Job.objects.values_list("kind", flat=True).get(pk=job_id)
    try:
        _kind(kind).handler(ctx)
        if _held(ctx.job_id, ctx.attempt).exists():
            raise JobFailed(_("Der Auftrag endete ohne Ergebnis."))
    except QmsError as error:
        _end_with(ctx, error)


def _end_with(ctx: JobContext, error: QmsError) -> None:
    """End the job the way the error says; a lost lease ends nothing, the job belongs to somebody else."""
    if isinstance(error, LeaseLost):
        logger.info("job %s, attempt %d: lease lost", ctx.job_id, ctx.attempt)
        return
    job = Job.objects.get(pk=ctx.job_id)
    held = _held(ctx.job_id, ctx.attempt)
    if isinstance(error, JobCancelled):
        _settle(job, held, JobState.CANCELLED, _("Auf Wunsch abgebrochen."))
        return
    reason = str(error.message) if isinstance(error, Refusal) else str(error)
    logger.warning("job %s failed: %s", ctx.job_id, reason)
    _settle(job, held, JobState.FAILED, reason)


def _retry_or_fail(ctx: JobContext, error: Exception) -> None:
    job = Job.objects.get(pk=ctx.job_id)
    held = _held(ctx.job_id, ctx.attempt)
    if job.cancel_requested:
        _settle(job, held, JobState.CANCELLED, _("Auf Wunsch abgebrochen."))
    elif ctx.attempt < MAX_ATTEMPTS:
        _requeue(job, held, error)
    else:
        _settle(job, held, JobState.FAILED, _failure_text(error))


def _failure_text(error: Exception) -> str:
    if isinstance(error, ChildCrashed):
        return _("Der Auftrag brach in allen %(count)d Versuchen ab: %(error)s") % {
            "count": MAX_ATTEMPTS,
            "error": error,
        }
    return _(
        "Unerwarteter Fehler in allen %(count)d Versuchen (%(error)s). Einzelheiten stehen im Protokoll des Dienstes."
    ) % {"count": MAX_ATTEMPTS, "error": type(error).__name__}


def _requeue(job: Job, held: QuerySet[Job], error: Exception) -> None:
    with transaction.atomic():
        if held.update(
            state=JobState.QUEUED, lease_until=None, error=f"{type(error).__name__}: {error}"[:300]
        ):
            add_message(job, delay=RETRY_AFTER * 4**job.attempt)


def _settle(job: Job, held: QuerySet[Job], state: JobState, reason: str) -> bool:
    """End the job and let its domain row say so, both or neither; False when it was not ours to end."""
    if not held.exists():
        return False
    kind = _kinds.get(job.kind)
    hook = kind and (kind.on_cancel if state is JobState.CANCELLED else kind.on_failure)

    def end() -> None:
        if not held.update(state=state, error=reason, **_end_values()):
            raise LeaseLost(str(job.pk))

    try:
        with effect(end):
            if hook:
                hook(job.pk, reason)
    except LeaseLost:
        return False
    return True


def _reconcile_one(job: Job) -> None:
    expired = _held(job.pk, job.attempt).filter(lease_until__lt=Now())
    if job.state == JobState.QUEUED:
        expired = Job.objects.filter(pk=job.pk, state=JobState.QUEUED)
    if job.cancel_requested:
        _settle(job, expired, JobState.CANCELLED, _("Auf Wunsch abgebrochen."))
    elif job.attempt >= MAX_ATTEMPTS:
        reason = _("Der Arbeitsprozess meldete sich in allen %(count)d Versuchen nicht mehr zurück.")
        _settle(job, expired, JobState.FAILED, reason % {"count": MAX_ATTEMPTS})
    else:
        with transaction.atomic():
            if expired.update(dispatched_at=Now()):
                add_message(job)
