from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from pilots.economics.__main__ import main
from pilots.economics.evaluate import evaluate
from pilots.economics.sheet import CostLine
from tests.pilots.economics.sheets import changed, line, pay_per_use, with_target_line, worked


def stored(tmp_path, sheet):
    path = tmp_path / "blatt.json"
    path.write_text(json.dumps(evaluate(sheet).to_json()), encoding="utf-8")
    return str(path)


def test_the_command_writes_the_facts(tmp_path, capsys):
    assert main(["evaluate", stored(tmp_path, worked()), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == evaluate(worked()).to_json()


def test_the_command_says_what_people_need(tmp_path, capsys):
    assert main(["evaluate", stored(tmp_path, worked())]) == 0
    text = capsys.readouterr().out
    assert "Kosten je Lauf  1.433,33 EUR" in text
    assert "Break-even: 32 Lauf im Monat, Auslastung 26,7 %, mit Sicherheit 29,3 %, erwartet 37,5 %" in text
    assert "Verhältnis Ziel zu Vergleichsbasis: 0,717" in text
    assert "Auslastung des Ziels −20 %" in text


@pytest.mark.parametrize(
    ("sheet", "sentence"),
    [
        (changed(worked(), comparable=False), "Entwicklungsrechner (EM-12)"),
        (with_target_line(worked(), CostLine("TCO-07")), "Es fehlt: TCO-07 Support"),
        (with_target_line(worked(), line("TCO-03", per_unit="2000")), "Break-even: nie"),
        (worked(reserved="240000"), "mehr als die bezahlten Stunden"),
        (with_target_line(worked(), line("TCO-02", one_off="51000")), "nach 2,00 Monaten"),
        (pay_per_use(), "nutzungsabhängig"),
    ],
)
def test_what_cannot_be_said_is_said(tmp_path, capsys, sheet, sentence):
    assert main(["evaluate", stored(tmp_path, sheet)]) == 0
    assert sentence in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1.5}', '{"a": 1, "a": 2}', "[" * 100_000])
def test_unusable_files_end_in_a_sentence(tmp_path, capsys, text):
    path = tmp_path / "blatt.json"
    path.write_text(text, encoding="utf-8")
    assert main(["evaluate", str(path)]) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    assert answer.err.count("\n") == 1


def test_missing_and_large_files_end_in_a_sentence(tmp_path, capsys):
    assert main(["evaluate", str(tmp_path / "fehlt.json")]) == 2
    large = tmp_path / "gross.json"
    large.write_bytes(b" " * (2**20 + 1))
    assert main(["evaluate", str(large)]) == 2
    assert "1 MiB" in capsys.readouterr().err


def test_the_largest_sheet_is_still_computed(tmp_path, capsys):
    big, small = Decimal(10) ** 12, Decimal("0.000000000001")
    sheet = with_target_line(worked(), line("TCO-03", per_unit=str(big)))
    target = replace(sheet.target, hours_per_unit=small, paid_hours_month=big)
    assert main(["evaluate", stored(tmp_path, changed(sheet, target=target, units_per_month=big))]) == 0
