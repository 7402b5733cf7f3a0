"""Pictures for README and manual: `python -m tests.screenshots` walks a demo house of its own and looks at it in Chromium.

Nothing is drawn or retouched. Needs Chromium, and Pango and pdftoppm for the page of the PDF.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.architecture.sources import ROOT

TARGET: Final = ROOT / "docs/bilder"
PORT: Final = 8347
ADDRESS: Final = f"http://localhost:{PORT}"
WIDE: Final = (1440, 900)
PHONE: Final = (390, 844)
COLOURS: Final = 64  # a palette keeps the pictures small; text stays sharp
PDF_DPI: Final = 72
FLAGS: Final = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]


@dataclass(frozen=True)
class Shot:
    """One picture: file name, account of the demo, address, window."""

    name: str
    user: str
    path: str
    size: tuple[int, int] = WIDE


def prepare(data: Path) -> None:
    """Point this process at a demo house in `data`, before Django reads its settings."""
    os.environ.update(
        QMS_DATA=str(data),
        QMS_DEMO="1",
        QMS_DB="sqlite",
        QMS_PUBLIC_URL=ADDRESS,
        QMS_EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
        DJANGO_SETTINGS_MODULE="qms.config.settings",
    )
    import django
    from django.core.management import call_command

    from qms.core import catalogues

    catalogues.build()
    django.setup()
    call_command("prepare", verbosity=0)


def walk() -> dict[str, Any]:
    """Three workloads in one house: sealed, waiting for the decision, waiting for review."""
    from pilots import demo
    from qms.core import jobs

    house = demo.make_house()
    sealed = demo.walk(house, carry_out=jobs.run_pending)
    found: dict[str, Any] = {"sealed": sealed}
    for stage, title in (("decide", "Ersatzteil-Assistent"), ("review", "Angebotsprüfung – Inferenz MLP")):
        workload = demo.register_workload(house, title=title)
        demo.confirm_classification(house, workload)
        for start in (demo.start_baseline, demo.start_target):
            start(house, workload)
            jobs.run_pending()
        workload.refresh_from_db()
        request = demo.request_approval(house, workload)
        found[stage] = demo.review(house, request) if stage == "decide" else request
    return found


def shots(found: dict[str, Any]) -> list[Shot]:
    """What is photographed: the way of one workload, wide and on the phone."""
    from django.urls import reverse

    from pilots.models import Run

    sealed = found["sealed"]
    target = Run.objects.filter(workload=sealed.workload, role="ZIEL").latest("pk")
    pages = {
        "start": ("pr01", reverse("start")),
        "workload": ("wo01", reverse("workload", args=[sealed.workload_id])),
        "pruefung": ("pr01", reverse("approval_review", args=[found["review"].pk])),
        "entscheidung": ("fg01", reverse("approval_decide", args=[found["decide"].pk])),
        "freigabe": ("fg01", reverse("approval", args=[sealed.pk])),
        "lauf": ("wo01", reverse("run", args=[target.pk])),
    }
    sizes = {"1440": WIDE, "390": PHONE}
    return [
        Shot(f"{name}-{width}.png", user, path, size)
        for name, (user, path) in pages.items()
        for width, size in sizes.items()
        if name != "lauf" or width == "1440"
    ]


@contextmanager
def server() -> Iterator[None]:
    """The product itself, answering on this machine only."""
    from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler

    from qms.config.wsgi import application

    class Quiet(WSGIRequestHandler):
        def log_message(self, *args: Any) -> None:
            """Say nothing for each request."""

    httpd = ThreadedWSGIServer(("127.0.0.1", PORT), Quiet)
    httpd.set_app(application)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        httpd.shutdown()
        httpd.server_close()


def photograph(wanted: list[Shot], target: Path) -> None:
    """Sign in as each person by the button of the demo and take their pictures; a console error ends it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for shot in wanted:
            width, height = shot.size
            context = browser.new_context(
                viewport={"width": width, "height": height}, locale="de-DE", timezone_id="Europe/Berlin"
            )
            page = context.new_page()
            errors: list[str] = []
            page.on(
                "console",
                lambda message, to=errors: to.append(message.text) if message.type == "error" else None,
            )
            page.goto(f"{ADDRESS}/konto/login/")
            page.get_by_role("button", name=f"Als {shot.user} anmelden").click()
            page.goto(ADDRESS + shot.path)
            page.evaluate("document.fonts.ready.then(() => true)")
            page.screenshot(path=target / shot.name)
            context.close()
            if errors:
                raise RuntimeError(f"{shot.name}: {errors}")
            shrink(target / shot.name)
        browser.close()


def first_page(approval: Any, target: Path) -> None:
    """Page 1 of the sealed document."""
    from qms.signing import selectors

    document = selectors.document_of(approval.pk)
    if document is None:
        raise RuntimeError("the demo has no document")
    with TemporaryDirectory(prefix="qms-pdf-") as folder:
        pdf = Path(folder) / "freigabe.pdf"
        pdf.write_bytes(selectors.final_pdf(document))
        command = [
            "pdftoppm",
            "-png",
            "-singlefile",
            "-r",
            str(PDF_DPI),
            "-f",
            "1",
            str(pdf),
            str(target / "pdf-seite-1"),
        ]
        subprocess.run(command, check=True)
    shrink(target / "pdf-seite-1.png")


def shrink(path: Path) -> None:
    """Store the picture with a palette."""
    from PIL import Image

    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def main() -> int:
    """Take all pictures."""
    if not shutil.which("chromium"):
        print("Chromium is missing: apt-get install chromium")
        return 1
    TARGET.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="qms-bilder-") as data:
        prepare(Path(data))
        found = walk()
        with server():
            photograph(shots(found), TARGET)
        first_page(found["sealed"], TARGET)
    for path in sorted(TARGET.glob("*.png")):
        print(f"{path.relative_to(ROOT)} {path.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
