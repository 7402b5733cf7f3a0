"""The report `docs/validation/wafer.md`: German, made from an assessment alone, the same bytes for the same input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pilots.wafer.validation import counted, details, families
from pilots.wafer.validation.assessment import LEFT_OUT, Assessment, Result, Split
from pilots.wafer.validation.families import DECLARED, Kind
from pilots.wafer.validation.intervals import Coverage, by_family, coverage
from pilots.wafer.validation.plot import Point, scatter
from pilots.wafer.validation.statistics import Figures, figures
from pilots.wafer.validation.words import amount, percent, signed_percent, table, times
from pilots.wafer.workloads import Family

PLOT_NAME: Final = "wafer.svg"


def report(
    found: Assessment, record: Mapping[str, Any], prior: Mapping[str, str], cycles: counted.Counted
) -> str:
    """Return the report as Markdown. record: the calibration in use; prior: constants before the fit."""
    parts = (
        ["# Validierung des Wafer-Emulators", "", *_headline(found)],
        _coverage(found),
        _errors(found),
        _naive(found),
        _intervals(found),
        _verdicts(found),
        counted.interpreters(cycles),
        counted.vendor_simulator(found, cycles),
        details.listed(found),
        details.assumptions(found),
        details.constants(record, prior),
        details.refused(found),
        details.entries(found),
    )
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def plot(found: Assessment) -> str:
    """Return the scatter plot of the left-out predictions on silicon."""
    points = [
        Point(
            item.held.row.entry.id,
            item.held.row.published_cycles or 0.0,
            item.held.cycles,
            item.held.naive_cycles,
        )
        for item in found.held
    ]
    return scatter(points)


def headline(found: Assessment) -> Figures | None:
    """Return the error over all left-out silicon entries of all families."""
    return figures([item.held.log_error for item in found.held])


def _headline(found: Assessment) -> list[str]:
    total = headline(found)
    if total is None:
        return ["Ohne Einträge auf Silizium gibt es keine Schlagzeile.", ""]
    left = [result for result in found.results if result.sample == LEFT_OUT]
    reached = [result for result in left if result.ours.median <= families.AIM_MEDIAN]
    return [
        (
            f"**Schlagzeile:** Über {total.n} Messungen auf Silizium, jede vorhergesagt von einer Anpassung, die ihre Einstellung "
            f"nicht kannte, liegt der Median des Fehlers bei **{percent(total.median)}**, das 90. Perzentil bei "
            f"{percent(total.p90)}. Ein Median von höchstens {percent(families.AIM_MEDIAN)} ist das Ziel; {len(reached)} von "
            f"{len(left)} Familien mit Messungen erreichen es{_named(reached)}. Die Zahl ist kein Mittel über alle denkbaren "
            "Workloads: Messungen weniger SUMMA-Kacheln überwiegen, deshalb zählt die Tabelle der Familien. Sie gilt für offene "
            "Forschungskernel, nicht für die Software des Herstellers, und sagt nichts über Maschinen, die niemand gemessen hat. "
            "Läufe im Simulator des Herstellers, seine Angaben und zurückgerechnete Werte gehen nicht in sie ein."
        ),
        "",
        (
            "Fehler sind Verhältnisse von Takten: e^|ln(vorhergesagt/veröffentlicht)| − 1, gleich für doppelt so schnell und halb so "
            "schnell. Die Verzerrung ist über null, wenn der Emulator zu langsam rechnet. Erzeugt von "
            "`python -m pilots.wafer validate --write`; Einträge sieht die Vorhersage nur durch eine Erlaubnisliste (letzter Abschnitt)."
        ),
        "",
    ]


def _named(results: Sequence[Result]) -> str:
    names = ", ".join(f"{DECLARED[item.family].name_de} mit n = {item.ours.n}" for item in results)
    return f" ({names})" if names else ""


def _coverage(found: Assessment) -> list[str]:
    rows = []
    for family, declared in DECLARED.items():
        own = [line for line in found.lines if line.row.family is family and line.row.kind is not Kind.GPU]
        predicted = [line for line in own if line.prediction]
        scored = [line for line in predicted if line.row.scored]
        rows.append(
            (
                declared.name_de,
                declared.holds_de,
                str(len(own)),
                str(len(predicted)),
                str(len(scored)),
                str(len(own) - len(predicted)),
            )
        )
    other = [line for line in found.lines if line.row.family is None and line.row.kind is not Kind.GPU]
    gpus = sum(line.row.kind is Kind.GPU for line in found.lines)
    heads = ("Familie", "was dazu gehört", "bekannt>", "vorhergesagt>", "gewertet>", "abgelehnt>")
    return [
        "## Familien",
        "",
        "Vor der ersten Anpassung festgelegt. Eine Einstellung wird nur als Ganzes ausgelassen: "
        + "; ".join(f"{what}: {makes}" for what, makes in families.GROUPS_DE)
        + ".",
        "",
        *table(heads, rows),
        (
            f"Angepasst werden die Konstanten an {_names(families.FITTED)}; die übrigen Familien prüfen nur. "
            f"Dazu {len(other)} Einträge ohne Familie, alle abgelehnt, und {gpus} GPU-Zeilen, die allein den Urteilen dienen."
        ),
        "",
    ]


def _names(chosen: Sequence[Family]) -> str:
    return ", ".join(DECLARED[family].name_de for family in chosen)


def _errors(found: Assessment) -> list[str]:
    rows = [_result(result) for result in found.results]
    heads = (
        "Familie",
        "Art",
        "Stichprobe",
        "n>",
        "Verzerrung>",
        "Median>",
        "90. Perzentil>",
        "naiv Median>",
        "naiv 90.>",
    )
    return [
        "## Fehler",
        "",
        (
            "Unter zehn Einträgen ist das 90. Perzentil der größte Fehler (max). „naiv“ ist ein Potenzgesetz der Familie in "
            "Rechenoperationen, Bytes und Elementen, angepasst an dieselben Einträge und ohne Wissen über die Hardware."
        ),
        "",
        *table(heads, rows),
        f"![Vorhergesagte gegen veröffentlichte Takte]({PLOT_NAME})",
        "",
    ]


def _result(result: Result) -> tuple[str, ...]:
    curve = result.naive
    return (
        DECLARED[result.family].name_de,
        result.kind.value,
        result.sample,
        str(result.ours.n),
        signed_percent(result.ours.bias),
        percent(result.ours.median),
        _p90(result.ours),
        percent(curve.median) if curve else "–",
        _p90(curve) if curve else "–",
    )


def _p90(value: Figures) -> str:
    return f"{percent(value.p90)} (max)" if value.p90_is_maximum else percent(value.p90)


def _naive(found: Assessment) -> list[str]:
    return [
        "## Vergleich mit der naiven Kurve, wo beide nichts gesehen haben",
        "",
        (
            "Die naive Kurve ist hier eine einzige über alles Übrige. Das Hardwaremodell hat sich verdient, wenn sein Median "
            "höchstens halb so groß ist."
        ),
        "",
        *_split("Familie", found.by_family),
        *_split("System", found.by_system),
    ]


def _split(name_de: str, split: Split) -> list[str]:
    if split.ours is None or split.naive is None:
        return [f"Eine {name_de} auszulassen ist mit diesen Einträgen nicht möglich.", ""]
    rows = [
        (
            part,
            str(ours.n),
            percent(ours.median),
            percent(curve.median),
            "ja" if 2 * ours.median <= curve.median else "nein",
        )
        for part, (ours, curve) in split.parts.items()
    ]
    verdict = (
        "mindestens doppelt so gut wie die naive Kurve."
        if split.earned
        else "**nicht** doppelt so gut wie die naive Kurve; hier hat sich das Hardwaremodell nichts verdient."
    )
    ours, curve = split.ours, split.naive
    return [
        *table((f"ausgelassen: {name_de}", "n>", "Median>", "naiv Median>", "doppelt so gut"), rows),
        f"Zusammen (n = {ours.n}): Median {percent(ours.median)} gegen {percent(curve.median)} naiv: {verdict}",
        "",
    ]


def _intervals(found: Assessment) -> list[str]:
    total = coverage(found.held)
    rows = [(DECLARED[family].name_de, *_covered(value)) for family, value in by_family(found.held).items()]
    if total:
        rows.append(("zusammen", *_covered(total)))
    low, high = families.COVERAGE_AIM
    inside = bool(total and low <= total.share <= high)
    return [
        "## Intervalle (90 %)",
        "",
        (
            "Jedes Intervall stammt aus den Fehlern der anderen Einstellungen seiner Familie; unter drei Einträgen oder bei einer "
            "einzigen Einstellung aus denen aller Familien. Außerhalb des kalibrierten Bereichs ist die logarithmische Breite "
            f"um die Hälfte größer. Ziel: {percent(low)} bis {percent(high)} Treffer, {'erreicht' if inside else 'nicht erreicht'}."
        ),
        "",
        *table(
            ("Familie", "n>", "Treffer>", "Anteil>", "Breite (Median)>", "davon im kalibrierten Bereich>"),
            rows,
        ),
    ]


def _covered(value: Coverage) -> tuple[str, ...]:
    return (
        str(value.n),
        str(value.hits),
        percent(value.share),
        times(value.median_factor),
        str(value.calibrated),
    )


def _verdicts(found: Assessment) -> list[str]:
    pairs = found.pairs
    if not pairs:
        return ["## Urteile Wafer gegen GPU", "", "Die Datei nennt keine Paare.", ""]
    order, factor = sum(pair.order_right for pair in pairs), sum(pair.factor_right for pair in pairs)
    misses = [pair for pair in pairs if not (pair.order_right and pair.factor_right) or pair.undecidable]
    rows = [
        (
            pair.wafer_id,
            pair.gpu,
            amount(pair.published),
            amount(pair.predicted),
            "ja" if pair.order_right else "nein",
            "ja" if pair.factor_right else "nein",
            "ja" if pair.undecidable else "nein",
        )
        for pair in misses
    ]
    heads = (
        "Eintrag",
        "GPU",
        "veröffentlicht>",
        "vorhergesagt>",
        "Reihenfolge",
        "Faktor",
        "nicht entscheidbar",
    )
    return [
        "## Urteile Wafer gegen GPU",
        "",
        (
            f"Verhältnis der Geschwindigkeiten, über eins ist der Wafer schneller. Richtige Reihenfolge: **{order} von {len(pairs)}**; "
            f"Faktor innerhalb von 1,5: **{factor} von {len(pairs)}**; nicht entscheidbar, weil das Intervall den Wert der GPU enthält: "
            f"{sum(pair.undecidable for pair in pairs)}. Verfehlt oder nicht entscheidbar:"
        ),
        "",
        *table(heads, rows),
    ]
