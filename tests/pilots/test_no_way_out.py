"""Ways to leave a comparison that went badly are closed: what is better evidence is not replaced by weaker (EM-12)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from pilots.models import Run
from qms.core import clock, jobs
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from tests.pilots.test_announced import announce, hand_in, load_at, real_system
from tests.walk import JSON, World, address, assert_refused, nothing_but, platform, screen, world

__all__ = ["world"]
STAGE: Final = "measured"
pytestmark = pytest.mark.django_db
FILES: Final = Path(__file__).parent / "baseline" / "files"
LOAD: Final = "vllm-0.33.0_serve_ok_20req.json"
IN_USE: Final = "DISKRET-4GPU"
KEPT: Final = "Es gibt schon eine Vergleichsbasis der bisherigen Plattform; ein Entwicklungsrechner ersetzt sie nicht (EM-12)."


def upload(world: World, profile: str, **more: Any) -> Any:
    file = SimpleUploadedFile(LOAD, (FILES / LOAD).read_bytes())
    data = {"file": file, "platform": platform(profile), "only_file": "1"}
    return world.browser("pl01").post(address("pilot_baseline", world.workload_id), data, **more)


def measure_here(world: World, **more: Any) -> Any:
    url = address("pilot_baseline", world.workload_id)
    return world.browser("pl01").post(url, {"platform": platform("DIESER-RECHNER")}, **more)


def review(world: World, item: EvidenceItem, accept: str) -> None:
    data = {"accept": accept, "compared_with": "", "reason": "Falsche Datei."}
    assert world.browser("pr01").post(address("evidence_review", item.pk), data).status_code == 302


def baseline() -> EvidenceItem:
    return EvidenceItem.objects.get(type="EV-02", replaced_by=None)


def test_a_development_machine_first_and_the_platform_in_use_later_is_the_normal_way(world: World):
    assert gates.report(world.workload).gap is not None
    assert upload(world, IN_USE).status_code == 302
    assert gates.report(world.workload).gap is None


@pytest.mark.parametrize("send", [lambda world: upload(world, "DIESER-RECHNER", headers=JSON), measure_here])
def test_a_development_machine_replaces_no_baseline_of_the_platform_in_use(world: World, send: Any):
    upload(world, IN_USE)
    before = baseline()
    with nothing_but("LAUF_VERWEIGERT"):
        answer = send(world) if send is not measure_here else measure_here(world, headers=JSON)
    assert_refused(answer, status=409, code="LAUF_VERWEIGERT", id="T-11", message=KEPT)
    assert baseline() == before
    assert gates.report(world.workload).verdict is not None


def test_what_is_refused_is_not_offered(world: World):
    page = lambda: screen(world.browser("pl01").get(address("pilot_baseline", world.workload_id)))  # noqa: E731
    assert "Messung starten" in page()
    upload(world, IN_USE)
    shown = page()
    assert "Messung starten" not in shown
    assert f"{KEPT} Ist sie falsch, lehnt die prüfende Person sie ab; dann messen Sie neu." in shown


def test_the_platform_in_use_may_be_measured_again(world: World):
    upload(world, IN_USE)
    first = baseline()
    assert upload(world, IN_USE).status_code == 302
    assert baseline() != first


def test_once_the_reviewer_rejected_it_a_development_machine_may_follow(world: World):
    upload(world, IN_USE)
    review(world, baseline(), "nein")
    assert upload(world, "DIESER-RECHNER").status_code == 302


def test_a_measurement_of_this_machine_that_still_runs_keeps_files_from_being_handed_in(world: World):
    assert measure_here(world).status_code == 302
    with nothing_but("LAUF_VERWEIGERT"):
        answer = upload(world, IN_USE, headers=JSON)
    assert_refused(
        answer,
        status=409,
        code="LAUF_VERWEIGERT",
        id="T-11",
        message="Für diesen Workload läuft bereits ein Lauf dieser Art (T-11).",
    )
    jobs.run_pending()
    assert upload(world, IN_USE).status_code == 302
    assert gates.report(world.workload).gap is None


def emulate(world: World) -> None:
    url = address("pilot_target", world.workload_id)
    assert world.browser("pl01").post(url, {"platform": platform("WSE-2")}).status_code == 302


def target() -> EvidenceItem:
    return EvidenceItem.objects.get(type="EV-04", replaced_by=None)


@pytest.mark.parametrize("started", ["after", "before"])
def test_an_emulation_replaces_no_target_run_measured_on_a_real_system(world: World, started: str):
    """Whether the emulation starts after the files came or still runs then; its other evidence counts."""
    real_system(world)
    announce(world)
    if started == "before":
        emulate(world)
    hand_in(world, load_at(clock.now()))
    measured = target()
    if started == "after":
        emulate(world)
    jobs.run_pending()
    assert target() == measured
    assert measured.provenance == "GEMESSEN"
    emulated = EvidenceItem.objects.get(type="EV-04", provenance="EMULIERT")
    assert (emulated.replaced_by, emulated.status) == (measured, "NEU")
    assert EvidenceItem.objects.filter(type="EV-16", replaced_by=None).count() == 1
    shown = screen(world.browser("pl01").get(address("evidence", emulated.pk)))
    assert "ersetzt" in shown


def test_an_emulation_follows_a_measured_target_run_that_was_rejected(world: World):
    real_system(world)
    announce(world)
    hand_in(world, load_at(clock.now()))
    review(world, target(), "nein")
    emulate(world)
    jobs.run_pending()
    found = EvidenceItem.objects.get(type="EV-04", status="NEU")
    assert (found.provenance, found.replaced_by) == ("EMULIERT", None)
    assert Run.objects.filter(role="ZIEL").count() == 2
