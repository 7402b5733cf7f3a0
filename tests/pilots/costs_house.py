"""The worked check of spec 3.17 as somebody types it: a reserved wafer beside a GPU cluster paid by the hour."""

from __future__ import annotations

from typing import Final

from pilots.catalog.costs import ASKED, COMPUTE
from qms.web.costs_names import SIDES

OTHERS: Final = tuple(code for code in ASKED if code != COMPUTE)
PRICES: Final = {"source": "Angebot A-17", "date": "2026-11-01", "provenance": "HERSTELLERANGABE"}


def form(**changes: str) -> dict[str, str]:
    """Return a complete sheet: 2 000 € a run today, 1 433,33 € on the target at 45 runs a month."""
    values = {
        "units_per_month": "45",
        "result_unit": "Lauf",
        "demand_source": "Auftragsplan",
        "baseline_capacity": "NUTZUNGSABHAENGIG",
        "baseline_hours": "48",
        "baseline_commercial_model": "BESTAND",
        "baseline_TCO-01_amount": "40",
        "baseline_TCO-01_basis": "STUNDE",
        "target_capacity": "RESERVIERT",
        "target_hours": "6",
        "target_paid_hours": "720",
        "target_commercial_model": "PROVIDER",
        "target_TCO-01_amount": "60.000",
        "target_TCO-01_basis": "MONAT",
    }
    for side in SIDES:
        values |= {f"{side}_{name}": value for name, value in PRICES.items()} | {f"{side}_term_months": "12"}
        for code in OTHERS:
            values |= {
                f"{side}_{code}_amount": "0",
                f"{side}_{code}_basis": "MONAT",
                f"{side}_{code}_note": "Im Preis enthalten.",
            }
    values |= {"baseline_TCO-03_amount": "80", "baseline_TCO-03_basis": "EINHEIT", "baseline_TCO-03_note": ""}
    values |= {"target_TCO-03_amount": "100", "target_TCO-03_basis": "EINHEIT", "target_TCO-03_note": ""}
    return values | changes
