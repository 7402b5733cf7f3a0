"""The verdict: the first row of the table VF-01 to VF-10 that matches a gate report (spec 3.17). Pure; German, stored.

It recommends; the approver may decide otherwise with a reason. Outside the comparison there is none (EM-12, ADR 0154).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from qms.gates.benefit import gain_of, primary_metrics
from qms.gates.bottleneck import proofs
from qms.gates.choices import CriterionResult
from qms.gates.criteria.g6 import LEVELS_DE
from qms.gates.criteria.g6_benefit import told
from qms.gates.criteria.g6_costs import both_unit_costs, unit_costs, utilisation_of
from qms.gates.exclusions import excluded
from qms.gates.facts import Facts
from qms.gates.outcome import percent
from qms.gates.policy import Policy
from qms.gates.report import CriterionReport, GateReport, Verdict
from qms.gates.rule_sets import RuleSet
from qms.gates.verdict_rows import VerdictRow
from qms.workloads.choices import AlternativeOption, PlatformKind

_OPTIONS_DE: Final = {
    AlternativeOption.OPTIMISED_GPU: "GPU optimieren",
    AlternativeOption.TPU_CLOUD: "TPU-Cloud",
    AlternativeOption.MANAGED_API: "GPU oder Managed-API",
}
_GPU: Final = frozenset({PlatformKind.GPU_CLUSTER, PlatformKind.GPU_MICRO_CLUSTER})
_NAMED_OPEN: Final = 4


def verdict(report: GateReport, facts: Facts, rule_set: RuleSet) -> Verdict | None:
    """Return the recommendation, or None where nothing may be compared."""
    if report.gap is not None:
        return None
    for row in rule_set.verdicts:
        deciding = _deciding(row, report)
        emulated = row.emulated and facts.target is not None and facts.target.emulated
        if deciding or emulated or row.otherwise:
            return _verdict(row, deciding, report, facts, rule_set.policy)
    return None


def _deciding(row: VerdictRow, report: GateReport) -> list[CriterionReport]:
    return [
        item
        for item in report.criteria
        if not item.covered
        and any(one.holds(item.row.id, item.row.gate, item.kind, item.result) for one in row.conditions)
    ]


def _verdict(
    row: VerdictRow, deciding: Sequence[CriterionReport], report: GateReport, facts: Facts, policy: Policy
) -> Verdict:
    waiting = [item for item in report.criteria if item.blocks and item.row.gate != "G7"]
    told_of = deciding or waiting
    sentence = row.sentence_de.format(
        reason=_clause(deciding[0], facts, policy) if deciding else "",
        stay=_stay(facts),
        alternative=_alternative(facts, policy),
        open=_open(waiting),
        figures=_figures(facts, policy),
    )
    return Verdict(
        row.id,
        row.code,
        f"{sentence} ({row.id}).",
        tuple(f"{item.row.id}: {item.reason_de}" for item in told_of),
        tuple(item.row.id for item in told_of),
    )


def _stay(facts: Facts) -> str:
    kind = facts.baseline.platform.kind if facts.baseline else None
    return "GPU behalten" if kind in _GPU else "bisherige Plattform behalten"


def _alternative(facts: Facts, policy: Policy) -> str:
    """Return what suits better: the first alternative the owner gave reasons for, else what the exclusion suggests."""
    rows = facts.suitability.alternatives if facts.suitability else ()
    named = [
        item
        for item in _OPTIONS_DE
        if any(item.value == option and reason.strip() for option, reason in rows)
    ]
    suggested = [item.alternative for item in excluded(facts, policy)]
    found = [*[item for item in suggested if item in named], *named, *suggested]
    return _OPTIONS_DE[found[0]] if found else ""


def _figures(facts: Facts, policy: Policy) -> str:
    """Return benefit and unit costs as far as they are known, with a semicolon behind; emulated ones say so."""
    known = [
        gain for gain in map(partial(gain_of, facts), primary_metrics(facts)[:1]) if gain.gain is not None
    ]
    told_of = [f"{item.name_de} {told(item, policy.share('POL-23', 'primary_min_gain'))}" for item in known]
    if facts.costs and (costs := both_unit_costs(facts.costs)):
        told_of.append(costs)
    emulated = "emuliert: " if facts.target is not None and facts.target.emulated else ""
    return f"{emulated}{', '.join(told_of)}; " if told_of else ""


def _open(waiting: Sequence[CriterionReport]) -> str:
    if not waiting:
        return ""
    ids = [item.row.id for item in waiting]
    more = f" und {len(ids) - _NAMED_OPEN} weitere" if len(ids) > _NAMED_OPEN else ""
    return f", sobald {', '.join(ids[:_NAMED_OPEN])}{more} erledigt {'ist' if len(ids) == 1 else 'sind'}"


def _clause(item: CriterionReport, facts: Facts, policy: Policy) -> str:
    """Return the reason with its figures as a German subordinate clause."""
    found = ""
    if item.result is CriterionResult.NOT_MET and item.row.id in _CLAUSES:
        found = _CLAUSES[item.row.id](facts, policy)
    state = "offen" if item.result is CriterionResult.OPEN else "nicht erfüllt"
    return found or f"das Kriterium {item.row.title_de} ({item.row.id}) {state} ist"


def _exclusion(facts: Facts, policy: Policy) -> str:
    found = excluded(facts, policy)
    return found[0].clause_de if found else ""


def _bottleneck(facts: Facts, policy: Policy) -> str:
    stated = facts.suitability.bottleneck_types if facts.suitability else ()
    found = [item.value_de for item in proofs(facts, policy) if item.type in stated]
    told_of = f" ({found[0]})" if found else ""
    return f"kein Engpass der bisherigen Plattform belegt ist{told_of}"


def _capability(_facts: Facts, _policy: Policy) -> str:
    return "die Organisation den Betrieb noch nicht tragen kann"


def _level(facts: Facts, policy: Policy) -> str:
    least = policy.integer("POL-28", "min")
    weak = (
        [item for item in facts.levels.levels if item.score is not None and item.score < least]
        if facts.levels
        else []
    )
    if not weak:
        return ""
    return f"die Ebene {LEVELS_DE[weak[0].name]} mit Note {weak[0].score} unter der Mindestnote {least} liegt"


def _utilisation(facts: Facts, policy: Policy) -> str:
    found = utilisation_of(facts, policy)
    if found is None or found.carries:
        return "keine Auslastung die Kosten der reservierten Kapazität trägt"
    return f"die erwartete Auslastung von {found.expected_de} die nötigen {found.needed_de} nicht erreicht"


def _unit_cost(facts: Facts, policy: Policy) -> str:
    if facts.costs is None:
        return ""
    return f"{unit_costs(facts.costs, policy.number('POL-25', 'max'))} zu viel ist"


def _benefit(facts: Facts, policy: Policy) -> str:
    least, most = policy.share("POL-23", "primary_min_gain"), policy.share("POL-23", "other_max_loss")
    first, *others = [gain_of(facts, key) for key in primary_metrics(facts)]
    if first.gain is not None and first.gain < least:
        return f"{first.name_de} {told(first, least)} statt {percent(least)} besser ist"
    lost = [item for item in others if item.gain is not None and item.gain < -most]
    return f"{lost[0].name_de} {told(lost[0], -most)} ist" if lost else ""


_CLAUSES: Final[dict[str, Callable[[Facts, Policy], str]]] = {
    "G2-1": _bottleneck,
    "G2-3": _exclusion,
    "G2-4": _capability,
    "G6-1": _level,
    "G6-3": _utilisation,
    "G6-4": _unit_cost,
    "G6-8": _benefit,
}
