"""Evidence that came after the last decision, and what the gates say now.

New evidence does not outdate a decided approval (spec 3.5.5): it rests on what it was decided on. The page says both.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from qms.approvals import dossier
from qms.approvals.models import Approval
from qms.evidence.models import EvidenceItem
from qms.gates.report import GateReport


@dataclass(frozen=True, slots=True)
class NewerEvidence:
    """What came after a decision. items: evidence not in its dossier; then, now: what the gates said and say, in words."""

    approval: Approval
    items: tuple[EvidenceItem, ...]
    then: str
    now: str

    @property
    def sentence(self) -> str:
        """Say that the evidence is newer, and what the gates say now."""
        text = _(
            "Es gibt neuere Nachweise als in der Entscheidung %(number)s. Die Gates sagen jetzt: %(now)s"
        )
        return text % {"number": self.approval.number, "now": self.now}


def newer(approval: Approval, items: list[EvidenceItem], report: GateReport) -> NewerEvidence | None:
    """Return the evidence that counts now and was not decided on, None if there is none."""
    decided = dossier.current(approval)
    known = {row["id"] for row in decided["evidence"]}
    found = tuple(item for item in items if str(item.pk) not in known)
    if not found:
        return None
    then = (decided["gates"]["verdict"] or {}).get("sentence", "")
    return NewerEvidence(approval, found, then, _words(report))


def _words(report: GateReport) -> str:
    """Return the verdict, or what is open before the review where nothing is compared."""
    if report.verdict is not None:
        return report.verdict.sentence_de
    wrong = [item.row.id for item in report.criteria if item.blocks and item.row.gate != "G7"]
    if not wrong:
        return _("Kein Kriterium ist offen.")
    return _("Offen oder nicht erfüllt: %(ids)s.") % {"ids": ", ".join(wrong)}
