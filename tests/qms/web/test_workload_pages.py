from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core import clock
from qms.roles import guards
from qms.roles.roles import Role
from qms.workloads.choices import ObjectClass, PlatformKind
from qms.workloads.models import (
    ObjectClassification,
    PlatformProfile,
    Workload,
    WorkloadGroupGrant,
    WorkloadUserGrant,
)
from qms.workloads.services.platforms import PlatformData, update_platform
from tests.qms.web.workload_world import ANSWERS, FIELDS, PURPOSE, URLCONF, World, build, criteria_post

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _addresses(settings: Any) -> None:
    settings.ROOT_URLCONF = URLCONF


@pytest.fixture
def world(db: None) -> World:
    return build()


def url(name: str, workload: Workload) -> str:
    return reverse(name, args=[workload.pk])


def test_first_button_saves_and_takes_the_owner_role(world: World) -> None:
    answer = world.client("wo01").post("/workloads/neu/", FIELDS | {"accept": "1"})
    made = Workload.objects.get()
    assert answer.url == url("workload_data", made)
    assert (made.owner, made.purpose) == (world.people["wo01"].person, PURPOSE)
    assert made.owner_accepted_at
    assert made.model_digest
    assert made.model_facts["params"] > 0


def test_second_button_saves_a_draft_with_a_title_only(world: World) -> None:
    answer = world.client("wo01").post("/workloads/neu/", {"title": "Nur ein Name", "save": "1"})
    made = Workload.objects.get()
    assert answer.url == url("workload", made)
    assert made.owner is None
    page = world.client("wo01").get(answer.url)
    assert "Owner-Rolle annehmen" in page.content.decode()


def test_first_button_with_gaps_keeps_the_values(world: World) -> None:
    answer = world.client("wo01").post("/workloads/neu/", {"title": "Lücke", "accept": "1"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert 'value="Lücke"' in page
    assert "Nur speichern" in page
    assert not Workload.objects.exists()


def test_unreadable_model_is_refused_on_the_form(world: World) -> None:
    answer = world.client("wo01").post("/workloads/neu/", FIELDS | {"model_text": "64-abc", "accept": "1"})
    assert answer.status_code == 422
    assert "64-abc" in answer.content.decode()
    assert not Workload.objects.exists()


def test_no_choice_of_the_risk_class_is_made_for_the_person(world: World) -> None:
    page = world.client("wo01").get("/workloads/neu/").content.decode()
    for line in page.split("<input"):
        if 'name="ai_act_risk_class"' in line:
            assert "checked" not in line.split(">")[0]
    assert page.count('class="proposal"') == 2


def test_person_without_role_may_not_record_workloads(world: World) -> None:
    assert world.client("ohne").get("/workloads/neu/").status_code == 403
    assert world.client("ohne").post("/workloads/neu/", FIELDS | {"accept": "1"}).status_code == 403


def test_json_caller_gets_id_and_url(world: World) -> None:
    answer = world.client("wo01").post(
        "/workloads/neu/", FIELDS | {"accept": "1"}, headers={"accept": "application/json"}
    )
    body = json.loads(answer.content)
    assert body == {"ok": True, "id": str(Workload.objects.get().pk), "url": body["url"]}


@pytest.mark.parametrize(
    "name",
    ["workload", "workload_edit", "workload_data", "workload_confirm", "workload_criteria"],
)
def test_outsider_gets_404(world: World, name: str) -> None:
    made = world.register()
    assert world.client("wo02").get(url(name, made)).status_code == 404
    assert world.client("ohne").get(url(name, made)).status_code == 404


def test_four_answers_become_seven_proposals(world: World) -> None:
    made = world.register()
    answer = world.client("wo01").post(
        url("workload_data", made), ANSWERS | {"content_sha256": made.content_sha256}
    )
    assert answer.url == url("workload_data", made)
    page = world.client("wo01").get(answer.url).content.decode()
    assert made.classifications.count() == len(ObjectClass)
    assert page.count("K1 intern") >= len(ObjectClass)
    assert "7 Objektklassen warten auf Bestätigung" in page
    assert "Prüfer(in) 1" in page


def test_nothing_is_ticked_on_arrival(world: World) -> None:
    made = world.register()
    page = world.client("wo01").get(url("workload_data", made)).content.decode()
    assert "checked" not in page


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        (ANSWERS | {"KF-1": ["a", "d"]}, "schließen einander aus"),
        (ANSWERS | {"KF-2": ["e"]}, "Bitte beantworten Sie diese Frage"),
        (
            {key: codes for key, codes in ANSWERS.items() if key != "KF-4"},
            "Bitte beantworten Sie diese Frage",
        ),
        (ANSWERS | {"KF-3": ["b"]}, "Etwas verlässt die eigene Umgebung"),
        (ANSWERS | {"KF-2": ["b", "f"]}, "Verschlusssachen"),
    ],
)
def test_unusable_answers_are_explained(world: World, answers: dict[str, list[str]], sentence: str) -> None:
    made = world.register()
    answer = world.client("wo01").post(url("workload_data", made), answers)
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert not made.classifications.exists()


