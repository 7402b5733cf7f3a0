from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from pilots.economics.errors import EconomicsError
from pilots.economics.evaluate import evaluate
from pilots.economics.reading import sheet_of
from pilots.economics.sheet import CostLine, Exchange
from tests.pilots.economics.sheets import OFFERED, changed, line, pay_per_use, wafer, worked

ZERO = Decimal(0)


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "-0.01", "1000000000000.01", "0.0000000000001"])
def test_absurd_amounts_are_refused(amount):
    with pytest.raises(EconomicsError) as refused:
        line("TCO-01", fixed=amount)
    assert refused.value.field.startswith("TCO-01")


def test_an_unknown_category_is_refused():
    with pytest.raises(EconomicsError, match="TCO-13"):
        CostLine("TCO-13")


def test_a_zero_needs_a_reason():
    with pytest.raises(EconomicsError, match="begründen"):
        CostLine("TCO-05", ZERO, ZERO, ZERO, reason="  ")
    assert CostLine("TCO-05", ZERO, reason="eigenes Netz").is_zero


@pytest.mark.parametrize(("source", "day"), [("", OFFERED), ("Angebot", None)])
def test_a_price_needs_date_and_source(source, day):
    with pytest.raises(EconomicsError, match="Quelle und Datum"):
        CostLine("TCO-05", Decimal(1), source=source, price_date=day)


def test_a_line_without_amounts_is_missing_and_no_zero():
    empty = CostLine("TCO-05")
    assert empty.missing
    assert not empty.is_zero


def test_the_idle_part_of_a_reservation_is_never_entered():
    with pytest.raises(EconomicsError, match="TCO-08"):
        wafer("6", line("TCO-01", fixed="60000"), line("TCO-08", fixed="37500"), paid="720")


def test_the_idle_part_is_computed_from_the_utilisation():
    rows = evaluate(worked()).to_json()["target"]["lines"]
    assert (rows[0]["fixed_month"], rows[7]["fixed_month"]) == ("22500.00", "37500.00")
    assert rows[7]["provenance"] == "ABGELEITET"
    assert [row["category"] for row in rows] == [f"TCO-{number:02d}" for number in range(1, 13)]


def test_pay_per_use_has_no_idle_part_and_says_why():
    row = evaluate(pay_per_use()).to_json()["target"]["lines"][7]
    assert row["fixed_month"] == "0.00"
    assert row["reason"].startswith("Nutzungsabhängige Abrechnung")


def test_reserved_capacity_needs_its_hours_and_they_must_suffice():
    with pytest.raises(EconomicsError, match="bezahlten Stunden"):
        changed(worked(), units_per_month=Decimal("120.1"))
    assert (
        evaluate(changed(worked(), units_per_month=Decimal(120))).to_json()["target"]["utilisation_paid"]
        == "1"
    )


def test_a_category_stands_once():
    target = worked().target
    with pytest.raises(EconomicsError, match="zweimal"):
        replace(target, lines=(*target.lines, line("TCO-05", fixed="2")))


def test_amounts_in_another_currency_need_a_dated_rate():
    dollars = CostLine("TCO-01", per_unit=Decimal("3.50"), source="Preisliste", price_date=OFFERED)
    euros = dollars.in_eur(Exchange("USD", Decimal("0.92"), date(2026, 11, 2), "EZB-Referenzkurs"))
    assert euros.per_unit == Decimal("3.22")
    assert euros.to_json()["exchange"] == {
        "currency": "USD",
        "rate": "0.92",
        "date": "2026-11-02",
        "source": "EZB-Referenzkurs",
    }
    with pytest.raises(EconomicsError, match="Quelle des Wechselkurses"):
        Exchange("USD", Decimal("0.92"), date(2026, 11, 2), " ")
    with pytest.raises(EconomicsError):
        Exchange("USD", ZERO, date(2026, 11, 2), "EZB")
    with pytest.raises(EconomicsError, match="EUR"):
        changed(worked(), currency="USD")


@pytest.mark.parametrize("sheet", [worked(), pay_per_use()])
def test_a_stored_sheet_is_read_as_it_was_entered(sheet):
    facts = evaluate(sheet).to_json()
    again = sheet_of(facts)
    assert evaluate(again).to_json() == facts
    if sheet.target.paid_hours_month:
        assert again.target.line("TCO-01").fixed_month == 60000


def test_a_foreign_line_is_read_with_its_rate_and_refused_without():
    data = evaluate(worked()).to_json()
    row = next(item for item in data["target"]["lines"] if item["category"] == "TCO-03")
    row |= {
        "currency": "USD",
        "exchange": {"currency": "USD", "rate": "0.5", "date": "2026-11-02", "source": "EZB"},
    }
    assert sheet_of(data).target.line("TCO-03").per_unit == 50
    row["exchange"]["currency"] = "CHF"
    with pytest.raises(EconomicsError, match="Wechselkurs"):
        sheet_of(data)
    del row["exchange"]
    with pytest.raises(EconomicsError, match="Wechselkurs"):
        sheet_of(data)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("units_per_month",), 4.5),
        (("units_per_month",), "0"),
        (("units_per_month",), True),
        (("comparable",), "ja"),
        (("target",), None),
        (("target", "capacity"), "GEMIETET"),
        (("target", "lines"), {}),
        (("target", "lines"), [{"category": "TCO-99"}]),
        (("target", "paid_hours_month"), None),
        (("target", "hours_per_unit"), "sechs"),
        (("target", "cycle"), {"run_h": "1"}),
        (
            ("target", "lines"),
            [{"category": "TCO-01", "fixed_month": "1", "source": "A", "price_date": "gestern"}],
        ),
        (("baseline", "paid_hours_month"), "720"),
    ],
)
def test_malformed_files_are_refused_with_a_sentence(path, value):
    data = evaluate(worked()).to_json()
    place = data
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises(EconomicsError) as refused:
        sheet_of(data)
    assert refused.value.message_de
