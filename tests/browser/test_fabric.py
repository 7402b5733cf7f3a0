"""The page "Takt für Takt" as people see it: both widths, both schemes, steps with and without script, by keyboard."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.browser.test_emulator import demo_house, signed_in
from tests.browser.visitor import PHONE, House, Visitor

__all__ = ["demo_house"]
pytestmark = [pytest.mark.browser, pytest.mark.needs("chromium")]
LAYERS = """() => ["elements", "moves", "held"].map(name => [...document.querySelectorAll(`[data-${name}] *`)]
  .map(one => [one.getAttribute("href"), one.getAttribute("x"), one.getAttribute("y"), one.textContent]))"""


def opened(visitor: Visitor, query: str = "") -> Page:
    visitor.open(f"{reverse('fabric')}?{query}")
    return visitor.page


def sentence(page: Page) -> str:
    return page.locator("[data-sentence]").inner_text()


@pytest.mark.parametrize(
    "query",
    ["", "ablauf=stationary&takt=240", "ablauf=mesh_gemm&breite=8&takt=470", "ablauf=deadlock&takt=24"],
)
def test_pictures_are_readable_in_both_widths_and_schemes(demo_house: House, query: str) -> None:
    visitor = signed_in(demo_house)
    page = opened(visitor, query)
    page.get_by_text("Dieser Takt als Tabelle").click()
    visitor.look()


def test_steps_draw_what_the_server_draws(demo_house: House) -> None:
    visitor = signed_in(demo_house)
    page = opened(visitor, "ablauf=gemv")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    for _step in range(12):
        page.get_by_role("link", name="Vor", exact=True).click()
    assert [url for url in requests if reverse("fabric") in url] == []
    said, drawn, table = (
        sentence(page),
        page.evaluate(LAYERS),
        page.locator("[data-rows] tr").all_inner_texts(),
    )
    assert len(table) > 1
    assert "takt=" in urlsplit(page.url).query
    page.reload()
    assert sentence(page) == said
    assert page.evaluate(LAYERS) == drawn
    assert page.locator("[data-rows] tr").all_inner_texts() == table


def test_keyboard_slider_and_both_ends(demo_house: House) -> None:
    visitor = signed_in(demo_house)
    page = opened(visitor, "ablauf=broadcast")
    slider = page.get_by_label("Durch den Ablauf ziehen")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert sentence(page).startswith("Takt 3:")
    assert slider.get_attribute("aria-valuetext") == sentence(page)
    page.keyboard.press("End")
    assert "6 Elemente sind fertig" in sentence(page)
    for name, off in (("Vor", "true"), ("Ende", "true"), ("Zurück", "false")):
        assert page.get_by_role("link", name=name, exact=True).get_attribute("aria-disabled") == off
    page.get_by_role("link", name="Anfang", exact=True).press("Enter")
    assert sentence(page).startswith("Takt 0:")


def test_nothing_plays_by_itself_and_playing_can_be_stopped(demo_house: House) -> None:
    visitor = signed_in(demo_house)
    page = visitor.page
    page.clock.install()
    opened(visitor)
    page.clock.run_for(5_000)
    assert sentence(page).startswith("Takt 2:")
    page.get_by_role("button", name="Abspielen").click()
    page.clock.run_for(2_100)
    assert sentence(page).startswith("Takt 4:")
    expect(page.locator("[data-sentence]")).to_have_attribute("aria-live", "off")
    page.get_by_role("button", name="Anhalten").click()
    page.clock.run_for(5_000)
    assert sentence(page).startswith("Takt 4:")
    page.get_by_role("button", name="Abspielen").click()
    page.clock.run_for(100_000)
    expect(page.get_by_role("button", name="Abspielen")).to_be_visible()
    assert "6 Elemente sind fertig" in sentence(page)


@pytest.mark.parametrize(
    "query", ["", "ablauf=stationary", "ablauf=gemv", "ablauf=softmax", "ablauf=deadlock"]
)
def test_who_steps_on_a_phone_sees_the_picture(demo_house: House, query: str) -> None:
    visitor = signed_in(demo_house)
    visitor.page.set_viewport_size(PHONE)
    page = opened(visitor, query)
    forward = page.get_by_role("link", name="Vor", exact=True)
    picture = page.locator(".chart__narrow")
    assert picture.bounding_box()["y"] + picture.bounding_box()["height"] <= forward.bounding_box()["y"]
    expect(picture).to_be_in_viewport()
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    expect(picture).not_to_be_in_viewport()
    page.evaluate("document.querySelector('[data-step=next]').click()")
    expect(picture).to_be_in_viewport(ratio=1)
    forward.click()
    expect(picture).to_be_in_viewport(ratio=1)


def test_a_cycle_without_change_is_said_until_somebody_steps(demo_house: House) -> None:
    visitor = signed_in(demo_house)
    page = opened(visitor, "ablauf=stationary&takt=21")
    said = page.get_by_text("Takt 21 sieht aus wie Takt 0")
    expect(said).to_be_visible()
    assert page.get_by_label("Durch den Ablauf ziehen").input_value() == "0"
    page.get_by_role("link", name="Vor", exact=True).click()
    expect(said).to_be_hidden()


def test_all_of_it_works_without_script(demo_house: House) -> None:
    visitor = signed_in(demo_house)
    plain = visitor.page.context.browser.new_context(
        java_script_enabled=False, storage_state=visitor.page.context.storage_state(), locale="de-DE"
    )
    page = plain.new_page()
    page.goto(visitor.origin + reverse("fabric"))
    page.get_by_role("link", name="Rundruf").click()
    page.get_by_role("link", name="Vor", exact=True).click()
    assert page.locator("[data-sentence]").inner_text().startswith("Takt 3:")
    page.get_by_label("Zu Takt").fill("7")
    page.get_by_role("button", name="Diesen Takt zeigen").click()
    assert page.locator("[data-sentence]").inner_text().startswith("Takt 7:")
    asked = parse_qs(urlsplit(page.url).query)
    assert (asked["ablauf"], asked["takt"]) == (["broadcast"], ["7"])
    assert page.get_by_role("button", name="Abspielen").count() == 0
    plain.close()
