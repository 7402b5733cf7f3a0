"""Chromium on pages that exist only as text: requests are answered from here under the product's strict policy."""

from __future__ import annotations

import mimetypes
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from playwright.sync_api import Browser, Page, Route, sync_playwright

from tests.qms.web.design_pages import CONTENT, page, wafer_png

HOST = "http://localhost/"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
FLAGS += ["--disable-component-update", "--disable-sync"]


class Site:
    """The rendered pages and a browser to look at them."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.pages = {name: page(name) for name in CONTENT}
        self.picture = wafer_png()

    @contextmanager
    def page(self, name: str, *, width: int, scheme: str = "light") -> Iterator[tuple[Page, list[str]]]:
        """Open a page; yields it with the list of console messages, policy reports and script errors."""
        context = self.browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            locale="de-DE",
            timezone_id="Europe/Berlin",
        )
        opened = context.new_page()
        messages: list[str] = []
        opened.on("console", lambda message: messages.append(message.text))
        opened.on("pageerror", lambda error: messages.append(str(error)))
        opened.route("**/*", self._answer)
        opened.goto(HOST + name)
        opened.evaluate("document.fonts.ready.then(() => true)")
        yield opened, messages
        context.close()

    def _answer(self, route: Route) -> None:
        path = route.request.url.removeprefix(HOST).split("?")[0]
        found = finders.find(path.removeprefix("static/")) if path.startswith("static/") else None
        if found:
            route.fulfill(
                body=Path(found).read_bytes(), content_type=mimetypes.guess_type(found)[0] or "font/woff2"
            )
        elif path == "karte.png":
            route.fulfill(body=self.picture, content_type="image/png")
        elif path in self.pages:
            headers = {"Content-Security-Policy": policy(), "Content-Type": "text/html; charset=utf-8"}
            route.fulfill(body=self.pages[path], headers=headers)
        else:
            route.fulfill(status=404)


def policy() -> str:
    """Return the policy of the settings as its header says it."""
    directives = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    return "; ".join(f"{name} {' '.join(values)}" for name, values in directives.items())


@contextmanager
def open_site() -> Iterator[Site]:
    """Start Chromium of the system, once per test module."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield Site(browser)
        browser.close()
