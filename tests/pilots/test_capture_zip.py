"""The evidence ZIP of a Freigabe whose model is a capture: the file lies in it for who may have it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from pilots import demo
from qms.core import jobs
from qms.roles import services as roles
from tests.pilots.capture_house import DATA, SHA256, changed, world
from tests.qms.web.evidence_zip import commands, download, type_in, unpack, url
from tests.walk import BACKEND, JSON, World, assert_refused, kinds_since, log_size, nothing_but

__all__ = ["world"]
pytestmark = [pytest.mark.django_db, pytest.mark.needs("pango")]
NAME = f"{SHA256}.wgraph"


@pytest.fixture
def sealed(world: World) -> World:
    """The house with its request decided and sealed."""
    world.approval_id = demo.request_approval(world.demo, world.workload).pk
    demo.review(world.demo, world.approval)
    demo.decide(world.demo, world.approval)
    jobs.run_pending()
    return world


def test_with_the_model_file_the_run_gives_the_same_digest(sealed: World, tmp_path: Path) -> None:
    size = log_size()
    files = unpack(download(sealed, "fg01"), tmp_path)
    assert kinds_since(size)[-1] == "ARTEFAKT_ABGERUFEN"
    assert files[NAME] == DATA
    first, second = commands(files)
    assert "Nachrechnung: gleich –" in type_in(first, tmp_path).stdout
    assert type_in(second, tmp_path).returncode == 0
    (tmp_path / NAME).unlink()
    assert "Nachrechnung: nicht geprüft –" in type_in(first, tmp_path).stdout


def test_without_the_right_to_the_record_the_model_file_stays_here(sealed: World, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("data", [b"{}", None])
def test_a_damaged_model_file_is_not_handed_out(sealed: World, data: bytes | None) -> None:
    with changed(SHA256, data), nothing_but("GATE_NICHT_ERFUELLT"):
        answer = sealed.browser("fg01").get(url(sealed), headers=JSON)
    message = "Die Modelldatei fehlt, oder ihre Prüfsumme stimmt nicht mehr."
    assert_refused(answer, status=422, code="GATE_NICHT_ERFUELLT", id="G0-5", message=message)


def test_there_is_none_before_the_decision(world: World) -> None:
    world.approval_id = demo.request_approval(world.demo, world.workload).pk
    with nothing_but("DOKUMENT_VERWEIGERT"):
        answer = world.browser("fg01").get(url(world), headers=JSON)
    message = "Kein Freigabedokument ohne Entscheidung. Verfügbar: Gate-Bericht (G7-9)."
    assert_refused(answer, status=409, code="DOKUMENT_VERWEIGERT", id="G7-9", message=message)
