"""What the page "Eignung und Bedarf" shows beside the answers: what the evidence says now, and what follows (G2)."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.core import clock, formats
from qms.gates import bottleneck, exclusions
from qms.gates import services as gates
from qms.gates.choices import ApprovalType
from qms.gates.engine import GateReport
from qms.gates.facts import Facts
from qms.gates.judged import BOTTLENECKS
from qms.gates.policy import Policy
from qms.web import workload_criteria_view
from qms.web.workload_criteria_view import CriterionView
from qms.workloads import state_size
from qms.workloads.choices import AlternativeOption, BottleneckType, Mode, UsageKind
from qms.workloads.models import Workload

# Section of the page -> criteria its answers serve.
SECTIONS: Final[dict[str, tuple[str, ...]]] = {
    "bottleneck": ("G2-1",),
    "load": ("G2-2", "G2-3"),
    "alternatives": ("G2-5",),
    "organisation": ("G2-4",),
}
PROVEN: Final = {
    BottleneckType.COMMUNICATION: lazy("Kommunikation"),
    BottleneckType.MEMORY_CAPACITY: lazy("Speicher"),
    BottleneckType.RESPONSE: lazy("Antwortzeit oder Durchsatz"),
}
_PER_GB: Final = {"GB": 1, "MB": 1000, "kB": 10**6}
Fact = dict[str, Any]


def context(workload: Workload) -> dict[str, Any]:
    """Return the figures of the evidence, the criteria of each section, and whether the answers are needed now."""
    facts = gates.facts_for(workload, ApprovalType.PRELIMINARY, at=clock.now())
    report, policy = gates.evaluate_dossier(facts), gates.policy()
    return {
        "needed": is_needed(facts),
        "training": workload.mode != Mode.INFERENCE,
        "bottleneck_facts": [_baseline(facts), _state(workload)],
        "confirmed": _confirmed(facts, policy, report),
        "proofs": _proofs(facts, policy),
        "exclusions": _exclusions(facts, policy),
        "load_facts": _load(facts, policy),
        "criteria": {name: _criteria(report, ids, workload) for name, ids in SECTIONS.items()},
    }


def is_needed(facts: Facts) -> bool:
    """Return whether the baseline comes from the platform in use, so that G2 is judged (EM-12)."""
    return facts.baseline is not None and not facts.baseline.platform.development_machine


def _criteria(report: GateReport, ids: Iterable[str], workload: Workload) -> list[CriterionView]:
    """Return the criteria that are judged now; what is not judged stands in the rule set's own list."""
    return [
        workload_criteria_view.view(item, workload.pk) for item in report.criteria if item.row.id in set(ids)
    ]


def _baseline(facts: Facts) -> Fact:
    label = _("Vergleichsbasis")
    if facts.baseline is None:
        return {"label": label, "value": _("noch keine")}
    platform = facts.baseline.platform
    if platform.development_machine:
        return {"label": label, "value": _("Entwicklungsrechner; er belegt keinen Engpass (EM-12)")}
    values = {"kind": platform.kind.label, "devices": formats.number(platform.devices, 0)}
    return {"label": label, "value": _("%(kind)s, Geräte: %(devices)s") % values}


def _confirmed(facts: Facts, policy: Policy, report: GateReport) -> str:
    """Return that the suitability is confirmed, and by which bottlenecks; "" before G2 is green (SZ-01.3)."""
    if not is_needed(facts) or not report.gate_met("G2"):
        return ""
    names = [str(PROVEN[item.type]) for item in bottleneck.proofs(facts, policy) if item.proven]
    *first, last = names or [""]
    both = _("%(first)s und %(last)s") % {"first": ", ".join(first), "last": last} if first else last
    return _("Eignung bestätigt: Engpass %(names)s nachgewiesen (G2-1).") % {"names": both}


def _proofs(facts: Facts, policy: Policy) -> list[dict[str, Any]]:
    """Return E1 to E3 with what was found; nothing before there are values of the platform in use."""
    if not is_needed(facts):
        return []
    return [
        {
            "code": BOTTLENECKS[item.type],
            "label": item.type.label,
            "value": item.value_de,
            "threshold": item.threshold_de,
            "state": _("belegt") if item.proven else _("nicht belegt"),
            "tone": "ok" if item.proven else "neutral",
        }
        for item in bottleneck.proofs(facts, policy)
    ]


