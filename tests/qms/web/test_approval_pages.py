from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from qms.approvals.models import Approval, Vote
from qms.approvals.services import requests
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core import store
from qms.evidence.models import EvidenceItem
from qms.roles.roles import Role
from tests.walk import (
    SIGN,
    World,
    address,
    assert_refused,
    decision_post,
    hidden,
    kinds_since,
    log_size,
    nothing_but,
    recorded,
    review_post,
    screen,
    world,
)

__all__ = ["world"]
pytestmark = pytest.mark.django_db
STAGE = "requested"
JSON = {"accept": "application/json"}


def at(world: World, name: str) -> str:
    return address(name, world.approval_id)


def review(world: World) -> Any:
    """Screen 7 in the browser of the reviewer, up to and with the signed act."""
    browser = world.browser("pr01")
    act = browser.post(at(world, "approval_review"), review_post())
    fields = {name: hidden(act, name) for name in ("challenge", "draft")}
    return browser.post(at(world, "approval_review_sign"), fields | SIGN)


def prepared(world: World) -> tuple[Client, str, Any]:
    """Screen 8 in the browser of the approver, up to the page of the act."""
    browser = world.browser("fg01")
    answer = browser.post(at(world, "approval_decide"), decision_post())
    return browser, answer.url, browser.get(answer.url)


def inputs(page: Any, kind: str) -> list[str]:
    return [tag for tag in re.findall(r"<input[^>]*>", page.content.decode()) if f'type="{kind}"' in tag]


def test_request_page_asks_nothing(world: World) -> None:
    page = world.browser("wo01").get(address("approval_request", world.workload_id))
    form = page.content.decode().split('action="/workloads/')[-1]
    assert not inputs(page, "radio")
    assert "<textarea" not in form
    assert "Vorfreigabe" in screen(page)
    assert "geprüft: " in screen(page)


def test_request_button_is_locked_with_the_sentence_of_the_command(world: World) -> None:
    page = world.browser("wo01").get(address("approval_request", world.workload_id))
    assert "Für diesen Workload läuft bereits ein Antrag dieser Art." in screen(page)
    assert "disabled" in page.content.decode()
    answer = world.browser("wo01").post(
        address("approval_request", world.workload_id), {"type": "VORFREIGABE"}
    )
    assert answer.status_code == 409


def test_production_needs_measured_values(world: World) -> None:
    answer = world.browser("wo01").post(
        address("approval_request", world.workload_id), {"type": "PRODUKTION"}, headers=JSON
    )
    assert answer.status_code == 422
    assert answer.json()["id"] == "G7-8"


@pytest.mark.parametrize("name", ["approval", "approval_review", "approval_decide", "approval_gate_report"])
def test_outsider_gets_404(world: World, name: str) -> None:
    assert world.browser("ad01").get(at(world, name)).status_code == 404


@pytest.mark.parametrize(
    "name", ["approval", "approval_review", "approval_decide", "approval_document", "audit_log"]
)
def test_nobody_reads_without_signing_in(world: World, name: str) -> None:
    url = reverse(name) if name == "audit_log" else at(world, name)
    answer = Client().get(url)
    assert answer.status_code == 302
    assert "/konto/" in answer.url


def test_page_shows_board_sentence_figures_and_gates(world: World) -> None:
    text = screen(world.browser("wo01").get(at(world, "approval")))
    assert "Zielplattform emuliert – keine Aussage unter realen Bedingungen" in text
    assert "Kein Vergleichsfaktor" in text
    assert "EMULIERT" in text
    assert "Unabhängige Prüfung G3-8" in text
    assert "Dieses Regelwerk hat dazu keine Kriterien." in text


def test_list_shows_the_request(world: World) -> None:
    text = screen(world.browser("fg01").get(reverse("approvals") + "?stand=offen"))
    assert world.approval.number in text


def test_list_needs_the_same_queries_for_more_rows(world: World, django_assert_max_num_queries: Any) -> None:
    browser = world.browser("wo01")
    with django_assert_max_num_queries(40):
        assert browser.get(reverse("approvals")).status_code == 200