def test_place_is_stored_when_something_leaves(world: World) -> None:
    made = world.register()
    place = {"provider": "Anbieter 1", "region": "Frankfurt", "country": "Deutschland"}
    assert (
        world.client("wo01").post(url("workload_data", made), ANSWERS | {"KF-3": ["b"]} | place).status_code
        == 302
    )
    assert Workload.objects.get().location.country == "Deutschland"


def test_answers_on_changed_content_are_refused(world: World) -> None:
    made = world.register()
    answer = world.client("wo01").post(url("workload_data", made), ANSWERS | {"content_sha256": "0" * 64})
    assert answer.status_code == 409


def test_lower_level_needs_a_reason(world: World) -> None:
    made = world.register()
    world.answer(made)
    browser, change = world.client("wo01"), {"object_class": "EINGABEDATEN", "level": "K0"}
    refused = browser.post(url("workload_adjust", made), change)
    assert refused.status_code == 422
    assert "braucht eine Begründung" in refused.content.decode()
    assert (
        browser.post(url("workload_adjust", made), change | {"reason": "Alles veröffentlicht"}).status_code
        == 302
    )
    page = browser.get(url("workload_data", made)).content.decode()
    assert "Vorschlag war" in page
    assert "Alles veröffentlicht" in page


def test_reviewer_confirms_all_classes_in_one_act(world: World) -> None:
    made = world.register()
    world.answer(made)
    browser = world.client("pr01")
    page = browser.get(url("workload_confirm", made)).content.decode()
    assert "7 Objektklassen bestätigen" in page
    assert page.count('name="classes"') == len(ObjectClass)
    codes = [item.value for item in ObjectClass]
    assert browser.post(url("workload_confirm", made), {"classes": codes}).status_code == 302
    assert not made.classifications.filter(confirmed_by__isnull=True).exists()


def test_owner_cannot_confirm(world: World) -> None:
    made = world.register()
    world.answer(made)
    browser = world.client("wo01")
    page = browser.get(url("workload_confirm", made)).content.decode()
    assert "SoD-02" in page
    assert "disabled" in page
    answer = browser.post(url("workload_confirm", made), {"classes": ["EINGABEDATEN"]})
    assert answer.status_code == 403


def test_targets_are_saved_with_the_proposed_rules(world: World) -> None:
    made = world.register()
    browser = world.client("wo01")
    page = browser.get(url("workload_criteria", made)).content.decode()
    assert "Wenn" in page
    assert browser.post(url("workload_criteria", made), criteria_post()).status_code == 302
    assert Workload.objects.get().pilot.budget_cap_eur == 20000
    assert {rule.category for rule in made.abort_criteria.all()} >= {
        "QUALITAET",
        "STABILITAET",
        "KOSTEN",
        "LATENZ",
    }


@pytest.mark.parametrize(("in_use", "proposed"), [(2, False), (1, True), (0, False)])
def test_a_fallback_platform_is_proposed_only_where_there_is_no_choice(
    world: World, in_use: int, proposed: bool
) -> None:
    made = world.register()
    found = list(PlatformProfile.objects.complete().filter(is_existing=True))
    assert len(found) == 2
    for platform in found[in_use:]:
        given = {name: getattr(platform, name) for name in PlatformData.__slots__ if hasattr(platform, name)}
        data = PlatformData(**given | {"is_existing": False, "kind": PlatformKind(platform.kind)})
        update_platform(actor=world.people["ad01"], platform_id=platform.pk, data=data)
    page = world.client("wo01").get(url("workload_criteria", made)).content.decode()
    field = page[page.index('name="fallback_platform"') :].partition("</select>")[0]
    assert (f'value="{found[0].pk}" selected' in field) is proposed


def test_broken_rule_shows_its_place(world: World) -> None:
    made = world.register()
    rules = {
        "regeln-TOTAL_FORMS": "1",
        "regeln-INITIAL_FORMS": "0",
        "regeln-0-category": "KOSTEN",
        "regeln-0-text": "WENN last(budget_used_pct) UEBER 1 STICHPROBEN >= hundert % DANN WARNEN",
    }
    answer = world.client("wo01").post(url("workload_criteria", made), criteria_post(**rules))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "Zeile 1, Spalte" in page
    caret = page.split('<pre class="caret"><code>')[1].split("</code>")[0]
    text, mark = caret.replace("&gt;", ">").splitlines()
    assert text[mark.index("^") :].startswith("hundert")
    assert not made.abort_criteria.exists()


