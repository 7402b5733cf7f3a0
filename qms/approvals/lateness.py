"""When a missed condition ends the force of an approval (spec 3.8, D-08): HOCH and SOFORT at once, NORMAL after grace.

Computed at every use, like the end of the validity: nobody has to be there for an approval to lose its force. Working
days are Monday to Friday; holidays are not known, so grace never lasts longer than promised (decision 0157).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from qms.approvals.choices import ConditionStatus, Severity
from qms.approvals.conditions import grace_days, local_day
from qms.approvals.models import Condition

_SATURDAY: Final = 5
_AT_ONCE: Final = frozenset({Severity.HIGH, Severity.IMMEDIATE})


@dataclass(frozen=True, slots=True)
class Late:
    """One condition past its due date; halts: whether the approval is out of force for it, and the sentence."""

    condition: Condition
    halts: bool
    sentence: str


def add_working_days(day: date, count: int) -> date:
    """Return the last of `count` working days after `day`."""
    while count:
        day += timedelta(days=1)
        count -= day.weekday() < _SATURDAY
    return day


def judge(condition: Condition, today: date, grace: int) -> Late | None:
    """Return how late an unfulfilled condition is on `today`, None until the end of its due date; grace: working days."""
    if today <= condition.due or condition.status == ConditionStatus.MET:
        return None
    severity = Severity(condition.severity)
    values = {"position": condition.position, "severity": severity.value, "days": grace}
    if severity in _AT_ONCE or today > add_working_days(condition.due, grace):
        text = _("Auflage %(position)d überfällig (%(severity)s): Die Freigabe ist nicht wirksam (D-08).")
        return Late(condition, True, text % values)
    text = _(
        "Auflage %(position)d überfällig (%(severity)s): nach %(days)d Werktagen nicht mehr wirksam (D-08)."
    )
    return Late(condition, False, text % values)


def late_by_approval(approval_ids: Iterable[UUID], at: datetime) -> dict[UUID, list[Late]]:
    """Return what is late at `at`, by approval, what halts first; one query, and one more if anything is late."""
    today = local_day(at)
    found = list(
        Condition.objects.filter(approval__in=list(approval_ids), due__lt=today).exclude(
            status=ConditionStatus.MET
        )
    )
    grace = grace_days() if found else 0
    rows: dict[UUID, list[Late]] = defaultdict(list)
    for condition in found:
        late = judge(condition, today, grace)
        if late:
            rows[condition.approval_id].append(late)
    return {key: sorted(items, key=lambda item: not item.halts) for key, items in rows.items()}
