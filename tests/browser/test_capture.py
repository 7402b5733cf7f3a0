"""The page "Modell" as people see it: from screen 1 to the uploaded capture, refused and taken, with and without script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pilots import demo
from pilots.graph.capture import to_bytes
from qms.config import env
from qms.core import installation
from qms.core.models import InstallationMode
from tests.browser.visitor import House, Visitor, open_house
from tests.pilots.graph.captures import perceptron

pytestmark = [pytest.mark.browser, pytest.mark.needs("chromium")]
TAKEN = "Die Aufzeichnung ist geprüft und gilt als Modell des Workloads."
SUPPORTED = "Alle 5 Operationen werden unterstützt."


@pytest.fixture
def demo_house(live_server: Any, settings: Any, tmp_path: Path) -> Iterator[House]:
    """A demo with its people and nothing else."""
    settings.PUBLIC = env.PublicUrl(live_server.url)
    settings.DEMO = True
    assert installation.store_mode() is InstallationMode.DEMO
    with open_house(live_server.url) as opened:
        demo.make_house()
        yield opened


def at_the_upload(house: House) -> Visitor:
    """Return wo01, who has recorded a title and pressed the button of screen 1."""
    visitor = house.visitor()
    visitor.open("/konto/login/")
    visitor.press("Als wo01 anmelden")
    visitor.open("/workloads/neu/")
    visitor.fill(title="Ersatzteil-Assistent")
    visitor.press("Speichern und Aufzeichnung hochladen")
    visitor.reads("Modell aus einer Aufzeichnung")
    return visitor


def send(page: Page, name: str, data: bytes) -> None:
    sent = {"name": name, "mimeType": "application/octet-stream", "buffer": data}
    page.locator("main [name=file]").set_input_files(sent)
    page.locator("main [name=level][value=K1]").check()
    page.get_by_role("button", name="Hochladen und prüfen").click()


def test_refused_then_taken_and_seen(demo_house: House) -> None:
    visitor = at_the_upload(demo_house)
    page = visitor.page
    visitor.look()
    send(page, "modell.wgraph", to_bytes(perceptron())[:-1])
    expect(page.get_by_role("alert")).to_contain_text("Eine Angabe passt noch nicht")
    expect(page.get_by_role("alert")).to_be_focused()
    visitor.look()
    send(page, "modell.wgraph", to_bytes(perceptron()))
    expect(page.get_by_role("main")).to_contain_text(TAKEN)
    visitor.reads(SUPPORTED)
    visitor.look()
    visitor.press("Zum Workload")
    visitor.reads("modell.wgraph")
    visitor.messages[:] = [
        text for text in visitor.messages if "422" not in text
    ]  # the browser notes the status


def test_progress_is_shown_while_the_file_travels(demo_house: House) -> None:
    visitor = at_the_upload(demo_house)
    page = visitor.page
    bar = page.get_by_label("Wird hochgeladen und geprüft")
    assert not bar.is_visible()
    page.evaluate(
        """document.addEventListener("htmx:xhr:progress", () => {
          window.seen = document.getElementById("hochladen").checkVisibility();
        })"""
    )
    send(page, "modell.wgraph", to_bytes(perceptron()))
    expect(page.get_by_role("main")).to_contain_text(TAKEN)
    assert page.evaluate("window.seen")


def test_a_file_above_the_limit_is_refused_before_it_is_sent(demo_house: House) -> None:
    visitor = at_the_upload(demo_house)
    page, data = visitor.page, to_bytes(perceptron())
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    field = page.locator("main [name=file]")
    field.evaluate("(field, size) => { field.dataset.maxBytes = size }", len(data) - 1)
    send(page, "modell.wgraph", data)
    assert "64" in field.evaluate("field => field.validationMessage")
    assert "POST" not in sent
    field.evaluate("(field, size) => { field.dataset.maxBytes = size }", len(data))
    send(page, "modell.wgraph", data)
    expect(page.get_by_role("main")).to_contain_text(TAKEN)


def test_answer_without_a_page_is_asked_for_again_the_plain_way(demo_house: House, settings: Any) -> None:
    visitor = at_the_upload(demo_house)
    visitor.page.route(
        "**/modell/",
        lambda route: route.abort() if route.request.headers.get("hx-request") else route.continue_(),
    )
    send(visitor.page, "modell.wgraph", to_bytes(perceptron()))
    expect(visitor.page.get_by_role("main")).to_contain_text(TAKEN)
    visitor.messages[:] = [text for text in visitor.messages if "net::" not in text and "htmx:" not in text]


def test_all_of_it_works_without_script(demo_house: House) -> None:
    visitor = at_the_upload(demo_house)
    plain = visitor.page.context.browser.new_context(
        java_script_enabled=False, storage_state=visitor.page.context.storage_state(), locale="de-DE"
    )
    page = plain.new_page()
    page.goto(visitor.page.url)
    send(page, "modell.wgraph", b"kein Graph")
    refused = page.get_by_role("main").inner_text()
    send(page, "modell.wgraph", to_bytes(perceptron()))
    taken = page.get_by_role("main").inner_text().replace("\u00ad", "")
    plain.close()
    assert "keine Aufzeichnung eines Graphen" in refused
    assert TAKEN in taken
    assert SUPPORTED in taken
