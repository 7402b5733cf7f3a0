"""Facts of a workload compared with the platform in use: every criterion of 0.2.0 is met. The worked check of spec 3.17."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from qms.core.values import Assurance, Axes, Interval, Origin, Provenance, Unit
from qms.gates.business_facts import (
    LEVELS,
    CapabilityFacts,
    CapabilityRow,
    ChecklistItem,
    EnvironmentFacts,
    LevelFacts,
    LevelsFacts,
    OfferFacts,
    ProfileFacts,
    SuitabilityFacts,
)
from qms.gates.business_readers import costs_from, demand_from
from qms.gates.case_facts import EvidencePeople
from qms.gates.choices import VoteValue
from qms.gates.evidence_facts import PortingFacts
from qms.gates.facts import Facts
from qms.workloads.choices import PlatformKind
from tests.qms.gates.complete_facts import LEAD, NOW, REVIEWER, changed, complete, metric, platform

EMULATED = Axes(Provenance.EMULATED, Assurance.REPEATED, Origin.OWN)
MONTHS = ("2026-07", "2026-08", "2026-09")


def line(number: int, **amounts: str) -> dict[str, Any]:
    zero = {"fixed_month": "0.00", "per_unit": "0.00", "one_off": "0.00", "reason": "fällt nicht an"}
    return {"category": f"TCO-{number:02d}"} | zero | amounts


def side(name: str, capacity: str, unit_cost: str, **first: str) -> dict[str, Any]:
    return {
        "platform": {"key": name, "name": name, "kind": "GPU_CLUSTER"},
        "capacity": capacity,
        "commercial_model": "PROVIDER",
        "lines": [line(1, **first), *(line(number) for number in range(2, 13))],
        "paid_hours_month": "720",
        "hours_per_unit": "6",
        "hours_provenance": "EMULIERT",
        "total_month": "64500.00",
        "unit_cost": unit_cost,
        "utilisation_paid": "0.375",
    }


def sheet(**changes: Any) -> dict[str, Any]:
    """EV-17 of the worked check: 60 000 EUR reserved, 45 runs, ratio 0.717, 29.3 % needed, 37.5 % expected."""
    steps = (("AUSLASTUNG", "-0.20", "0.883"), ("MENGE", "-0.20", "0.883"), ("MENGE", "0.20", "0.606"))
    steps += (("PREIS", "0.20", "0.850"), ("PORTIERUNG", "0.50", "0.717"))
    return {
        "schema": "qms.costs/1",
        "result_unit": "Lauf",
        "units_per_month": "45",
        "comparable": True,
        "baseline": side("GPU-BESTAND-32", "NUTZUNGSABHAENGIG", "2000.00", per_unit="2000.00"),
        "target": side("WSE-3", "RESERVIERT", "1433.33", fixed_month="60000.00", per_unit="100.00"),
        "ratio": "0.717",
        "break_even": {
            "units": "32",
            "utilisation": "0.2667",
            "forecast": "0.375",
            "reachable": True,
        },
        "sensitivity": [{"step": key, "change": change, "ratio": ratio} for key, change, ratio in steps],
        "business_value": {"reason": ""},
    } | changes


def demand(**changes: Any) -> dict[str, Any]:
    return {
        "schema": "qms.demand/1",
        "units_per_month": "45",
        "hours_per_unit": "6",
        "requests_per_day": None,
        "history": [{"month": month, "units": "45"} for month in MONTHS],
        "forecast_units_per_month": "45",
        "backed_months": 3,
        "source": "Auftragsliste",
    } | changes


def compared() -> Facts:
    """Return facts that fulfil everything, on a baseline of the platform in use."""
    facts = complete()
    cluster = platform(
        PlatformKind.GPU_CLUSTER, is_existing=True, devices=32, memory_bytes=141 * 10**9, topology="4 x 8"
    )
    before = (
        metric("throughput_tokens_s", "1000", Unit.TOKENS_PER_SECOND, n=1000),
        metric("e2e_latency_ms", "100", Unit.MILLISECONDS, percentile="p95", n=1000),
        metric("peak_memory_bytes", "1000", Unit.BYTES, n=1),
        metric("error_rate", "0", Unit.RATIO, n=1000),
    )
    after = (
        gained("throughput_tokens_s", "1500", "1200", "1800", Unit.TOKENS_PER_SECOND),
        gained("e2e_latency_ms", "2", "1", "5", Unit.MILLISECONDS, percentile="p95"),
    )
    votes = (replace(facts.votes[0], subjects={**facts.votes[0].subjects, "KOSTEN": VoteValue.AGREE}),)
    return replace(
        facts,
        baseline=replace(facts.baseline, platform=cluster, metrics=before),  # type: ignore[type-var]
        target=replace(facts.target, metrics=after),  # type: ignore[type-var]
        votes=votes,
        evidence=(*facts.evidence, EvidencePeople("EV-17", LEAD, REVIEWER)),
        suitability=suitability(),
        profile=ProfileFacts(cluster, Decimal("0.31"), None, None, (), NOW - timedelta(days=3)),
        costs=costs_from(sheet()),
        demand=demand_from(demand()),
        levels=levels(),
        offer=offer(),
        environment=environment(),
        capability=capability(),
    )


def gained(key: str, value: str, lower: str, upper: str, unit: Unit, **changes: Any) -> Any:
    interval = Interval(Decimal(lower), Decimal(upper))
    return metric(key, value, unit, **({"axes": EMULATED, "interval": interval} | changes))


def suitability(**changes: Any) -> SuitabilityFacts:
    found = SuitabilityFacts(
        org_profile="UNTERNEHMEN",
        bottleneck_types=("KOMMUNIKATION",),
        business_reason="",
        usage_kind="REGELBETRIEB",
        runs_per_month=Decimal(30),
        hours_per_run=Decimal("20.6"),
        planned_runs=12,
        team_size=5,
        params_b=Decimal(7),
        state_gb=Decimal(112),
        alternatives=(("GPU_OPTIMIERT", "bereits ausgereizt"), ("TPU_CLOUD", "andere Region")),
    )
    return replace(found, **changes)


def levels(*scores: int | None) -> LevelsFacts:
    rows = zip(LEVELS, scores or (3, 2, 4), strict=True)
    return LevelsFacts(
        "WSE-3", tuple(LevelFacts(name, score, f"Rolle {name}", f"Bericht {name}") for name, score in rows)
    )


def offer(**changes: Any) -> OfferFacts:
    found = OfferFacts(
        platform="WSE-3",
        commercial_model="PROVIDER",
        reference="A-1",
        offered_at=date(2026, 7, 22),
        term_months=12,
        notice_months=3,
        transition="vier Wochen Parallelbetrieb",
        data_return="Abruf durch uns",
        export_format="safetensors",
        exit_cost_eur=Decimal(5000),
        exit_cost_reason="",
        switching_charges_eur=Decimal(0),
        switching_reason="im Vertrag ausgeschlossen",
    )
    return replace(found, **changes)


def environment(**status: str) -> EnvironmentFacts:
    names = ("BESCHAFFUNG", "NETZWERK", "KUEHLUNG", "RZ_BETRIEB", "ANBIETERVERTRAG")
    items = (ChecklistItem(name, status.get(name, "GEKLAERT"), "Betrieb", "") for name in names)
    return EnvironmentFacts("WSE-3", tuple(items))


def capability(*rows: str) -> CapabilityFacts:
    names = rows or ("DATENPIPELINE", "MODELLBETRIEB", "UEBERWACHUNG", "AUSLASTUNG")
    return CapabilityFacts(tuple(CapabilityRow(name, "Plattformteam", "Betriebshandbuch") for name in names))


def with_changes(facts: Facts, changes: dict[str, Any]) -> Facts:
    for path, value in changes.items():
        facts = changed(facts, path, value)
    return facts


def with_metrics(*items: Any, drop: str = "") -> dict[str, Any]:
    kept = [item for item in compared().baseline.metrics if item.key != drop]  # type: ignore[union-attr]
    return {"baseline.metrics": (*kept, *items)}


def shares(value: str) -> dict[str, Any]:
    return {"profile.comm_share": Decimal(value)}


def answers(**changes: Any) -> dict[str, Any]:
    return {"suitability": suitability(**changes)}


def compiled(unsupported: int | None, total: int | None) -> dict[str, Any]:
    return {"porting": PortingFacts("pytorch", (), False, total, unsupported)}


def costs(**changes: Any) -> dict[str, Any]:
    return {"costs": costs_from(sheet(**changes))}


def break_even(**changes: Any) -> dict[str, Any]:
    return costs(break_even=sheet()["break_even"] | changes)


def tokens(lower: str, **changes: Any) -> Any:
    return gained("throughput_tokens_s", "5000", lower, "9000", Unit.TOKENS_PER_SECOND, **changes)


def latency(upper: str) -> Any:
    return gained("e2e_latency_ms", "2", "1", upper, Unit.MILLISECONDS, percentile="p95")


BOTH = answers(primary_metrics=("throughput_tokens_s", "e2e_latency_ms"))
