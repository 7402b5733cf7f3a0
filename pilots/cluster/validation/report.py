"""The report `docs/validation/cluster.md`: German, from an assessment alone, the same bytes for the same input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pilots.cluster.formulas import formula_of
from pilots.cluster.german import amount, percent
from pilots.cluster.validation.assessment import IN_SAMPLE, LEFT_OUT, Assessment, Split
from pilots.cluster.validation.gates import COVERAGE_AIM, MEDIAN_AIM
from pilots.cluster.validation.intervals import Covered, coverage
from pilots.cluster.validation.misses import misses
from pilots.cluster.validation.statistics import figures
from pilots.cluster.validation.words import NAMES_DE, table, yes
from pilots.cluster.workloads import Family


def report(found: Assessment, record: Mapping[str, Any]) -> str:
    """Return the report as Markdown; record: the calibration in use."""
    parts = (
        ["# Validierung des GPU-Cluster-Modells", "", *_headline(found)],
        _errors(found),
        *(_split(split) for split in found.splits),
        _intervals(found),
        _gates(found),
        misses(found),
        _stacks(found),
        _constants(record),
        _rules(found),
        _left(found),
    )
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def _headline(found: Assessment) -> list[str]:
    total = figures([item.held.error for item in found.held])
    if total is None:
        return ["Ohne gewertete Einträge gibt es keine Schlagzeile.", ""]
    missed = [NAMES_DE[family] for family in Family if not _reached(found, family)]
    return [
        (
            f"**Schlagzeile:** Über {total.n} veröffentlichte Messungen, jede vorhergesagt von einer Anpassung, die ihre Einstellung "
            f"nicht kannte, liegt der Median des Fehlers bei **{percent(total.median)}**, das 90. Perzentil bei {percent(total.p90)}. "
            f"Ziel je Familie ist ein Median von höchstens {percent(MEDIAN_AIM)}; verfehlt: {', '.join(missed) or 'keine'}. "
            "Die Tabelle fester Stapel überwiegt, deshalb zählt die Zeile der Familie. Das Modell ersetzt keine gemessene Baseline."
        ),
        "",
        (
            "Fehler sind e^|ln(vorhergesagt/veröffentlicht)| − 1 der Zeiten. Die Verzerrung ist über null, wenn das Modell zu langsam "
            "rechnet. Erzeugt von `python -m pilots.cluster validate --write`. Einen Eintrag sieht die Vorhersage nur durch eine "
            "Erlaubnisliste; Wert, Quelle, Kennung und alle Angaben, die eine Antwort sind, fehlen ihr."
        ),
        "",
    ]


def _reached(found: Assessment, family: Family) -> bool:
    """Say whether a family keeps its aim without its setting and without its system."""
    judged = [split.families[family][0] for split in found.splits[:2] if family in split.families]
    return all(ours.median <= MEDIAN_AIM for ours in judged)


def _errors(found: Assessment) -> list[str]:
    rows = [
        (
            NAMES_DE[item.family],
            item.sample,
            str(item.ours.n),
            percent(item.ours.bias),
            percent(item.ours.median),
            percent(item.ours.mean),
            percent(item.ours.p90),
            percent(item.ours.maximum),
            percent(item.naive.median) if item.naive else "–",
        )
        for item in found.results
    ]
    heads = (
        "Familie",
        "Stichprobe",
        "n>",
        "Verzerrung>",
        "Median>",
        "Mittel>",
        "90. Perzentil>",
        "Maximum>",
        "naiv Median>",
    )
    return [
        "## Fehler je Familie",
        "",
        (
            f"„{IN_SAMPLE}“ sind Einträge, an denen die Konstanten angepasst sind; „{LEFT_OUT}“ dieselben, jeweils ohne ihre Einstellung "
            "(Modell, Fabric, Reihe von Matrixprodukten) neu angepasst; beide ohne Tabellen bekannter Systeme. „naiv“ ist ein Potenzgesetz der Familie in Operationen, Bytes, "
            "GPUs und Token, angepasst an dieselben Einträge ohne Wissen über die Hardware."
        ),
        "",
        *table(heads, rows),
    ]


def _split(split: Split) -> list[str]:
    rows = [
        (
            NAMES_DE[family],
            str(ours.n),
            percent(ours.median),
            percent(naive.median) if naive else "–",
            yes(split.earned(family)),
        )
        for family, (ours, naive) in split.families.items()
    ]
    heads = ("Familie", "n>", "Median>", "naiv Median>", "mindestens doppelt so gut")
    return [f"## Ausgelassen: {split.name_de}", "", split.note_de, "", *table(heads, rows)]


def _intervals(found: Assessment) -> list[str]:
    chosen = [
        (NAMES_DE[family], [row for row in found.held if row.held.row.case.family is family])
        for family in Family
    ]
    chosen += [("zusammen", list(found.held)), ("Kollektive, System mit Tabelle", list(found.ranges))]
    rows = [_covered(name, own) for name, own in chosen if own]
    low, high = COVERAGE_AIM
    return [
        "## Intervalle (90 %)",
        "",
        (
            "Jedes Intervall stammt aus den Fehlern der anderen Einstellungen seiner Familie und Software: dem 90. Perzentil mit dem "
            "Rang eines Falls mehr (konform). Außerhalb des kalibrierten Bereichs sind es mindestens ±40 %. In der letzten Zeile "
            "stammt es aus ausgelassenen Größenbereichen der Tabellen anderer Systeme. "
            f"Ziel: {percent(low)} bis {percent(high)} Treffer."
        ),
        "",
        *table(("Familie", "n>", "Treffer>", "Anteil>", "im Ziel", "Breite (Median)>"), rows),
    ]


def _covered(name: str, rows: list[Covered]) -> tuple[str, ...]:
    found = coverage(rows)
    assert found is not None
    low, high = COVERAGE_AIM
    return (
        name,
        str(found.n),
        str(found.hits),
        percent(found.share),
        yes(low <= found.share <= high),
        f"×÷ {amount(found.factor)}",
    )


def _gates(found: Assessment) -> list[str]:
    rows = [
        (
            gate.name_de,
            "Gate" if gate.must else "Ziel",
            str(gate.n),
            percent(gate.value),
            percent(gate.limit),
            yes(gate.reached),
        )
        for gate in found.gates
    ]
    return ["## Gates und Ziele", "", *table(("was", "Art", "n>", "Fehler>", "höchstens>", "erreicht"), rows)]


def _stacks(found: Assessment) -> list[str]:
    keys = sorted({item.held.row.case.key for item in found.held})
    rows = []
    for key in keys:
        own = [item for item in found.held if item.held.row.case.key == key]
        value = figures([item.held.error for item in own])
        assert value is not None
        worst = max(own, key=lambda item: abs(item.held.error))
        rows.append(
            (
                key,
                str(value.n),
                str(len({item.held.part for item in own})),
                percent(value.median),
                percent(value.mean),
                percent(value.maximum),
                worst.held.row.entry.id,
            )
        )
    heads = (
        "Familie/Software",
        "n>",
        "Einstellungen>",
        "Median>",
        "Mittel>",
        "Maximum>",
        "größter Fehler bei",
    )
    return ["## Je Software, Einstellung ausgelassen", "", *table(heads, rows)]


def _constants(record: Mapping[str, Any]) -> list[str]:
    rows = []
    for key, item in sorted(record["keys"].items()):
        prior = formula_of(key).prior
        for name, value in sorted(item["constants"].items()):
            start, reason = prior[name]
            rows.append((key, name, amount(start) if start >= 1e-4 else f"{start:.3g}", value, reason))
    return [
        "## Konstanten",
        "",
        "Startwert mit Herkunft, danach angepasst; eine schwache Feder hält jede am Startwert.",
        "",
        *table(
            ("Familie/Software", "Konstante", "Startwert>", "angepasst>", "Herkunft des Startwerts"), rows
        ),
    ]


def _rules(found: Assessment) -> list[str]:
    rules = sorted(
        {line.row.question.rule_de for line in found.lines if line.row.question and line.row.question.rule_de}
    )
    return ["## Was Veröffentlichungen nicht sagen", "", *(f"- {rule}." for rule in rules), ""]


def _left(found: Assessment) -> list[str]:
    refused = Counter(line.row.refused for line in found.lines if line.row.refused)
    unscored = Counter(line.row.unscored for line in found.lines if line.row.unscored)
    short = Counter({_reason(reason): 0 for reason in refused})
    for reason, count in refused.items():
        short[_reason(reason)] += count
    rows = [(reason, "abgelehnt", str(count)) for reason, count in sorted(short.items())]
    rows += [(reason, "nicht gewertet", str(count)) for reason, count in sorted(unscored.items())]
    return ["## Abgelehnt und nicht gewertet", "", *table(("Grund", "was", "n>"), rows)]


def _reason(reason: str) -> str:
    return "Der Plan passt nicht in den Speicher." if reason.startswith("Der Plan passt nicht") else reason
