"""Need and suitability of a workload as its owner states them: one screen, one command (P11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.audit.services import audited
from qms.core import clock
from qms.core.errors import CriterionNotMet, WrongState
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.workloads import selectors
from qms.workloads.choices import AlternativeOption, BottleneckType, OrganisationProfile, UsageKind
from qms.workloads.metrics import catalogue
from qms.workloads.models import SuitabilityAnswers, Workload
from qms.workloads.services import content

MAX_NUMBER: Final = Decimal(10**9)
"""Above this a count of runs, hours, requests or people is a slip."""


@dataclass(frozen=True)
class SuitabilityData:
    """What the screen "Eignung und Bedarf" asks; numbers None where not known, state_gb None where it is computed.

    runs_per_month and planned_runs count runs, hours_per_run are hours on the baseline platform; alternatives: option
    and reason; primary_metrics: keys of the metric catalogue, the first counts for POL-23, empty means throughput.
    """

    org_profile: OrganisationProfile
    usage_kind: UsageKind
    org_profile_reason: str = ""
    bottleneck_types: tuple[BottleneckType, ...] = ()
    business_reason: str = ""
    runs_per_month: Decimal | None = None
    hours_per_run: Decimal | None = None
    requests_per_day: int | None = None
    planned_runs: int | None = None
    team_size: int | None = None
    state_gb: Decimal | None = None
    primary_metrics: tuple[str, ...] = ()
    alternatives: tuple[tuple[AlternativeOption, str], ...] = ()

    def numbers(self) -> tuple[Decimal | int | None, ...]:
        """Return every number, known or not."""
        return (
            self.runs_per_month,
            self.hours_per_run,
            self.requests_per_day,
            self.planned_runs,
            self.team_size,
            self.state_gb,
        )

    def values(self) -> dict[str, Any]:
        """Return the fields of the row."""
        rows = [{"option": option.value, "verdict": reason.strip()} for option, reason in self.alternatives]
        changed = {
            "org_profile": self.org_profile.value,
            "usage_kind": self.usage_kind.value,
            "bottleneck_types": [item.value for item in self.bottleneck_types],
            "primary_metrics": list(self.primary_metrics),
            "alternatives": rows,
            "org_profile_reason": self.org_profile_reason.strip(),
            "business_reason": self.business_reason.strip(),
        }
        return self.__dict__ | changed


@audited
def save_suitability(
    *, actor: User, workload_id: UUID, data: SuitabilityData, expected_sha256: str = ""
) -> SuitabilityAnswers:
    """Store the answers; the primary metrics stay as they are once the criteria are frozen (409, P10).

    Raises PermissionMissing (P11), WrongState, or CriterionNotMet naming the criterion of G2 an answer belongs to.
    """
    workload = selectors.lock(workload_id, actor=actor)
    role = guards.require(
        actor=actor, permission=Permission.ASSESS_SUITABILITY, workload=workload, letters=frozenset("CU")
    )
    content.check_unchanged(workload, expected_sha256, or_confirmed=True)
    _check_metrics_not_frozen(workload, data)
    _check(data)
    answers, _made = SuitabilityAnswers.objects.update_or_create(
        workload=workload,
        defaults=data.values() | {"answered_by": actor.person, "answered_at": clock.now()},
    )
    content.store_changed(workload, actor=actor, as_actor=actor.audit_actor(role))
    return answers


def _check_metrics_not_frozen(workload: Workload, data: SuitabilityData) -> None:
    if workload.criteria_frozen_at and selectors.primary_metrics(workload) != list(data.primary_metrics):
        raise WrongState(
            _(
                "Die wichtigsten Messgrößen gelten seit dem Start des ersten Ziellaufs; ändern lassen sie sich nur "
                "auf Antrag (P10)."
            ),
            id="P10",
            next_step=_("Bitte speichern Sie die übrigen Angaben ohne diese Änderung."),
        )


def _has_reason(data: SuitabilityData) -> bool:
    return data.org_profile is not OrganisationProfile.OTHER or bool(data.org_profile_reason.strip())


def _response_is_justified(data: SuitabilityData) -> bool:
    return BottleneckType.RESPONSE not in data.bottleneck_types or bool(data.business_reason.strip())


def _alternatives_have_reasons(data: SuitabilityData) -> bool:
    return all(reason.strip() for _option, reason in data.alternatives)


def _each_alternative_once(data: SuitabilityData) -> bool:
    return len({option for option, _reason in data.alternatives}) == len(data.alternatives)


def _numbers_make_sense(data: SuitabilityData) -> bool:
    return all(number is None or 0 <= number <= MAX_NUMBER for number in data.numbers())


def _state_is_some(data: SuitabilityData) -> bool:
    return data.state_gb is None or data.state_gb > 0


def _metrics_are_comparable(data: SuitabilityData) -> bool:
    """Return whether every metric is known, has a better direction and is named once."""
    known = {key for key, item in catalogue().items() if item.better is not None}
    return set(data.primary_metrics) <= known and len(set(data.primary_metrics)) == len(data.primary_metrics)


# The criterion an answer belongs to, what must hold, and what to say if it does not; the first that fails refuses.
_CHECKS: Final[tuple[tuple[str, Callable[[SuitabilityData], bool], Promise], ...]] = (
    (
        "G2-2",
        _has_reason,
        lazy("Bitte beschreiben Sie Ihre Organisation in einem Satz, wenn keine der Arten passt (G2-2)."),
    ),
    (
        "G2-1",
        _response_is_justified,
        lazy(
            "Bitte begründen Sie, warum Antwortzeit oder Durchsatz für das Geschäft zählen: Ohne Grund trägt dieser "
            "Engpass keine Entscheidung (G2-1)."
        ),
    ),
    (
        "G2-5",
        _alternatives_have_reasons,
        lazy("Bitte nennen Sie zu jeder betrachteten Alternative den Grund (G2-5)."),
    ),
    (
        "G2-5",
        _each_alternative_once,
        lazy("Bitte nennen Sie jede Alternative nur einmal (G2-5)."),
    ),
    (
        "G2-2",
        _numbers_make_sense,
        lazy("Bitte prüfen Sie die Zahlen: Sie dürfen nicht negativ und nicht unsinnig groß sein (G2-2)."),
    ),
    (
        "G2-1",
        _state_is_some,
        lazy("Bitte geben Sie einen Speicherbedarf über 0 an, oder lassen Sie das Feld leer (G2-1)."),
    ),
    (
        "G6-8",
        _metrics_are_comparable,
        lazy("Bitte wählen Sie Messgrößen, bei denen feststeht, was besser ist, und jede nur einmal (G6-8)."),
    ),
)


def _check(data: SuitabilityData) -> None:
    for criterion, holds, message in _CHECKS:
        if not holds(data):
            raise CriterionNotMet(str(message), id=criterion)