def test_nothing_is_chosen_for_the_reviewer(world: World) -> None:
    page = world.browser("pr01").get(at(world, "approval_review"))
    radios = inputs(page, "radio")
    assert radios
    assert not [tag for tag in radios if "checked" in tag]
    assert '<option value="" selected>Bitte wählen</option>' in page.content.decode()
    assert "Kosten" in screen(page)


def test_review_keeps_values_when_the_meaning_is_missing(world: World) -> None:
    with nothing_but():
        page = world.browser("pr01").post(
            at(world, "approval_review"), review_post(meaning="", reason="Gesehen.")
        )
    assert page.status_code == 422
    assert "Bitte wählen Sie die Bedeutung Ihrer Unterschrift (G7-10)." in screen(page)
    assert "Gesehen.</textarea>" in page.content.decode()
    assert [tag for tag in inputs(page, "radio") if "checked" in tag]


def test_refusal_of_a_blocking_subject_goes_back_instead(world: World) -> None:
    with nothing_but("GATE_NICHT_ERFUELLT", id="G7-2"):
        page = world.browser("pr01").post(
            at(world, "approval_review"), review_post("ABLEHNUNG", reason="Zu dünn.")
        )
    assert page.status_code == 422
    assert "ist der Antrag nicht entscheidungsreif (G7-2)" in screen(page)


def test_owner_cannot_post_a_review(world: World) -> None:
    with nothing_but("SOD_VERLETZUNG"):
        answer = world.browser("wo01").post(at(world, "approval_review"), review_post())
    assert answer.status_code == 403


def test_act_names_label_digest_and_meaning(world: World) -> None:
    page = world.browser("pr01").post(at(world, "approval_review"), review_post())
    text = screen(page)
    assert "mit der Bedeutung „geprüft“" in text
    assert "Prüfsumme des Dossiers" in text
    assert re.search(r"\b[0-9a-f]{64}\b", text)
    assert "Mit Software-Authenticator bestätigen (Muster)" in text
    assert "Passwort und Einmalcode" in text


def test_review_act_makes_the_request_ready(world: World) -> None:
    with recorded(
        "ANTRAG_ANGENOMMEN", "NACHWEIS_GEPRUEFT", "MITZEICHNUNG_ABGEGEBEN", "FREIGABE_ENTSCHEIDUNGSREIF"
    ):
        answer = review(world)
    assert answer.url == at(world, "approval")
    assert world.approval.status == "ENTSCHEIDUNGSREIF"


def test_wrong_password_is_refused_and_the_draft_survives(world: World) -> None:
    browser = world.browser("pr01")
    act = browser.post(at(world, "approval_review"), review_post(reason="Gesehen."))
    fields = {name: hidden(act, name) for name in ("challenge", "draft")}
    with nothing_but("SIGNATUR_VERWEIGERT"):
        again = browser.post(
            at(world, "approval_review_sign"), fields | {"password": "falsch", "code": "000000"}
        )
    assert again.status_code == 422
    assert "Passwort oder Einmalcode stimmen nicht." in screen(again)
    assert "Gesehen." in screen(again)
    assert hidden(again, "challenge") != fields["challenge"]


def test_draft_of_another_account_counts_for_nothing(world: World) -> None:
    act = world.browser("pr01").post(at(world, "approval_review"), review_post())
    fields = {name: hidden(act, name) for name in ("challenge", "draft")}
    answer = world.browser("fg01").post(at(world, "approval_review_sign"), fields | SIGN)
    assert answer.url == at(world, "approval_review")
    assert not Vote.objects.exists()


def test_changed_draft_counts_for_nothing(world: World) -> None:
    browser = world.browser("pr01")
    act = browser.post(at(world, "approval_review"), review_post())
    fields = {"challenge": hidden(act, "challenge"), "draft": hidden(act, "draft")[:-3] + "abc"}
    assert browser.post(at(world, "approval_review_sign"), fields | SIGN).url == at(world, "approval_review")


