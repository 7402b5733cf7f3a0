"""The long sections of the report: what is listed, assumed, fitted, refused, and every entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pilots.wafer.reading import gaps
from pilots.wafer.reading.quantities import to_unit
from pilots.wafer.reference import stripped
from pilots.wafer.validation import families
from pilots.wafer.validation.assessment import Assessment, Line
from pilots.wafer.validation.families import DECLARED, Kind
from pilots.wafer.validation.rows import is_listed_noise
from pilots.wafer.validation.words import amount, signed_percent, table, times


def listed(found: Assessment) -> list[str]:
    """Return the section of entries that are listed and not scored."""
    noise = [line for line in found.lines if is_listed_noise(line.row)]
    unscored = [line for line in found.lines if line.prediction and line.row.unscored and line not in noise]
    back = [line for line in found.lines if line.row.kind is Kind.BACK_SOLVED]
    rows = [(line.row.entry.id, "Rauschen", _text_value(line)) for line in noise]
    rows += [(line.row.entry.id, line.row.unscored, _text_value(line)) for line in unscored]
    rows += [
        (line.row.entry.id, "zurückgerechnet", _text_value(line)) for line in back if line not in unscored
    ]
    return [
        "## Gelistet, nicht gewertet",
        "",
        (
            f"Rauschen: auf Silizium höchstens {families.NOISE_MAX_PES} Elemente und {amount(families.NOISE_MAX_CYCLES)} Takte nach der "
            "Vorhersage vor jeder Anpassung. Ausreißer sind die Einträge, die die Referenz selbst als solche führt; die Vorhersage "
            "sieht das Kennzeichen nicht."
        ),
        "",
        *table(("Eintrag", "Grund", "veröffentlicht"), rows),
    ]


def _text_value(line: Line) -> str:
    value = line.row.entry.value
    shown = "–" if value is None else amount(value) if isinstance(value, float) else value
    return f"{shown} {line.row.entry.unit}"


def assumptions(found: Assessment) -> list[str]:
    """Return the section of gaps and the rules that fill them."""
    used = Counter(name for line in found.lines if line.row.question for name in line.row.question.gaps)
    rows = [(rule.missing_de, rule.assumed_de, str(used[name])) for name, rule in gaps.RULES.items()]
    return [
        "## Was Veröffentlichungen offen lassen",
        "",
        *table(("es fehlt", "angenommen, für alle Einträge gleich", "Einträge>"), rows),
    ]


def constants(record: Mapping[str, Any], prior: Mapping[str, str]) -> list[str]:
    """Return the section of the fitted constants beside their starting values."""
    stability = record.get("stability", {})
    rows = [
        (
            name,
            amount(float(prior[name])) if name in prior else "–",
            amount(float(value)),
            times(float(stability[name]["factor"])) if name in stability else "–",
            stability[name]["without"] if name in stability else "–",
        )
        for name, value in sorted(record["constants"].items())
    ]
    return [
        "## Konstanten",
        "",
        (
            "Startwerte sind für etwas anderes veröffentlicht als die Läufe der Anpassung (Quellen in `costs/constants.py`). "
            "Alle Einträge einer Einstellung haben zusammen das Gewicht eins. Die letzten beiden Spalten sagen, um welchen Faktor "
            "sich eine Konstante höchstens bewegt, wenn eine Einstellung fehlt: so zeigt sich, ob sie an wenigen Läufen hängt. "
            "Was geändert wurde, nachdem Fehler bekannt waren, nennt die Entscheidung 0104."
        ),
        "",
        *table(("Konstante (Takte)", "Startwert>", "angepasst>", "bewegt sich>", "ohne"), rows),
    ]


def refused(found: Assessment) -> list[str]:
    """Return the section of refused entries by reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for line in found.lines:
        if line.prediction is None and line.row.kind is not Kind.GPU:
            name = DECLARED[line.row.family].name_de if line.row.family else "ohne Familie"
            reasons.setdefault((name, line.row.refused), []).append(line.row.entry.id)
    rows = [(name, reason, ", ".join(ids)) for (name, reason), ids in sorted(reasons.items())]
    return ["## Abgelehnt", "", *table(("Familie", "Grund", "Einträge"), rows)]


def entries(found: Assessment) -> list[str]:
    """Return the section of all entries, with what was taken away before the prediction."""
    rows = [_entry(line) for line in found.lines]
    heads = (
        "Eintrag",
        "Art",
        "vorhergesagt>",
        "Intervall>",
        "veröffentlicht>",
        "Fehler>",
        "Zustand",
        "entfernt vor der Vorhersage",
    )
    return [
        "## Alle Einträge",
        "",
        (
            "Vorhersage mit den gespeicherten Konstanten, in der Einheit des Eintrags; für Einträge der Kalibrierung ist das die "
            "Stichprobe der Anpassung, nicht die ausgelassene Vorhersage."
        ),
        "",
        *table(heads, rows),
    ]


def _entry(line: Line) -> tuple[str, ...]:
    entry, prediction, question = line.row.entry, line.prediction, line.row.question
    taken = ", ".join(stripped(entry))
    if prediction is None or question is None:
        return entry.id, line.row.kind.value, "–", "–", _text_value(line), "–", "abgelehnt", taken
    published = line.row.published_cycles
    error = _deviation(prediction.cycles, published)
    return (
        entry.id,
        line.row.kind.value,
        f"{amount(to_unit(prediction.cycles, question))} {entry.unit}",
        f"{amount(prediction.lower)} bis {amount(prediction.upper)}",
        _text_value(line),
        error,
        prediction.trust.state,
        taken,
    )


def _deviation(cycles: float, published: float | None) -> str:
    return "–" if not published else signed_percent(cycles / published - 1)
