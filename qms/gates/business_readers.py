"""Readers of the evidence files EV-01, 17, 18, 19, 20, 26 and 27 (JSON, decimals as strings). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from qms.gates.business_facts import (
    LEVELS,
    BreakEvenFacts,
    CapabilityFacts,
    CapabilityRow,
    ChecklistItem,
    CostFacts,
    CostLineFacts,
    CostSideFacts,
    DemandFacts,
    EnvironmentFacts,
    LevelFacts,
    LevelsFacts,
    OfferFacts,
    ProfileFacts,
    SensitivityFacts,
)
from qms.gates.evidence_facts import Reading, metrics_from, moment_from, platform_from


def profile_from(data: Mapping[str, Any]) -> ProfileFacts:
    """Read EV-01; raises EvidenceFormatError."""
    with Reading("EV-01"):
        return ProfileFacts(
            platform=platform_from(data["platform"]),
            comm_share=_number(data.get("comm_share")),
            mem_stall_share=_number(data.get("mem_stall_share")),
            compute_share=_number(data.get("compute_share")),
            metrics=metrics_from(data),
            measured_at=moment_from(data["measured_at"]),
        )


def costs_from(data: Mapping[str, Any]) -> CostFacts:
    """Read EV-17; raises EvidenceFormatError."""
    with Reading("EV-17"):
        steps, sources = data.get("sensitivity") or (), data.get("computed_from") or {}
        return CostFacts(
            comparable=data["comparable"] is True,
            result_unit=str(data["result_unit"]),
            units_per_month=_number(data.get("units_per_month")),
            baseline=_side(data["baseline"], sources.get("baseline")),
            target=_side(data["target"], sources.get("target")),
            ratio=_number(data.get("ratio")),
            break_even=_break_even(data.get("break_even")),
            sensitivity=tuple(
                SensitivityFacts(
                    str(row["step"]),
                    Decimal(row["change"]),
                    _number(row.get("ratio")),
                    _number(row.get("baseline")),
                    _number(row.get("target")),
                )
                for row in steps
            ),
            business_value_reason=_text((data.get("business_value") or {}).get("reason")),
        )


def demand_from(data: Mapping[str, Any]) -> DemandFacts:
    """Read EV-18; raises EvidenceFormatError."""
    with Reading("EV-18"):
        history = data.get("history") or ()
        return DemandFacts(
            units_per_month=_number(data.get("units_per_month")),
            hours_per_unit=_number(data.get("hours_per_unit")),
            requests_per_day=_number(data.get("requests_per_day")),
            history=tuple((str(row["month"]), Decimal(row["units"])) for row in history),
            forecast_units_per_month=_number(data.get("forecast_units_per_month")),
            backed_months=int(data.get("backed_months") or 0),
            source=_text(data.get("source")),
        )


def levels_from(data: Mapping[str, Any]) -> LevelsFacts:
    """Read EV-19; raises EvidenceFormatError."""
    with Reading("EV-19"):
        rows = data["levels"]
        return LevelsFacts(
            _text(data.get("platform")), tuple(_level(name, rows.get(name)) for name in LEVELS)
        )


def offer_from(data: Mapping[str, Any]) -> OfferFacts:
    """Read EV-20; raises EvidenceFormatError."""
    with Reading("EV-20"):
        offered = data.get("offered_at")
        return OfferFacts(
            platform=_text(data.get("platform")),
            commercial_model=_text(data.get("commercial_model")),
            reference=_text(data.get("reference")),
            offered_at=date.fromisoformat(offered) if offered else None,
            term_months=_whole(data.get("term_months")),
            notice_months=_whole(data.get("notice_months")),
            transition=_text(data.get("transition")),
            data_return=_text(data.get("data_return")),
            export_format=_text(data.get("export_format")),
            exit_cost_eur=_number(data.get("exit_cost_eur")),
            exit_cost_reason=_text(data.get("exit_cost_reason")),
            switching_charges_eur=_number(data.get("switching_charges_eur")),
            switching_reason=_text(data.get("switching_reason")),
        )


def environment_from(data: Mapping[str, Any]) -> EnvironmentFacts:
    """Read EV-26; raises EvidenceFormatError."""
    with Reading("EV-26"):
        items = tuple(
            ChecklistItem(
                str(row["item"]),
                str(row["status"]),
                _text(row.get("responsible")),
                _text(row.get("note")),
                _number(row.get("cost_eur")),
            )
            for row in data["items"]
        )
        return EnvironmentFacts(_text(data.get("platform")), items)


def capability_from(data: Mapping[str, Any]) -> CapabilityFacts:
    """Read EV-27; raises EvidenceFormatError."""
    with Reading("EV-27"):
        return CapabilityFacts(
            tuple(
                CapabilityRow(str(row["row"]), _text(row.get("responsible")), _text(row.get("evidence")))
                for row in data["rows"]
            )
        )


def _side(row: Mapping[str, Any], computed_from: str | None) -> CostSideFacts:
    return CostSideFacts(
        platform_name=_text((row.get("platform") or {}).get("name")),
        capacity=str(row["capacity"]),
        commercial_model=_text(row.get("commercial_model")),
        lines=tuple(
            CostLineFacts(
                str(line["category"]),
                _number(line.get("fixed_month")),
                _number(line.get("per_unit")),
                _number(line.get("one_off")),
                _text(line.get("reason")),
                date.fromisoformat(line["price_date"]) if line.get("price_date") else None,
            )
            for line in row["lines"]
        ),
        paid_hours_month=_number(row.get("paid_hours_month")),
        hours_per_unit=_number(row.get("hours_per_unit")),
        hours_provenance=_text(row.get("hours_provenance")),
        total_month=_number(row.get("total_month")),
        unit_cost=_number(row.get("unit_cost")),
        utilisation_paid=_number(row.get("utilisation_paid")),
        term_months=_number(row.get("term_months")),
        platform_key=_text((row.get("platform") or {}).get("key")),
        computed_from=computed_from,
    )


def _break_even(row: Mapping[str, Any] | None) -> BreakEvenFacts | None:
    if row is None:
        return None
    return BreakEvenFacts(
        units=_number(row.get("units")),
        utilisation=_number(row.get("utilisation")),
        forecast=_number(row.get("forecast")),
        reachable=row.get("reachable") is not False,
        required=_number(row.get("required")),
        payback_months=_number(row.get("payback_months")),
    )


def _level(name: str, row: Mapping[str, Any] | None) -> LevelFacts:
    found = row or {}
    return LevelFacts(
        name, _whole(found.get("score")), _text(found.get("assessor")), _text(found.get("evidence"))
    )


def _number(value: Any) -> Decimal | None:
    if value is None or value == "":
        return None
    number = Decimal(value)
    if not number.is_finite():
        raise ValueError(f"{value} is not a finite number")
    return number


def _whole(value: Any) -> int | None:
    return None if value is None or value == "" else int(value)


def _text(value: Any) -> str:
    return str(value or "").strip()
