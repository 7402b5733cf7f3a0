"""A person at a browser of its own: pages are looked at as people see them, and by what only a browser can tell."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from axe_playwright_python.base import AXE_SCRIPT
from django.db import DEFAULT_DB_ALIAS, connections
from playwright.sync_api import Browser, Page, expect, sync_playwright

from qms.core import jobs
from tests.qms.web.design_browser import FLAGS
from tests.qms.web.test_design_browser import SMALL_TARGETS, TAGS, TEXT_SIZES

PASSWORD: Final = "korrekt-pferd-batterie"
WIDE: Final = {"width": 1440, "height": 900}
PHONE: Final = {"width": 390, "height": 844}
LOOKS: Final = ((WIDE, "light"), (WIDE, "dark"), (PHONE, "dark"), (PHONE, "light"))
PATIENCE_MS: Final = 30_000
WRONG_WORDS: Final = {
    "du": re.compile(r"\b(du|dein\w*|dir|dich|euch|euer|eure\w*)\b", re.IGNORECASE),
    "English text of a library": re.compile(
        r"\b(Sign In|Sign Out|Password|Username|Submit|Required|Remember|Menu|This field|Choose)\b"
    ),
    "breakable unit": re.compile(r"\d (%|ms|s|J|B|KiB|MiB|GiB|€|Samples/s|Token/s)(?![\w/])"),
    "factor beside a development machine": re.compile(
        r"\d\s?(-?fach|×) (so )?(schnell|langsam)|Beschleunigung", re.IGNORECASE
    ),
}

FITS: Final = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
AXE: Final = """async tags => (await axe.run({runOnly: tags, resultTypes: ['violations']})).violations
  .map(one => [one.id, one.nodes.map(node => node.html.slice(0, 160))])"""
ASKED: Final = """() => [...new Set([...document.querySelectorAll("main form :is(input, select, textarea)")]
  .filter(one => !one.matches("[type=hidden], [type=submit]") && one.checkVisibility())
  .filter(one => !one.closest("fieldset, .field")?.querySelector(".proposal"))
  .map(one => one.name))]"""
CHOSEN: Final = """() => [...document.querySelectorAll("main form :is(input, select, textarea)")]
  .filter(one => one.checkVisibility())
  .filter(one => one.matches("[type=radio], [type=checkbox]") ? one.checked : one.value)
  .map(one => one.name)"""
BARE_FIGURES: Final = """() => [...document.querySelectorAll(".figure, .metric")]
  .filter(one => !one.querySelector(".axes")).map(one => one.textContent)"""
AUTHENTICATOR: Final = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@dataclass
class Visitor:
    """One person with a device: window, passkey, and every message of the console."""

    page: Page
    origin: str
    size: Any = field(default_factory=lambda: WIDE)
    messages: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        """Go to an address of the product."""
        self.page.goto(path if path.startswith("http") else self.origin + path)

    def press(self, name: str) -> None:
        """Press the one button or link of that name in the page, and wait for the next page."""
        main = self.page.get_by_role("main")
        found = main.get_by_role("button", name=name, exact=True)
        link = main.get_by_role("link", name=name, exact=True)
        assert found.or_(link).count(), (name, self.text()[:2000])
        found.or_(link).first.click()
        self.page.wait_for_load_state()

    def take(self, verb: str) -> None:
        """Take up the one thing on the start page that waits with this verb."""
        self.page.get_by_role("main").get_by_role("link", name=verb).click()
        self.page.wait_for_load_state()

    def fill(self, **values: str) -> None:
        """Write into fields by their names."""
        for name, value in values.items():
            self.page.locator(f"main [name={name}]").fill(value)

    def select(self, **labels: str) -> None:
        """Choose in lists by name and by what the person reads."""
        for name, label in labels.items():
            self.page.locator(f"main select[name={name}]").select_option(label=label)

    def choose(self, **values: str) -> None:
        """Choose radio buttons or check boxes by name and value."""
        for name, value in values.items():
            self.page.locator(f"main [name='{name}'][value='{value}']").check()

    def text(self) -> str:
        """Return the page as read: without soft hyphens and what only a screen reader gets."""
        return self.page.get_by_role("main").inner_text().replace("\u00ad", "")

    def reads(self, text: str) -> None:
        """Check that the page says `text`."""
        assert text in self.text(), self.text()[:2000]

    def sign_in(self, name: str) -> None:
        """Sign in with name and password."""
        self.open("/konto/login/")
        self.fill(login=name, password=PASSWORD)
        self.press("Anmelden")
        self.reads("Wartet auf mich")

    def look(self) -> None:
        """Look at the page in both widths and both colour schemes: axe, width, words, units, figures.

        What is wrong is noted and fails the test in the end, so that one run tells about all pages.
        """
        self.page.evaluate("document.fonts.ready.then(() => true)")
        self.page.evaluate(AXE_SCRIPT)
        for size, scheme in LOOKS:
            self.page.set_viewport_size(size)
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            where = f"{size['width']} px, {scheme}"
            self._note(where, "wider than the screen", not self.page.evaluate(FITS))
            self._note(where, "axe", self.page.evaluate(AXE, TAGS))
            self._note(where, "small targets", self.page.evaluate(SMALL_TARGETS))
            self._note(
                where, "text in charts below 12 px", min(self.page.evaluate(TEXT_SIZES), default=12) < 12
            )
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size(self.size)
        text = self.page.locator("body").inner_text().replace("\u00ad", "")
        for name, wrong in WRONG_WORDS.items():
            found = wrong.search(text)
            self._note("text", name, found and text[max(0, found.start() - 60) : found.end() + 60])
        self._note("text", "figures without axes", self.page.evaluate(BARE_FIGURES))

    def _note(self, where: str, what: str, found: Any) -> None:
        if found:
            self.messages.append(f"{self.page.url} ({where}): {what}: {found}")

    def asked(self) -> list[str]:
        """Return the names of the fields a person has to fill here: visible, and not proposed."""
        return list(self.page.evaluate(ASKED))

    def chosen(self) -> list[str]:
        """Return the names of visible fields that have a value already."""
        return list(self.page.evaluate(CHOSEN))

    def enrol_passkey(self) -> None:
        """Register the passkey of this device on the pages of the account."""
        self.open("/konto/2fa/webauthn/add/")
        self.fill(password=PASSWORD)
        self.press("Bestätigen")
        self.look()
        self.press("Passkey registrieren")
        expect(self.page.get_by_role("heading", name="Wiederherstellungscodes")).to_be_visible()

    def sign_in_by_passkey(self) -> None:
        """Leave and come back without a name or password."""
        self.open("/konto/logout/")
        self.press("Abmelden")
        self.open("/konto/login/")
        self.press("Mit Passkey anmelden")
        expect(self.page.get_by_role("heading", name="Wartet auf mich")).to_be_visible()


def work() -> None:
    """Do all waiting work, in a thread of its own: the browser's loop runs in this one, and sealing starts another."""
    connection = connections[DEFAULT_DB_ALIAS]

    def run() -> None:
        connections[DEFAULT_DB_ALIAS] = connection  # the house of the test may live in memory only
        jobs.run_pending()

    connection.inc_thread_sharing()
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(run).result()
    finally:
        connection.dec_thread_sharing()


class House:
    """The running product with everybody's browser."""

    def __init__(self, browser: Browser, origin: str) -> None:
        self._browser = browser
        self.origin = origin
        self.visitors: list[Visitor] = []

    def visitor(self, size: Any = WIDE) -> Visitor:
        """Return a person with a browser and a passkey device of its own."""
        context = self._browser.new_context(viewport=size, locale="de-DE", timezone_id="Europe/Berlin")
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        made = Visitor(page, self.origin, size)
        page.on("console", lambda said: made.messages.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: made.messages.append(str(error)))
        client = context.new_cdp_session(page)
        client.send("WebAuthn.enable")
        client.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
        self.visitors.append(made)
        return made


@contextmanager
def open_house(origin: str) -> Iterator[House]:
    """Start the Chromium of the system; nobody's console may have said anything in the end (the policy reports there)."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        house = House(browser, origin)
        try:
            yield house
            said = [text for visitor in house.visitors for text in visitor.messages]
            assert said == [], said
        finally:
            browser.close()
