"""Uploading a capture as the model of a workload, and the page that shows it."""

from __future__ import annotations

import hashlib
import html
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from pilots import pages_capture
from pilots.graph.capture import Lineage, to_bytes
from pilots.graph.trail import Origin, Trail
from qms.approvals import documents, dossier, sections
from qms.approvals.models import Approval
from qms.audit import units
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.models import AuditEvent
from qms.audit.services import record, unit
from qms.core import clock, store
from qms.core.errors import CriterionNotMet, NotVisible, PermissionMissing, WrongState
from qms.gates import services as gates
from qms.web import workload_changes
from qms.workloads import selectors
from qms.workloads.choices import Level, ObjectClass
from qms.workloads.models import ContentVersion, Workload
from qms.workloads.services import model_file
from qms.workloads.services.model_file import set_model_file
from tests.pilots.graph.captures import perceptron
from tests.qms.web.workload_world import FIELDS, URLCONF, World, build

pytestmark = pytest.mark.django_db
DATA = to_bytes(perceptron())
SHA256 = hashlib.sha256(DATA).hexdigest()
OTHER = to_bytes(replace(perceptron(), lineage=Lineage(commit="0123abc")))


@pytest.fixture(autouse=True)
def _house(settings: Any, tmp_path: Path) -> None:
    settings.ROOT_URLCONF = URLCONF
    settings.STORAGES = settings.STORAGES | {
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": tmp_path},
        }
    }


@pytest.fixture
def world(db: None) -> World:
    return build()


@pytest.fixture
def workload(world: World) -> Workload:
    return world.register()


def address(workload: Workload) -> str:
    return reverse("pilot_model", args=[workload.pk])


def upload(browser: Client, workload: Workload, data: bytes = DATA, **changes: Any) -> Any:
    name, headers = changes.pop("name", "modell.wgraph"), changes.pop("headers", None)
    fields = {"file": SimpleUploadedFile(name, data), "level": "K1"} | changes
    return browser.post(address(workload), fields, headers=headers)


def shown(answer: Any) -> str:
    return html.unescape(answer.content.decode().replace("\u00ad", "").replace("<wbr>", ""))


def written(rows: Any, **values: Any) -> None:
    """Change rows in a way that no command does."""
    with unit(actor=SYSTEM):
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))
        rows.update(**values)


def unchanged(workload: Workload) -> bool:
    """Say whether model and content are as they were, and the store is empty."""
    now = Workload.objects.get(pk=workload.pk)
    same = (now.model_text, now.model_digest, now.content_sha256)
    return same == (workload.model_text, workload.model_digest, workload.content_sha256) and not list(
        store.all_digests()
    )


def test_uploaded_capture_becomes_the_model(world: World, workload: Workload):
    answer = upload(world.client("wo01"), workload)
    assert (answer.status_code, answer.url) == (302, address(workload))
    now = Workload.objects.get()
    assert (now.model_text, now.model_file_sha256, now.model_file_name, now.model_file_level) == (
        "",
        SHA256,
        "modell.wgraph",
        "K1",
    )
    assert now.model_digest == now.model_facts["model_digest"]
    assert now.model_digest != workload.model_digest
    assert store.get(SHA256) == DATA
    assert now.content_sha256 != workload.content_sha256
    file = selectors.content(now)["model"]["file"]
    assert file == {"name": "modell.wgraph", "sha256": SHA256, "level": "K1"}
    event = AuditEvent.objects.filter(kind=AuditKind.WORKLOAD_CHANGED.value).latest("pk").body
    assert all(name in event for name in ("model.file.sha256", "model.file.level", "model.text"))


def test_page_says_first_that_every_operation_is_supported(world: World, workload: Workload):
    upload(world.client("wo01"), workload)
    page = shown(world.client("wo01").get(address(workload)))
    assert "Alle 5 Operationen werden unterstützt." in page
    for text in ("aten.matmul", "model.py:3", "pytorch 2.13.0", "x (Stapel × 8, float32)", "212", SHA256):
        assert text in page
    assert "modelle/beispiel:3" in page
    assert "Nicht angegeben" not in page


