"""The level of a capture: said where it has no criteria, changed without the file, closed by the owner; help and limit."""

from __future__ import annotations

import pytest
from django.urls import reverse

from qms.core import clock, store
from qms.gates import services as gates
from qms.web.workload_criteria_view import view
from qms.workloads.choices import ObjectClass
from qms.workloads.models import Workload
from qms.workloads.services import model_file
from tests.pilots.test_capture_pages import (
    SHA256,
    _house,
    address,
    shown,
    upload,
    workload,
    world,
    written,
)
from tests.qms.web.workload_world import World

__all__ = ["_house", "workload", "world"]
pytestmark = pytest.mark.django_db


def test_machines_get_the_refusal_of_a_large_request_as_its_body(world: World, workload: Workload):
    answer = world.client("wo01").generic(
        "POST",
        address(workload),
        b"",
        CONTENT_LENGTH=str(model_file.MAX_BYTES + 2**20 + 1),
        headers={"accept": "application/json"},
    )
    assert answer.status_code == 413
    assert "64\u00a0MiB" in answer.json()["message_de"]


def test_the_browser_knows_limit_and_sentence_before_it_sends(world: World, workload: Workload):
    page = shown(world.client("wo01").get(address(workload)))
    assert f'data-max-bytes="{model_file.MAX_BYTES}"' in page
    assert f'data-too-large="{model_file.too_large()}"' in page


def test_levels_without_criteria_say_so_where_they_are_chosen(world: World, workload: Workload):
    page = shown(world.client("wo01").get(address(workload)))
    assert page.count("Für diese Stufe gibt es in diesem Regelwerk noch keine Kriterien") == 1
    assert "der Schaden begrenzt. Für diese" not in page
    assert "Nur für Personen, die es wissen müssen. Für diese Stufe" in page


def test_the_level_alone_changes_without_the_file(world: World, workload: Workload):
    browser = world.client("wo01")
    assert browser.post(address(workload), {"level": "K1"}).status_code == 422, "no file yet"
    upload(browser, workload)
    assert "Ohne neue Datei ändert sich nur die Stufe." in shown(browser.get(address(workload)))
    assert browser.post(address(workload), {"level": "K2"}).status_code == 302
    now = Workload.objects.get()
    assert (now.model_file_sha256, now.model_file_name, now.model_file_level) == (
        SHA256,
        "modell.wgraph",
        "K2",
    )
    assert browser.post(address(workload), {"level": "K3"}).status_code == 422
    assert world.client("pr01").post(address(workload), {"level": "K1"}).status_code == 403
    store.path(SHA256).unlink()
    answer = browser.post(address(workload), {"level": "K1"})
    assert answer.status_code == 422
    assert "nicht mehr lesbar" in answer.context["form"].errors["file"][0]
    assert Workload.objects.get().model_file_level == "K2"


def test_after_the_freeze_only_the_level_is_asked(world: World, workload: Workload):
    browser = world.client("wo01")
    written(Workload.objects, criteria_frozen_at=clock.now())
    page = shown(browser.get(address(workload)))
    assert "Ein anderes Modell braucht einen neuen Workload." in page
    assert '<button class="btn btn--primary"' not in page, "a text stays a text"
    written(Workload.objects, criteria_frozen_at=None)
    workload.refresh_from_db()
    upload(browser, workload)
    written(Workload.objects, criteria_frozen_at=clock.now())
    page = shown(browser.get(address(workload)))
    assert "Ein anderes Modell braucht einen neuen Workload." in page
    assert "Stufe ändern</button>" in page
    assert 'type="file"' not in page
    assert browser.post(address(workload), {"level": "K2"}).status_code == 302
    assert Workload.objects.get().model_file_level == "K2"


def test_a_level_apart_from_the_class_leads_the_owner_to_the_file(world: World, workload: Workload):
    world.answer(workload)
    level = workload.classifications.get(object_class=ObjectClass.MODEL_WEIGHTS).level
    other = "K2" if level != "K2" else "K1"
    browser = world.client("wo01")
    upload(browser, workload, level=level)
    browser.post(address(workload), {"level": other})
    found = next(item for item in gates.report(Workload.objects.get()).criteria if item.row.id == "G1-2")
    assert (found.value_de, found.reason_de) == (
        "1 Verstoß",
        f"Die Aufzeichnung des Modells ist als {other} angegeben, die Modellgewichte sind als {level} eingestuft.",
    )
    seen = view(found, workload.pk)
    assert (seen.who, seen.closes, seen.missing) == ("Workload-Owner", "Workload-Owner", "")
    assert seen.next_url == address(workload)
    world.confirm(Workload.objects.get())
    page = shown(browser.get(reverse("workload", args=[workload.pk])))
    assert "Vier Fragen beantworten" not in page
    assert f'href="{address(workload)}">Ansehen und klären' in page
    assert browser.post(address(workload), {"level": level}).status_code == 302
    assert "Ansehen und klären" not in shown(browser.get(reverse("workload", args=[workload.pk])))


def test_page_says_how_the_command_gets_to_the_model(world: World, workload: Workload):
    page = shown(world.client("wo01").get(address(workload)))
    for text in ("pip install numpy orjson rfc8785", "export PYTHONPATH=", "python -m pilots.graph capture"):
        assert text in page
    refused = upload(world.client("wo01"), workload, level="K3")
    assert "python -m pilots.wafer run --capture modell.wgraph --manifest lauf.json" in shown(refused)
