from __future__ import annotations

from decimal import Decimal

import pytest

from pilots.economics.demand import Demand, Month
from pilots.economics.errors import EconomicsError


def demand(*months, forecast="45"):
    history = tuple(Month(name, Decimal(units)) for name, units in months)
    return Demand(Decimal(45), Decimal(6), Decimal(forecast), "Auftragsbuch", history)


def test_the_facts_of_demand():
    found = demand(("2026-09", "45"), ("2026-08", "44"), ("2026-10", "46"))
    assert found.to_json() == {
        "schema": "qms.demand/1",
        "units_per_month": "45",
        "hours_per_unit": "6",
        "requests_per_day": None,
        "history": [
            {"month": "2026-08", "units": "44"},
            {"month": "2026-09", "units": "45"},
            {"month": "2026-10", "units": "46"},
        ],
        "forecast_units_per_month": "45",
        "backed_months": 3,
        "source": "Auftragsbuch",
    }
    assert Demand.from_json(found.to_json()).to_json() == found.to_json()


@pytest.mark.parametrize(
    ("months", "backed"),
    [
        ([], 0),
        ([("2026-01", "45"), ("2025-12", "45"), ("2025-11", "36")], 3),  # 36 is 80 % of the forecast
        ([("2026-01", "45"), ("2025-12", "45"), ("2025-11", "35.99")], 2),
        ([("2026-01", "45"), ("2025-11", "45")], 1),  # a gap
        ([("2026-01", "5"), ("2025-12", "45")], 0),
    ],
)
def test_only_unbroken_months_near_the_forecast_back_it(months, backed):
    assert demand(*months).backed_months == backed


@pytest.mark.parametrize("month", ["2026-13", "2026-00", "2026-8", "08-2026", ""])
def test_malformed_months_are_refused(month):
    with pytest.raises(EconomicsError):
        Month(month, Decimal(1))


def test_a_month_stands_once_and_the_source_is_named():
    with pytest.raises(EconomicsError, match="einmal"):
        demand(("2026-08", "1"), ("2026-08", "2"))
    with pytest.raises(EconomicsError, match="woher"):
        Demand(Decimal(1), Decimal(1), Decimal(1), " ")


@pytest.mark.parametrize("data", [None, [], {}, {"units_per_month": 1.5}, {"history": {}}])
def test_malformed_demand_is_refused(data):
    with pytest.raises(EconomicsError):
        Demand.from_json(data)
