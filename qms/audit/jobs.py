"""Background work of the log: building a bundle."""

from __future__ import annotations

from uuid import UUID

from qms.audit import services
from qms.audit.actors import SYSTEM
from qms.audit.export import build_bundle
from qms.core import jobs


def _failed(job_id: UUID, reason: str) -> None:
    services.fail_export(actor=SYSTEM, job_id=job_id, reason=reason)


@jobs.register(services.EXPORT_JOB, on_failure=_failed)
def build_export(ctx: jobs.JobContext) -> None:
    """Build the bundle somebody asked for beside its place, move it there, and note it as finished."""
    export = services.export_of(ctx.job_id)
    target = services.export_path(export)
    temporary = target.with_suffix(f".{ctx.attempt}.part")
    try:
        bundle = build_bundle(
            temporary,
            with_disclosures=export.with_disclosures,
            purpose=export.purpose,
            requested_by=export.requested_by,
            looked=ctx.check_cancelled,
        )
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    services.finish_export(actor=SYSTEM, ctx=ctx, bundle=bundle)