def test_page_names_what_is_unsupported_custom_and_not_given(world: World, workload: Workload):
    rows = (
        Origin("aten.relu", "model.py:1", ("relu",)),
        Origin("mine.fft", "model.py:9", (), "gibt es im Graphen nicht", custom=True),
    )
    odd = replace(perceptron(), trail=Trail("pytorch", "2.13.0", rows), lineage=Lineage(seed="7"))
    upload(world.client("wo01"), workload, to_bytes(odd))
    page = shown(world.client("wo01").get(address(workload)))
    assert "1 von 2 Operationen wird nicht unterstützt." in page
    assert page.index("mine.fft") < page.index("aten.relu")
    assert "eigene Operation · gibt es im Graphen nicht" in page
    assert "Nicht angegeben: Stand des Quelltexts, Prüfsumme der Trainingsdaten" in page


def test_page_is_for_readers_without_the_form(world: World, workload: Workload):
    upload(world.client("wo01"), workload)
    page = shown(world.client("pr01").get(address(workload)))
    assert "Alle 5 Operationen" in page
    assert "Hochladen und prüfen" not in page


def test_page_says_when_the_report_is_gone(world: World, workload: Workload):
    upload(world.client("wo01"), workload)
    store.path(Workload.objects.get().model_facts["report_sha256"]).unlink()
    page = shown(world.client("wo01").get(address(workload)))
    assert "nicht mehr lesbar" in page
    assert "Alle 5 Operationen" not in page


@pytest.mark.parametrize(
    ("data", "changes", "sentence"),
    [
        (DATA[:100], {}, "unvollständig"),
        (DATA[:-1], {}, "unvollständig"),
        (b"kein Graph", {}, "keine Aufzeichnung"),
        (b"", {}, "keine Aufzeichnung"),
        (to_bytes(replace(perceptron(), example=None)), {}, "keine Beispieleingaben"),
        (to_bytes(replace(perceptron(), trail=Trail(" "))), {}, "aus welchem Framework sie stammt"),
        (b"\x08\x07", {"name": "modell.onnx"}, "Eine ONNX-Datei enthält keine Beispieleingaben"),
        (DATA, {"level": "K3"}, "Gewichte der Stufe K3 werden hier nicht abgelegt"),
        (DATA, {"level": "K4"}, "keine gültige Auswahl"),
        (DATA, {"level": ""}, "Dieses Feld ist zwingend erforderlich"),
    ],
)
def test_refused_file_changes_and_stores_nothing(
    world: World, workload: Workload, data: bytes, changes: dict[str, str], sentence: str
):
    answer = upload(world.client("wo01"), workload, data, **changes)
    assert answer.status_code == 422
    field = "level" if "level" in changes else "file"
    assert sentence in " ".join(answer.context["form"].errors[field])
    assert sentence in shown(answer)
    assert unchanged(workload)


def test_refused_file_keeps_the_capture_that_was_there(world: World, workload: Workload):
    upload(world.client("wo01"), workload)
    assert upload(world.client("wo01"), workload, OTHER[:-1]).status_code == 422
    assert Workload.objects.get().model_file_sha256 == SHA256


