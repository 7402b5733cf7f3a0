"""A person at a browser of its own: pages are looked at as people see them, and by what only a browser can tell."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.qms.web.design_browser import FLAGS
from tests.qms.web.test_design_browser import SMALL_TARGETS, TAGS, TEXT_SIZES

PASSWORD: Final = "korrekt-pferd-batterie"
WIDE: Final = {"width": 1440, "height": 900}
PHONE: Final = {"width": 390, "height": 844}
LOOKS: Final = ((WIDE, "light"), (WIDE, "dark"), (PHONE, "dark"), (PHONE, "light"))
PATIENCE_MS: Final = 60_000
INFORMAL: Final = re.compile(r"\b(du|dein\w*|dir|dich|euch|euer|eure\w*)\b", re.IGNORECASE)
LIBRARY_ENGLISH: Final = re.compile(
    r"\b(Sign In|Sign Out|Password|Username|Submit|Required|Remember|Menu|This field|Choose)\b"
)
BREAKABLE_UNIT: Final = re.compile(r"\d (%|ms|s|J|B|KiB|MiB|GiB|€|Samples/s|Token/s)(?![\w/])")
FACTOR: Final = re.compile(r"\d\s?(-?fach|×) (so )?(schnell|langsam)|Beschleunigung", re.IGNORECASE)

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
        found.or_(link).first.click()
        self.page.wait_for_load_state()

    def fill(self, **values: str) -> None:
        """Write into fields by their names."""
        for name, value in values.items():
            self.page.locator(f"main [name={name}]").fill(value)

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
        """Look at the page in both widths and both colour schemes: axe, width, words, units, figures."""
        self.page.evaluate("document.fonts.ready.then(() => true)")
        self.page.evaluate(AXE_SCRIPT)
        for size, scheme in LOOKS:
            where = f"{self.page.url} at {size['width']} px, {scheme}"
            self.page.set_viewport_size(size)
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert self.page.evaluate(FITS), where
            assert self.page.evaluate(AXE, TAGS) == [], where
            assert self.page.evaluate(SMALL_TARGETS) == [], where
            assert min(self.page.evaluate(TEXT_SIZES), default=12) >= 12, where
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size(self.size)
        self._read_words()

    def _read_words(self) -> None:
        text = self.page.locator("body").inner_text().replace("\u00ad", "")
        for wrong in (INFORMAL, LIBRARY_ENGLISH, BREAKABLE_UNIT, FACTOR):
            found = wrong.search(text)
            assert found is None, (self.page.url, text[max(0, found.start() - 60) : found.end() + 60])
        assert self.page.evaluate(BARE_FIGURES) == []

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
            assert [said for visitor in house.visitors for said in visitor.messages] == []
        finally:
            browser.close()
