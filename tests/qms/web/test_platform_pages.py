"""Platforms and the organisation: recorded once through the pages, reviewed by somebody else, taken over by workloads."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from qms.core import clock, formats, store
from qms.evidence import selectors
from qms.evidence.choices import EvidenceType
from qms.evidence.holder_choices import (
    CRITERIA_OF,
    CapabilityArea,
    EnvironmentItem,
    PlatformLevel,
)
from qms.evidence.holders import MAX_FILE_BYTES
from qms.evidence.models import EvidenceItem
from qms.workloads.models import PlatformProfile
from qms.workloads.services import platforms
from tests.qms.web import workload_world
from tests.qms.web.workload_world import World
from tests.walk import screen

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return workload_world.build()


@pytest.fixture
def wafer(world: World) -> PlatformProfile:
    return PlatformProfile.objects.get(key="WSE-2")


def a_year() -> str:
    return (timezone.localdate(clock.now()) + timedelta(days=365)).isoformat()


def levels_post(**changes: str) -> dict[str, str]:
    """Return what a person sends: 3 and 2 for the first two criteria of each level."""
    found = {"valid_until": a_year()}
    for level in PlatformLevel:
        first, second = CRITERIA_OF[level][:2]
        found |= {f"score_{first.value}": "3", f"score_{second.value}": "2"}
        found[f"assessor_{level.value}"] = f"Bewertung {level.value}"
        found[f"evidence_{level.value}"] = f"Unterlage {level.value}"
    return found | changes


def offer_post(**changes: Any) -> dict[str, Any]:
    found = {
        "commercial_model": "PROVIDER",
        "reference": "Angebot 4711",
        "offered_at": timezone.localdate(clock.now()).isoformat(),
        "term_months": "12",
        "notice_months": "2",
        "transition": "30 Tage",
        "data_return": "30 Tage abrufbar",
        "export_format": "Parquet",
        "exit_cost_eur": "5.000",
        "switching_charges_eur": "0",
        "switching_reason": "Vom Anbieter zugesagt",
    }
    return found | changes


def environment_post(**changes: str) -> dict[str, str]:
    found = {"valid_until": a_year()}
    for item in EnvironmentItem:
        found |= {f"status_{item.value}": "GEKLAERT", f"responsible_{item.value}": "Plattformbetrieb"}
    return found | changes


def capability_post(**changes: str) -> dict[str, str]:
    found = {"valid_until": a_year()}
    for area in CapabilityArea:
        found |= {f"responsible_{area.value}": "Team Betrieb", f"evidence_{area.value}": "Betriebshandbuch"}
    return found | changes


def send(browser: Client, name: str, wafer: PlatformProfile, data: dict[str, Any]) -> Any:
    args = [] if name.startswith("organisation") else [wafer.pk]
    return browser.post(reverse(name, args=args), data)


def accept(world: World, item: EvidenceItem, **changes: str) -> Any:
    data = {"accept": "ja", "compared_with": "Angebotsunterlagen"} | changes
    return world.client("pr01").post(reverse("evidence_review", args=[item.pk]), data)


FORMS = (
    ("platform_levels", levels_post, "EV-19"),
    ("platform_offer", offer_post, "EV-20"),
    ("platform_environment", environment_post, "EV-26"),
    ("organisation_capability", capability_post, "EV-27"),
)


@pytest.mark.parametrize(("name", "data", "code"), FORMS)
def test_what_is_recorded_once_is_reviewed_there_and_taken_over(
    world: World, wafer: PlatformProfile, name: str, data: Any, code: str
):
    workload = world.register()
    world.answer(workload)
    world.set_criteria(workload)
    owner = world.client("wo01")
    form = owner.get(reverse(name, args=[] if code == "EV-27" else [wafer.pk]))
    assert form.status_code == 200
    assert send(owner, name, wafer, data()).status_code == 302
    item = EvidenceItem.objects.get(type=code)
    assert (item.status, item.workload_id, item.provenance) == ("NEU", None, "GESCHAETZT")
    assert selectors.counting(workload) == []  # nobody has reviewed it
    page = owner.get(reverse("evidence", args=[item.pk])).content.decode()
    assert "Eigene Nachweise dürfen nicht selbst geprüft werden (SoD-03)." in page
    assert accept(world, item).status_code == 302
    item.refresh_from_db()
    assert (item.status, item.assurance) == ("GEPRUEFT", "GEGENGEPRUEFT")
    assert selectors.counting(workload) == [item]
    shown = owner.get(
        reverse("organisation" if code == "EV-27" else "platform", args=[] if code == "EV-27" else [wafer.pk])
    )
    assert formats.day(item.valid_until) in shown.content.decode()
    assert owner.get(reverse("platforms")).status_code == 200


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        (
            "platform_levels",
            levels_post(assessor_SOFTWARE="Bewertung HARDWARE"),
            "Jede Ebene braucht eine andere",
        ),
        (
            "platform_levels",
            levels_post(score_KAPAZITAET="", score_VERKEHR_AUSSERHALB=""),
            "mindestens eine Note",
        ),
        ("platform_levels", levels_post(valid_until="2020-01-01"), "in der Vergangenheit (POL-60)"),
        ("platform_offer", offer_post(switching_reason=""), "0 € brauchen eine Begründung"),
        ("platform_offer", offer_post(offered_at="2999-01-01"), "nicht in der Zukunft"),
        ("platform_offer", offer_post(offered_at="9999-12-31"), "nicht in der Zukunft"),
        (
            "platform_environment",
            environment_post(status_KUEHLUNG="ENTFAELLT"),
            "„entfällt“ braucht eine Begründung",
        ),
        ("organisation_capability", capability_post(evidence_AUSLASTUNG=""), "Zu jeder zuständigen Person"),
    ],
)
def test_what_the_rules_refuse_is_said_on_the_form_and_the_values_stay(
    world: World, wafer: PlatformProfile, name: str, data: dict[str, str], sentence: str
):
    answer = send(world.client("wo01"), name, wafer, data)
    assert answer.status_code == 422
    assert sentence in screen(answer)
    assert 'value="2' in answer.content.decode()
    assert not EvidenceItem.objects.exists()


@pytest.mark.parametrize("name", [name for name, _data, _code in FORMS])
def test_an_empty_form_names_its_fields_to_people_and_to_machines(
    world: World, wafer: PlatformProfile, name: str
):
    browser = world.client("wo01")
    assert send(browser, name, wafer, {}).status_code == 422
    args = [] if name.startswith("organisation") else [wafer.pk]
    answer = browser.post(reverse(name, args=args), {}, headers={"accept": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["errors"]


@pytest.mark.parametrize("name", [name for name, _data, _code in FORMS])
def test_who_may_not_record_learns_that_before_what_is_missing(
    world: World, wafer: PlatformProfile, name: str
):
    browser = world.client("fg01")
    assert send(browser, name, wafer, {}).status_code == 403
    page = screen(
        browser.get(
            reverse(
                "organisation" if name.startswith("organisation") else "platform",
                args=[] if name.startswith("organisation") else [wafer.pk],
            )
        )
    )
    assert "Erfassen" not in page


def test_the_file_of_an_offer_is_stored_and_comes_back(world: World, wafer: PlatformProfile):
    browser = world.client("wo01")
    upload = SimpleUploadedFile("C:\\Angebote\\angebot.pdf", b"%PDF-1.7 Angebot")
    assert send(browser, "platform_offer", wafer, offer_post(file=upload)).status_code == 302
    item = EvidenceItem.objects.get(type=EvidenceType.OFFER)
    assert (item.provenance, item.origin, item.raw_name) == ("HERSTELLERANGABE", "DRITTE", "angebot.pdf")
    answer = browser.get(reverse("evidence_file", args=[item.pk]), {"teil": "rohdatei"})
    assert answer.content == b"%PDF-1.7 Angebot"
    assert world.client("ohne").get(reverse("evidence_file", args=[item.pk])).status_code == 404


def test_a_file_that_is_too_large_is_refused_with_its_limit(world: World, wafer: PlatformProfile):
    upload = SimpleUploadedFile("angebot.pdf", b"x" * (MAX_FILE_BYTES + 1))
    answer = send(world.client("wo01"), "platform_offer", wafer, offer_post(file=upload))
    assert answer.status_code == 422
    assert "größer als 8\u00a0MiB" in answer.content.decode()


def test_the_start_page_names_who_has_to_review(world: World, wafer: PlatformProfile):
    send(world.client("wo01"), "platform_environment", wafer, environment_post())
    item = EvidenceItem.objects.get(type="EV-26")
    link = reverse("evidence", args=[item.pk])
    mine = world.client("pr01").get(reverse("start"))
    assert link in mine.content.decode()
    assert "Prüfen WSE-2 (emuliert)" in screen(mine)
    assert link in world.client("wo01").get(reverse("start")).content.decode()
    assert link not in world.client("fg01").get(reverse("start")).content.decode()
    accept(world, item)
    assert link not in world.client("pr01").get(reverse("start")).content.decode()


def test_a_version_that_was_replaced_cannot_be_reviewed_any_more(world: World, wafer: PlatformProfile):
    for _time in range(2):
        send(world.client("wo01"), "platform_environment", wafer, environment_post())
    first = EvidenceItem.objects.get(type="EV-26", replaced_by__isnull=False)
    page = world.client("pr01").get(reverse("evidence", args=[first.pk])).content.decode()
    assert reverse("evidence_review", args=[first.pk]) not in page
    assert accept(world, first).status_code == 409


def test_a_rejected_version_stays_in_sight_and_changes_nothing(world: World, wafer: PlatformProfile):
    owner = world.client("wo01")
    send(owner, "platform_environment", wafer, environment_post())
    accept(world, EvidenceItem.objects.get(type="EV-26"))
    send(owner, "platform_environment", wafer, environment_post())
    newer = EvidenceItem.objects.get(type="EV-26", status="NEU")
    assert accept(world, newer, accept="nein", reason="Kosten fehlen").status_code == 302
    page = screen(owner.get(reverse("platform", args=[wafer.pk])))
    assert "Neue Fassung" in page
    assert "Abgelehnt" in page


def test_its_events_are_open_to_who_reads_own_cases_only(world: World, wafer: PlatformProfile):
    send(world.client("wo01"), "platform_environment", wafer, environment_post())
    item = EvidenceItem.objects.get(type="EV-26")
    answer = world.client("wo02").get(reverse("audit_log"), {"objekt": f"Evidence:{item.pk}"})
    assert answer.status_code == 200
    assert "Nachweis eingereicht." in screen(answer)


def test_a_damaged_file_is_named_and_the_form_starts_afresh(world: World, wafer: PlatformProfile):
    owner = world.client("wo01")
    send(owner, "platform_environment", wafer, environment_post())
    store.path(EvidenceItem.objects.get(type="EV-26").facts_sha256).unlink()
    assert "ihre Prüfsumme stimmt nicht mehr" in screen(owner.get(reverse("platform", args=[wafer.pk])))
    form = owner.get(reverse("platform_environment", args=[wafer.pk]))
    assert form.status_code == 200
    assert "Plattformbetrieb" not in form.content.decode()


def test_a_platform_of_which_only_the_hardware_is_known_stays_incomplete(world: World):
    admin, owner = world.client("ad01"), world.client("wo01")
    data = {"name": "Cluster Halle 2", "kind": "GPU_CLUSTER", "hardware_gen": "32 GPUs", "is_existing": "on"}
    assert admin.post(reverse("platform_new"), data).status_code == 302
    made = PlatformProfile.objects.get(key="CLUSTER-HALLE-2")
    assert "unvollständig" in screen(owner.get(reverse("platform", args=[made.pk])))
    workload = world.register()
    choice = f'value="{made.pk}"'
    assert choice not in owner.get(reverse("workload_criteria", args=[workload.pk])).content.decode()
    complete = data | {
        "system_release": "Ubuntu 24.04",
        "framework_release": "PyTorch 2.8",
        "operating_model": "Eigenbetrieb",
    }
    assert admin.post(reverse("platform_edit", args=[made.pk]), complete).status_code == 302
    made.refresh_from_db()
    assert made.version == 2
    assert choice in owner.get(reverse("workload_criteria", args=[workload.pk])).content.decode()


def test_a_changed_platform_asks_for_a_renewal_of_what_was_recorded(world: World):
    mine = PlatformProfile.objects.get(key="DISKRET-4GPU")
    send(world.client("wo01"), "platform_environment", mine, environment_post())
    accept(world, EvidenceItem.objects.get(type="EV-26"))
    names = (
        "name",
        "kind",
        "provider",
        "hardware_gen",
        "system_release",
        "framework_release",
        "operating_model",
    )
    data = {name: getattr(mine, name) for name in names} | {"is_existing": "on"}
    data |= {name: str(value) for name, value in platforms.entered(mine).items()}
    url = reverse("platform_edit", args=[mine.pk])
    assert world.client("ad01").post(url, data).status_code == 409  # nothing was changed
    assert world.client("ad01").post(url, data | {"system_release": "Treiber 570"}).status_code == 302
    page = screen(world.client("wo01").get(reverse("platform", args=[mine.pk])))
    assert "gilt nicht mehr" in page
    assert "Erneuern" in page


def test_two_administrators_do_not_overwrite_each_other(world: World):
    mine = PlatformProfile.objects.get(key="DISKRET-4GPU")
    browser, url = world.client("ad01"), reverse("platform_edit", args=[mine.pk])
    assert f'name="version" value="{mine.version}"' in browser.get(url).content.decode()
    data = {"name": mine.name, "kind": mine.kind, "is_existing": "on", "hardware_gen": mine.hardware_gen}
    seen = {"version": str(mine.version)}
    assert browser.post(url, data | seen | {"provider": "Erster"}).status_code == 302
    late = browser.post(url, data | seen | {"provider": "Zweiter"})
    assert late.status_code == 409
    assert "wurden geändert, seit Sie die Seite geöffnet haben" in screen(late)
    mine.refresh_from_db()
    assert mine.provider == "Erster"


@pytest.mark.parametrize("key", ["WSE-2", "DIESER-RECHNER"])
def test_what_belongs_to_the_product_is_not_changed_by_hand(world: World, key: str):
    found = PlatformProfile.objects.get(key=key)
    data = {"name": "Anders", "kind": "GPU_CLUSTER", "hardware_gen": "1 GPU"}
    answer = world.client("ad01").post(reverse("platform_edit", args=[found.pk]), data)
    assert answer.status_code == 409
    assert (
        reverse("platform_edit", args=[found.pk])
        not in world.client("ad01").get(reverse("platform", args=[found.pk])).content.decode()
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": "wse-2 (EMULIERT)"}, "gibt es schon"),
        ({"hardware_gen": ""}, "Hardware"),
        ({"kind": "ENTWICKLUNGSRECHNER"}, "gültige Auswahl"),
    ],
)
def test_a_new_platform_needs_a_name_of_its_own_and_hardware(
    world: World, changes: dict[str, str], sentence: str
):
    data = {"name": "Cluster 9", "kind": "GPU_CLUSTER", "hardware_gen": "8 GPUs"} | changes
    answer = world.client("ad01").post(reverse("platform_new"), data)
    assert answer.status_code == 422
    assert sentence in screen(answer)


FIGURES = {
    "devices": "32",
    "memory_gb": "80",
    "peak_tflops": "989",
    "figures_source": "Datenblatt 2025",
}


def described(world: World, data: dict[str, str], platform: PlatformProfile | None = None) -> Any:
    names = ("platform_edit", [platform.pk]) if platform else ("platform_new", [])
    base = {"name": "Cluster Nord", "kind": "GPU_CLUSTER", "is_existing": "on", "hardware_gen": "32 H100"}
    return world.client("ad01").post(reverse(names[0], args=names[1]), base | data)


def rows_of(platform: PlatformProfile) -> dict[str, tuple[str, str, str]]:
    return {row["name"]: (row["value"], row["unit"], row["source"]) for row in platform.parameters}


def test_the_figures_of_a_platform_are_stored_with_their_source(world: World):
    assert described(world, FIGURES).status_code == 302
    made = PlatformProfile.objects.get(name="Cluster Nord")
    assert rows_of(made) == {
        "devices": ("32", "1", "Datenblatt 2025"),
        "memory_bytes": ("80000000000", "B", "Datenblatt 2025"),
        "peak_flops_16bit": ("989000000000000", "FLOP/s", "Datenblatt 2025"),
    }
    page = world.client("ad01").get(reverse("platform_edit", args=[made.pk])).content.decode()
    assert 'value="989"' in page
    unchanged = described(world, FIGURES, made)
    assert unchanged.status_code == 409
    assert described(world, FIGURES | {"memory_gb": "", "devices": "64"}, made).status_code == 302
    made.refresh_from_db()
    assert made.version == 2
    assert {name: row[0] for name, row in rows_of(made).items()} == {
        "devices": "64",
        "peak_flops_16bit": "989000000000000",
    }


def test_figures_are_shown_in_the_units_people_compare(world: World, wafer: PlatformProfile):
    assert described(world, FIGURES).status_code == 302
    made = PlatformProfile.objects.get(name="Cluster Nord")
    shown = {
        row.pk: screen(world.client("wo01").get(reverse("platform", args=[row.pk]))) for row in (made, wafer)
    }
    assert "80 GB" in shown[made.pk]
    assert "989 TFLOP/s" in shown[made.pk]
    for value in ("850.000", "40 GB", "20 PB/s", "850 MHz"):
        assert value in shown[wafer.pk]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"devices": "0"}, "Bitte geben Sie Zahlen über null an"),
        ({"memory_gb": "-1"}, "Bitte geben Sie Zahlen über null an"),
        ({"peak_tflops": "1000000001"}, "Bitte geben Sie Zahlen über null an"),
        ({"devices": "1,5"}, "Bitte geben Sie die Geräte als ganze Zahl an"),
        ({"figures_source": " "}, "Bitte nennen Sie die Quelle der Zahlen"),
    ],
)
def test_figures_that_cannot_be_or_have_no_source_are_refused(
    world: World, changes: dict[str, str], sentence: str
):
    page = described(world, FIGURES | changes)
    assert page.status_code == 422
    assert sentence in screen(page)
    assert not PlatformProfile.objects.filter(name="Cluster Nord").exists()


def test_what_is_not_entered_by_hand_stays_when_a_shipped_platform_is_described(world: World):
    shipped = PlatformProfile.objects.get(key="DISKRET-4GPU")
    before = rows_of(shipped)
    data = {
        "name": shipped.name,
        "kind": shipped.kind,
        "hardware_gen": shipped.hardware_gen,
        "devices": "4",
        "memory_gb": "80",
        "figures_source": before["devices"][2],
    }
    assert described(world, data, shipped).status_code == 302
    shipped.refresh_from_db()
    found = rows_of(shipped)
    assert {name: found[name] for name in before} == before
    assert found["memory_bytes"][0] == "80000000000"
