"""Costs and demand (EV-17, EV-18): what a person enters, with run times from the measurements of both sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from pilots.catalog import costs as economics
from pilots.catalog.costs import CostsEntry, Platform, RunHours, Step
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock, store
from qms.core.errors import CriterionNotMet
from qms.core.values import Assurance, Axes, Metric, Origin, Provenance
from qms.evidence import selectors as evidence_selectors
from qms.evidence import services as evidence
from qms.evidence.choices import TYPE_LABELS, EvidenceType
from qms.evidence.models import EvidenceItem
from qms.evidence.services import Submission
from qms.gates import services as gates
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.workloads import selectors as workloads
from qms.workloads.models import PlatformProfile, Workload

ENTERS: Final = frozenset("CU")
"""Letters of P17 that enter a sheet; D confirms it, which is the review of the evidence."""
COMPUTED: Final = Axes(Provenance.DERIVED, Assurance.SUBMITTED, Origin.OWN)
STATED: Final = Axes(Provenance.ESTIMATED, Assurance.SUBMITTED, Origin.OWN)
SIDES: Final[dict[str, Promise]] = {"baseline": lazy("Vergleichsbasis"), "target": lazy("Ziel")}


@dataclass(frozen=True)
class Ground:
    """What the sheet stands on: both platforms with their metrics, and the digests of EV-02 and EV-04.

    comparable: False where the baseline comes from a development machine (EM-12).
    """

    baseline: Platform
    target: Platform
    comparable: bool
    sources: Mapping[str, str | None]

    @property
    def volume_key(self) -> str | None:
        """The throughput by which a stated volume becomes hours, None without one."""
        return economics.volume_key(self.baseline.metrics, self.target.metrics)

    def measured(self, volume: Decimal | None) -> dict[str, RunHours]:
        """Return the run times that follow from a stated volume, by side; a side without a throughput is missing."""
        if not volume:
            return {}
        sides = {"baseline": self.baseline, "target": self.target}
        found = {
            name: economics.measured_hours(volume, self.volume_key, side.metrics)
            for name, side in sides.items()
        }
        return {name: hours for name, hours in found.items() if hours is not None}


@audited
def enter_costs(*, actor: User, workload_id: UUID, entry: CostsEntry) -> EvidenceItem:
    """Hand in the cost sheet (EV-17) and the demand (EV-18) under P17; return the sheet.

    Raises CriterionNotMet (G6-2) without baseline or pilot, or for what cannot be computed.
    """
    workload = workloads.lock(workload_id, actor=actor)
    role = guards.require(
        actor=actor, permission=Permission.EDIT_TCO_SHEET, workload=workload, letters=ENTERS
    )
    try:
        ground = ground_of(workload)
    except store.StoredFileError as error:
        raise evidence.tampered(_sources(workload), actor.audit_actor(role)) from error
    policy = gates.policy()
    costs, demand = economics.facts_of(
        entry,
        ground.baseline,
        ground.target,
        hours=_hours(entry, ground),
        comparable=ground.comparable,
        steps=steps_of(policy.raw),
        safety=policy.number("POL-26", "factor"),
    )
    now = clock.now()

    def submit(kind: EvidenceType, facts: dict[str, Any], axes: Axes) -> EvidenceItem:
        with translation.override("de"):  # stored, so not in the language of whoever hands in
            title = str(TYPE_LABELS[kind])
        submission = Submission(
            workload=workload,
            type=kind,
            title=title,
            facts=facts,
            axes=axes,
            producer=actor.person,
            measured_at=now,
        )
        return evidence.submit(actor=actor.audit_actor(role), submission=submission)

    facts = costs | {"computed_from": dict(ground.sources)}
    item = submit(EvidenceType.COSTS, facts, COMPUTED)
    submit(EvidenceType.DEMAND, demand, STATED)
    record(AuditKind.TCO_RECORDED, actor=actor.audit_actor(role), subject=item, refs=item.hashes())
    return item


def steps_of(raw: Any) -> tuple[Step, ...]:
    """Return the steps of POL-45 in the order of the rule set; raw: `Policy.raw`."""

    def share(value: Any) -> Decimal:
        return Decimal(str(value)) / 100

    volumes = raw("POL-45", "volume")["value"]
    return (
        Step("AUSLASTUNG", share(raw("POL-45", "utilisation")["value"])),
        *(Step("MENGE", share(value)) for value in volumes),
        Step("PREIS", share(raw("POL-45", "price")["value"])),
        Step("PORTIERUNG", share(raw("POL-45", "porting_effort")["value"])),
    )


def ground_of(workload: Workload) -> Ground:
    """Return what a sheet of the workload stands on.

    Raises CriterionNotMet (G6-2) without baseline or pilot, StoredFileError where a measurement is damaged.
    """
    baseline = _current(workload, EvidenceType.BASELINE_REPORT)
    pilot = getattr(workload, "pilot", None)
    if baseline is None:
        raise CriterionNotMet(
            _(
                "Bitte erbringen Sie zuerst die Vergleichsbasis; ohne sie fehlt, womit verglichen wird (G6-2)."
            ),
            id="G6-2",
        )
    if pilot is None:
        raise CriterionNotMet(
            _("Bitte legen Sie zuerst die Ziele fest; dort steht, welche Plattform das Ziel ist (G6-2)."),
            id="G6-2",
        )
    today, target = baseline.facts(), _current(workload, EvidenceType.TARGET_REPORT)
    reached = target.facts() if target else {}
    same = (reached.get("platform") or {}).get("profile") == pilot.platform.key
    machine = today["platform"]
    return Ground(
        baseline=Platform(machine["profile"], _name(machine["profile"]), machine["kind"], _metrics(today)),
        target=Platform(
            pilot.platform.key,
            pilot.platform.name,
            pilot.platform.kind,
            _metrics(reached) if same else (),
        ),
        comparable=not machine["development_machine"],
        sources={
            "baseline": baseline.facts_sha256,
            "target": target.facts_sha256 if target and same else None,
        },
    )


def costs_evidence(workload: Workload) -> EvidenceItem | None:
    """Return the current cost sheet of the workload, or None."""
    return _current(workload, EvidenceType.COSTS)


def _current(workload: Workload, kind: EvidenceType) -> EvidenceItem | None:
    return evidence_selectors.current(workload).filter(type=kind).first()


def _sources(workload: Workload) -> list[EvidenceItem]:
    kinds = (EvidenceType.BASELINE_REPORT, EvidenceType.TARGET_REPORT)
    return evidence_selectors.damaged(list(evidence_selectors.current(workload).filter(type__in=kinds)))


def _name(key: str) -> str:
    return PlatformProfile.objects.filter(key=key).values_list("name", flat=True).first() or key


def _metrics(facts: Mapping[str, Any]) -> tuple[Metric, ...]:
    return tuple(Metric.from_json(row) for row in facts.get("metrics", []))


def _hours(entry: CostsEntry, ground: Ground) -> dict[str, RunHours]:
    """Return the run time of both sides: computed where it can be, else as typed, which is an estimate."""
    found = ground.measured(entry.volume_per_unit)
    for name, label in SIDES.items():
        typed: Decimal | None = getattr(entry, name).hours
        if name in found:
            continue
        if typed is None:
            raise CriterionNotMet(
                _("Bitte nennen Sie die Stunden je Ergebnis: %(side)s (G6-2).") % {"side": label}, id="G6-2"
            )
        found[name] = RunHours(typed, Provenance.ESTIMATED)
    return found