def test_question_is_asked_and_answered(world: World) -> None:
    with recorded("ANTRAG_ANGENOMMEN", "RUECKFRAGE_GESTELLT"):
        world.browser("pr01").post(at(world, "approval_query"), {"text": "Woher stammen die Prozesswerte?"})
    page = world.browser("wo01").get(at(world, "approval"))
    assert "Woher stammen die Prozesswerte?" in screen(page)
    with recorded("RUECKFRAGE_BEANTWORTET"):
        world.browser("wo01").post(at(world, "approval_answer"), {"text": "Von Linie 3."})
    assert world.approval.status == "IN_PRUEFUNG"
    assert "Von Linie 3." in screen(world.browser("pr01").get(at(world, "approval")))


def test_empty_question_stays_on_the_page(world: World) -> None:
    with nothing_but():
        page = world.browser("pr01").post(at(world, "approval_query"), {"text": " "})
    assert page.status_code == 422
    assert "Bitte schreiben Sie Ihre Frage." in screen(page)


def test_returned_request_tells_its_owner_what_is_missing(world: World) -> None:
    world.browser("pr01").post(at(world, "approval_return"), {"text": "Der Zweck nennt keine Nutzer."})
    text = screen(world.browser("wo01").get(at(world, "approval")))
    assert "Der Zweck nennt keine Nutzer." in text
    assert "Antrag erneut stellen" in text
    answer = world.browser("wo01").post(
        address("approval_request", world.workload_id), {"type": "VORFREIGABE"}
    )
    assert answer.url == at(world, "approval")
    assert world.approval.status == "EINGEREICHT"


def test_withdrawal_is_final(world: World) -> None:
    world.browser("wo01").post(at(world, "approval_withdraw"), {"text": "Doppelt gestellt."})
    assert world.approval.status == "ZURUECKGEZOGEN"
    assert "Der Antrag ist zurückgezogen." in screen(world.browser("wo01").get(at(world, "approval")))
    answer = world.browser("pr01").post(at(world, "approval_review"), review_post())
    assert answer.status_code == 409


def test_document_before_the_decision_is_refused(world: World) -> None:
    with nothing_but("DOKUMENT_VERWEIGERT"):
        answer = world.browser("pr01").get(at(world, "approval_document"), headers=JSON)
    assert_refused(
        answer,
        status=409,
        code="DOKUMENT_VERWEIGERT",
        id="G7-9",
        message="Kein Freigabedokument ohne Entscheidung. Verfügbar: Gate-Bericht (G7-9).",
    )
    page = world.browser("pr01").get(at(world, "approval_gate_report"))
    assert "kein Freigabedokument" in screen(page)
    assert "G3-8" in screen(page)