def test_refusal_of_a_file_is_in_the_log_and_machines_get_its_body(world: World, workload: Workload):
    answer = upload(world.client("wo01"), workload, b"x", headers={"accept": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["id"] == "G0-5"
    assert "G0-5" in AuditEvent.objects.latest("pk").body


def test_file_at_the_limit_is_read_and_one_byte_more_is_not(
    world: World, workload: Workload, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(model_file, "MAX_BYTES", len(DATA) - 1)
    answer = upload(world.client("wo01"), workload)
    assert answer.status_code == 422
    assert "größer als" in answer.context["form"].errors["file"][0]
    with pytest.raises(CriterionNotMet):
        set_model_file(
            actor=world.people["wo01"], workload_id=workload.pk, data=DATA, name="x", level=Level.INTERNAL
        )
    assert unchanged(workload)
    monkeypatch.setattr(model_file, "MAX_BYTES", len(DATA))
    assert upload(world.client("wo01"), workload).status_code == 302


def test_request_above_the_limit_is_refused_unread_and_below_it_only_for_the_signed_in(
    world: World, workload: Workload, settings: Any
):
    most = model_file.MAX_BYTES + 2**20
    for browser, announced, status in (
        (world.client("wo01"), most + 1, 413),
        (world.client("wo01"), most, 422),  # the body ends early, so the form is empty
        (Client(), most, 413),
        (Client(), settings.MAX_REQUEST_BYTES, 302),
    ):
        answer = browser.generic("POST", address(workload), b"", CONTENT_LENGTH=str(announced))
        assert answer.status_code == status, announced
        if status == 413:
            signed_in = settings.SESSION_COOKIE_NAME in browser.cookies
            shown_text = shown(answer).replace("\u00a0", " ")
            assert ("Die Datei ist größer als 64 MiB." in shown_text) == signed_in
            assert ("Die Anfrage ist größer als 12 MiB." in shown_text) != signed_in
            assert ('aria-label="Hauptnavigation"' in shown_text) == signed_in
            assert f'href="{address(workload)}">Zurück zum Formular' in shown_text
    other = reverse("pilot_target", args=[workload.pk])
    for url in (other, "/gibt-es-nicht/"):
        over = settings.MAX_REQUEST_BYTES + 1
        assert world.client("wo01").generic("POST", url, b"", CONTENT_LENGTH=str(over)).status_code == 413


@pytest.mark.parametrize(("level", "status"), [("K0", 422), ("K1", 302), ("K2", 302)])
def test_level_is_not_below_that_of_the_weights(world: World, workload: Workload, level: str, status: int):
    world.answer(workload)
    written(workload.classifications.filter(object_class=ObjectClass.MODEL_WEIGHTS), level="K1")
    workload.refresh_from_db()
    answer = upload(world.client("wo01"), workload, level=level)
    assert answer.status_code == status
    if status == 422:
        assert "als K1 intern eingestuft" in answer.context["form"].errors["level"][0]
        assert unchanged(workload)


def test_level_of_the_weights_is_proposed_and_none_without_a_classification(world: World, workload: Workload):
    page = shown(world.client("wo01").get(address(workload)))
    assert "checked" not in page
    world.answer(workload)
    level = model_file.weights_level(workload)
    assert level is not None
    page = world.client("wo01").get(address(workload))
    assert page.context["form"]["level"].initial == level.value


def test_gate_wants_the_file_and_its_class_on_one_level(world: World, workload: Workload):
    world.answer(workload)
    row = workload.classifications.get(object_class=ObjectClass.MODEL_WEIGHTS)
    upload(world.client("wo01"), workload, level=row.level)

    def outcome() -> tuple[bool, bool]:
        rows = {item.row.id: item.blocks for item in gates.report(Workload.objects.get()).criteria}
        return rows["G0-5"], rows["G1-2"]

    assert outcome() == (False, False)
    higher = "K3" if row.level != "K3" else "K2"
    written(workload.classifications.filter(pk=row.pk), level=higher)
    assert outcome() == (False, True)


def test_the_file_is_read_before_anybody_else_has_to_wait_and_judged_again_after(
    world: World, workload: Workload, monkeypatch: pytest.MonkeyPatch
):
    real = model_file.providers.read_model_file

    def reading(data: bytes, name: str) -> Any:
        assert units.current() is None
        written(Workload.objects, criteria_frozen_at=clock.now())
        return real(data, name)

    monkeypatch.setattr(model_file.providers, "read_model_file", reading)
    answer = upload(world.client("wo01"), workload)
    assert answer.status_code == 409
    assert unchanged(workload)


@pytest.mark.parametrize(
    ("levels", "same", "needed"),
    [
        (("K0", None), True, "P33"),
        (("K0", "K0"), True, "P33"),
        (("K0", "K0"), False, "P13"),
        (("K0", "K1"), True, "P13"),
        (("K1", "K0"), True, "P13"),
        (("K2", "K2"), True, "P13"),
    ],
)
def test_weights_go_to_those_who_run_the_workload_from_k1_on(
    world: World, workload: Workload, levels: tuple[str, str | None], same: bool, needed: str
):
    stated, classified = levels
    if classified:
        world.answer(workload)
        written(workload.classifications.filter(object_class=ObjectClass.MODEL_WEIGHTS), level=classified)
    written(Workload.objects, model_text="", model_file_sha256=SHA256, model_file_level=stated)
    asked = SHA256 if same else "0" * 64
    assert model_file.needed_to_take(Workload.objects.get(), asked) == needed


def test_second_upload_replaces_the_first_and_the_same_again_says_so(world: World, workload: Workload):
    browser = world.client("wo01")
    upload(browser, workload)
    assert upload(browser, workload).status_code == 422
    upload(browser, workload, OTHER, name="zweites.wgraph", level="K2")
    now = Workload.objects.get()
    assert now.model_file_sha256 == hashlib.sha256(OTHER).hexdigest()
    assert (now.model_file_name, now.model_file_level) == ("zweites.wgraph", "K2")
    assert store.exists(SHA256), "an earlier version of the content still names it"
    before = ContentVersion.objects.order_by("-number")[1]
    rows = {row.field: (row.before, row.now) for row in workload_changes.since(now, before.sha256)}
    assert rows["Aufzeichnung"] == ("modell.wgraph", "zweites.wgraph")
    assert rows["Stufe der Aufzeichnung"] == ("K1 intern", "K2 vertraulich")
    assert rows["Prüfsumme der Aufzeichnung"][0] == SHA256[:12] + rows["Prüfsumme der Aufzeichnung"][0][12:]


def test_text_replaces_the_file_and_an_empty_field_keeps_it(world: World, workload: Workload):
    browser, edit = world.client("wo01"), reverse("workload_edit", args=[workload.pk])
    upload(browser, workload)
    kept = browser.post(edit, FIELDS | {"model_text": "", "title": "Anderer Titel"})
    assert kept.status_code == 302
    now = Workload.objects.get()
    assert (now.title, now.model_file_sha256) == ("Anderer Titel", SHA256)
    assert now.model_facts["kind"] == "capture"
    page = shown(browser.get(edit))
    assert "Es gilt die hochgeladene Aufzeichnung." in page
    assert "modell.wgraph" in page
    browser.post(edit, FIELDS | {"model_text": "64-32-8"})
    now = Workload.objects.get()
    assert (now.model_text, now.model_file_sha256, now.model_file_name, now.model_file_level) == (
        "64-32-8",
        "",
        "",
        "",
    )
    assert now.model_facts["widths"] == [64, 32, 8]
    assert "file" not in selectors.content(now)["model"]


def test_frozen_criteria_keep_the_model_but_not_its_level(world: World, workload: Workload):
    browser = world.client("wo01")
    upload(browser, workload)
    written(Workload.objects, criteria_frozen_at=clock.now())
    refused = upload(browser, workload, OTHER)
    assert refused.status_code == 409
    assert "eingefroren" in shown(refused)
    text = browser.post(reverse("workload_edit", args=[workload.pk]), FIELDS | {"model_text": "64-32-8"})
    assert text.status_code == 409
    assert Workload.objects.get().model_file_sha256 == SHA256
    assert upload(browser, workload, level="K2").status_code == 302
    assert Workload.objects.get().model_file_level == "K2"


@pytest.mark.parametrize(("name", "status"), [("pr01", 403), ("fg01", 403), ("wo02", 404), ("ohne", 404)])
def test_others_can_not_hand_in_a_model(world: World, workload: Workload, name: str, status: int):
    assert upload(world.client(name), workload).status_code == status
    with pytest.raises((PermissionMissing, NotVisible)):
        set_model_file(
            actor=world.people[name], workload_id=workload.pk, data=DATA, name="x", level=Level.INTERNAL
        )
    assert unchanged(workload)


def test_command_refuses_once_the_criteria_are_frozen(world: World, workload: Workload):
    written(Workload.objects, criteria_frozen_at=clock.now())
    with pytest.raises(WrongState):
        set_model_file(
            actor=world.people["wo01"], workload_id=workload.pk, data=DATA, name="x", level=Level.INTERNAL
        )


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("C:\\Modelle\\netz.wgraph", "netz.wgraph"),
        ("../../netz.wgraph", "netz.wgraph"),
        ("netz\u202e\n.wgraph", "netz.wgraph"),
        ("a" * 300 + ".wgraph", "a" * 193 + ".wgraph"),
        ("/", "modell"),
    ],
)
def test_name_of_the_file_is_its_last_part(name: str, kept: str):
    assert model_file.file_name(name) == kept


def test_screen_1_leads_to_the_upload(world: World):
    browser = world.client("wo01")
    made = browser.post("/workloads/neu/", {"title": "Neu", "capture": "1"})
    workload = Workload.objects.get()
    assert made.url == address(workload)
    assert "noch kein Modell angegeben" in shown(browser.get(made.url))
    fields = {
        "title": "Neu",
        "capture": "1",
        "criticality": "",
        "mode": "",
        "content_sha256": workload.content_sha256,
    }
    again = browser.post(reverse("workload_edit", args=[workload.pk]), fields)
    assert again.url == address(workload)


def test_overview_names_file_level_and_digest(world: World, workload: Workload):
    upload(world.client("wo01"), workload, name="Netz für Ersatzteile.wgraph")
    page = shown(world.client("wo01").get(reverse("workload", args=[workload.pk])))
    assert "Netz für Ersatzteile.wgraph" in page
    assert "K1 intern" in page
    assert SHA256 in page


def test_document_and_decision_name_file_digest_and_level(world: World, workload: Workload):
    upload(world.client("wo01"), workload)
    now = Workload.objects.get()
    approval = Approval(workload=now, type="VORFREIGABE", requester=world.people["wo01"].person)
    built = dossier.build(approval, at=clock.now())
    rows = dict(row[:2] for row in sections.scope(approval, built)["blocks"][0]["rows"])
    assert rows["Modell"] == "modell.wgraph"
    assert rows["Modell SHA-256"] == now.model_digest
    assert rows["Aufzeichnung SHA-256"] == SHA256
    assert rows["Stufe der Aufzeichnung"] == "K1 intern"
    frozen = documents._workload(now, approval)["model"]
    assert frozen["file"] == {"name": "modell.wgraph", "sha256": SHA256, "level": "K1"}
    assert "file" not in documents._workload(workload, approval)["model"]


@pytest.mark.parametrize(
    ("total", "missing", "sentence"),
    [
        (0, 0, "Die Aufzeichnung enthält keine Operation."),
        (1, 0, "Die eine Operation wird unterstützt."),
        (42, 0, "Alle 42 Operationen werden unterstützt."),
        (42, 1, "1 von 42 Operationen wird nicht unterstützt."),
        (1200, 3, "3 von 1.200 Operationen werden nicht unterstützt."),
    ],
)
def test_sentence_about_coverage(total: int, missing: int, sentence: str):
    assert pages_capture.coverage_sentence({"total_ops": total, "unsupported_ops": missing}) == sentence


def test_long_tables_and_lists_of_places_are_cut():
    row = {"op": "a", "count": 1, "became": [], "kernels": [], "reason": "", "custom": False}
    rows = [row | {"places": [f"m.py:{index}" for index in range(5)]}] * 201
    table = pages_capture.coverage(rows)
    assert len(table["rows"]) == pages_capture.MAX_ROWS
    place = table["rows"][0]["cells"][4]
    assert (place["text"], place["small"]) == ("m.py:0, m.py:1, m.py:2", "und 2 weitere")


def test_machines_get_the_address_of_the_page(world: World, workload: Workload):
    answer = upload(world.client("wo01"), workload, headers={"accept": "application/json"})
    assert json.loads(answer.content)["url"] == address(workload)