def _exclusions(facts: Facts, policy: Policy) -> list[dict[str, Any]]:
    """Return the exclusions A1 to A4 that apply, with what suits better; `sentence`: what SZ-11.1 says of A4."""
    return [
        {
            "code": item.code,
            "value": item.value_de,
            "better": item.alternative.label,
            "sentence": _unsupported(facts, policy) if item.code == "A4" else "",
        }
        for item in exclusions.excluded(facts, policy)
    ]


def _unsupported(facts: Facts, policy: Policy) -> str:
    found, limit = exclusions.operators(facts), policy.share("POL-09", "exclude_above")
    if found is None or Decimal(found[0]) / found[1] <= limit:
        return ""
    whole = found[0] * 100 % found[1] == 0
    values = {
        "share": formats.percent(Decimal(found[0]) / found[1], 0 if whole else 1),
        "limit": formats.percent(limit, 0),
    }
    return (
        _(
            "%(share)s der Knoten nicht unterstützt (zulässig %(limit)s). Empfehlung: nicht geeignet. Alternative: GPU "
            "optimieren oder Managed-API (G2-3)."
        )
        % values
    )


def _needed_state(workload: Workload) -> Decimal | None:
    answers = getattr(workload, "suitability", None)
    entered = answers.state_gb if answers else None
    return state_size.state_gb(entered, workload.mode, workload.model_facts)


def _state(workload: Workload) -> Fact:
    label = _("Speicherbedarf des Workloads")
    need = _needed_state(workload)
    if need is None:
        return {"label": label, "value": _("noch nicht bekannt; das Modell oder Ihre Angabe nennt ihn")}
    answers = getattr(workload, "suitability", None)
    if answers is not None and answers.state_gb is not None:
        reason = _("wie von Ihnen angegeben")
    elif workload.mode == Mode.INFERENCE:
        reason = _("Größe der Gewichte")
    else:
        reason = _("gerechnet mit %(bytes)d\u00a0Byte je Parameter") % {
            "bytes": state_size.TRAINING_BYTES_PER_PARAMETER
        }
    return {"label": label, "value": f"{_gigabytes(need)} ({reason})"}


def _gigabytes(value: Decimal) -> str:
    """Return a size in GB as people read it: small models need MB or kB."""
    unit = next((name for name, least in (("GB", 1), ("MB", Decimal("0.001"))) if value >= least), "kB")
    return f"{formats.number(value * _PER_GB[unit])}{formats.NBSP}{unit}"


def _load(facts: Facts, policy: Policy) -> list[Fact]:
    answers = facts.suitability
    hours = (
        answers.runs_per_month * answers.hours_per_run
        if answers and answers.runs_per_month is not None and answers.hours_per_run is not None
        else None
    )
    requests = answers.requests_per_day if answers else None
    return [
        _against(_("Rechenstunden im Monat"), hours, policy.number("POL-10", "min"), f"{formats.NBSP}h"),
        _against(_("Anfragen am Tag"), requests, policy.number("POL-11", "min"), ""),
    ]


def _against(label: str, value: Decimal | None, least: Decimal, unit: str) -> Fact:
    limit = f"{formats.number(least, 0)}{unit}"
    if value is None:
        return {
            "label": label,
            "value": _("noch keine Angabe; regelmäßig heißt ab %(least)s") % {"least": limit},
        }
    values = {"value": f"{formats.exact(value)}{unit}", "least": limit}
    return {"label": label, "value": _("%(value)s; regelmäßig heißt ab %(least)s") % values}


def summary(workload: Workload) -> list[Fact]:
    """Return what the owner answered, in a few words for the overview; empty before anybody did."""
    answers = getattr(workload, "suitability", None)
    if answers is None:
        return []
    bottlenecks = ", ".join(str(BottleneckType(code).label) for code in answers.bottleneck_types)
    alternatives = ", ".join(str(AlternativeOption(row["option"]).label) for row in answers.alternatives)
    return [
        {"label": _("Engpass"), "value": bottlenecks or _("keiner genannt")},
        {"label": _("Nutzung"), "value": str(UsageKind(answers.usage_kind).label)},
        {"label": _("Betrachtete Alternativen"), "value": alternatives or _("noch keine")},
    ]