class TestReviewed:
    """The same house after the review."""

    @pytest.fixture(autouse=True)
    def _reviewed(self, world: World) -> None:
        review(world)

    def test_nothing_is_chosen_for_the_approver(self, world: World) -> None:
        page = world.browser("fg01").get(at(world, "approval_decide"))
        radios = inputs(page, "radio")
        assert len(radios) == 2
        assert not [tag for tag in radios if "checked" in tag or "disabled" in tag]
        assert "Bedingt freigeben" not in screen(page)

    def test_requester_finds_the_button_locked_and_the_post_refused(self, world: World) -> None:
        world.grant("wo01", Role.APPROVER)
        sentence = "Funktionstrennung SoD-01: Antragstellende Person darf nicht entscheiden."
        page = world.browser("wo01").get(at(world, "approval_decide"))
        assert sentence in screen(page)
        assert not inputs(page, "radio")
        with nothing_but("SOD_VERLETZUNG", id="SoD-01"):
            answer = world.browser("wo01").post(at(world, "approval_decide"), decision_post())
        assert answer.status_code == 403
        assert sentence in screen(answer)

    def test_reviewer_cannot_decide(self, world: World) -> None:
        with nothing_but("SOD_VERLETZUNG"):
            assert (
                world.browser("pr01").post(at(world, "approval_decide"), decision_post()).status_code == 403
            )

    def test_unknown_decision_is_an_answer_not_an_error(self, world: World) -> None:
        answer = world.browser("fg01").post(
            at(world, "approval_decide"), decision_post(decision="VIELLEICHT")
        )
        assert answer.status_code == 422

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"reason": ""}, "Bitte begründen Sie die Entscheidung"),
            ({"meaning": ""}, "Bitte wählen Sie die Bedeutung Ihrer Unterschrift (G7-10)."),
            ({"meaning": "ABGELEHNT"}, "Diese Bedeutung passt nicht zu dieser Handlung (G7-10)."),
            (
                {"decision": "ABGELEHNT", "meaning": "ABGELEHNT"},
                "Eine Ablehnung nennt die empfohlene Alternative (T-10).",
            ),
        ],
    )
    def test_incomplete_decision_stays_on_the_page(
        self, world: World, changes: dict[str, str], sentence: str
    ) -> None:
        page = world.browser("fg01").post(at(world, "approval_decide"), decision_post(**changes))
        assert page.status_code == 422
        assert sentence in screen(page)
        assert world.approval.decision_records.count() == 0

    def test_signed_decision_settles_the_approval(self, world: World) -> None:
        browser, url, act = prepared(world)
        assert "Prüfsumme der Entscheidung" in screen(act)
        with recorded("BESTAETIGUNG_ABGEGEBEN", "FREIGABE_ERTEILT", "SIEGELUNG_ANGEFORDERT"):
            answer = browser.post(url, {"challenge": hidden(act, "challenge")} | SIGN)
        assert answer.url == at(world, "approval")
        page = browser.get(answer.url)
        assert "Siegel ausstehend" in screen(page)
        assert "wirksam und gilt bis" not in screen(page)

    def test_json_caller_gets_id_and_url(self, world: World) -> None:
        answer = world.browser("fg01").post(at(world, "approval_decide"), decision_post(), headers=JSON)
        record_id = str(world.approval.decision_records.get().pk)
        assert answer.json() == {
            "ok": True,
            "id": record_id,
            "url": reverse("approval_decide_sign", args=[world.approval_id, record_id]),
        }

    def test_challenge_is_good_for_one_act(self, world: World) -> None:
        browser, url, act = prepared(world)
        challenge = {"challenge": hidden(act, "challenge")}
        with nothing_but("SIGNATUR_VERWEIGERT"):
            again = browser.post(url, challenge | {"response": '{"rawId": 1}'})
        assert again.status_code == 422
        assert (
            browser.post(url, {"challenge": hidden(again, "challenge"), "response": "kein JSON"}).status_code
            == 422
        )
        assert world.approval.status == "ENTSCHEIDUNGSREIF"

    def test_nobody_else_signs_a_prepared_decision(self, world: World) -> None:
        _browser, url, _act = prepared(world)
        assert world.browser("pr01").get(url).status_code == 404
        assert world.browser("wo01").post(url, SIGN).status_code == 404

    def test_seal_that_failed_is_repeated_from_the_page(self, world: World) -> None:
        browser, url, act = prepared(world)
        browser.post(url, {"challenge": hidden(act, "challenge")} | SIGN)
        from qms.signing.models import Document

        with unit(actor=SYSTEM):
            Document.objects.update(state="FEHLGESCHLAGEN", error="Der Zeitstempeldienst antwortet nicht.")
            record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Installation", "1"))
        text = screen(browser.get(at(world, "approval")))
        assert "Der Zeitstempeldienst antwortet nicht." in text
        assert "Erneut siegeln" in text
        assert "Erneut siegeln" not in screen(world.browser("wo01").get(at(world, "approval")))
        size = log_size()
        assert browser.post(at(world, "approval_document")).url == at(world, "approval")
        assert kinds_since(size) == ["SIEGELUNG_ANGEFORDERT"]

    def test_public_status_says_the_state_of_today(self, world: World) -> None:
        browser, url, act = prepared(world)
        browser.post(url, {"challenge": hidden(act, "challenge")} | SIGN)
        approval = world.approval
        status = reverse("document_status", args=[approval.number])
        page = Client().get(status, {"h": approval.decision_sha256})
        assert page.status_code == 200
        assert "Siegel ausstehend" in screen(page)
        assert world.workload.title not in screen(page)
        for digest in ("", "0" * 64, approval.dossier_sha256):
            assert Client().get(status, {"h": digest}).status_code == 404
        assert (
            Client().get(reverse("document_status", args=["FRG-2099-0001-v1"]), {"h": ""}).status_code == 404
        )


def test_status_page_of_an_undecided_request_does_not_exist(world: World) -> None:
    url = reverse("document_status", args=[world.approval.number])
    assert Client().get(url, {"h": ""}).status_code == 404


