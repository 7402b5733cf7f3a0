"""Evidence taken over from the platform in a Freigabe: pinned, printed, re-hashed, and what ends it (spec 3.7.5)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from pilots import demo
from qms.approvals import dossier, selectors
from qms.approvals.dossier import BuiltDossier
from qms.approvals.sections_record import attachments
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core import clock, formats, jobs, store
from qms.core.errors import CriterionNotMet, WrongState
from qms.evidence import holders, services
from qms.evidence.holders import Recording
from qms.evidence.models import EvidenceItem
from qms.workloads.models import PlatformProfile
from tests.qms.evidence.test_holder_rules import LEVELS
from tests.qms.web.evidence_zip import commands, download, type_in, unpack
from tests.walk import World, address, screen, world

__all__ = ["world"]
STAGE = "emulated"
pytestmark = pytest.mark.django_db
YEAR = timedelta(days=365)


@pytest.fixture
def levels(world: World) -> EvidenceItem:
    """The three levels of WSE-2, recorded by the owner and accepted by the reviewer."""
    item = recorded(world)
    services.review_evidence(
        actor=world.user("pr01"), evidence_id=item.pk, accept=True, compared_with="Messprotokoll", reason=""
    )
    item.refresh_from_db()
    return item


def recorded(world: World) -> EvidenceItem:
    return holders.record_at_holder(
        actor=world.user("wo01"),
        holder_id=PlatformProfile.objects.get(key="WSE-2").pk,
        recording=Recording(LEVELS, timezone.localdate(clock.now()) + YEAR),
        longest=YEAR,
    )


@contextmanager
def changed(item: EvidenceItem) -> Iterator[None]:
    path = store.path(item.facts_sha256)
    good = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(good + b" ")
    try:
        yield
    finally:
        path.write_bytes(good)


def requested(world: World) -> None:
    world.approval_id = demo.request_approval(world.demo, world.workload).pk


def row_of(content: dict[str, object], item: EvidenceItem) -> dict[str, object]:
    return next(row for row in content["evidence"] if row["id"] == str(item.pk))  # type: ignore[attr-defined]


def test_the_dossier_pins_it_with_its_holder_and_its_last_day(world: World, levels: EvidenceItem):
    requested(world)
    row = row_of(dossier.current(world.approval), levels)
    assert row["facts_sha256"] == levels.facts_sha256
    assert row["inherited_from"] == {"kind": "PlatformProfile", "name": "WSE-2 (emuliert)"}
    assert levels.valid_until is not None
    assert row["valid_until"] == levels.valid_until.isoformat()
    assert row["reviewer"] == world.user("pr01").person.pid
    own = [found for found in dossier.current(world.approval)["evidence"] if found["type"] == "EV-02"]
    assert "inherited_from" not in own[0]


def test_pages_and_document_say_from_where_and_until_when(world: World, levels: EvidenceItem):
    requested(world)
    assert levels.valid_until is not None
    words = f"übernommen von WSE-2 (emuliert), gültig bis {formats.day(levels.valid_until)}"
    for name, page, key in (
        ("wo01", "workload", world.workload_id),
        ("wo01", "approval", world.approval_id),
        ("pr01", "approval_review", world.approval_id),
    ):
        assert words in screen(world.browser(name).get(address(page, key)))
    rows = attachments(world.workload)["blocks"][0]["rows"]
    assert [row[1] for row in rows if row[0] == "EV-19"] == [f"Dreiebenenbewertung, {words}"]


def test_a_freigabe_rests_on_it_through_review_and_decision(world: World, levels: EvidenceItem):
    requested(world)
    demo.review(world.demo, world.approval)
    demo.decide(world.demo, world.approval)
    approval = world.approval
    assert approval.status == "FREIGEGEBEN"
    assert row_of(dossier.current(approval), levels)
    assert not selectors.is_outdated(approval)
    assert approval.workload.evidence.filter(pk=levels.pk).count() == 0


def test_a_renewal_makes_an_open_request_stale(world: World, levels: EvidenceItem):
    requested(world)
    newer = recorded(world)
    assert isinstance(dossier.check_current(world.approval), BuiltDossier)  # nobody has accepted it
    services.review_evidence(
        actor=world.user("pr01"), evidence_id=newer.pk, accept=True, compared_with="", reason=""
    )
    with pytest.raises(WrongState):
        dossier.check_current(world.approval)


def test_the_end_of_its_validity_makes_an_open_request_stale(world: World, levels: EvidenceItem):
    requested(world)
    with clock.at(clock.now() + YEAR + timedelta(days=1)), pytest.raises(WrongState):
        dossier.check_current(world.approval)


def test_a_changed_file_at_the_platform_stops_the_decision_and_outdates_what_rests_on_it(
    world: World, levels: EvidenceItem
):
    requested(world)
    demo.review(world.demo, world.approval)
    with changed(levels), pytest.raises(CriterionNotMet) as refusal:
        demo.decide(world.demo, world.approval)
    assert refusal.value.id == "G7-4"
    levels.refresh_from_db()
    assert levels.status == "MANIPULIERT"


def test_a_decided_freigabe_is_outdated_when_what_it_took_over_is_no_longer_valid(
    world: World, levels: EvidenceItem
):
    requested(world)
    demo.review(world.demo, world.approval)
    demo.decide(world.demo, world.approval)
    with unit(actor=SYSTEM):
        EvidenceItem.objects.filter(pk=levels.pk).update(status="UNGUELTIG")
        record(AuditKind.EVIDENCE_INVALIDATED, actor=SYSTEM, subject=levels)
    approval = world.approval
    assert selectors.is_outdated(approval)
    assert selectors.forces([approval])[approval.pk].outdated


@pytest.mark.needs("pango")
def test_the_evidence_zip_holds_it_and_the_sealed_document_verifies(
    world: World, levels: EvidenceItem, tmp_path: Path
):
    requested(world)
    demo.review(world.demo, world.approval)
    demo.decide(world.demo, world.approval)
    jobs.run_pending()
    files = unpack(download(world, "wo01"), tmp_path)
    assert hashlib.sha256(files[f"EV-19-{levels.facts_sha256[:12]}.json"]).hexdigest() == levels.facts_sha256
    first, _second = commands(files)
    verified = type_in(first, tmp_path)
    assert (verified.returncode, verified.stderr) == (3, "")  # no trust anchor was given
