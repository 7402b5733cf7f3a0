"""The answers on suitability as the criteria of G2 and G6 read them."""

from __future__ import annotations

from decimal import Decimal

from qms.gates.business_facts import SuitabilityFacts
from qms.workloads import selectors, state_size
from qms.workloads.models import SuitabilityAnswers, Workload


def suitability_facts(workload: Workload) -> SuitabilityFacts | None:
    """Return the answers with what is computed from the model where nobody entered it; None without answers."""
    answers: SuitabilityAnswers | None = getattr(workload, "suitability", None)
    if answers is None:
        return None
    requests = answers.requests_per_day
    return SuitabilityFacts(
        org_profile=answers.org_profile,
        bottleneck_types=tuple(answers.bottleneck_types),
        business_reason=answers.business_reason,
        usage_kind=answers.usage_kind,
        runs_per_month=answers.runs_per_month,
        hours_per_run=answers.hours_per_run,
        requests_per_day=None if requests is None else Decimal(requests),
        planned_runs=answers.planned_runs,
        team_size=answers.team_size,
        params_b=state_size.params_b(workload.model_facts),
        state_gb=state_size.state_gb(answers.state_gb, workload.mode, workload.model_facts),
        primary_metrics=tuple(selectors.primary_metrics(workload)),
        alternatives=tuple((row["option"], row["verdict"]) for row in answers.alternatives),
    )