class TestEvidence:
    """Evidence pages of the request."""

    def item(self, world: World, kind: str) -> EvidenceItem:
        return EvidenceItem.objects.get(workload=world.workload, type=kind)

    @pytest.mark.parametrize("kind", ["EV-02", "EV-04", "EV-06", "EV-16"])
    def test_facts_are_shown_and_downloaded(self, world: World, kind: str) -> None:
        item = self.item(world, kind)
        assert item.title in screen(world.browser("wo01").get(address("evidence", item.pk)))
        with recorded("NACHWEIS_ABGERUFEN"):
            answer = world.browser("wo01").get(address("evidence_file", item.pk))
        assert answer.content == store.get(item.facts_sha256)
        assert answer["Content-Disposition"].startswith('attachment; filename="EV-')
        assert answer["X-Content-Type-Options"] == "nosniff"

    def test_every_number_has_its_axes(self, world: World) -> None:
        page = world.browser("wo01").get(address("evidence", self.item(world, "EV-04").pk)).content.decode()
        metrics = self.item(world, "EV-04").facts()["metrics"]
        assert page.count("axes--emuliert") >= len(metrics)

    def test_outsider_gets_404(self, world: World) -> None:
        item = self.item(world, "EV-02")
        assert world.browser("ad01").get(address("evidence", item.pk)).status_code == 404
        assert world.browser("ad01").get(address("evidence_file", item.pk)).status_code == 404

    def test_producer_cannot_review_own_evidence(self, world: World) -> None:
        item = self.item(world, "EV-02")
        sentence = "Eigene Nachweise dürfen nicht selbst geprüft werden (SoD-03)."
        page = world.browser("pl01").get(address("evidence", item.pk))
        assert sentence in screen(page)
        assert not inputs(page, "radio")
        with nothing_but("SOD_VERLETZUNG", id="SoD-03"):
            answer = world.browser("pl01").post(address("evidence_review", item.pk), {"accept": "ja"})
        assert answer.status_code == 403
        assert sentence in screen(answer)

    def test_reviewer_accepts_one_piece_and_raises_its_assurance(self, world: World) -> None:
        item = self.item(world, "EV-06")
        with recorded("NACHWEIS_GEPRUEFT"):
            world.browser("pr01").post(
                address("evidence_review", item.pk), {"accept": "ja", "compared_with": ""}
            )
        item.refresh_from_db()
        assert item.status == "GEPRUEFT"

    def test_rejection_needs_a_reason(self, world: World) -> None:
        item = self.item(world, "EV-06")
        with nothing_but("GATE_NICHT_ERFUELLT"):
            page = world.browser("pr01").post(address("evidence_review", item.pk), {"accept": "nein"})
        assert page.status_code == 422
        assert "Bitte begründen Sie, warum Sie den Nachweis ablehnen." in screen(page)

    def test_damaged_file_is_named_and_never_handed_out(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def damaged(sha256: str) -> bytes:
            raise store.StoredFileChanged(sha256, "other bytes")

        monkeypatch.setattr(store, "get", damaged)
        item = self.item(world, "EV-02")
        assert "stimmt nicht mehr mit ihrer Prüfsumme überein" in screen(
            world.browser("wo01").get(address("evidence", item.pk))
        )
        answer = world.browser("wo01").get(address("evidence_file", item.pk), headers=JSON)
        assert (answer.status_code, answer.json()["id"]) == (422, "G7-4")


def test_changes_since_the_last_approval_are_listed(world: World) -> None:
    assert not Approval.objects.filter(decided_at__isnull=False).exists()
    text = screen(world.browser("wo01").get(at(world, "approval")))
    assert "Das ist die erste Freigabe dieses Workloads" in text


def test_question_needs_a_reviewer(world: World) -> None:
    with nothing_but("SOD_VERLETZUNG"):
        assert world.browser("wo01").post(at(world, "approval_query"), {"text": "Warum?"}).status_code == 403
    with pytest.raises(Exception, match="Berechtigung"):
        requests.ask_question(actor=world.user("fg01"), approval_id=world.approval_id, text="Warum?")
