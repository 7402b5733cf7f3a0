from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilots.economics.evaluate import STEPS, Step, evaluate, side_cost
from pilots.economics.sheet import CostLine
from tests.pilots.economics.sheets import changed, gpu, line, pay_per_use, wafer, with_target_line, worked


def facts(sheet):
    return evaluate(sheet).to_json()


def step(found, key, change):
    return next(row for row in found["sensitivity"] if (row["step"], row["change"]) == (key, change))


def test_the_worked_check_of_the_specification():
    found = facts(worked())
    assert found["baseline"]["unit_cost"] == "2000.00"
    assert found["target"]["unit_cost"] == "1433.33"
    assert found["target"]["total_month"] == "64500.00"
    assert found["ratio"] == "0.716667"
    assert found["target"]["utilisation_paid"] == "0.375"
    assert found["break_even"] == {
        "units": "32",
        "utilisation": "0.2667",
        "required": "0.2933",
        "forecast": "0.375",
        "payback_months": None,
        "reachable": True,
    }
    row = step(found, "AUSLASTUNG", "-0.20")
    assert (row["baseline"], row["target"], row["ratio"]) == ("2000.00", "1766.67", "0.883334")


def test_the_pay_per_use_case_of_the_acceptance_scenario():
    found = facts(pay_per_use())
    assert (found["baseline"]["unit_cost"], found["target"]["unit_cost"]) == ("784.28", "755.33")
    assert Decimal(found["ratio"]).quantize(Decimal("0.001")) == Decimal("0.963")
    assert Decimal(step(found, "PREIS", "0.20")["ratio"]).quantize(Decimal("0.01")) == Decimal("1.14")
    assert found["target"]["utilisation_paid"] is None
    reserved_only = ("units", "utilisation", "required", "forecast", "reachable")
    assert {found["break_even"][name] for name in reserved_only} == {None}


def test_the_steps_change_what_they_name():
    sheet = with_target_line(worked(), line("TCO-02", one_off="54000"))  # 100 EUR a run at 45 runs
    found = facts(sheet)
    assert found["target"]["unit_cost"] == "1533.33"
    assert step(found, "PORTIERUNG", "0.50")["target"] == "1583.33"
    assert step(found, "PREIS", "0.20")["target"] == "1820.00"  # porting is own work, no price
    less, more = step(found, "MENGE", "-0.20"), step(found, "MENGE", "0.20")
    assert (less["target"], more["target"]) == ("1891.67", "1294.44")
    assert less["baseline"] == more["baseline"] == "2000.00"


def test_volume_changes_a_baseline_with_fixed_costs_but_less_use_of_the_target_does_not():
    with_fixed = gpu("48", line("TCO-01", per_unit="1920"), line("TCO-03", fixed="3600"))
    found = facts(changed(worked(), baseline=with_fixed))
    assert step(found, "AUSLASTUNG", "-0.20")["baseline"] == "2000.00"
    assert step(found, "MENGE", "-0.20")["baseline"] == "2020.00"


def test_steps_are_data():
    found = evaluate(worked(), (Step("PREIS", Decimal("0.10")),))
    assert [item.step.key for item in found.sensitivity] == ["PREIS"]
    assert [item.key for item in STEPS] == ["AUSLASTUNG", "MENGE", "MENGE", "PREIS", "PORTIERUNG"]


@pytest.mark.parametrize(("var", "reachable"), [("1999.99", False), ("2000", False), ("1500", True)])
def test_break_even_is_never_where_one_result_alone_costs_as_much(var, reachable):
    found = facts(with_target_line(worked(), line("TCO-03", per_unit=var)))["break_even"]
    assert found["reachable"] is reachable
    never = Decimal(var) >= 2000
    assert (found["units"] is None) is never
    assert (found["utilisation"] is None) is never
    assert found["forecast"] == "0.375"


def test_break_even_beyond_the_paid_hours_is_not_reachable():
    found = facts(worked(reserved="240000"))["break_even"]
    assert (found["units"], found["utilisation"], found["reachable"]) == ("127", "1.0583", False)


def test_break_even_at_exactly_the_paid_hours_is_reachable():
    found = facts(worked(reserved="228000"))["break_even"]
    assert (found["units"], found["utilisation"], found["reachable"]) == ("120", "1", True)


def test_more_results_than_the_paid_hours_carry_buy_more_hours():
    target = worked(units="110").target
    assert side_cost(target, Decimal(120)).fixed_month == 60000
    assert side_cost(target, Decimal(132)).fixed_month == 66000


