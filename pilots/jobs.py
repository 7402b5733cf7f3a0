"""The work behind runs and replays: the baseline is measured, the wafer is emulated, once more from its manifest."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Final
from uuid import UUID

from django.utils.translation import ngettext

from pilots import catalog
from pilots.choices import ExitState, RunValidity
from pilots.models import Replay, Run
from pilots.platforms import platform_tuple
from pilots.services import porting, replays, results
from pilots.services.replays import REPLAY_JOB
from pilots.services.results import Outcome, Piece
from pilots.services.runs import BASELINE_JOB, TARGET_JOB
from qms.audit.actors import EMULATOR, SYSTEM
from qms.core import formats
from qms.core.clock import timestamp
from qms.core.jobs import JobContext, register
from qms.core.values import Axes
from qms.evidence.choices import EvidenceType
from qms.gates import services as gates

# What these say of a capture is written in its file by who handed it in: operations, outputs of the framework, origin.
CLAIMING: Final = frozenset({EvidenceType.PORTING, EvidenceType.EQUIVALENCE, EvidenceType.LINEAGE})


def _failed(job_id: UUID, reason: str) -> None:
    results.fail_run(actor=SYSTEM, job_id=job_id, reason=reason)


def _cancelled(job_id: UUID, reason: str) -> None:
    results.fail_run(actor=SYSTEM, job_id=job_id, reason=reason, state=ExitState.CANCELLED)


@register(BASELINE_JOB, isolated=True, on_failure=_failed, on_cancel=_cancelled)
def measure_baseline(ctx: JobContext) -> None:
    """Measure the model of the run on this machine and hand in EV-02."""
    run = _run(ctx)
    measured = catalog.run_baseline(
        run.parameters,
        run_id=str(run.pk),
        platform=platform_tuple(run.platform),
        measured_at=timestamp(run.started_at),
        tolerance=_tolerance(),
        clock_ns=perf_counter_ns,
        hooks=_hooks(ctx, "Messung"),
    )
    piece = Piece(
        EvidenceType.BASELINE_REPORT,
        results.title_for(EvidenceType.BASELINE_REPORT, run.platform.name),
        measured.facts,
        results.MEASURED,
    )
    results.finish_run(
        actor=EMULATOR,
        ctx=ctx,
        outcome=Outcome(measured.fingerprint, measured.digest, measured.summary, (piece,)),
    )


@register(TARGET_JOB, isolated=True, on_failure=_failed, on_cancel=_cancelled)
def emulate_target(ctx: JobContext) -> None:
    """Emulate the model of the run on the wafer and hand in EV-04, EV-05, EV-06 and EV-16."""
    run = _run(ctx)
    note = catalog.RunNote(
        run_id=str(run.pk),
        profile_key=run.platform.key,
        platform=platform_tuple(run.platform),
        started_at=timestamp(run.started_at),
        criteria_sha256=run.criteria_sha256,
    )
    emulated = catalog.run_target(
        run.parameters, note=note, tolerance=_tolerance(), hooks=_hooks(ctx, "Emulation")
    )
    facts = emulated.facts | {"EV-05": porting.with_kept_effort(run, emulated.facts["EV-05"])}
    pieces = tuple(
        Piece(kind, results.title_for(kind, run.platform.name), data, _axes(run, kind, emulated))
        for kind, data in ((EvidenceType(code), data) for code, data in facts.items())
    )
    validity = RunValidity.VALID if emulated.valid else RunValidity.INVALID
    outcome = Outcome(emulated.fingerprint, emulated.result_digest, emulated.summary, pieces, validity)
    results.finish_run(actor=EMULATOR, ctx=ctx, outcome=outcome)


def _axes(run: Run, kind: EvidenceType, emulated: catalog.Emulated) -> Axes:
    """Return the axes of a piece: a replay repeats the run, not what a capture claims of itself."""
    claimed = bool(run.parameters.get("model_file_sha256")) and kind in CLAIMING
    return results.REPLAYED if emulated.replay_equal and not claimed else results.EMULATED


def _replay_failed(job_id: UUID, reason: str) -> None:
    replays.fail_replay(actor=SYSTEM, job_id=job_id, reason=reason)


@register(REPLAY_JOB, isolated=True, on_failure=_replay_failed)
def replay_target(ctx: JobContext) -> None:
    """Compute a target run again from the manifest in EV-16 alone."""
    replay = Replay.objects.select_related("run").get(job_id=ctx.job_id)
    verdict = catalog.replay(replays.manifest_of(replay.run), _hooks(ctx, "Nachrechnung"))
    replays.finish_replay(actor=EMULATOR, ctx=ctx, verdict=verdict)


def _run(ctx: JobContext) -> Run:
    return Run.objects.select_related("workload", "platform").get(job_id=ctx.job_id)


def _tolerance() -> catalog.Tolerance:
    """Return how far outputs may differ under the rule set in force (POL-06)."""
    names = ("fp32_rtol", "bit16_rtol", "bit16_cosine_min")
    return catalog.Tolerance(*(float(gates.policy().number("POL-06", name)) for name in names))


def _hooks(ctx: JobContext, name: str) -> catalog.Hooks:
    seconds = 0.0

    def expected(found: float) -> None:
        nonlocal seconds
        seconds = found

    def progress(done: int, total: int) -> None:
        left = remaining(seconds * (1 - done / max(total, 1)))
        text = f"{name}: {formats.number(done, 0)} von {formats.number(total, 0)}"
        ctx.progress(done * 1000 // max(total, 1), f"{text}, {left}" if left else text)

    return catalog.Hooks(
        expected=expected,
        checkpoint=ctx.checkpoint or None,
        progress=progress,
        save=ctx.save_checkpoint,
        check_cancelled=ctx.check_cancelled,
    )


def remaining(seconds: float) -> str:
    """Return about how long it will still take, in whole minutes; an empty text below half a minute."""
    if seconds < 30:
        return ""
    minutes = max(round(seconds / 60), 1)
    text = ngettext("noch etwa %(n)s Minute", "noch etwa %(n)s Minuten", minutes)
    return text % {"n": formats.number(minutes, 0)}
