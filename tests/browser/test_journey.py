"""U9: from the first-run link of an empty house to a Freigabe that is in force, eight screens, with passkeys."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from django.core import mail

from qms.audit.actors import SYSTEM
from qms.roles import links, services
from qms.signing import selectors as signing
from tests.architecture.sources import ROOT
from tests.browser.visitor import PASSWORD, PHONE, WIDE, House, Visitor, work

pytestmark = [pytest.mark.browser, pytest.mark.needs("chromium", "pango")]

TITLE: Final = "Ersatzteil-Assistent"
PEOPLE: Final = {
    "wo1": ("Workload-Owner 1", "Workload-Owner", WIDE),
    "wo2": ("Workload-Owner 2", "Workload-Owner", WIDE),
    "pr1": ("Prüfer(in) 1", "Prüfer(in)", PHONE),
    "fg1": ("Freigeber(in) 1", "Freigeber(in)", PHONE),
}
MOST_SCREENS: Final = 8
MOST_FIELDS: Final = 20


class Journey:
    """What happens on the way: everybody at their browser, the screens seen, the fields asked of the owner."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.people: dict[str, Visitor] = {}
        self.screens: list[str] = []
        self.fields: list[str] = []
        self.workload = self.approval = ""

    def screen(self, name: str, visitor: Visitor) -> None:
        """Count a screen, and what it asks of the owner; look at it."""
        self.screens.append(name)
        if visitor is self.people["wo1"]:
            self.fields += [f"{name}: {field}" for field in visitor.asked()]
        visitor.look()


def test_empty_house_reaches_a_freigabe_in_force_in_eight_screens(house: House, tmp_path: Path) -> None:
    journey = Journey(house)
    administrator = first_administrator(journey)
    invite(journey, administrator)
    confirm_roles(journey)
    for step in (record, data, confirm_data, targets, baseline, emulation, request, review, decide):
        step(journey)
    sealed(journey, tmp_path)
    assert len(journey.screens) <= MOST_SCREENS, journey.screens
    assert len(journey.fields) <= MOST_FIELDS, journey.fields


def first_administrator(journey: Journey) -> Visitor:
    """The first-run link makes the first account; it works once."""
    administrator = journey.house.visitor()
    address = links.public_url("people_first_run", services.issue_first_run_link(actor=SYSTEM))
    administrator.open(address)
    administrator.look()
    administrator.fill(display_name="Administrator(in) 1", email="ad1@beispiel.example", username="ad1")
    administrator.fill(password=PASSWORD, password_repeat=PASSWORD)
    administrator.press("Konto anlegen")
    administrator.look()
    administrator.sign_in("ad1")
    administrator.look()
    administrator.reads("Laden Sie zuerst die Personen ein")
    return administrator


def invite(journey: Journey, administrator: Visitor) -> None:
    """Four people get a mail each and make their accounts; their roles are requested."""
    for username, (name, role, size) in PEOPLE.items():
        administrator.open("/personen/einladen/")
        administrator.fill(display_name=name, email=f"{username}@beispiel.example")
        administrator.press("Einladen")
        administrator.page.locator("main [name=role]").select_option(label=role)
        administrator.fill(reason="Aufbau der Freigaben")
        administrator.press("Beantragen")
        work()
        visitor = journey.house.visitor(size)
        visitor.open(link_in_mail_to(f"{username}@beispiel.example"))
        visitor.fill(username=username, password=PASSWORD, password_repeat=PASSWORD)
        visitor.press("Konto anlegen")
        visitor.sign_in(username)
        journey.people[username] = visitor
    administrator.look()


def link_in_mail_to(address: str) -> str:
    """Return the address in the newest mail to somebody."""
    body = next(str(one.body) for one in reversed(mail.outbox) if one.to == [address])
    found = re.search(r"http://\S+/einladung/\S+", body)
    assert found, body
    return found[0]


def confirm_roles(journey: Journey) -> None:
    """A second person confirms each role, never the own one; those who sign register their passkeys."""
    for username, times in (("pr1", 3), ("wo1", 1)):
        visitor = journey.people[username]
        for _time in range(times):
            visitor.open("/personen/")
            visitor.press("Bestätigen")
            visitor.reads("Die Änderung gilt ab sofort.")
    for username in ("pr1", "fg1"):
        journey.people[username].enrol_passkey()
    journey.people["fg1"].sign_in_by_passkey()


def record(journey: Journey) -> None:
    owner = journey.people["wo1"]
    owner.open("/workloads/neu/")
    journey.screen("Workload", owner)
    owner.fill(
        title=TITLE,
        purpose="Schlägt dem Service zu einer Störmeldung passende Ersatzteile vor. Bestellt wird von Hand.",
        business_process="Service und Ersatzteilversand",
        model_text="64-256-256-8",
    )
    owner.page.locator("main [name=deputy]").select_option(label="Workload-Owner 2")
    owner.choose(ai_act_risk_class="MINIMAL")
    owner.press("Speichern und Owner-Rolle annehmen")
    found = re.search(r"/workloads/([0-9a-f-]{36})/", owner.page.url)
    assert found
    journey.workload = found[1]


def data(journey: Journey) -> None:
    owner = journey.people["wo1"]
    journey.screen("Daten", owner)
    assert owner.chosen() == []
    owner.choose(**{"KF-1": "a", "KF-2": "b", "KF-3": "a", "KF-4": "a"})
    owner.press("Speichern und Vorschlag ansehen")
    owner.look()
    owner.press("Weiter zu den Zielen")


