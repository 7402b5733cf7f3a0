"""What only a browser can tell: axe, overflow, rendered text sizes, labels over lines, paper."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from tests.qms.web.design_browser import Site, open_site

pytestmark = [pytest.mark.browser, pytest.mark.needs("chromium")]
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

WIDTHS = (1440, 390, 320)
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

OVERFLOWING = """() => {
  const width = document.documentElement.clientWidth;
  return [...document.querySelectorAll("body *")]
    .filter((one) => !one.closest(".scroll, .sr, .skip, .steps__label, .cards thead"))
    .filter((one) => one.getBoundingClientRect().width > 0 && one.getBoundingClientRect().right > width + 1)
    .map((one) => `${one.tagName}.${one.className}`);
}"""
TEXT_SIZES = """() => [...document.querySelectorAll("svg text")]
  .filter((one) => one.getBoundingClientRect().width > 0)
  .map((one) => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a)"""
CROSSED = """() => {
  const found = [];
  for (const svg of document.querySelectorAll(".chart > svg")) {
    const limits = [...svg.querySelectorAll("line.limit")].map((one) => one.getBoundingClientRect());
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (!box.width) continue;
      for (const line of limits) {
        if (line.left < box.right && line.right > box.left && line.top < box.bottom - 2 && line.bottom > box.top + 2)
          found.push(text.textContent);
      }
    }
  }
  return found;
}"""
CLIPPED = """() => [...document.querySelectorAll(".chart > svg")].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.width && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1);
  }).map((one) => one.textContent);
})"""
SMALL_TARGETS = """() => [...document.querySelectorAll(".btn, input, select, textarea, summary, .nav a, .crumbs a")]
  .filter((one) => !one.matches("[type=hidden]"))
  .map((one) => [one, one.getBoundingClientRect()])
  .filter(([one, box]) => box.width && (box.height < 24 || box.width < 24))
  .map(([one, box]) => `${one.tagName}.${one.className} ${box.width}x${box.height}`)"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with open_site() as opened:
        yield opened


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["styleguide.html", "styleguide_freigabe.html"])
def test_page_passes_axe_and_fits_the_screen(site: Site, name: str, width: int, scheme: str) -> None:
    with site.page(name, width=width, scheme=scheme) as (page, messages):
        assert page.evaluate(OVERFLOWING) == []
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert page.evaluate(SMALL_TARGETS) == []
        page.evaluate(AXE_SCRIPT)
        found: dict[str, Any] = page.evaluate(
            "tags => axe.run({runOnly: tags, resultTypes: ['violations']})", TAGS
        )
        told = [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found["violations"]]
        assert told == []
        assert messages == []


@pytest.mark.parametrize("width", [*WIDTHS, 700, 1000])
def test_chart_text_is_readable_and_crosses_nothing(site: Site, width: int) -> None:
    with site.page("styleguide_freigabe.html", width=width) as (page, _messages):
        sizes = page.evaluate(TEXT_SIZES)
        assert sizes
        assert min(sizes) >= 12
        assert page.evaluate(CROSSED) == []
        assert page.evaluate(CLIPPED) == []


def test_chart_shows_one_drawing_and_the_same_numbers_in_its_table(site: Site) -> None:
    with site.page("styleguide_freigabe.html", width=390) as (page, _messages):
        shown = page.evaluate(
            "[...document.querySelectorAll('.chart > svg')].filter(s => s.getBoundingClientRect().width).length"
        )
        assert shown == page.evaluate("document.querySelectorAll('.chart').length")
        assert page.evaluate("document.querySelectorAll('.chart table').length") == shown


def test_table_keeps_its_roles_when_rows_become_cards(site: Site) -> None:
    with site.page("styleguide_freigabe.html", width=390) as (page, _messages):
        table = page.get_by_role("table", name="Nachweise")
        assert table.get_by_role("row").count() == 3
        assert table.get_by_role("cell").count() == 8


def test_decision_panel_sticks_only_when_it_fits(site: Site) -> None:
    with site.page("styleguide_freigabe.html", width=1440) as (page, _messages):
        panel = page.locator("#entscheidung")
        assert panel.bounding_box()["height"] <= 900
        assert panel.evaluate("e => getComputedStyle(e).position") == "sticky"
        page.set_viewport_size({"width": 1440, "height": 600})
        assert panel.evaluate("e => getComputedStyle(e).position") == "static"


def test_menu_closes_on_escape_and_gives_the_focus_back(site: Site) -> None:
    with site.page("styleguide.html", width=390) as (page, messages):
        menu = page.locator("details.only-narrow")
        menu.locator("summary").click()
        assert menu.get_attribute("open") is not None
        page.keyboard.press("Escape")
        assert menu.get_attribute("open") is None
        assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
        assert messages == []


def test_digest_is_copied_whole_when_the_button_is_pressed(site: Site) -> None:
    with site.page("styleguide_freigabe.html", width=1440) as (page, messages):
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        button = page.locator("button[data-copy]").first
        button.click()
        assert page.evaluate("navigator.clipboard.readText()") == button.get_attribute("data-copy")
        assert messages == []


def test_dialog_opens_and_closes_by_keyboard(site: Site) -> None:
    with site.page("styleguide.html", width=1440) as (page, _messages):
        page.locator("[data-dialog=hinweis]").press("Enter")
        assert page.locator("#hinweis").is_visible()
        page.keyboard.press("Escape")
        assert not page.locator("#hinweis").is_visible()


def test_paper_is_light_and_shows_whole_digests_when_the_screen_is_dark(site: Site) -> None:
    with site.page("styleguide_freigabe.html", width=1000, scheme="dark") as (page, _messages):
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert (
            page.evaluate("getComputedStyle(document.querySelector('.panel')).backgroundColor")
            == "rgb(255, 255, 255)"
        )
        assert page.locator(".hash__full").first.is_visible()
        assert page.locator(".band").is_visible()
        assert not page.locator("form").first.is_visible()


def test_passkey_script_names_the_cause_when_no_passkey_answers(site: Site) -> None:
    with site.page("passkey.html", width=390) as (page, _messages):
        page.evaluate(
            "Object.defineProperty(navigator, 'credentials', {value: {get: () => Promise.reject(new DOMException('', 'NotAllowedError'))}})"
        )
        page.get_by_role("button", name="Entscheidung signieren").click()
        status = page.get_by_role("alert")
        status.wait_for()
        assert "Es wurde nichts unterschrieben" in status.inner_text()
        assert page.locator("[name=response]").input_value() == ""


def test_passkey_script_sends_the_assertion_of_the_authenticator(site: Site) -> None:
    with site.page("passkey.html", width=390) as (page, messages):
        client = page.context.new_cdp_session(page)
        client.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
        }
        automatic = {"isUserVerified": True, "automaticPresenceSimulation": True}
        client.send("WebAuthn.addVirtualAuthenticator", {"options": {**options, **automatic}})
        page.evaluate("""async () => {
          const user = {id: new Uint8Array([1]), name: "x", displayName: "x"};
          await navigator.credentials.create({publicKey: {challenge: new Uint8Array(32), rp: {id: "localhost", name: "x"}, user,
            pubKeyCredParams: [{type: "public-key", alg: -7}, {type: "public-key", alg: -257}],
            authenticatorSelection: {residentKey: "required", userVerification: "required"}}});
        }""")
        with page.expect_request(lambda request: request.method == "POST") as sent:
            page.get_by_role("button", name="Entscheidung signieren").click()
        body = sent.value.post_data or ""
        assert "clientDataJSON" in body
        assert "signature" in body
        assert messages == []
