from __future__ import annotations

import zipfile
from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from qms.audit.models import Export
from qms.core import health, jobs
from qms.core.health import Finding, Result
from qms.web import audit_views
from tests.walk import World, nothing_but, recorded, screen, world

__all__ = ["world"]
pytestmark = pytest.mark.django_db
STAGE = "requested"
JSON = {"accept": "application/json"}


def test_reviewer_reads_the_whole_log(world: World) -> None:
    text = screen(world.browser("pr01").get(reverse("audit_log")))
    assert "Alle Ereignisse, neueste zuerst." in text
    assert "Freigabeantrag eingereicht." in text
    assert "Export erstellen" in text


def test_owner_reads_own_cases_only(world: World) -> None:
    browser = world.browser("wo01")
    pages, text = [reverse("audit_log")], ""
    while pages:
        answer = browser.get(pages.pop())
        text += screen(answer)
        before = answer.context["next_before"]
        if before is not None:
            pages.append(f"{reverse('audit_log')}?vor={before}")
    assert "Freigabeantrag eingereicht." in text
    assert "Konto angelegt." not in text
    assert "Rolle beantragt." not in text
    assert "Export erstellen" not in text


def test_administrator_may_not_read(world: World) -> None:
    assert world.browser("ad01").get(reverse("audit_log")).status_code == 403


def test_log_is_read_in_pages_without_gap_or_overlap(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_views, "PAGE_SIZE", 10)
    browser, seen, before = world.browser("au01"), [], ""
    while before is not None:
        answer = browser.get(reverse("audit_log"), {"vor": before} if before else {})
        seen += [row["entry"].seq for row in answer.context["rows"]]
        before = answer.context["next_before"]
    assert seen == list(range(seen[0], -1, -1))


@pytest.mark.parametrize("value", ["abc", "-1", "9" * 40, ""])
def test_odd_page_number_shows_the_newest(world: World, value: str) -> None:
    assert world.browser("au01").get(reverse("audit_log"), {"vor": value}).status_code == 200


def test_log_of_one_object(world: World) -> None:
    answer = world.browser("wo01").get(reverse("audit_log"), {"objekt": f"Approval:{world.approval_id}"})
    assert {row["entry"].obj_type for row in answer.context["rows"]} == {"Approval"}


def test_log_of_a_foreign_object_does_not_exist(world: World) -> None:
    other = world.user("ad01").person.pk
    answer = world.browser("wo01").get(reverse("audit_log"), {"objekt": f"Person:{other}"})
    assert answer.status_code == 404


@pytest.mark.parametrize("name", ["wo01", "fg01", "ad01"])
def test_export_needs_the_permission(world: World, name: str) -> None:
    assert world.browser(name).get(reverse("audit_export")).status_code == 403
    with nothing_but("ZUGRIFF_VERWEIGERT", id="P34"):
        answer = world.browser(name).post(reverse("audit_export"), {"purpose": "Neugier"})
    assert answer.status_code == 403


def test_export_needs_a_purpose(world: World) -> None:
    page = world.browser("au01").post(reverse("audit_export"), {"purpose": "  "})
    assert page.status_code == 422
    assert "Ein Export braucht einen Zweck." in screen(page)
    assert not Export.objects.exists()


def test_export_is_asked_for_built_and_handed_out(world: World) -> None:
    browser = world.browser("au01")
    with recorded("EXPORT_ERSTELLT"):
        assert browser.post(reverse("audit_export"), {"purpose": "Audit 2027"}).url == reverse("audit_export")
    export = Export.objects.get()
    progress = reverse("audit_export_progress", args=[export.pk])
    waiting = browser.get(progress, headers={"HX-Request": "true"})
    assert "HX-Refresh" not in waiting
    assert 'hx-trigger="every 2s"' in waiting.content.decode()
    assert 'role="status"' in browser.get(reverse("audit_export")).content.decode()
    file = reverse("audit_export_file", args=[export.pk])
    assert browser.get(file, headers=JSON).json()["id"] == "P34"
    jobs.run_pending()
    ended = browser.get(progress, headers={"HX-Request": "true"})
    assert ended["HX-Refresh"] == "true"
    assert "hx-trigger" not in ended.content.decode()
    assert "Audit 2027" in screen(browser.get(reverse("audit_export")))
    with recorded("EXPORT_ABGERUFEN"):
        answer = browser.get(file)
    data = b"".join(answer.streaming_content)
    assert answer["Content-Disposition"].startswith("attachment")
    assert any(name.endswith("pruefen.py") for name in zipfile.ZipFile(BytesIO(data)).namelist())


def test_expired_sign_in_sends_the_page_to_the_login_not_the_fragment(world: World) -> None:
    url = reverse("audit_export_progress", args=["01a22a72-05fb-70f8-b334-3ac5d5a6545e"])
    answer = Client().get(url, headers={"HX-Request": "true"})
    assert answer.status_code == 401
    assert answer["HX-Redirect"] == reverse("account_login")
    assert Client().get(url).status_code == 302


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[Result]:
    """Two findings, of which the mandatory one can be turned."""
    found = [
        Result("Datenbank", True, Finding(True, "läuft")),
        Result("Uhr", False, Finding(False, "geht vor", "Uhr stellen")),
    ]

    def run(*, mandatory_only: bool = False) -> list[Result]:
        return [item for item in found if item.mandatory or not mandatory_only]

    monkeypatch.setattr(health, "run", run)
    return found


def test_health_says_one_word_to_everybody(world: World, checks: list[Result]) -> None:
    for browser in (Client(), world.browser("pr01")):
        answer = browser.get(reverse("health"))
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    checks[0] = Result("Datenbank", True, Finding(False, "antwortet nicht", "starten"))
    answer = Client().get(reverse("health"))
    assert (answer.status_code, answer.json()) == (503, {"status": "failed"})


def test_health_shows_findings_to_the_administrator(world: World, checks: list[Result]) -> None:
    names = [item["name"] for item in world.browser("ad01").get(reverse("health")).json()["checks"]]
    assert names == ["Datenbank", "Uhr"]
    page = world.browser("ad01").get(reverse("health"), headers={"accept": "text/html"})
    text = screen(page)
    assert text.index("geht vor") < text.index("läuft")
    assert "Uhr stellen" in text
    reader: Any = world.browser("wo01").get(reverse("health"), headers={"accept": "text/html"})
    assert "geht vor" not in screen(reader)
