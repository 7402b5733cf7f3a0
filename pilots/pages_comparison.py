"""The page "Vergleich": verdict, metrics side by side, where time goes, the whole cycle. Pure preparation, no rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from pilots import pages_comparison_parts as parts
from pilots import pages_comparison_table as tables
from pilots import selectors
from pilots.catalog import comparison, decomposition, explained
from pilots.catalog.comparison import Bounds, Row
from pilots.catalog.decomposition import Decomposition, Source
from pilots.catalog.explained import Modelled, PlatformNames
from pilots.choices import RunRole
from pilots.models import Run
from pilots.platforms import names_of
from qms.core import canonical, clock, store
from qms.core.values import Assurance, Axes, Metric, Origin, Provenance, Unit
from qms.evidence import selectors as evidence
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from qms.gates.benefit import other_memory, primary_metrics
from qms.gates.choices import ApprovalType
from qms.gates.evidence_facts import BaselineFacts
from qms.gates.facts import Facts
from qms.gates.policy import Policy
from qms.gates.report import GateReport
from qms.workloads.choices import TRAINING
from qms.workloads.metrics import catalogue
from qms.workloads.models import PlatformProfile, Workload


@dataclass(frozen=True)
class Sides:
    """What both sides say: facts of the gates, policy, newest runs, the platform of the baseline."""

    workload: Workload
    facts: Facts
    policy: Policy
    baseline_run: Run | None
    target_run: Run | None
    platform: PlatformNames | None

    @property
    def development_machine(self) -> bool:
        """Whether the baseline comes from a development machine (EM-12)."""
        return self.facts.baseline is not None and self.facts.baseline.platform.development_machine

    @property
    def bounds(self) -> Bounds:
        """POL-23."""
        share = self.policy.share
        return Bounds(share("POL-23", "primary_min_gain"), share("POL-23", "other_max_loss"))

    @property
    def band(self) -> tuple[Decimal, Decimal]:
        """POL-37."""
        return self.policy.share("POL-37", "min"), self.policy.share("POL-37", "max")


def page(workload: Workload) -> dict[str, Any]:
    """Return the context of the page."""
    facts = gates.facts_for(workload, ApprovalType.PRELIMINARY, at=clock.now())
    baseline = facts.baseline
    sides = Sides(
        workload,
        facts,
        gates.policy(),
        selectors.latest(workload, RunRole.BASELINE.value),
        selectors.latest(workload, RunRole.TARGET.value),
        _names(baseline) if baseline else None,
    )
    report = gates.evaluate_dossier(facts)
    rows = _rows(sides, report)
    return {
        "verdict": report.verdict,
        "notices": _notices(sides),
        "has_baseline": baseline is not None,
        "has_target": facts.target is not None,
        "benefit": _benefit(sides, report),
        "table": tables.metrics(rows, sides.bounds) if rows else None,
        **_explained(sides),
        "cycle": _cycle(workload),
        "items": _items(workload),
        "platforms": _platforms(sides),
    }


def _names(baseline: BaselineFacts) -> PlatformNames:
    """Return what the platform of a baseline says about itself, with the parameters of its profile."""
    said = baseline.platform
    profile = PlatformProfile.objects.filter(pk=said.profile_id).first() if said.profile_id else None
    now = names_of(profile) if profile else PlatformNames((), 0, {})
    return PlatformNames((said.hardware_gen, said.topology, *now.texts), said.devices, now.parameters)


def _rows(sides: Sides, report: GateReport) -> tuple[Row, ...]:
    before, after = sides.facts.baseline, sides.facts.target
    asked = comparison.Asked(
        primary=() if sides.development_machine else primary_metrics(sides.facts),
        better={key: row.better for key, row in catalogue().items()},
        bounds=sides.bounds,
        development_machine=sides.development_machine,
        another_workload=not report.result("G4-1").result.passes,
        outside=after is not None and after.emulated and after.outside_calibration,
        other_memory=other_memory(sides.facts),
    )
    return comparison.compare(before.metrics if before else (), after.metrics if after else (), asked)


def _benefit(sides: Sides, report: GateReport) -> dict[str, Any] | None:
    """Return what G6-8 says, in its own words; None where nothing is compared."""
    found = next((item for item in report.criteria if item.row.id == "G6-8"), None)
    if found is None or sides.facts.target is None:
        return None
    chosen = sides.facts.suitability.primary_metrics if sides.facts.suitability else ()
    return {
        "status": found.result.value,
        "sentence": found.reason_de,
        "asked": found.threshold_de,
        "unchosen": not chosen,
    }


def _notices(sides: Sides) -> list[str]:
    found = []
    if sides.development_machine:
        found.append(_("Kein Vergleichsfaktor: Vergleichsbasis stammt von einem Entwicklungsrechner."))
    found.append(_one_thread(sides))
    target, baseline = sides.facts.target, sides.facts.baseline
    if target is not None and target.emulated:
        found.append(_("Zielplattform emuliert – keine Aussage unter realen Bedingungen"))
        found.append(str(sides.target_run.summary.get("calibration_note", "")) if sides.target_run else "")
    if target is not None and baseline is not None and not sides.development_machine:
        same = baseline.fingerprint and baseline.fingerprint == target.fingerprint
        if not same:
            found.append(
                _(
                    "Dass beide Seiten dieselbe Aufgabe gerechnet haben, belegt hier kein gleicher Workload-Fingerabdruck. "
                    "Was abweicht, nennen Sie auf der Seite „Abweichungen“; die Prüfung bestätigt es (G4-1)."
                )
            )
    return [text for text in found if text]


def _one_thread(sides: Sides) -> str:
    """Return what a baseline of the measuring command cannot show, if its file says NumPy ran in one thread."""
    run, baseline = sides.baseline_run, sides.facts.baseline
    if run is None or baseline is None or str(run.pk) != baseline.run_id:
        return ""
    if dict(run.summary.get("method", [])).get("blas_threads") != "1":
        return ""
    return _(
        "Die Vergleichsbasis hat der Messbefehl mit NumPy in einem Thread gerechnet (ein Thread, NumPy). Was die Plattform "
        "mit mehreren Threads oder anderer Software erreicht, sagt sie nicht."
    )


def _explained(sides: Sides) -> dict[str, Any]:
    """Return where time goes on both sides, the MFU, and the measured time beside the model's."""
    baseline = sides.facts.baseline
    found: dict[str, Any] = {"before": None, "after": _after(sides), "mfu": None, "beside": None}
    if baseline is None or sides.platform is None:
        return found
    modelled = None if sides.development_machine else explained.modelled(_parameters(sides), sides.platform)
    before = _before(sides, baseline, modelled)
    if before is not None:
        found["before"] = parts.decomposition(before, _("Ein Schritt der Vergleichsbasis"))
    measured = explained.step_of(baseline.metrics)
    if modelled is not None and measured is not None:
        found["beside"] = parts.beside_model(modelled, measured, baseline.metrics)
    facts = sides.workload.model_facts
    training = sides.workload.mode in TRAINING
    used = explained.utilisation_of(
        baseline.metrics, facts, sides.platform, training=training, band=sides.band
    )
    if used is not None:
        found["mfu"] = parts.mfu(used, sides.band)
    return found