@pytest.mark.parametrize(("typed", "status"), [("20.000", 302), ("20000,50", 302), ("0", 422), ("viel", 422)])
def test_budget_is_read_as_german_money(world: World, typed: str, status: int) -> None:
    made = world.register()
    answer = world.client("wo01").post(url("workload_criteria", made), criteria_post(budget_cap_eur=typed))
    assert answer.status_code == status


def test_ambiguous_threshold_is_asked_back(world: World) -> None:
    made = world.register()
    answer = world.client("wo01").post(url("workload_criteria", made), criteria_post(threshold="1.200"))
    assert "Bitte schreiben Sie 1200 oder 1,200." in answer.content.decode()


def test_overview_explains_open_criteria(world: World) -> None:
    made = world.register()
    page = world.client("wo01").get(url("workload", made)).content.decode()
    assert "geprüft:" in page
    assert "Wer kann das klären" in page
    assert "Vier Fragen beantworten" in page
    assert "Das ist die erste Freigabe" in page


def test_overview_of_a_complete_workload_leads_to_the_baseline(world: World) -> None:
    made = world.register()
    world.answer(made)
    world.set_criteria(made)
    page = world.client("wo01").get(url("workload", made)).content.decode()
    assert "Vergleichsbasis messen" in page
    assert "wartet auf Bestätigung" in page
    page = world.client("pr01").get(url("workload", made)).content.decode()
    assert "Prüfen und bestätigen" in page


def test_named_owner_accepts(world: World) -> None:
    made = world.register(accept=False)
    browser = world.client("wo01")
    named = {"action": "name", "person": str(world.people["wo02"].person_id)}
    assert browser.post(url("workload_owner", made), named).status_code in {302, 403}


def test_owner_role_is_taken_from_the_overview(world: World) -> None:
    made = world.register(accept=False)
    assert world.client("wo01").post(url("workload_owner", made), {"action": "accept"}).status_code == 302
    made.refresh_from_db()
    assert made.owner == world.people["wo01"].person


def test_search_and_pages_of_the_list(world: World) -> None:
    fill(world, 27)
    browser = world.client("wo01")
    first = browser.get("/workloads/").content.decode()
    after = first.split("?after=")[1].split('"')[0]
    older = browser.get(f"/workloads/?after={after}").content.decode()
    on_first = {number for number in range(27) if f">Vorhaben {number}<" in first}
    on_second = {number for number in range(27) if f">Vorhaben {number}<" in older}
    assert (len(on_first), len(on_second)) == (25, 2)
    assert on_first | on_second == set(range(27))
    found = browser.get("/workloads/", {"q": "haben 12"}).content.decode()
    assert ">Vorhaben 12<" in found
    assert ">Vorhaben 2<" not in found
    assert "Vorhaben" not in world.client("ohne").get("/workloads/").content.decode()


def fill(world: World, count: int) -> None:
    """Add workloads that wait for somebody, past the commands, which would take seconds."""
    owner, now = world.people["wo01"], clock.now()
    with unit(actor=SYSTEM):
        made = Workload.objects.bulk_create(
            Workload(
                title=f"Vorhaben {number}",
                created_by=owner.person,
                created_at=now,
                owner=owner.person,
                owner_accepted_at=now if number % 2 else None,
            )
            for number in range(count)
        )
        ObjectClassification.objects.bulk_create(
            ObjectClassification(
                workload=item,
                object_class="EINGABEDATEN",
                level="K1",
                proposed_level="K1",
                classified_by=owner.person,
            )
            for item in made
        )
        rights = {item.codename: item for item in Permission.objects.filter(content_type__model="workload")}
        reviewers = guards.role_group(Role.REVIEWER)
        for codename in ("view_workload", "review_workload"):
            WorkloadGroupGrant.objects.bulk_create(
                WorkloadGroupGrant(group=reviewers, permission=rights[codename], content_object=item)
                for item in made
            )
        for codename in ("view_workload", "own_workload"):
            WorkloadUserGrant.objects.bulk_create(
                WorkloadUserGrant(user=owner, permission=rights[codename], content_object=item)
                for item in made
            )
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))


def queries(world: World, name: str, path: str) -> list[str]:
    browser = world.client(name)
    browser.get(path)
    with CaptureQueriesContext(connection) as found:
        assert browser.get(path).status_code == 200
    return [item["sql"] for item in found]


@pytest.mark.parametrize(
    ("name", "path"), [("pr01", "/"), ("wo01", "/"), ("pr01", "/workloads/"), ("wo01", "/workloads/")]
)
def test_number_of_queries_does_not_grow(world: World, name: str, path: str) -> None:
    fill(world, 25)
    few = queries(world, name, path)
    fill(world, 75)
    many = queries(world, name, path)
    assert len(many) == len(few)
    assert len(many) < 40
