"""Recording a workload: what is missing, unreadable, stale or forbidden is refused and changes nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pilots import demo
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core.errors import CriterionNotMet
from qms.workloads.choices import AbortCategory, ObjectClass
from qms.workloads.services import criteria
from tests.qms.web.workload_world import ANSWERS, FIELDS, criteria_post
from tests.walk import JSON, World, address, assert_refused, both_ways, nothing_but, recorded, screen

STAGE = "recorded"
STALE = "Der Inhalt hat sich geändert, seit Sie die Seite geöffnet haben."
pytestmark = pytest.mark.django_db


def rules(*texts: str) -> dict[str, str]:
    """Return abort rules as screen 3 sends them."""
    found = {"regeln-TOTAL_FORMS": str(len(texts)), "regeln-INITIAL_FORMS": "0"}
    for number, text in enumerate(texts):
        found |= {f"regeln-{number}-category": "LATENZ", f"regeln-{number}-text": text}
    return found


def stored(world: World) -> dict[str, str]:
    """Return what screen 1 holds, as the form sends it."""
    workload = world.workload
    names = ("title", "purpose", "business_process", "criticality", "mode", "model_text", "ai_act_risk_class")
    deputy = {"deputy": str(workload.deputy_id), "content_sha256": workload.content_sha256}
    return {name: getattr(workload, name) for name in names} | deputy


def test_unparsable_abort_rule_is_marked_at_its_place(world: World) -> None:
    url = address("workload_criteria", world.workload_id)
    data = criteria_post() | rules("WENN e2e_latency_ms[p95] UEBER 50")
    with nothing_but("GATE_NICHT_ERFUELLT", id="G0-7", rule=1, line=1):
        page = world.browser("wo01").post(url, data)
    assert page.status_code == 422
    text = screen(page)
    assert "Abbruchkriterium 1 ist nicht lesbar. Zeile 1, Spalte 6:" in text
    assert "WENN e2e_latency_ms[p95] UEBER 50 ^" in text
    with nothing_but("GATE_NICHT_ERFUELLT", id="G0-7", rule=1, line=1):
        answer = world.browser("wo01").post(url, data, headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["criterion"] == "G0-7"


def test_command_names_rule_line_and_column(world: World) -> None:
    bad = criteria.AbortRuleData(AbortCategory.LATENCY, "WENN")
    data = replace(demo.criteria_data(world.user("pl01").person), abort_rules=(bad,))
    with (
        nothing_but("GATE_NICHT_ERFUELLT", id="G0-7", rule=1, line=1),
        pytest.raises(CriterionNotMet) as found,
    ):
        criteria.set_criteria(
            actor=world.user("wo01"), workload_id=world.workload_id, data=data, expected_sha256=""
        )
    assert str(found.value.message).startswith("Abbruchkriterium 1 ist nicht lesbar. Zeile 1, Spalte ")


@pytest.mark.parametrize("name", ["workload_edit", "workload_data", "workload_criteria"])
def test_form_opened_on_other_content_is_refused(world: World, name: str) -> None:
    data = {
        "workload_edit": stored(world)
        | {"purpose": "Ganz etwas anderes, und zwar ausführlich genug beschrieben, damit es gilt."},
        "workload_data": dict(ANSWERS),
        "workload_criteria": criteria_post(),
    }[name] | {"content_sha256": "0" * 64}
    both_ways(
        world,
        "wo01",
        address(name, world.workload_id),
        data,
        event="AENDERUNG_VERWEIGERT",
        status=409,
        id="P01",
        message=STALE,
    )


def test_two_people_on_the_same_form_do_not_overwrite_each_other(world: World) -> None:
    opened = stored(world)
    url = address("workload_edit", world.workload_id)
    with recorded("WORKLOAD_GEAENDERT"):
        first = world.browser("wo01").post(url, opened | {"business_process": "Fertigung"})
    assert first.status_code == 302
    with nothing_but("AENDERUNG_VERWEIGERT"):
        second = world.browser("wo02").post(url, opened | {"business_process": "Versand"})
    assert second.status_code == 409
    assert STALE in screen(second)
    assert world.workload.business_process == "Fertigung"


def test_double_click_on_accepting_leaves_one_owner_and_one_event(world: World) -> None:
    both_ways(
        world,
        "wo01",
        address("workload_owner", world.workload_id),
        {"action": "accept"},
        event="AENDERUNG_VERWEIGERT",
        status=409,
        id="P02",
        message="Die Owner-Rolle ist bereits angenommen.",
    )


def test_owner_confirms_no_class(world: World) -> None:
    both_ways(
        world,
        "wo01",
        address("workload_confirm", world.workload_id),
        {"classes": [row.value for row in ObjectClass]},
        event="SOD_VERLETZUNG",
        status=403,
        id="SoD-02",
        message="Funktionstrennung SoD-02: Owner, Stellvertretung und Pilotbeteiligte prüfen und entscheiden nicht.",
    )


def test_confirming_twice_leaves_one_event(world: World) -> None:
    url, every = (
        address("workload_confirm", world.workload_id),
        {"classes": [row.value for row in ObjectClass]},
    )
    assert world.browser("pr01").post(url, every).status_code == 302
    with nothing_but("AENDERUNG_VERWEIGERT"):
        answer = world.browser("pr01").post(url, every, headers=JSON)
    assert answer.status_code == 409


def test_weights_below_their_training_data_are_refused(world: World) -> None:
    lower = {"object_class": "CHECKPOINTS", "level": "K0", "reason": "Enthält nur Zahlen"}
    assert world.browser("wo01").post(address("workload_adjust", world.workload_id), lower).status_code == 302
    data = {"classes": [row.value for row in ObjectClass]}
    with nothing_but("GATE_NICHT_ERFUELLT", id="G1-2"):
        answer = world.browser("pr01").post(
            address("workload_confirm", world.workload_id), data, headers=JSON
        )
    assert answer.status_code == 422
    assert answer.json()["criterion"] == "G1-2"
    assert answer.json()["message_de"].endswith(".")


def test_missing_class_refuses_the_run_and_is_named(world: World) -> None:
    answer = world.browser("pl01").post(
        address("pilot_baseline", world.workload_id), {"start": "1"}, headers=JSON
    )
    assert_refused(
        answer,
        status=409,
        code="LAUF_VERWEIGERT",
        id="T-11",
        message=(
            "Vor einem Lauf muss die Datenklassifizierung vollständig bestätigt sein: Eingabedaten, Trainingsdaten, "
            "Checkpoints, Modellgewichte, Protokolle und Telemetrie, Ausgaben, Metadaten (G1-1)."
        ),
    )


@pytest.mark.parametrize("name", ["ad01", "au01", "pr01", "fg01"])
def test_only_owners_change_a_workload(world: World, name: str) -> None:
    hidden = name == "ad01"
    with nothing_but("" if hidden else "ZUGRIFF_VERWEIGERT"):
        answer = world.browser(name).post(
            address("workload_edit", world.workload_id), stored(world) | {"title": "Anders"}, headers=JSON
        )
    assert answer.status_code == (404 if hidden else 403)


def test_unreadable_model_is_refused_with_its_criterion(world: World) -> None:
    with nothing_but("GATE_NICHT_ERFUELLT", id="G0-5"):
        answer = world.browser("wo01").post(
            "/workloads/neu/", FIELDS | {"model_text": "64-abc", "accept": "1"}, headers=JSON
        )
    assert answer.status_code == 422
    assert answer.json()["criterion"] == "G0-5"


def test_superuser_flag_opens_nothing(world: World) -> None:
    owner = world.user("wo01")
    with unit(actor=SYSTEM):
        owner.is_superuser = owner.is_staff = True
        owner.save(update_fields=["is_superuser", "is_staff"])
        record(AuditKind.ACCOUNT_CHANGED, actor=SYSTEM, subject=owner)
    with nothing_but("SOD_VERLETZUNG", id="SoD-02"):
        answer = world.browser("wo01").post(
            address("workload_confirm", world.workload_id), {"classes": ["AUSGABEN"]}, headers=JSON
        )
    assert answer.status_code == 403


def test_targets_are_stored_when_only_the_classification_was_confirmed_meanwhile(world: World) -> None:
    data = criteria_post() | {"content_sha256": world.workload.content_sha256}
    demo.confirm_classification(world.demo, world.workload)
    assert data["content_sha256"] != world.workload.content_sha256
    answer = world.browser("wo01").post(address("workload_criteria", world.workload_id), data)
    assert answer.status_code == 302


def test_targets_are_refused_when_something_else_was_changed_meanwhile(world: World) -> None:
    data = criteria_post() | {"content_sha256": world.workload.content_sha256}
    world.browser("wo01").post(
        address("workload_edit", world.workload_id), stored(world) | {"title": "Anderer"}
    )
    demo.confirm_classification(world.demo, world.workload)
    answer = world.browser("wo01").post(address("workload_criteria", world.workload_id), data)
    assert answer.status_code == 409
    assert STALE in screen(answer)
