"""Target runs on a real system: announced before, handed in after, invalid if they began earlier (T-11, G4-5, G4-7)."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from pilots.models import Run
from qms.core import clock
from qms.core.clock import timestamp
from qms.evidence.models import EvidenceItem
from qms.gates import evidence_facts
from qms.gates import services as gates
from qms.gates.choices import ApprovalType
from qms.roles.roles import Role
from qms.workloads.choices import PlatformKind
from qms.workloads.models import PlatformProfile
from qms.workloads.services import platforms
from qms.workloads.services.platforms import PlatformData
from tests.walk import JSON, World, address, assert_refused, nothing_but, platform, recorded, screen, world

__all__ = ["world"]
STAGE: Final = "measured"
pytestmark = pytest.mark.django_db
FILES: Final = Path(__file__).parent / "baseline" / "files"
TRACE: Final = "nccl_world128_sampled_rank0.json.gz"


def real_system(world: World, **changes: Any) -> PlatformProfile:
    data = PlatformData(
        name="CS-3 beim Anbieter",
        kind=PlatformKind.WAFER_SCALE,
        is_existing=False,
        provider="Anbieter",
        hardware_gen="WSE-3",
        system_release="CS-3 2.5",
        framework_release="SDK 2.5",
        operating_model="Cloud",
    )
    values = {name: getattr(data, name) for name in PlatformData.__slots__} | changes
    return platforms.register_platform(actor=world.user("ad01"), data=PlatformData(**values))


def announce(world: World, name: str = "pl01", key: str | None = None, **headers: Any) -> Any:
    chosen = key or str(PlatformProfile.objects.get(kind="WAFER_SCALE", is_emulated=False).pk)
    return world.browser(name).post(
        address("pilot_announce", world.workload_id), {"platform": chosen}, **headers
    )


def load_at(moment: datetime | None, *, zone: bool = True) -> bytes:
    """Return an AIPerf file that began then; None: without a time."""
    found = json.loads((FILES / "aiperf-0.13.0_ok_profile_export_aiperf.json").read_bytes())
    found.pop("start_time", None)
    if moment is not None:
        found["start_time"] = moment.isoformat() if zone else moment.replace(tzinfo=None).isoformat()
    return json.dumps(found).encode()


def hand_in(world: World, data: bytes, name: str = "pl01", headers: Any = None, **fields: str) -> Any:
    run = Run.objects.get(announced_at__isnull=False, exit_state="")
    sent = {"file": [SimpleUploadedFile("lauf.json", data)]} | fields
    return world.browser(name).post(address("run_hand_in", run.pk), sent, headers=headers)


def test_without_a_real_system_the_page_says_how_to_get_one(world: World):
    page = world.browser("pl01").get(address("pilot_announce", world.workload_id))
    shown = screen(page)
    assert "Noch kein echtes System erfasst" in shown
    assert "Zu den Plattformen" in shown
    assert "<select" not in page.content.decode().split("<main")[1]


def test_a_run_on_another_platform_than_the_pilots_is_warned_of_and_leaves_its_evidence_open(world: World):
    real_system(world)
    warning = f"gelten der Plattform des Pilots: {world.workload.pilot.platform.name}."
    for name in ("pilot_announce", "pilot_target"):
        assert warning in screen(world.browser("pl01").get(address(name, world.workload_id)))
    announce(world)
    assert hand_in(world, load_at(clock.now())).status_code == 302
    facts = gates.facts_for(world.workload, ApprovalType.PRELIMINARY, at=clock.now())
    planned = world.workload.pilot.platform.name
    assert facts.platforms_differ == ("CS-3 beim Anbieter", planned)


def test_announcing_freezes_the_criteria_before_anything_is_measured(world: World):
    real_system(world)
    with recorded("KRITERIEN_EINGEFROREN", "LAUF_ANGEKUENDIGT"):
        answer = announce(world)
    assert answer.status_code == 302
    run = Run.objects.get(role="ZIEL")
    workload = world.workload
    assert (run.source, run.exit_state, run.validity) == ("IMPORT", "", "")
    assert run.criteria_sha256 == workload.criteria_sha256
    assert workload.criteria_frozen_at == run.announced_at
    shown = screen(world.browser("pl01").get(answer["Location"]))
    assert "Angekündigter Lauf" in shown
    assert "Messdateien einreichen" in shown


@pytest.mark.parametrize("key", ["WSE-2", "DISKRET-4GPU"])
def test_only_a_real_wafer_scale_system_can_be_announced(world: World, key: str):
    real_system(world)
    with nothing_but(""):
        answer = announce(world, key=platform(key), headers=JSON)
    assert answer.status_code == 422


@pytest.mark.parametrize("gap", ["system_release", "framework_release", "operating_model"])
def test_an_incomplete_platform_tuple_cannot_be_announced(world: World, gap: str):
    real_system(world, **{gap: ""})
    with nothing_but(""):
        answer = announce(world, headers=JSON)
    assert answer.status_code == 422
    assert "Noch kein echtes System" in screen(
        world.browser("pl01").get(address("pilot_announce", world.workload_id))
    )


def test_a_second_announcement_is_refused(world: World):
    real_system(world)
    announce(world)
    with nothing_but("LAUF_VERWEIGERT", id="T-11"):
        answer = announce(world, headers=JSON)
    assert_refused(
        answer,
        status=409,
        code="LAUF_VERWEIGERT",
        id="T-11",
        message="Für diesen Workload ist bereits ein Lauf angekündigt (T-11).",
    )


def test_who_may_not_start_runs_announces_none(world: World):
    real_system(world)
    with nothing_but("ZUGRIFF_VERWEIGERT"):
        assert announce(world, "au01", headers=JSON).status_code == 403


def test_an_announcement_does_not_keep_an_emulation_from_starting(world: World):
    real_system(world)
    announce(world)
    answer = world.browser("pl01").post(
        address("pilot_target", world.workload_id), {"platform": platform("WSE-2")}
    )
    assert answer.status_code == 302
    assert Run.objects.filter(role="ZIEL", source="EMULATOR").count() == 1


def test_a_measured_target_run_becomes_evidence_the_gates_can_read(world: World):
    real_system(world)
    announce(world)
    run = Run.objects.get(role="ZIEL")
    began = run.announced_at
    with recorded("NACHWEIS_EINGEREICHT", "LAUF_BEENDET"):
        answer = hand_in(world, load_at(began))
    assert answer.status_code == 302
    run.refresh_from_db()
    assert (run.exit_state, run.validity, run.started_at) == ("BEENDET", "GUELTIG", began)
    item = EvidenceItem.objects.get(type="EV-04")
    assert (item.provenance, item.assurance, item.origin) == ("GEMESSEN", "EINGEREICHT", "EIGEN")
    facts = item.facts()
    assert (facts["source"], facts["role"], facts["fingerprint"]) == ("IMPORT", "ZIEL", "")
    assert facts["announced_at"] == timestamp(began)
    read = evidence_facts.target_from(facts)
    assert read.emulated is False
    assert (read.started_at, read.criteria_sha256) == (began, run.criteria_sha256)
    assert read.platform.hardware_gen == "WSE-3"
    assert {row.axes.provenance.value for row in read.metrics} == {"GEMESSEN"}
    shown = screen(world.browser("pl01").get(answer["Location"]))
    assert "Erkannte Dateien" in shown
    assert "emuliert" not in shown


def test_a_measurement_that_began_before_the_announcement_is_invalid(world: World):
    real_system(world)
    announce(world)
    run = Run.objects.get(role="ZIEL")
    with recorded("NACHWEIS_EINGEREICHT", "LAUF_BEENDET", "LAUF_UNGUELTIG"):
        answer = hand_in(world, load_at(run.announced_at - timedelta(microseconds=1)))
    assert answer.status_code == 302
    run.refresh_from_db()
    assert (run.exit_state, run.validity) == ("BEENDET", "UNGUELTIG")
    assert EvidenceItem.objects.get(type="EV-04").status == "UNGUELTIG"
    assert "Die Messung begann vor der Ankündigung (G4-5)" in screen(
        world.browser("pl01").get(answer["Location"])
    )


def test_an_invalid_run_replaces_no_evidence(world: World):
    real_system(world)
    announce(world)
    hand_in(world, load_at(clock.now()))
    good = EvidenceItem.objects.get(type="EV-04")
    announce(world)
    run = Run.objects.get(role="ZIEL", exit_state="")
    hand_in(world, load_at(run.announced_at - timedelta(seconds=1)))
    good.refresh_from_db()
    assert (good.replaced_by, good.status) == (None, "NEU")


@pytest.mark.parametrize(
    ("zone", "fields", "sentence"),
    [
        (None, {}, "Keine Datei nennt den Beginn der Messung; bitte geben Sie ihn an."),
        (False, {}, "Die Datei nennt keine Zeitzone; bitte geben Sie die der Messung an."),
    ],
)
def test_a_start_the_files_do_not_tell_is_asked(
    world: World, zone: bool | None, fields: dict[str, str], sentence: str
):
    real_system(world)
    announce(world)
    data = load_at(None if zone is None else clock.now(), zone=bool(zone))
    with nothing_but("NACHWEIS_VERWEIGERT", id="EV-04"):
        page = hand_in(world, data, **fields)
    assert page.status_code == 422
    assert sentence in screen(page)


@pytest.mark.parametrize(("minutes", "validity"), [(0, "GUELTIG"), (30, "UNGUELTIG")])
def test_the_zone_of_a_clock_without_one_decides(world: World, minutes: int, validity: str):
    real_system(world)
    announce(world)
    data = load_at(Run.objects.get(role="ZIEL").announced_at, zone=False)
    assert hand_in(world, data, utc_offset=str(minutes)).status_code == 302
    run = Run.objects.get(role="ZIEL")
    assert run.validity == validity
    assert EvidenceItem.objects.get(type="EV-04").facts()["started_at_stated_by"] == "PERSON"


def test_a_stated_start_counts_where_no_file_gives_one(world: World):
    real_system(world)
    with clock.at(clock.now().replace(second=0, microsecond=0)):
        announce(world)
        local = clock.now() + timedelta(hours=2)
        answer = hand_in(world, load_at(None), began_at=f"{local:%Y-%m-%dT%H:%M}", utc_offset="120")
    assert answer.status_code == 302
    run = Run.objects.get(role="ZIEL")
    assert (run.validity, run.started_at) == ("GUELTIG", run.announced_at)


def test_a_stated_start_needs_its_zone(world: World):
    real_system(world)
    announce(world)
    with nothing_but(""):
        page = hand_in(world, load_at(None), began_at="2026-11-30T10:00")
    assert page.status_code == 422
    assert "Bitte nennen Sie die Zeitzone des Beginns." in screen(page)


@pytest.mark.parametrize(("ahead", "status"), [(5, 302), (6, 422)])
def test_a_start_in_the_future_is_refused(world: World, ahead: int, status: int):
    real_system(world)
    with clock.at(clock.now()):
        announce(world)
        assert hand_in(world, load_at(clock.now() + timedelta(minutes=ahead))).status_code == status


def test_a_trace_alone_is_no_target_run(world: World):
    real_system(world)
    announce(world)
    with nothing_but("NACHWEIS_VERWEIGERT"):
        page = hand_in(world, (FILES / TRACE).read_bytes(), began_at="2099-01-01T00:00", utc_offset="0")
    assert page.status_code == 422


def test_an_announcement_can_be_taken_back_and_the_criteria_stay_frozen(world: World):
    real_system(world)
    announce(world)
    run = Run.objects.get(role="ZIEL")
    with recorded("LAUF_ABGEBROCHEN"):
        assert world.browser("pl01").post(address("run_withdraw", run.pk)).status_code == 302
    run.refresh_from_db()
    assert run.exit_state == "ABGEBROCHEN"
    assert world.workload.criteria_frozen_at is not None
    for name, data in (
        ("run_withdraw", {}),
        ("run_hand_in", {"file": [SimpleUploadedFile("a", load_at(clock.now()))]}),
    ):
        answer = world.browser("pl01").post(address(name, run.pk), data, headers=JSON)
        assert_refused(
            answer,
            status=409,
            code="AENDERUNG_VERWEIGERT",
            id="T-11",
            message="Für diesen Lauf ist keine Ankündigung offen.",
        )


def test_only_a_result_that_counts_is_the_latest_target_run(world: World):
    real_system(world)
    announce(world)
    run = Run.objects.get(role="ZIEL")
    browser, url = world.browser("pl01"), address("pilot_target", world.workload_id)
    assert "Ein Lauf auf einem echten System ist angekündigt." in screen(browser.get(url))
    assert "Letzter Ziellauf" not in screen(browser.get(url))
    hand_in(world, load_at(run.announced_at))
    assert "Letzter Ziellauf" in screen(browser.get(url))
    assert "ist angekündigt" not in screen(browser.get(url))


def test_the_target_page_leads_to_the_announcement(world: World):
    page = world.browser("pl01").get(address("pilot_target", world.workload_id)).content.decode()
    assert f'href="{address("pilot_announce", world.workload_id)}"' in page


def test_who_handed_the_files_in_produced_them_and_accepts_them_not(world: World):
    """The one who announced chose no file (SoD-03)."""
    real_system(world)
    announce(world)
    hand_in(world, load_at(clock.now()), "wo01")
    item = EvidenceItem.objects.get(type="EV-04")
    assert item.producer == world.user("wo01").person
    world.grant("wo01", Role.REVIEWER)
    data = {"accept": "ja", "compared_with": "", "reason": ""}
    with nothing_but("SOD_VERLETZUNG", id="SoD-03"):
        answer = world.browser("wo01").post(address("evidence_review", item.pk), data, headers=JSON)
    assert answer.status_code == 403
