"""G4 Portierung und Ziellauf (spec 3.6). Emulated values are judged at the pessimistic end (EM-04)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Final

from qms.core.values import Better, Metric
from qms.gates.evidence_facts import OutputFacts
from qms.gates.facts import Facts
from qms.gates.numeric_targets import NUMERIC, relative, value_of
from qms.gates.outcome import (
    Cause,
    Outcome,
    criterion,
    decide,
    german,
    mebibytes,
    met,
    metric_de,
    missing,
    not_applicable,
    not_met,
)
from qms.gates.policy import Policy
from qms.workloads.choices import Comparator
from qms.workloads.rules import QualityTargetValues, quality_target_gaps

_NO_FINGERPRINT: Final = "Bitte messen Sie mit dem Messbefehl, oder listen Sie die Abweichungen auf (G4-1)."
_NO_TARGET = "Es gibt noch keinen Ziellauf (EV-04)."
_WHOLE: Final = frozenset({"int8", "int16", "int32", "int64", "uint8", "bool"})
_16_BIT: Final = frozenset({"fp16", "float16", "f16", "bf16", "bfloat16"})
_32_BIT: Final = frozenset({"fp32", "float32", "f32"})
_MODES: Final = {"RESIDENT": "Gewichte auf dem Wafer", "WEIGHT_STREAMING": "Gewichte im Strom"}


@criterion("G4-1")
def same_workload(facts: Facts, policy: Policy) -> Outcome:
    """The fingerprints of baseline and target are equal, or the deviations are listed and reviewed; never a demo."""
    threshold = "gleicher Fingerabdruck oder geprüfte Abweichungen, kein Demo-Lauf"
    if facts.baseline is None or facts.target is None or facts.manifest is None:
        return missing(threshold, "Vergleichsbasis, Ziellauf oder Abstammungsmanifest (EV-16) fehlt.")
    if facts.manifest.demo:
        return not_met("Demo", threshold, "Demo-Nachweise sind in keinem Gate zulässig (G4-1).")
    before, after = facts.baseline.fingerprint, facts.target.fingerprint
    value = f"{after[:16]}…"
    if after and facts.manifest.fingerprint != after:
        return not_met(value, threshold, "Ziellauf und Abstammungsmanifest gehören nicht zusammen (G4-1).")
    if after and after == before:
        return met(value, threshold, "Ziellauf und Vergleichsbasis sind derselbe Workload.")
    if facts.manifest.deviations and facts.manifest.deviations_from == facts.baseline.run_id:
        return _deviations(facts, threshold)
    if not (before and after):
        whose = "Der Ziellauf" if before else "Die Vergleichsbasis"
        found = missing(threshold, f"{whose} nennt keinen Fingerabdruck. {_NO_FINGERPRINT}")
    else:
        bad = "Ziellauf entspricht nicht der Baseline: anderer Fingerabdruck (G4-1)."
        found = not_met(value, threshold, bad)
    return replace(found, cause=Cause.ANOTHER_WORKLOAD)


def _deviations(facts: Facts, threshold: str) -> Outcome:
    """Return the result where the owner listed what differs: the review of the manifest approves the list."""
    count = len(facts.manifest.deviations) if facts.manifest else 0
    value = "1 Abweichung" if count == 1 else f"{count} Abweichungen"
    if not facts.reviewed("EV-16"):
        return missing(threshold, f"{value} aufgelistet; die prüfende Person genehmigt sie mit der Prüfung.")
    return met(value, threshold, "Die Abweichungen sind aufgelistet und genehmigt.")


@criterion("G4-2")
def operators(facts: Facts, policy: Policy) -> Outcome:
    """No operation of the graph is unsupported and each has a kernel."""
    threshold = "0 nicht unterstützte Operationen des Graphen, je ein Kernel"
    if facts.target is None:
        return missing(threshold, _NO_TARGET)
    bare = [name for name, kernel in facts.target.covered_ops if not kernel.strip()]
    unsupported = [*facts.target.unsupported_ops, *bare]
    total = len(facts.target.covered_ops) + len(facts.target.unsupported_ops)
    if total == 0:
        return missing(threshold, "Der Ziellauf nennt keine Operationen des Graphen.")
    value = f"{len(unsupported)} von {total} Operationen des Graphen"
    good = "Jede Operation des Graphen läuft auf der Zielplattform."
    verb = "hat" if len(unsupported) == 1 else "haben"
    bad = f"{value} {verb} keinen Kernel (G4-2): {', '.join(unsupported)}."
    return decide(not unsupported, value, threshold, good, bad)


@criterion("G4-3")
def equivalence(facts: Facts, policy: Policy) -> Outcome:
    """Outputs agree within the tolerance of their type, and every quality target is met."""
    threshold = "Abweichung je Ausgabe ≤ rtol · größter Referenzwert (POL-06), alle Qualitätsziele"
    if facts.equivalence is None or not facts.equivalence.outputs:
        return missing(threshold, "Der Äquivalenznachweis (EV-06) fehlt.")
    for output in facts.equivalence.outputs:
        if (problem := _output_problem(output, policy, threshold)) is not None:
            return problem
    for target in facts.targets:
        if (problem := _target_problem(target, facts, threshold)) is not None:
            return problem
    worst = max(relative(output) for output in facts.equivalence.outputs)
    note = f", {facts.equivalence.note}" if facts.equivalence.note else ""
    value = f"größte Abweichung {german(_rounded(worst))}{note}"
    # Outputs within the tolerance are the same outputs, hence no quality is lost (POL-05).
    return met(value, threshold, "Die Ausgaben stimmen überein, alle Qualitätsziele sind erreicht.")


@criterion("G4-5")
def order_of_events(facts: Facts, policy: Policy) -> Outcome:
    """Classification decided and criteria frozen before the first target run, each run under the version in force."""
    threshold = "G1 entschieden und Kriterien eingefroren vor dem ersten Ziellauf"
    if not facts.runs:
        return missing(threshold, _NO_TARGET)
    first = min(run.started_at for run in facts.runs)
    value = f"erster Ziellauf {first:%d.%m.%Y %H:%M} UTC"
    decided = facts.classification.decided_at
    if decided is None or decided >= first:
        reason = "Ziellauf unzulässig: kein Entscheidungszeitpunkt von G1 vor Laufbeginn (G4-5)."
        return not_met(value, threshold, reason)
    frozen_at = facts.freeze.frozen_at
    if frozen_at is None or frozen_at > first:
        return not_met(
            value, threshold, "Die Kriterien waren vor dem ersten Ziellauf nicht eingefroren (G4-5)."
        )
    fitting = all(run.criteria_sha256 == facts.freeze.frozen_sha256 for run in facts.runs)
    good = "Klassifizierung und Kriterien lagen vor dem ersten Ziellauf fest."
    bad = "Ein Ziellauf lief unter einer anderen Version der Kriterien (G4-5)."
    return decide(fitting, value, threshold, good, bad)


@criterion("G4-6")
def porting_effort(facts: Facts, policy: Policy) -> Outcome:
    """Person days of every category are stated, a zero with its reason, and partitioning is answered."""
    threshold = "Personentage je Kategorie, null nur mit Begründung, Partitionierung beantwortet"
    if facts.porting is None:
        return missing(threshold, "Der Portierungsbericht (EV-05) fehlt; er entsteht mit dem Ziellauf.")
    if not facts.porting.framework:
        return not_applicable("das Modell nur aus Schichtbreiten besteht und nichts portiert wurde")
    open_ones = [row.category for row in facts.porting.effort if row.days is None]
    if open_ones or not facts.porting.effort:
        return missing(threshold, "Der Portierungsaufwand ist noch nicht eingetragen (G4-6).")
    if facts.porting.partitioning_required is None:
        return missing(threshold, "Ob das Modell aufgeteilt werden muss, ist nicht beantwortet (G4-6).")
    total = sum((row.days for row in facts.porting.effort if row.days is not None), Decimal(0))
    value = f"{german(total)} Personentage"
    bare = [row.category for row in facts.porting.effort if row.days == 0 and not row.reason.strip()]
    good = "Der Portierungsaufwand ist je Kategorie angegeben."
    bad = f"Null Personentage brauchen eine Begründung (G4-6): {', '.join(bare)}."
    return decide(not bare, value, threshold, good, bad)


@criterion("G4-7")
def platform_tuple(facts: Facts, policy: Policy) -> Outcome:
    """Hardware, system, framework and operating model of the target are named."""
    threshold = "Hardwaregeneration, System, Framework, Betriebsmodell"
    if facts.target is None:
        return missing(threshold, _NO_TARGET)
    platform = facts.target.platform
    parts = {
        "Hardwaregeneration": platform.hardware_gen,
        "System-Release": platform.system_release,
        "Framework-Release": platform.framework_release,
        "Betriebsmodell": platform.operating_model,
    }
    gaps = [name for name, text in parts.items() if not text.strip()]
    value = ", ".join(text for text in parts.values() if text.strip()) or "keine Angaben"
    good, bad = "Die Zielplattform ist vollständig benannt.", f"Es fehlt: {', '.join(gaps)}."
    return decide(not gaps, value, threshold, good, bad)


@criterion("G4-8")
def capacity(facts: Facts, policy: Policy) -> Outcome:
    """The mode is recorded and the peak fits the capacity of the target."""
    threshold = "Spitze ≤ Kapazität, Betriebsmodus angegeben"
    if facts.target is None:
        return missing(threshold, _NO_TARGET)
    peak, limit = facts.target.peak_sram_bytes, facts.target.sram_capacity_bytes
    if peak is None or limit is None or facts.target.mode not in _MODES:
        return missing(threshold, "Betriebsmodus, Spitzenbedarf oder Kapazität fehlt.")
    value = f"{mebibytes(peak)} von {mebibytes(limit)}, {_MODES[facts.target.mode]}"
    good = "Der Workload passt in den Speicher der Zielplattform."
    bad = "Der Workload passt nicht in den Speicher der Zielplattform (G4-8)."
    return decide(peak <= limit, value, threshold, good, bad)


@criterion("G4-10")
def reproducibility(facts: Facts, policy: Policy) -> Outcome:
    """An emulated run is recomputed with the same digest; a measured one needs a second run, not recorded yet."""
    threshold = "gleiche Prüfsumme bei Wiederholung aus dem Manifest"
    if facts.target is None:
        return missing(threshold, _NO_TARGET)
    if not facts.target.emulated or facts.target.replay_equal is None:
        return missing(threshold, "Der Lauf wurde noch nicht aus dem Manifest wiederholt.")
    value = "gleich" if facts.target.replay_equal else "ungleich"
    good = "Nachgerechnet, gleiches Ergebnis. Das belegt die Rechnung, nicht die Wirklichkeit."
    bad = "Die Nachrechnung ergibt ein anderes Ergebnis (G4-10)."
    return decide(facts.target.replay_equal, value, threshold, good, bad)


def _rounded(value: Decimal) -> Decimal:
    return value if value == 0 else round(value, 3 - value.adjusted())


def _output_problem(output: OutputFacts, policy: Policy, threshold: str) -> Outcome | None:
    dtype = output.dtype.lower()
    if dtype in _32_BIT:
        rtol = policy.number("POL-06", "fp32_rtol")
    elif dtype in _16_BIT:
        rtol = policy.number("POL-06", "bit16_rtol")
    elif dtype in _WHOLE:
        rtol = Decimal(0)
    else:
        return missing(
            threshold, f"Für den Datentyp {output.dtype} der Ausgabe {output.name} gibt es keine Toleranz."
        )
    if output.max_abs_delta > rtol * output.max_abs_reference:
        value = f"{output.name}: Abweichung {_shown(relative(output))}, zulässig {german(rtol)}"
        return not_met(value, threshold, f"Abweichung der Ausgabe {output.name} über der Toleranz (G4-3).")
    if dtype in _16_BIT:
        least = policy.number("POL-06", "bit16_cosine_min")
        if output.cosine is None:
            return missing(threshold, f"Die Kosinusähnlichkeit der Ausgabe {output.name} fehlt.")
        if output.cosine < least:
            value = f"{output.name}: Kosinus {german(output.cosine)}, zulässig ab {german(least)}"
            return not_met(
                value, threshold, f"Die Ausgabe {output.name} ist der Referenz zu unähnlich (G4-3)."
            )
    return None


def _shown(value: Decimal) -> str:
    return german(_rounded(value)) if value.is_finite() else "unbegrenzt"


def _target_problem(target: QualityTargetValues, facts: Facts, threshold: str) -> Outcome | None:
    if quality_target_gaps(target):
        return missing(threshold, f"Das Qualitätsziel {target.id} ist unvollständig.")
    value = _judged_value(target, facts)
    if value is None:
        return missing(
            threshold,
            f"Für das Qualitätsziel {target.id} ({metric_de(target.metric, target.percentile)}) liegt kein Wert vor.",
        )
    if target.met_by(value):
        return None
    shown = f"{target.id}: {german(value)} {target.unit}".strip()
    return not_met(shown, threshold, f"Das Qualitätsziel {target.id} ist nicht erreicht (G4-3).")


def _judged_value(target: QualityTargetValues, facts: Facts) -> Decimal | None:
    if facts.equivalence is not None and target.metric in NUMERIC:
        return value_of(target.metric, facts.equivalence)
    metrics = facts.target.metrics if facts.target else ()
    for item in metrics:
        if item.key == target.metric and item.percentile == target.percentile and item.reliable:
            return _in_unit(_pessimistic(item, target.comparator), item, target.unit)
    return None


def _pessimistic(item: Metric, comparator: Comparator | None) -> Decimal:
    upward = comparator in {Comparator.AT_LEAST, Comparator.ABOVE}
    return item.pessimistic(Better.HIGHER if upward else Better.LOWER)


def _in_unit(value: Decimal, item: Metric, unit: str) -> Decimal | None:
    if item.unit.value == unit:
        return value
    return value * 100 if item.unit.value == "ratio" and unit == "%" else None
