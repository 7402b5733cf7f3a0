from __future__ import annotations

import html
from datetime import UTC, datetime
from typing import Any

import pytest
from django.urls import reverse

from qms.evidence.claims import statements
from qms.evidence.models import Claim, EvidenceItem
from qms.workloads.models import Workload
from tests.qms.evidence.test_claims import change, evidence
from tests.qms.web.workload_world import URLCONF, World, build

pytestmark = pytest.mark.django_db
POST = {"status": "TEILWEISE", "reason": "Nur im Labor.", "version": "0"}


@pytest.fixture(autouse=True)
def _addresses(settings: Any) -> None:
    settings.ROOT_URLCONF = URLCONF


@pytest.fixture
def world(db: None) -> World:
    return build()


def text(world: World, url: str, actor: str = "wo01") -> str:
    answer = world.client(actor).get(url)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode()).replace("\u00ad", "")


def one(key: str = "S031") -> str:
    return reverse("claim", args=[key])


def test_list_shows_every_claim_with_status_and_what_the_emulator_says(world: World) -> None:
    page = text(world, reverse("claims"))
    assert all(row.text_de in page for row in statements().values())
    assert "Externe Speicherbusse werden vollständig umgangen." in page
    assert f"{len(statements())} Aussagen: " in page
    assert "„vollständig“ gilt also nur auf dem Wafer" in page
    assert "Prüfung überfällig" not in page


def test_a_claim_is_flagged_when_its_review_is_overdue(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = {"due": datetime(2027, 10, 20, 9, tzinfo=UTC), "late": datetime(2027, 10, 21, 9, tzinfo=UTC)}
    for name, flagged in (("due", False), ("late", True)):
        monkeypatch.setattr("qms.web.claim_page.clock.now", lambda moment=moments[name]: moment)
        assert ("Prüfung überfällig" in text(world, one())) is flagged


def test_emulator_answer_is_proposed_and_taken_over_with_a_reason(world: World) -> None:
    page = text(world, one("S016"))
    assert "Vorschlag" in page
    assert "Ein Modell der Hardware, keine Messung." in page
    answer = world.client("wo01").post(one("S016"), POST)
    assert answer.url == one("S016")
    assert "Version 1" in text(world, one("S016"))
    assert "Nur im Labor." in text(world, reverse("claims"))


def test_the_last_changes_stand_with_status_and_person_newest_first(world: World) -> None:
    assert "Verlauf" not in text(world, one("S016"))
    world.client("wo01").post(one("S016"), POST)
    world.client("pr01").post(one("S016"), POST | {"status": "NICHT_ANWENDBAR", "version": "1"})
    shown = text(world, one("S016")).partition('id="verlauf"')[2].partition("</section>")[0]
    assert shown.index("Status: nicht anwendbar") < shown.index("Status: teilweise")
    assert world.people["wo01"].person.display_name in shown
    assert world.people["pr01"].person.display_name in shown
    assert "Nur im Labor." not in shown


def test_refusal_keeps_the_reason_and_stands_at_its_field(world: World) -> None:
    answer = world.client("pr01").post(one(), POST | {"status": "GEMESSEN_BESTAETIGT"})
    assert answer.status_code == 422
    assert "GEMESSEN" in answer.context["form"].errors["reason"][0]
    assert "Nur im Labor." in answer.content.decode()
    late = world.client("pr01").post(one(), POST | {"next_review": "2099-01-01"})
    assert "POL-55" in late.context["form"].errors["next_review"][0]
    assert not Claim.objects.exists()


def test_linked_evidence_is_shown_only_to_who_sees_its_workload(world: World) -> None:
    workload: Workload = world.register(title="Geheimer Titel")
    item: EvidenceItem = evidence(world, workload)
    change(world, evidence_id=item.pk)
    assert reverse("evidence", args=[item.pk]) in text(world, one(), "pr01")
    stranger = text(world, one(), "wo02")
    assert "gehört zu einem Workload, den Sie nicht sehen" in stranger
    assert "Geheimer Titel" not in stranger
    assert item.title not in stranger


def test_an_opinion_has_no_form_and_readers_need_a_letter(world: World) -> None:
    page = text(world, one("S030"))
    assert "Eine Meinung lässt sich nicht messen" in page
    assert "Status ändern" not in page
    assert world.client("fg01").get(reverse("claims")).status_code == 403
    assert world.client("wo01").get(one("S999")).status_code == 404
