from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from pilots.economics.errors import EconomicsError
from pilots.economics.prices import price_of, published_prices
from pilots.economics.usage import compute_per_unit, cost_per_1000_tokens


@pytest.mark.parametrize(("util", "dollars"), [("1", "0.000334"), ("0.23", "0.00145")])
def test_the_price_of_1000_tokens_of_the_cluster_page(util, dollars):
    found = cost_per_1000_tokens(Decimal("3.50"), 1, Decimal(2909), Decimal(util))
    assert found.quantize(Decimal(dollars)) == Decimal(dollars)


@pytest.mark.parametrize("util", ["0", "1.01", "NaN", "-1"])
def test_a_utilisation_outside_its_bounds_is_refused(util):
    with pytest.raises(EconomicsError):
        cost_per_1000_tokens(Decimal("3.50"), 1, Decimal(2909), Decimal(util))


def test_device_hours_become_a_price_per_result():
    assert compute_per_unit(Decimal("1.25"), 32, Decimal(48)) == 1920
    with pytest.raises(EconomicsError):
        compute_per_unit(Decimal("1.25"), 0, Decimal(48))


def test_every_published_price_has_a_source_a_unit_and_its_provenance():
    found = published_prices()
    assert {item.id for item in found} >= {"nebius-h200-on-demand", "aws-p5-48xlarge", "spread-a100"}
    assert len({item.id for item in found}) == len(found)
    assert all(item.source and item.unit and item.currency == "USD" for item in found)
    assert {item.provenance.value for item in found} == {"GESCHAETZT"}


def test_the_age_of_a_price_is_judged_by_the_limit_passed_in():
    spread = next(item for item in published_prices() if item.id == "spread-h100")
    assert not spread.outdated(date(2026, 7, 30), 90)
    assert spread.outdated(date(2026, 7, 31), 90)
    undated = next(item for item in published_prices() if item.on is None)
    assert undated.age_days(date(2026, 7, 31)) is None
    assert undated.outdated(date(2026, 7, 31), 90)


@pytest.mark.parametrize("change", [{"source": ""}, {"low": "6", "high": "5"}, {"low": 1.5}])
def test_malformed_prices_are_refused(change):
    row = {
        "id": "x",
        "device": "H100",
        "offer": "auf Abruf",
        "low": "1",
        "high": "2",
        "currency": "USD",
        "unit": "GPU-Stunde",
        "date": None,
        "source": "Preisliste",
        "provenance": "GESCHAETZT",
    }
    with pytest.raises(EconomicsError):
        price_of(row | change)
