"""Sheets of the worked checks: spec 3.17 (reserved wafer) and scenario SZ-01.8 (pay per use)."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

from pilots.economics.categories import CATEGORIES, IDLE, Capacity, CommercialModel
from pilots.economics.sheet import CostLine, Sheet, Side
from qms.core.values import Provenance

OFFERED = date(2026, 11, 1)
GPU = {"key": "GPU-BESTAND-32", "name": "GPU-Bestand", "kind": "GPU_CLUSTER"}
WAFER = {"key": "WSE3-EMU", "name": "WSE-3", "kind": "WAFER"}


def line(category, fixed="0", per_unit="0", one_off="0"):
    amounts = Decimal(fixed), Decimal(per_unit), Decimal(one_off)
    return CostLine(
        category, *amounts, source="Angebot 17", price_date=OFFERED, provenance=Provenance.VENDOR_STATED
    )


def full(*lines):
    """All categories: those given, the others zero with a reason; the idle part is left to the computation."""
    given = {item.category: item for item in lines}
    zero = Decimal(0)
    return tuple(
        given.get(item.code) or CostLine(item.code, zero, zero, zero, reason="im Preis enthalten")
        for item in CATEGORIES
        if item.code != IDLE or item.code in given
    )


def gpu(hours, *lines):
    return Side(
        platform=GPU,
        capacity=Capacity.PAY_PER_USE,
        commercial_model=CommercialModel.EXISTING,
        term_months=Decimal(12),
        hours_per_unit=Decimal(hours),
        hours_provenance=Provenance.MEASURED,
        lines=full(*lines),
    )


def wafer(hours, *lines, paid=None):
    return Side(
        platform=WAFER,
        capacity=Capacity.RESERVED if paid else Capacity.PAY_PER_USE,
        commercial_model=CommercialModel.PROVIDER,
        term_months=Decimal(12),
        hours_per_unit=Decimal(hours),
        hours_provenance=Provenance.EMULATED,
        hours_note="pessimistisches Ende des Modellfehlers",
        lines=full(*lines),
        paid_hours_month=Decimal(paid) if paid else None,
    )


def worked(units="45", *, reserved="60000", hours="6"):
    """3.17: 60 000 EUR for 720 h, 6 h and 100 EUR a run, against 48 h x 32 GPU x 1.25 EUR + 80 EUR."""
    return Sheet(
        result_unit="Lauf",
        units_per_month=Decimal(units),
        baseline=gpu("48", line("TCO-01", per_unit="1920"), line("TCO-03", per_unit="80")),
        target=wafer(hours, line("TCO-01", fixed=reserved), line("TCO-03", per_unit="100"), paid="720"),
    )


def pay_per_use():
    """SZ-01.8: 20 billion tokens at 270 000 and at 1 050 000 tokens/s, 30 runs a month.

    The scenario names only the results; these prices reproduce them: 32 GPUs at 1.10 EUR/h and 60 EUR a run,
    against 130 EUR per wafer hour and 67.50 EUR of own work, of which 18 days of 900 EUR are porting.
    """
    return Sheet(
        result_unit="Lauf",
        units_per_month=Decimal(30),
        baseline=gpu("20.576", line("TCO-01", per_unit="724.28"), line("TCO-10", per_unit="60")),
        target=wafer(
            "5.291",
            line("TCO-01", per_unit="687.83"),
            line("TCO-02", one_off="16200"),
            line("TCO-10", per_unit="22.50"),
        ),
    )


def changed(sheet, **changes):
    return replace(sheet, **changes)


def with_target_line(sheet, item):
    lines = tuple(item if old.category == item.category else old for old in sheet.target.lines)
    return replace(sheet, target=replace(sheet.target, lines=lines))