def test_payback_needs_a_monthly_saving():
    once = line("TCO-02", one_off="51000")
    assert (
        facts(with_target_line(worked(), once))["break_even"]["payback_months"] == "2.00"
    )  # 90000 - 64500 a month
    dear = facts(with_target_line(worked(reserved="85500"), once))
    assert dear["break_even"]["payback_months"] is None


def test_no_ratio_for_a_development_machine():
    found = facts(changed(worked(), comparable=False))
    assert found["comparable"] is False
    assert found["ratio"] is None
    assert set(found["break_even"].values()) == {None}
    assert {row["ratio"] for row in found["sensitivity"]} == {None}
    assert found["target"]["unit_cost"] == "1433.33"


def test_no_ratio_while_a_category_is_missing():
    found = facts(with_target_line(worked(), CostLine("TCO-07")))
    assert found["ratio"] is None
    row = found["target"]["lines"][6]
    assert (row["category"], row["fixed_month"], row["per_unit"], row["one_off"]) == (
        "TCO-07",
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("target", "limit", "within"),
    [
        ("2000", "1.00", True),
        ("2000.004", "1.00", False),  # both read 2000.00
        ("2000.000000000001", "1.00", False),
        ("2300", "1.15", True),
        ("2300.8", "1.15", False),  # reads 1.150
        ("2299.999999999999", "1.15", True),
    ],
)
def test_a_ratio_is_within_its_limit_only_if_the_unit_costs_are(target, limit, within):
    sheet = changed(worked(), target=wafer("6", line("TCO-01", per_unit=target)))
    assert (Decimal(facts(sheet)["ratio"]) <= Decimal(limit)) is within


def test_equal_costs_of_a_third_of_a_cent_each_are_equal():
    thirds = line("TCO-01", fixed="1", per_unit="1", one_off="1000")
    sheet = changed(worked(), baseline=gpu("6", thirds), target=wafer("6", thirds))
    assert facts(sheet)["ratio"] == "1.000000"


def test_a_baseline_that_costs_nothing_has_no_ratio():
    sheet = worked()
    free = tuple(
        CostLine(item.category, Decimal(0), Decimal(0), Decimal(0), reason="vorhanden")
        for item in sheet.baseline.lines
    )
    assert facts(changed(sheet, baseline=replace(sheet.baseline, lines=free)))["ratio"] is None


def test_small_unit_costs_keep_four_digits():
    sheet = changed(worked(units="1000", hours="0.001"), result_unit="1000 Token")
    cheap = replace(sheet, target=wafer("0.001", line("TCO-01", per_unit="0.000334123")))
    assert facts(cheap)["target"]["unit_cost"] == "0.0003341"


AMOUNTS = st.decimals(min_value=0, max_value=10**6, places=2)


@given(fixed=AMOUNTS, var=AMOUNTS, more=st.decimals(min_value="0.01", max_value="2", places=2))
def test_a_dearer_target_never_has_a_smaller_ratio(fixed, var, more):
    sheet = worked(reserved=str(fixed + 1))
    sheet = with_target_line(sheet, line("TCO-03", per_unit=str(var + 1)))
    plain = evaluate(sheet, (Step("PREIS", more),))
    assert plain.sensitivity[0].ratio > plain.ratio


@given(fixed=AMOUNTS, var=st.decimals(min_value="0.01", max_value="3000", places=2))
def test_break_even_is_where_the_unit_costs_meet(fixed, var):
    sheet = with_target_line(worked(reserved=str(fixed + 1)), line("TCO-03", per_unit=str(var)))
    found = evaluate(sheet)
    units = found.break_even.units
    if units is None:
        assert var >= 2000
        return
    assert found.target.fixed_month / units + var <= 2000
    assert units == 1 or found.target.fixed_month / (units - 1) + var > 2000


@given(units=st.decimals(min_value="0.5", max_value="120", places=1), reserved=AMOUNTS)
def test_used_and_idle_part_are_together_the_price_of_the_reservation(units, reserved):
    sheet = worked(units=str(units), reserved=str(reserved + 1))
    rows = facts(sheet)["target"]["lines"]
    assert Decimal(rows[0]["fixed_month"]) + Decimal(rows[7]["fixed_month"]) == reserved + 1
    total = sum(Decimal(row["fixed_month"]) for row in rows)
    assert total == reserved + 1
