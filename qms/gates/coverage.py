"""What a rule-set version refuses because it has no criteria for it (EM-13). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from qms.core.errors import CriterionNotMet, Refusal, WrongState
from qms.gates.choices import ApprovalType
from qms.gates.rule_sets import RuleSet
from qms.workloads import levels as level_order
from qms.workloads.choices import AiActRiskClass, Flag, Level


@dataclass(frozen=True, slots=True)
class Uncovered:
    """One class, flag or approval type without criteria: its code, the sentence for the person and what to do."""

    code: str
    message: str
    next_step: str


def uncovered(
    rule_set: RuleSet,
    levels: Iterable[Level],
    flags: Iterable[Flag],
    approval_type: ApprovalType | None = None,
    risk_class: AiActRiskClass | None = None,
) -> tuple[Uncovered, ...]:
    """Return what the version cannot judge, in the order type, levels, flags, risk class; empty means covered.

    risk_class: None while nobody has set it, which G0-9 asks for.
    """
    found: list[Uncovered] = []
    name = {"rule_set": rule_set.label}
    if approval_type is not None and approval_type not in rule_set.covers.approval_types:
        text = _("Das Regelwerk %(rule_set)s hat keine Kriterien für die Art %(type)s (EM-13).")
        found.append(
            Uncovered(approval_type.value, text % (name | {"type": approval_type.label}), _type_step())
        )
    for level in sorted(set(levels) - set(rule_set.covers.levels), key=level_order.rank):
        text = _("Das Regelwerk %(rule_set)s hat keine Kriterien für die Stufe %(level)s (EM-13).")
        text %= name | {"level": f"{level.value} {level.label}"}
        found.append(Uncovered(level.value, text, _data_step()))
    for flag in level_order.ordered(set(flags) - set(rule_set.covers.flags)):
        text = _("Das Regelwerk %(rule_set)s hat keine Kriterien für das Kennzeichen %(flag)s (EM-13).")
        text %= name | {"flag": f"{flag.value} {flag.label}"}
        found.append(Uncovered(flag.value, text, _data_step()))
    if risk_class is not None and risk_class not in rule_set.covers.risk_classes:
        found.append(_risk_class(rule_set, risk_class))
    return tuple(found)


def _risk_class(rule_set: RuleSet, risk_class: AiActRiskClass) -> Uncovered:
    if risk_class is AiActRiskClass.PROHIBITED:  # no version will ever judge it (G0-9)
        return Uncovered(
            risk_class.value,
            _("Für eine verbotene Praktik (Art. 5 KI-Verordnung) gibt es weder Lauf noch Freigabe (EM-13)."),
            _("Den Einsatz aufgeben, oder die Risikoklasse berichtigen, wenn sie nicht zutrifft."),
        )
    text = _("Das Regelwerk %(rule_set)s hat keine Kriterien für die Risikoklasse %(risk_class)s (EM-13).")
    return Uncovered(
        risk_class.value,
        text % {"rule_set": rule_set.label, "risk_class": risk_class.label},
        _("Risikoklasse prüfen oder auf eine Version des Regelwerks warten, die sie beurteilen kann."),
    )


def submission_refusal(found: tuple[Uncovered, ...]) -> Refusal:
    """Return the refusal of a submission (422, EM-13)."""
    return CriterionNotMet(
        found[0].message,
        id="EM-13",
        code="EINREICHUNG_VERWEIGERT",
        next_step=found[0].next_step,
        facts={"uncovered": [item.code for item in found]},
    )


def run_refusal(found: tuple[Uncovered, ...]) -> Refusal:
    """Return the refusal of a run start (409, EM-13)."""
    return WrongState(
        found[0].message,
        id="EM-13",
        code="LAUF_VERWEIGERT",
        next_step=found[0].next_step,
        facts={"uncovered": [item.code for item in found]},
    )


def _type_step() -> str:
    return _("Nötig ist eine Version des Regelwerks mit Kriterien für diese Art.")


def _data_step() -> str:
    """Never asks for a lower level: what the data are does not follow from what can be judged."""
    return _(
        "Nötig ist eine Version des Regelwerks mit Kriterien dafür, oder ein Workload mit anderen Daten; die Einstufung "
        "richtet sich allein nach den Daten."
    )
