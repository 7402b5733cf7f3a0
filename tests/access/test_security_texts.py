"""What people type stays text: on pages, in mails, in JSON and in the signed document."""

from __future__ import annotations

import html
import io
import re
from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.core import signing as tokens
from django.test import override_settings
from django.urls import reverse

from pilots import demo
from qms.approvals.choices import Decision, Meaning
from qms.approvals.documents import Wording
from qms.approvals.models import Approval
from qms.approvals.services import decisions, requests
from qms.core import jobs
from qms.core.characters import first_hidden
from qms.core.errors import CriterionNotMet
from qms.roles import services
from qms.signing import selectors as signing
from qms.signing.errors import RenderFailed
from qms.signing.render import _Print, _write
from qms.web import review_views
from qms.workloads.models import Workload
from qms.workloads.services import registration
from tests.access.table import ROWS, _review
from tests.access.world import World

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert('1')</script>\"'&amp;{{7*7}}{% x %}<img src=http://127.0.0.1:9/x onerror=a()>"
TURNED = ("\u202e", "\u2066", "\u200f", "\x07", "\ufeff")


def rename(world: World, state: str, title: str) -> Workload:
    workload = Workload.objects.get(pk=world.workloads[state].pk)
    names = (
        "purpose",
        "business_process",
        "criticality",
        "mode",
        "model_text",
        "ai_act_risk_class",
        "deputy",
    )
    data = registration.WorkloadData(title=title, **{name: getattr(workload, name) for name in names})
    return registration.update_workload(
        actor=world.accounts["owner"], workload_id=workload.pk, data=data, expected_sha256=""
    )


@pytest.mark.parametrize("actor", ["owner", "PR", "FG"])
def test_hostile_title_stays_text_on_every_page(world: World, actor: str):
    for state in ("entwurf", "eingereicht", "reif", "frei"):
        rename(world, state, f"{HOSTILE}{state}")
    seen = 0
    for row in ROWS:
        if row.get != 200 or row.name in {
            "health",
            "approval_document",
            "approval_evidence_zip",
            "evidence_file",
            "audit_export_file",
            "run_map",
            "emulator_map",
        }:
            continue
        body = (
            world.browser(actor)
            .get(f"{reverse(row.name, args=row.args(world))}?{row.query(world)}")
            .content.decode()
        )
        assert not re.search("<script>alert|<img src=http", body), row.name
        assert "{{7*7}}" in body or "7*7" not in body, row.name
        seen += html.escape(HOSTILE) in body
    assert seen > 10


def test_hostile_title_stays_text_in_json(world: World):
    response = world.browser("owner").post(
        reverse("workload_new"), {"title": HOSTILE, "mode": "<b>"}, HTTP_ACCEPT="application/json"
    )
    assert response["Content-Type"] == "application/json"


def test_search_words_and_keys_of_the_list_stay_text(world: World):
    browser = world.browser("owner")
    for query in (HOSTILE, "' OR 1=1 --", "%", "\x00", "a" * 5000):
        response = browser.get(reverse("workloads"), {"q": query, "after": query})
        assert response.status_code == 200
        assert "<script>alert" not in response.content.decode()
    for url in ("audit_log", "approvals"):
        values = {"objekt": HOSTILE + "\0", "vor": "9" * 40, "after": "x", "stand": HOSTILE}
        assert world.browser("PR").get(reverse(url), values).status_code == 200


def test_mail_is_plain_text_with_the_title_as_it_is(world: World):
    rename(world, "frei", HOSTILE)
    requests.request_approval(
        actor=world.accounts["owner"],
        workload_id=world.workloads["frei"].pk,
        type=demo.ApprovalType.PRELIMINARY,
    )
    jobs.run_pending()
    found = [item for item in mail.outbox if HOSTILE in item.body]
    assert found
    for item in found:
        assert not getattr(item, "alternatives", [])
        assert "\n" not in item.subject
        assert HOSTILE not in item.subject