def _parameters(sides: Sides) -> dict[str, Any]:
    """Return model and batch: as the runs name them, the model as the workload has it now."""
    workload = sides.workload
    given = {"model_text": workload.model_text, "model_file_sha256": workload.model_file_sha256}
    run = sides.baseline_run
    batch = run.parameters.get("batch") if run else None
    return given | ({"batch": batch} if batch else {})


def _before(sides: Sides, baseline: BaselineFacts, modelled: Modelled | None) -> Decomposition | None:
    """Return the parts of the baseline's step: measured where they were, else those of the cluster model."""
    shares = {metric.key: metric for metric in baseline.metrics if metric.unit is Unit.RATIO}
    profile = sides.facts.profile
    if profile is not None:
        axes = Axes(Provenance.MEASURED, Assurance.SUBMITTED, Origin.OWN)
        named = {key: getattr(profile, key) for key in decomposition.OF_SHARES}
        shares |= {
            key: Metric(key, value, Unit.RATIO, axes) for key, value in named.items() if value is not None
        }
    measured = decomposition.of_shares(explained.step_of(baseline.metrics), shares)
    if measured is not None or modelled is None:
        return measured
    causes = {name: figure.metric for name, figure in explained.parts_of(modelled).items()}
    return decomposition.of_causes(modelled.step.metric, causes, decomposition.OF_CLUSTER, Source.CLUSTER)


def _after(sides: Sides) -> dict[str, Any] | None:
    """Return the parts of the target's step from the causes of its run."""
    run, target = sides.target_run, sides.facts.target
    if run is None or target is None or str(run.pk) != target.run_id:
        return None
    step = explained.step_of(target.metrics)
    causes = {name: Metric.from_json(row) for name, row in run.summary.get("causes", {}).items()}
    if step is None:
        return None
    found = decomposition.of_causes(step, causes, decomposition.OF_WAFER, Source.EMULATOR)
    return parts.decomposition(found, _("Ein Schritt am Ziel")) if found else None


def _cycle(workload: Workload) -> dict[str, Any] | None:
    item = evidence.current(workload).filter(type=EvidenceType.COSTS).first()
    if item is None:
        return None
    try:
        facts: Mapping[str, Any] = item.facts()
    except (store.StoredFileError, canonical.CanonicalError):
        return None
    axes = Axes(Provenance(item.provenance), Assurance(item.assurance), Origin(item.origin))
    return parts.cycle(facts, axes)


def _items(workload: Workload) -> list[EvidenceItem]:
    return evidence.counting(workload)


def _platforms(sides: Sides) -> list[PlatformProfile]:
    """Return the profiles of both sides, the baseline's first."""
    found = [sides.facts.baseline, sides.facts.target]
    ids = [side.platform.profile_id for side in found if side is not None and side.platform.profile_id]
    profiles = {str(item.pk): item for item in PlatformProfile.objects.filter(pk__in=ids)}
    return [profiles[key] for key in dict.fromkeys(ids) if key in profiles]
