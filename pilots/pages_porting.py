"""What the page "Portierung" shows of the porting report (EV-05). No rules."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from pilots import pages_capture
from pilots.services.porting import STATED, Effort
from qms.core import formats


def entered(facts: Mapping[str, Any]) -> dict[str, Effort]:
    """Return the person days entered so far, by category."""
    reasons = facts.get("effort_reasons", {})
    return {
        category: Effort(Decimal(days), reasons.get(category, ""))
        for category, days in facts.get("porting_effort_pt", {}).items()
        if days is not None
    }


def shown(facts: dict[str, Any]) -> dict[str, Any]:
    """Return sentence and table of the coverage, the answer on partitioning, and the sum of the effort."""
    efforts = entered(facts)
    total = sum((row.days for row in efforts.values()), Decimal(0))
    return {
        "sentence": pages_capture.coverage_sentence(facts),
        "coverage": pages_capture.coverage(facts["operations"]),
        "partitioning": facts["partitioning_reason"],
        "total": _("%(days)s Personentage") % {"days": formats.exact(total)} if efforts else "",
        "axes": STATED,
    }