@pytest.mark.parametrize("character", TURNED, ids=ascii)
def test_hidden_characters_are_refused_when_they_are_written(world: World, character: str):
    text = f"Freigabe {character}nhcsin"
    with pytest.raises(CriterionNotMet) as refused:
        rename(world, "entwurf", text)
    assert character not in refused.value.message
    response = world.browser("owner").post(reverse("workload_new"), {"title": text})
    assert response.status_code == 422
    approval = world.approvals["eingereicht"].pk
    with pytest.raises(CriterionNotMet):
        requests.ask_question(actor=world.accounts["PR"], approval_id=approval, text=text)
    wording = Wording(Decision.APPROVE, text, Meaning.APPROVED)
    with pytest.raises(CriterionNotMet):
        decisions.prepare_decision(
            actor=world.accounts["FG"], approval_id=world.approvals["reif"].pk, wording=wording
        )
    with pytest.raises(CriterionNotMet):
        services.invite_person(actor=world.accounts["AD"], display_name=text, email="x@example.org")


def test_first_hidden_knows_layout_from_disguise():
    assert first_hidden("Zeile 1\r\nZeile 2\tä\u00ad€") == ""
    assert first_hidden("a\u202eb") == "U+202E"


@pytest.mark.needs("pango")
def test_hostile_texts_stay_text_in_the_signed_document(world: World):
    pikepdf = pytest.importorskip("pikepdf")
    with override_settings(DEMO=True):
        house = demo.Demo()
        workload = rename(world, "frei", HOSTILE)
        approval = demo.review(house, demo.request_approval(house, workload))
        decided = demo.decide(house, approval, Wording(Decision.APPROVE, HOSTILE, Meaning.APPROVED))
        jobs.run_pending()
    decided = Approval.objects.get(pk=decided.pk)
    document = signing.document_of(decided.pk)
    assert document is not None
    assert document.final_sha256, document.error
    with pikepdf.open(io.BytesIO(signing.final_pdf(document))) as pdf:
        names = {str(name) for item in pdf.objects for name in _names(item)}
        assert not names & {"/JavaScript", "/JS", "/Launch", "/URI", "/SubmitForm", "/GoToR", "/OpenAction"}
        attached = pdf.attachments["entscheidung.json"].get_file().read_bytes().decode()
    assert HOSTILE in attached.replace('\\"', '"')


def _names(item: Any) -> list[Any]:
    import pikepdf

    if isinstance(item, pikepdf.Stream | pikepdf.Dictionary):
        kinds = [
            value for key, value in item.items() if key in {"/S", "/Type"} and isinstance(value, pikepdf.Name)
        ]
        return [*item.keys(), *kinds]
    return []


@pytest.mark.needs("pango")
@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:9/x.png",
        "file:///etc/passwd",
        "qms-font:../../../../etc/passwd",
        "data:text/html,<script>alert(1)</script>",
    ],
)
def test_rendering_fetches_nothing(address: str):
    """Even if markup got through: neither the network nor the file system is reached, and the rendering fails."""
    with pytest.raises(RenderFailed):
        _write(_Print(f'<html><body><img src="{html.escape(address)}"></body></html>', "feld.css"))


# signed drafts of a review


def draft_of(world: World) -> str:
    url = reverse("approval_review", args=[world.approvals["eingereicht"].pk])
    with override_settings(DEMO=True):  # the page of the act has its form only for who can confirm one
        page = world.browser("PR").post(url, _review(world))
    return html.unescape(re.search(r'name="draft" value="([^"]+)"', page.content.decode()).group(1))


def test_draft_counts_for_its_account_and_its_request_only(world: World):
    draft, accounts = draft_of(world), world.accounts
    approval, other = world.approvals["eingereicht"], world.approvals["reif"]
    assert review_views._read(draft, approval, accounts["PR"]) is not None
    assert review_views._read(draft, approval, accounts["FG"]) is None
    assert review_views._read(draft, other, accounts["PR"]) is None
    for changed in (draft[:-1], draft + "x", draft.swapcase(), "", "a:b:c"):
        assert review_views._read(changed, approval, accounts["PR"]) is None
    foreign = tokens.dumps({"approval": str(approval.pk)}, salt="another salt", compress=True)
    assert review_views._read(foreign, approval, accounts["PR"]) is None


def test_draft_expires(world: World, monkeypatch: pytest.MonkeyPatch):
    draft = draft_of(world)
    monkeypatch.setattr(review_views, "DRAFT_LIFE_S", -1)
    assert review_views._read(draft, world.approvals["eingereicht"], world.accounts["PR"]) is None


def test_key_of_the_tokens_is_no_default():
    assert len(settings.SECRET_KEY) >= 50
