"""The evidence ZIP of a Freigabe whose model is a capture: the file lies in it for who may have it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from django.test import Client

from pilots import demo
from pilots.choices import EFFORT_LABELS
from qms.audit.actors import SYSTEM
from qms.audit.services import unit
from qms.core import jobs
from qms.core.values import Assurance, Axes, Origin, Provenance
from qms.evidence import services as evidence
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.roles import services as roles
from tests.pilots.capture_house import DATA, SHA256, changed, world
from tests.qms.web.evidence_zip import commands, download, type_in, unpack, url
from tests.walk import (
    BACKEND,
    JSON,
    World,
    address,
    assert_refused,
    kinds_since,
    log_size,
    nothing_but,
    screen,
)

__all__ = ["world"]
pytestmark = [pytest.mark.django_db, pytest.mark.needs("pango")]
RAW = b"a;b\n1;2\n"
NAME = f"{SHA256}.wgraph"


@pytest.fixture
def decided(world: World) -> World:
    """The house with effort stated, a file handed in with the baseline, and its request decided."""
    effort = {f"days_{category}": "1" for category in EFFORT_LABELS}
    assert world.browser("pl01").post(address("pilot_porting", world.workload_id), effort).status_code == 302
    item = EvidenceItem.objects.get(type="EV-02")
    handed_in = evidence.Submission(
        workload=item.workload,
        type=EvidenceType.BASELINE_REPORT,
        title=item.title,
        facts=item.facts(),
        axes=Axes(Provenance(item.provenance), Assurance(item.assurance), Origin(item.origin)),
        producer=item.producer,
        measured_at=item.measured_at,
        run_id=item.run_id,
        raw=RAW,
        raw_name="../..\\Werte.Csv",
    )
    with unit(actor=SYSTEM):
        evidence.submit(actor=SYSTEM, submission=handed_in)
    world.approval_id = demo.request_approval(world.demo, world.workload).pk
    demo.review(world.demo, world.approval)
    demo.decide(world.demo, world.approval)
    return world


@pytest.fixture
def sealed(decided: World) -> World:
    """The house with its document sealed."""
    jobs.run_pending()
    return decided


def test_with_the_model_file_the_run_gives_the_same_digest(sealed: World, tmp_path: Path) -> None:
    size = log_size()
    files = unpack(download(sealed, "pl01"), tmp_path)
    assert kinds_since(size)[-1] == "ARTEFAKT_ABGERUFEN"
    assert files[NAME] == DATA
    assert files[f"EV-02-rohdatei-{hashlib.sha256(RAW).hexdigest()[:12]}.Csv"] == RAW
    first, second = commands(files)
    assert "Nachrechnung: gleich –" in type_in(first, tmp_path).stdout
    assert type_in(second, tmp_path).returncode == 0
    (tmp_path / NAME).unlink()
    assert "Nachrechnung: nicht geprüft –" in type_in(first, tmp_path).stdout


def test_who_decides_gets_the_evidence_without_the_weights(sealed: World, tmp_path: Path) -> None:
    size = log_size()
    files = unpack(download(sealed, "fg01"), tmp_path)
    assert NAME not in files
    assert "Die Modelldatei liegt nicht bei" in files["LIESMICH.txt"].decode()
    assert "ARTEFAKT_ABGERUFEN" not in kinds_since(size)


def test_a_service_account_gets_the_evidence_without_the_weights(sealed: World, tmp_path: Path) -> None:
    owner = sealed.user("wo01")
    service = roles.register_service_account(
        actor=sealed.user("ad01"), username="dienst", person_id=owner.person_id
    )
    browser = Client()
    browser.force_login(service, backend=BACKEND)
    size = log_size()
    files = unpack(b"".join(browser.get(url(sealed)).streaming_content), tmp_path)
    assert NAME not in files
    assert "Die Modelldatei liegt nicht bei" in files["LIESMICH.txt"].decode()
    assert "ARTEFAKT_ABGERUFEN" not in kinds_since(size)


def test_a_damaged_model_file_is_not_handed_out(sealed: World) -> None:
    message = "Die Modelldatei fehlt, oder ihre Prüfsumme stimmt nicht mehr."
    for data in (b"{}", None):
        with changed(SHA256, data), nothing_but("GATE_NICHT_ERFUELLT"):
            answer = sealed.browser("pl01").get(url(sealed), headers=JSON)
        assert_refused(answer, status=422, code="GATE_NICHT_ERFUELLT", id="G0-5", message=message)


def refused(world: World, message: str) -> None:
    """There is nothing to hand out yet, and the page offers nothing."""
    assert "Nachweise als ZIP" not in screen(
        world.browser("fg01").get(address("approval", world.approval_id))
    )
    with nothing_but("DOKUMENT_VERWEIGERT"):
        answer = world.browser("fg01").get(url(world), headers=JSON)
    assert_refused(answer, status=409, code="DOKUMENT_VERWEIGERT", id="G7-9", message=message)


def test_there_is_none_before_the_decision(world: World) -> None:
    world.approval_id = demo.request_approval(world.demo, world.workload).pk
    refused(world, "Kein Freigabedokument ohne Entscheidung. Verfügbar: Gate-Bericht (G7-9).")


def test_there_is_none_before_the_seal(decided: World) -> None:
    refused(decided, "Das Freigabedokument ist noch nicht gesiegelt (G7-9).")
