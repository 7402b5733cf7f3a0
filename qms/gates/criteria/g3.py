"""G3 Baseline: how well the basis of comparison was measured (spec 3.6). Repetition counts for measured runs only."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from qms.core.values import Assurance, Metric, Origin, Provenance
from qms.gates.facts import Facts
from qms.gates.outcome import (
    Outcome,
    axis,
    count,
    criterion,
    decide,
    met,
    metric_de,
    missing,
    not_met,
    percent,
)
from qms.gates.policy import Policy

_NO_BASELINE = "Es gibt noch keine gemessene Vergleichsbasis (EV-02)."


_GROUPS: Final = {
    "Durchsatz": ("throughput_tokens_s", "throughput_items_s", "throughput_samples_s"),
    "Latenz": ("step_time_ms", "ttft_ms", "tpot_ms", "e2e_latency_ms"),
    "Speicher": ("peak_memory_bytes", "mem_peak_device_gb", "mem_state_gb"),
    "Fehler": ("error_rate", "run_failure_rate", "run_failure_count"),
}
_WITH_PERCENTILE: Final = frozenset(_GROUPS["Latenz"])


@criterion("G3-2")
def five_groups(facts: Facts, policy: Policy) -> Outcome:
    """Throughput, latency, memory and errors are measured with sample size and percentile; total cost is known."""
    threshold = "Durchsatz, Latenz, Speicher, Fehler, Gesamtkosten; mit n und Perzentil"
    if facts.baseline is None:
        return missing(threshold, _NO_BASELINE)
    complete = {item.key for item in facts.baseline.metrics if _described(item)}
    gaps = [name for name, keys in _GROUPS.items() if not complete & set(keys)]
    if facts.costs is None or facts.costs.baseline.total_month is None:
        gaps.append("Gesamtkosten (EV-17)")
    value = f"{len(_GROUPS) + 1 - len(gaps)} von {len(_GROUPS) + 1} Gruppen"
    good = "Alle fünf Gruppen der Vergleichsbasis liegen vor."
    return decide(not gaps, value, threshold, good, f"Es fehlt: {', '.join(gaps)} (G3-2).")


def _described(item: Metric) -> bool:
    return item.n is not None and (item.percentile is not None or item.key not in _WITH_PERCENTILE)


@criterion("G3-3")
def repetition(facts: Facts, policy: Policy) -> Outcome:
    """Enough repetitions of enough iterations with a small spread; iterations count per repetition."""
    repetitions = policy.integer("POL-02", "benchmark_repetitions")
    iterations = policy.integer("POL-02", "benchmark_iterations_min")
    spread = policy.share("POL-03", "max")
    threshold = (
        f"{repetitions} × {count(iterations)} Iterationen (POL-02), Streuung ≤ {percent(spread)} (POL-03)"
    )
    found = facts.baseline
    if found is None:
        return missing(threshold, _NO_BASELINE)
    if found.throughput_cv is None:
        return missing(threshold, "Die Streuung des Durchsatzes ist nicht angegeben.")
    value = f"{found.repetitions} × {count(found.iterations)}, Streuung {percent(found.throughput_cv)}"
    good = f"Baseline geprüft: {found.repetitions} Wiederholungen, Streuung {percent(found.throughput_cv)} (G3-3)."
    if found.repetitions < repetitions or found.iterations < iterations:
        return not_met(value, threshold, "Die Vergleichsbasis wurde zu selten gemessen.")
    bad = "Die Streuung des Durchsatzes ist zu groß."
    return decide(found.throughput_cv <= spread, value, threshold, good, bad)


@criterion("G3-4")
def axes(facts: Facts, policy: Policy) -> Outcome:
    """Every value that is not derived is measured, not published, and assured enough for the approval type."""
    least = Assurance(policy.text("POL-59", facts.approval_type.value))
    threshold = f"GEMESSEN, nicht veröffentlicht, mindestens {axis(least)} (POL-59)"
    if facts.baseline is None:
        return missing(threshold, _NO_BASELINE)
    judged = [item for item in facts.baseline.metrics if item.axes.provenance is not Provenance.DERIVED]
    if not judged:
        return missing(threshold, "Die Vergleichsbasis enthält keine Messwerte.")
    for item in judged:
        found = item.axes
        name = metric_de(item.key, item.percentile)
        value = f"{name}: {axis(found.provenance)}, {axis(found.assurance)}, {axis(found.origin)}"
        if found.provenance is not Provenance.MEASURED or found.origin is Origin.PUBLISHED:
            return not_met(value, threshold, f"Der Wert {name} der Vergleichsbasis ist nicht gemessen.")
        if found.assurance.rank < least.rank:
            return not_met(value, threshold, f"Der Wert {name} ist nicht ausreichend abgesichert.")
    lowest = min((item.axes.assurance for item in judged), key=lambda item: item.rank)
    if facts.baseline.platform.development_machine:
        return met(f"GEMESSEN, {axis(lowest)}", threshold, "Vergleichsbasis: Entwicklungsrechner (EM-12).")
    return met(f"GEMESSEN, {axis(lowest)}", threshold, "Alle Werte der Vergleichsbasis sind gemessen.")


@criterion("G3-5")
def age(facts: Facts, policy: Policy) -> Outcome:
    """The baseline is not older than the policy allows, and not from the future."""
    longest = policy.span("POL-19", "benchmark")
    threshold = f"höchstens {longest.days} Tage (POL-19)"
    if facts.baseline is None:
        return missing(threshold, _NO_BASELINE)
    found = facts.now - facts.baseline.measured_at
    if found < timedelta(0):
        return not_met("in der Zukunft", threshold, "Der Zeitpunkt der Messung liegt in der Zukunft.")
    good, bad = "Die Vergleichsbasis ist aktuell.", "Die Vergleichsbasis ist zu alt."
    return decide(found <= longest, f"{found.days} Tage", threshold, good, bad)


@criterion("G3-7")
def frozen(facts: Facts, policy: Policy) -> Outcome:
    """Targets, abort criteria and fallback path were frozen and are unchanged, or changed through P10."""
    threshold = "eingefroren und unverändert"
    found = facts.freeze
    if found.frozen_at is None or not found.frozen_sha256:
        return missing(threshold, "Die Kriterien werden mit dem Start des ersten Ziellaufs eingefroren.")
    if found.current_sha256 == found.frozen_sha256:
        return met(f"{found.frozen_sha256[:16]}…", threshold, "Kriterien eingefroren und unverändert (G3-7).")
    good = "Die Änderung nach dem Einfrieren ist genehmigt (P10)."
    bad = "Die Kriterien wurden nach dem Einfrieren geändert (G3-7)."
    return decide(found.change_approved, "geändert", threshold, good, bad)


@criterion("G3-8")
def independent_review(facts: Facts, policy: Policy) -> Outcome:
    """Every usable piece of evidence was reviewed by somebody who did not produce it (SoD-03)."""
    threshold = "prüfende ≠ erzeugende Person (SoD-03)"
    items = [item for item in facts.evidence if item.usable]
    if not items:
        return missing(threshold, "Es liegen noch keine Nachweise vor.")
    own = [item.type for item in items if item.reviewer is not None and item.reviewer == item.producer]
    if own:
        return not_met(", ".join(own), threshold, "Eigene Nachweise wurden selbst geprüft (SoD-03).")
    waiting = [item.type for item in items if item.reviewer is None]
    if waiting:
        return missing(threshold, f"Noch nicht geprüft: {', '.join(sorted(set(waiting)))}.")
    return met(f"{len(items)} von {len(items)}", threshold, "Alle Nachweise hat eine andere Person geprüft.")


@criterion("G3-9")
def configuration(facts: Facts, policy: Policy) -> Outcome:
    """The configuration of the baseline is complete."""
    threshold = "Topologie, Geräte, Speicher, Aufteilung, Software"
    if facts.baseline is None:
        return missing(threshold, _NO_BASELINE)
    platform = facts.baseline.platform
    parts = {
        "Topologie": platform.topology.strip(),
        "Geräte": platform.devices > 0,
        "Speicher": platform.memory_bytes > 0,
        "Aufteilung": platform.sharding.strip(),
        "Software": platform.software,
    }
    gaps = [name for name, value in parts.items() if not value]
    value = f"{len(parts) - len(gaps)} von {len(parts)} Angaben"
    good, bad = "Der Aufbau der Vergleichsbasis ist vollständig.", f"Es fehlt: {', '.join(gaps)}."
    return decide(not gaps, value, threshold, good, bad)
