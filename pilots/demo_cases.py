"""Two worked cases of the demo on the same path: one ends with a Vorfreigabe, one with "Nein".

Both bring a signed measurement of the server in use and compare the same model with the same contract; only the
amount of work differs. Prices are made up for the demo and say so.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from django.conf import settings

from pilots import demo
from pilots.catalog.costs import (
    ASKED,
    COMPUTE,
    Basis,
    Capacity,
    CommercialModel,
    CostsEntry,
    LineEntry,
    SideEntry,
)
from pilots.demo import Demo, DemoStopped, Sample
from pilots.services import costs, measuring_keys, results
from pilots.services.handed_in import ImportedFile
from qms.approvals.choices import Decision, Meaning, VoteValue
from qms.approvals.documents import Wording
from qms.approvals.models import Approval
from qms.core import clock
from qms.core.values import Provenance
from qms.evidence import holders
from qms.evidence import selectors as evidence
from qms.evidence import services as evidence_services
from qms.evidence.choices import EvidenceType
from qms.evidence.holder_choices import (
    CRITERIA_OF,
    CapabilityArea,
    EnvironmentItem,
    EnvironmentStatus,
    PlatformLevel,
)
from qms.evidence.holder_choices import CommercialModel as Purchase
from qms.evidence.holder_facts import (
    Capability,
    CapabilityAnswer,
    Environment,
    EnvironmentAnswer,
    LevelRating,
    Levels,
    Offer,
)
from qms.evidence.holders import Recording
from qms.gates import services as gates
from qms.workloads import selectors as workloads
from qms.workloads.choices import AlternativeOption, BottleneckType, OrganisationProfile, UsageKind
from qms.workloads.models import PlatformProfile, Workload
from qms.workloads.services.suitability import SuitabilityData, save_suitability

MODEL: Final = "512-2048-2048-16"
SERVER: Final = "SERVER-IM-EINSATZ"
WAFER: Final = "WSE-2"
KEY_LABEL: Final = "Server im Einsatz (Vorführung)"
SAMPLES_PER_RUN: Final = Decimal(300_000_000)
PAID_HOURS: Final = Decimal(100)
SOURCE: Final = "Musterpreis der Vorführung"


@dataclass(frozen=True, slots=True)
class Case:
    """One worked case: its title, how many runs a month it needs, and how the approver ends it."""

    title: str
    runs_per_month: int
    wording: Wording
    cost_vote: VoteValue


CASES: Final = (
    Case(
        "Prüfbilder bewerten – gut ausgelastet",
        30,
        Wording(
            Decision.APPROVE,
            "Engpass, Nutzen und Kosten sind belegt; der reale Pilot kann beginnen.",
            Meaning.APPROVED,
        ),
        VoteValue.AGREE,
    ),
    Case(
        "Prüfbilder bewerten – selten gebraucht",
        3,
        Wording(
            Decision.REJECT,
            "Die reservierte Kapazität stünde fast immer leer.",
            Meaning.REJECTED,
            "Den Server im Einsatz behalten und seine Auslastung verbessern.",
        ),
        VoteValue.REFUSE,
    ),
)


def walk_cases(house: Demo, *, carry_out: Callable[[], object]) -> list[Approval]:
    """Walk both cases, going on where an earlier walk ended; returns their decided approvals."""
    return [
        walk_case(house, case, carry_out=carry_out)
        for case in CASES
        if not Approval.objects.filter(workload__title=case.title).exists()
    ]


def walk_case(house: Demo, case: Case, *, carry_out: Callable[[], object]) -> Approval:
    """Walk one case from registration to decision. Raises DemoStopped, or the refusal of a command."""
    record_holders(house)
    workload = Workload.objects.filter(title=case.title).first() or demo.register_workload(
        house, title=case.title, sample=sample()
    )
    if workloads.unconfirmed_classes(workload):
        demo.confirm_classification(house, workload)
    measure(house, workload)
    state_suitability(house, workload, case)
    demo.see_target_through(house, workload, carry_out)
    state_costs(house, workload, case)
    workload.refresh_from_db()
    request = demo.request_approval(house, workload)
    reviewed = demo.review(house, request, votes=votes(workload, case))
    approval = demo.decide(house, reviewed, case.wording)
    carry_out()
    approval.refresh_from_db()
    return approval


def sample() -> Sample:
    """Return what both cases say of themselves."""
    purpose = (
        "Bewertet jedes Prüfbild der Linie, bevor das nächste Teil kommt, und schleust Zweifelsfälle aus."
    )
    return Sample(purpose, MODEL, Decimal(2), SERVER)


def votes(workload: Workload, case: Case) -> Mapping[str, VoteValue]:
    """Return the vote on costs of the case, if the costs are asked for."""
    codes = {subject.code for subject in gates.asked_subjects(workload)}
    return dict.fromkeys(codes & {"KOSTEN"}, case.cost_vote)


def record_holders(house: Demo) -> None:
    """Record once what describes platform and organisation, and have it accepted by another person."""
    platform = PlatformProfile.objects.get(key=WAFER)
    for entry, holder in (
        (LEVELS, platform),
        (offer(), platform),
        (ENVIRONMENT, platform),
        (CAPABILITY, workloads.organisation()),
    ):
        if any(item.type == entry.type for item in evidence.recorded(holder)):
            continue
        today = clock.now().date()
        longest = gates.policy().span("POL-60", "max")
        item = holders.record_at_holder(
            actor=house.user("wo01"),
            holder_id=holder.pk,
            recording=Recording(entry, holders.last_day(entry, today, longest)),
            longest=longest,
        )
        evidence_services.review_evidence(
            actor=house.user("pr01"), evidence_id=item.pk, accept=True, compared_with="", reason=""
        )


LEVELS: Final = Levels(
    {
        level: LevelRating(dict.fromkeys(CRITERIA_OF[level][:3], 3), assessor, ground)
        for level, assessor, ground in (
            (PlatformLevel.HARDWARE, "Plattformbetrieb", "Emulation und veröffentlichte Messungen"),
            (PlatformLevel.SOFTWARE, "Pilotleitung", "Portierungsbericht des Piloten"),
            (PlatformLevel.DELIVERY, "Controlling", "Musterangebot der Vorführung"),
        )
    }
)
ENVIRONMENT: Final = Environment(
    {
        item: EnvironmentAnswer(EnvironmentStatus.SETTLED, "Plattformbetrieb", Decimal(0), "Musterdaten")
        for item in EnvironmentItem
    }
)
CAPABILITY: Final = Capability(
    {area: CapabilityAnswer("Plattformbetrieb", "Betriebshandbuch (Musterdaten)") for area in CapabilityArea}
)


def offer() -> Offer:
    """Return the contract of the demo, offered today."""
    return Offer(
        commercial_model=Purchase.PROVIDER,
        reference=SOURCE,
        offered_at=clock.now().date(),
        term_months=12,
        notice_months=3,
        transition="30 Tage Parallelbetrieb",
        data_return="Gewichte und Protokolle binnen 14 Tagen",
        export_format="safetensors, JSON",
        exit_cost_eur=Decimal(2000),
        exit_cost_reason="",
        switching_charges_eur=Decimal(0),
        switching_reason="Im Musterangebot enthalten",
    )


def measure(house: Demo, workload: Workload) -> None:
    """Hand in a measurement whose spread is small enough (G3-3), as the first walk does."""
    for _ in range(demo.MEASUREMENTS):
        if not demo.spread_of(workload):
            return
        hand_in_measurement(house, workload)
    if found := demo.spread_of(workload):
        raise DemoStopped(f"Dieser Rechner ist zu beschäftigt zum Messen. {found}")


def hand_in_measurement(house: Demo, workload: Workload) -> None:
    """Hand in a measurement signed with a key that the pilot lead registered for it."""
    lead = house.user("pl01")
    card, data = signed_measurement()
    key = measuring_keys.register_key(actor=lead, card=card, label=KEY_LABEL)
    results.import_baseline(
        actor=lead,
        workload_id=workload.pk,
        platform_id=PlatformProfile.objects.get(key=SERVER).pk,
        files=[ImportedFile(data, "messung.json")],
    )
    measuring_keys.revoke_key(actor=lead, key_id=key.pk)


def signed_measurement() -> tuple[str, bytes]:
    """Return the registration line of a new key, and what the measuring command signed with it; the key dies here."""
    with TemporaryDirectory(prefix="qms-demo-") as folder:
        key, out = Path(folder) / "schluessel.pem", Path(folder) / "messung.json"
        card = command("keygen", "--out", str(key)).splitlines()[-1]
        command("measure", "--model", MODEL, "--out", str(out), "--key", str(key))
        return card, out.read_bytes()


def command(*arguments: str) -> str:
    """Run the measuring command in a process of its own and return what it printed. Raises DemoStopped."""
    done = subprocess.run(
        [sys.executable, "-m", "pilots.baseline", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=settings.BASE_DIR,
    )
    if done.returncode:
        raise DemoStopped(f"Die Messung ist nicht bis zu einem Ergebnis gekommen: {done.stderr.strip()}")
    return done.stdout


def state_suitability(house: Demo, workload: Workload, case: Case) -> None:
    """State need and suitability: the response time is what the line waits for."""
    if hasattr(workload, "suitability"):
        return
    runs = Decimal(case.runs_per_month)
    data = SuitabilityData(
        org_profile=OrganisationProfile.ENTERPRISE,
        usage_kind=UsageKind.REGULAR,
        bottleneck_types=(BottleneckType.RESPONSE,),
        business_reason="Die Linie steht, bis das Ergebnis da ist; jede Millisekunde kostet Takt.",
        runs_per_month=runs,
        requests_per_day=int(SAMPLES_PER_RUN * runs / 30),
        team_size=8,
        primary_metrics=("throughput_samples_s", "e2e_latency_ms"),
        alternatives=(
            (AlternativeOption.OPTIMISED_GPU, "Bringt die Antwortzeit nicht unter den Takt der Linie."),
            (AlternativeOption.NO_CHANGE, "Der Takt bliebe, wie er ist."),
        ),
    )
    save_suitability(actor=house.user("wo01"), workload_id=workload.pk, data=data)


def state_costs(house: Demo, workload: Workload, case: Case) -> None:
    """Enter the cost sheet: the server by the hour of use, the wafer as reserved hours."""
    if evidence.current(workload).filter(type=EvidenceType.COSTS).exists():
        return
    today = clock.now().date()
    months = [(today.replace(day=1) - timedelta(days=30 * back)).strftime("%Y-%m") for back in (1, 2, 3)]
    cycle = {name: Decimal("0.1") for name in ("queue_h", "transfer_h", "compile_h", "evaluation_h")}
    entry = CostsEntry(
        result_unit="Lauf",
        units_per_month=Decimal(case.runs_per_month),
        volume_per_unit=SAMPLES_PER_RUN,
        baseline=SideEntry(
            Capacity.PAY_PER_USE,
            CommercialModel.EXISTING,
            Decimal(12),
            cycle=cycle,
            lines=lines(today, hour=Decimal(40), month={"TCO-07": Decimal(200)}),
        ),
        target=SideEntry(
            Capacity.RESERVED,
            CommercialModel.PROVIDER,
            Decimal(12),
            paid_hours_month=PAID_HOURS,
            cycle=cycle,
            lines=lines(
                today, hour=Decimal(40), month={"TCO-07": Decimal(300)}, once={"TCO-02": Decimal(6000)}
            ),
        ),
        demand_source="Produktionsplan (Musterdaten)",
        history=tuple((month, Decimal(case.runs_per_month)) for month in sorted(months)),
    )
    costs.enter_costs(actor=house.user("wo01"), workload_id=workload.pk, entry=entry)


def lines(
    today: date, *, hour: Decimal, month: Mapping[str, Decimal], once: Mapping[str, Decimal] | None = None
) -> dict[str, LineEntry]:
    """Return the eleven categories of one side: the hour, what is paid monthly and once, and zeros with a reason."""
    found: dict[str, LineEntry] = {}
    for code in ASKED:
        if code == COMPUTE:
            amount, basis = hour, Basis.HOUR
        elif once and code in once:
            amount, basis = once[code], Basis.ONCE
        else:
            amount, basis = month.get(code, Decimal(0)), Basis.MONTH
        reason = "" if amount else "In den übrigen Posten enthalten (Musterdaten)"
        found[code] = LineEntry(amount, basis, SOURCE, reason, today, Provenance.ESTIMATED)
    return found