def confirm_data(journey: Journey) -> None:
    """One tap of the reviewer while the owner goes on; it is the result of screen 2."""
    reviewer = journey.people["pr1"]
    reviewer.open("/")
    reviewer.look()
    reviewer.take("Bestätigen")
    reviewer.look()
    reviewer.press("7 Objektklassen bestätigen")


def targets(journey: Journey) -> None:
    owner = journey.people["wo1"]
    journey.screen("Ziele", owner)
    owner.reads("über 1.200\u00a0ms liegt")
    owner.fill(threshold="0,999", dataset_version="Prüfdaten Stand 2026-10", budget_cap_eur="20.000")
    owner.select(fallback_platform="Server im Einsatz")
    owner.press("Speichern")


def baseline(journey: Journey) -> None:
    owner = journey.people["wo1"]
    owner.look()
    owner.press("Vergleichsbasis messen")
    journey.screen("Vergleichsbasis", owner)
    run_of(owner, "Messung starten")
    owner.reads("Kein Vergleichsfaktor: Vergleichsbasis stammt von einem Entwicklungsrechner.")


def emulation(journey: Journey) -> None:
    owner = journey.people["wo1"]
    owner.press("Zum Workload")
    owner.press("Ziellauf starten")
    journey.screen("Emulation", owner)
    owner.reads("Mit dem Start werden Ziele, Abbruchkriterien und Hauptmessgrößen eingefroren.")
    run_of(owner, "Emulation starten")
    owner.reads("Zielplattform emuliert – keine Aussage unter realen Bedingungen")


def run_of(owner: Visitor, button: str) -> None:
    """Start a run, leave its page while the worker works, and look at the result."""
    owner.press(button)
    owner.look()
    address = owner.page.url
    owner.open("/gesundheit/")
    work()
    owner.open(address)
    owner.look()


def request(journey: Journey) -> None:
    owner = journey.people["wo1"]
    owner.press("Zum Workload")
    owner.look()
    owner.press("Freigabe beantragen")
    journey.screen("Beantragen", owner)
    owner.press("Freigabe beantragen")
    owner.look()
    owner.reads("Ihr Antrag wartet auf die Prüfung.")
    journey.approval = owner.page.url


def review(journey: Journey) -> None:
    reviewer = journey.people["pr1"]
    assert reviewer.page.viewport_size == PHONE
    reviewer.open("/")
    reviewer.take("Prüfen")
    journey.screen("Prüfung", reviewer)
    assert reviewer.chosen() == []
    for name in [name for name in reviewer.asked() if name.startswith("subject_")]:
        reviewer.choose(**{name: "ZUSTIMMUNG"})
    reviewer.page.locator("main [name=meaning]").select_option(label="geprüft")
    reviewer.press("Weiter zur Bestätigung")
    reviewer.look()
    reviewer.press("Stimme abgeben")
    reviewer.page.get_by_text("Ihre Stimme ist abgegeben.").wait_for()


def decide(journey: Journey) -> None:
    approver = journey.people["fg1"]
    assert approver.page.viewport_size == PHONE
    approver.open("/")
    approver.take("Entscheiden")
    journey.screen("Entscheidung", approver)
    assert approver.chosen() == []
    approver.choose(decision="FREIGEGEBEN")
    approver.fill(reason="Die geprüften Kriterien sind erfüllt; der Pilot kann beginnen.")
    approver.page.locator("main [name=meaning]").select_option(label="freigegeben")
    approver.press("Weiter zur Unterschrift")
    approver.look()
    approver.press("Entscheidung signieren")
    approver.page.get_by_text("Die Freigabe ist erteilt.").wait_for()


def sealed(journey: Journey, folder: Path) -> None:
    """The seal makes it effective; the file stands up to our own verifier, and so does the page about it."""
    approver = journey.people["fg1"]
    approver.look()
    approver.reads("Siegel ausstehend")
    work()
    approver.press("Stand aktualisieren")
    approver.reads("Die Freigabe ist heute wirksam")
    approver.look()
    paper_is_light(approver)
    with approver.page.expect_download() as download:
        approver.press("Signiertes PDF herunterladen")
    download.value.save_as(folder / "freigabe.pdf")
    verify(folder)
    approver.press("Prüfbericht ansehen")
    approver.reads("Gültig und vollständig")
    approver.look()
    reader = journey.house.visitor(PHONE)
    approver.open(journey.approval)
    address = approver.page.get_by_role("link", name="Öffentliche Statusseite").get_attribute("href")
    reader.open(str(address))
    reader.reads("wirksam")
    reader.look()


def paper_is_light(visitor: Visitor) -> None:
    """U7: print from the dark scheme is dark on white, with whole digests."""
    visitor.page.emulate_media(media="print", color_scheme="dark")
    colour = "one => getComputedStyle(one).backgroundColor"
    assert visitor.page.locator("body").evaluate(colour) == "rgb(255, 255, 255)"
    assert visitor.page.locator(".panel").first.evaluate(colour) == "rgb(255, 255, 255)"
    assert re.search(r"\b[0-9a-f]{64}\b", visitor.text())
    visitor.page.emulate_media(media="screen", color_scheme="light")


def verify(folder: Path) -> None:
    """Check the downloaded file as anybody does: with the program and the published root."""
    root = signing.root_certificate()
    assert root is not None
    (folder / "wurzel.pem").write_bytes(root.public_bytes(Encoding.PEM))
    command = [sys.executable, "-m", "qms.signing.verify", str(folder / "freigabe.pdf")]
    command += ["--root", str(folder / "wurzel.pem")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
