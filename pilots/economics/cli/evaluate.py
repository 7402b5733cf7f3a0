"""`evaluate`: say what both sides of a sheet cost, from when on the target pays, and how firm that is."""

from __future__ import annotations

import argparse
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pilots.economics.categories import BY_CODE, Capacity
from pilots.economics.errors import EconomicsError
from pilots.economics.evaluate import evaluate
from pilots.economics.reading import sheet_of
from qms.core.canonical import CanonicalError, loads

HELP: Final = "Ein Kostenblatt rechnen: Kosten je Ergebnis, Auslastung, Break-even, Sensitivität"
LARGEST_BYTES: Final = 2**20
_SWAPPED: Final = str.maketrans(",.-", ".,−")
_STEP_NAMES: Final = {
    "AUSLASTUNG": "Auslastung des Ziels",
    "MENGE": "Menge beider Seiten",
    "PREIS": "Einkaufspreise des Ziels",
    "PORTIERUNG": "Portierungsaufwand",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", metavar="DATEI", help="Kostenblatt als JSON, Beträge als Text")
    parser.add_argument("--json", action="store_true", help="Ergebnis als JSON (EV-17)")


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code; raises EconomicsError."""
    facts = evaluate(sheet_of(_read(Path(arguments.file)))).to_json()
    if arguments.json:
        sys.stdout.write(json.dumps(facts, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    else:
        sys.stdout.write("\n".join(text_of(facts)) + "\n")
    return 0


def text_of(facts: dict[str, Any]) -> list[str]:
    """Return the facts of EV-17 as lines for people."""
    unit = facts["result_unit"]
    lines = [f"{_number(facts['units_per_month'])} {unit} im Monat, Beträge in EUR"]
    for name, side in (("Vergleichsbasis", facts["baseline"]), ("Ziel", facts["target"])):
        lines += _side_lines(name, side, unit)
    lines += [_ratio_line(facts), *_break_even_lines(facts, unit)]
    lines.append("Sensitivität (Kosten je Ergebnis: Vergleichsbasis, Ziel, Verhältnis)")
    return lines + [_step_line(row) for row in facts["sensitivity"]]


def _side_lines(name: str, side: dict[str, Any], unit: str) -> list[str]:
    missing = [line["category"] for line in side["lines"] if line["fixed_month"] is None]
    lines = [
        f"{name}: {side['platform']['name']}",
        f"  Gesamtkosten im Monat  {_number(side['total_month'])} EUR",
        f"  Kosten je {unit}  {_number(side['unit_cost'])} EUR",
    ]
    if side["utilisation_paid"] is not None:
        lines.append(f"  Auslastung der bezahlten Stunden  {_percent(side['utilisation_paid'])}")
    if missing:
        names = ", ".join(f"{code} {BY_CODE[code].german}" for code in missing)
        lines.append(f"  Es fehlt: {names}. Ohne diese Angaben wird nicht verglichen.")
    return lines


def _ratio_line(facts: dict[str, Any]) -> str:
    if facts["ratio"] is not None:
        return f"Verhältnis Ziel zu Vergleichsbasis: {_ratio(facts['ratio'])}"
    if not facts["comparable"]:
        return "Kein Verhältnis: Die Vergleichsbasis stammt von einem Entwicklungsrechner (EM-12)."
    return "Kein Verhältnis: Das Kostenblatt ist unvollständig."


def _break_even_lines(facts: dict[str, Any], unit: str) -> list[str]:
    found, lines = facts["break_even"], []
    if found["units"] is not None:
        lines.append(
            f"Break-even: {_number(found['units'])} {unit} im Monat, Auslastung {_percent(found['utilisation'])}, "
            f"mit Sicherheit {_percent(found['required'])}, erwartet {_percent(found['forecast'])}"
        )
        lines += [] if found["reachable"] else ["  Das sind mehr als die bezahlten Stunden."]
    elif found["reachable"] is False:
        lines.append(
            "Break-even: nie, denn schon ein Ergebnis allein kostet so viel wie auf der Vergleichsbasis."
        )
    elif facts["target"]["capacity"] == Capacity.PAY_PER_USE:
        lines.append("Break-even der Auslastung: nicht anwendbar, denn abgerechnet wird nutzungsabhängig.")
    if found["payback_months"] is not None:
        lines.append(f"Einmalige Kosten zurückverdient nach {_number(found['payback_months'])} Monaten")
    return lines


def _step_line(row: dict[str, Any]) -> str:
    change = f"{Decimal(row['change']) * 100:+.0f}".translate(_SWAPPED)
    ratio = "–" if row["ratio"] is None else _ratio(row["ratio"])
    name = f"{_STEP_NAMES[row['step']]} {change} %"
    return f"  {name:<32} {_number(row['baseline']):>14} {_number(row['target']):>14} {ratio:>8}"


def _number(text: str) -> str:
    return f"{Decimal(text):,f}".translate(_SWAPPED)


def _ratio(text: str) -> str:
    return _number(format(Decimal(text), ".3f"))


def _percent(text: str) -> str:
    return f"{_number(format(Decimal(text) * 100, '.1f'))} %"


def _read(path: Path) -> object:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise EconomicsError("file", f"Die Datei {path} lässt sich nicht lesen.") from error
    if len(data) > LARGEST_BYTES:
        raise EconomicsError("file", "Die Datei ist größer als 1 MiB und damit kein Kostenblatt.")
    try:
        return loads(data)
    except CanonicalError as error:
        sentence = 'Die Datei ist kein Kostenblatt: erwartet wird JSON ohne doppelte Angaben, mit Beträgen als Text wie "12.50".'
        raise EconomicsError("file", sentence) from error
