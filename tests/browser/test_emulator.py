"""The page "Emulator" as people see it: both widths, both schemes, keyboard order, without script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse

from pilots import demo
from qms.config import env
from qms.core import installation
from qms.core.models import InstallationMode
from tests.browser.visitor import House, Visitor, open_house
from tests.pilots.test_emulator_pages import LLAMA_8B, LLAMA_70B

pytestmark = [pytest.mark.browser, pytest.mark.needs("chromium")]


@pytest.fixture
def demo_house(live_server: Any, settings: Any) -> Iterator[House]:
    """A demo with its people and nothing else."""
    settings.PUBLIC = env.PublicUrl(live_server.url)
    settings.DEMO = True
    assert installation.store_mode() is InstallationMode.DEMO
    with open_house(live_server.url) as opened:
        demo.make_house()
        yield opened


def signed_in(house: House) -> Visitor:
    visitor = house.visitor()
    visitor.open("/konto/login/")
    visitor.press("Als wo01 anmelden")
    return visitor


def test_question_answer_views_and_refusal(demo_house: House) -> None:
    visitor = signed_in(demo_house)
    visitor.page.get_by_role("navigation").get_by_role("link", name="Emulator").first.click()
    visitor.reads("Was leistet ein Wafer für Ihr Modell?")
    visitor.look()
    visitor.fill(config=json.dumps(LLAMA_8B))
    visitor.press("Emulieren")
    visitor.reads("Llama-3.1-8B (8,0\u00a0Mrd. Parameter) auf WSE-2")
    visitor.look()
    visitor.press("Ausfälle")
    assert visitor.page.url.endswith(f"{reverse('emulator')}#karte")
    visitor.reads("Eine Karte echter Ausfälle ist nicht veröffentlicht.")
    visitor.fill(config=json.dumps(LLAMA_70B))
    visitor.press("Emulieren")
    visitor.reads("Das Modell passt nicht auf die Maschine")
    visitor.look()
    visitor.messages[:] = [
        text for text in visitor.messages if "422" not in text
    ]  # the browser notes the status


def test_all_of_it_works_without_script(demo_house: House) -> None:
    visitor = signed_in(demo_house)
    plain = visitor.page.context.browser.new_context(
        java_script_enabled=False, storage_state=visitor.page.context.storage_state(), locale="de-DE"
    )
    page = plain.new_page()
    page.goto(f"{visitor.origin}{reverse('emulator')}?beispiel")
    page.get_by_role("button", name="Emulieren").click()
    page.get_by_role("button", name="Mittel").click()
    text = page.get_by_role("main").inner_text().replace("\u00ad", "")
    plain.close()
    assert "Llama-3.1-8B" in text
    assert "Zehn auffälligste Felder" in text
