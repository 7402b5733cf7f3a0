"""U3: the request and the decision by keyboard alone, in a demo; each focus is visible and nothing covers it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from django.urls import reverse

from pilots import demo
from qms.approvals.models import Approval
from qms.config import env
from qms.core import installation
from qms.core.models import InstallationMode
from tests.browser.visitor import PHONE, House, Visitor, open_house, work
from tests.walk import World, steady_clock

pytestmark = [pytest.mark.browser, pytest.mark.needs("chromium")]

MOST_STOPS: Final = 120
FOCUS: Final = """() => {
  const one = document.activeElement, style = getComputedStyle(one), box = one.getBoundingClientRect();
  const at = document.elementFromPoint(box.left + Math.min(box.width / 2, 12), box.top + Math.min(box.height / 2, 12));
  return {
    name: (one.labels?.[0] ?? one).innerText?.replaceAll("\\u00ad", "").trim() ?? "",
    tag: one.tagName,
    field: one.name ?? "",
    value: one.value ?? "",
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    inside: box.top >= 0 && box.bottom <= innerHeight + 1,
    covered: !(at && (one === at || one.contains(at) || at.contains(one))),
  };
}"""


@pytest.fixture
def demo_house(live_server: Any, settings: Any) -> Iterator[tuple[House, World]]:
    """A demo in which a request can be made."""
    settings.PUBLIC = env.PublicUrl(live_server.url)
    settings.DEMO = True
    assert installation.store_mode() is InstallationMode.DEMO
    with steady_clock(), open_house(live_server.url) as opened:
        made = World(demo=demo.make_house())
        workload = demo.register_workload(made.demo)
        demo.confirm_classification(made.demo, workload)
        for start in (demo.start_baseline, demo.start_target):
            start(made.demo, workload)
            work()
        made.workload_id = workload.pk
        yield opened, made


class Keyboard:
    """Somebody who has no mouse."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.keys = visitor.page.keyboard

    def tab_to(self, name: str = "", field: str = "") -> dict[str, Any]:
        """Press Tab until the control has the focus; each stop on the way is visible."""
        for _stop in range(MOST_STOPS):
            self.keys.press("Tab")
            found: dict[str, Any] = self.visitor.page.evaluate(FOCUS)
            if found["tag"] == "BODY":
                continue
            assert found["outlined"], found
            assert found["inside"], found
            assert not found["covered"], found
            if (name and re.search(name, found["name"])) or (field and found["field"] == field):
                return found
        raise AssertionError(f"no way by Tab to {name or field}")

    def press(self, name: str, key: str = "Enter") -> None:
        """Go to a button or link and press it."""
        self.tab_to(name)
        with self.visitor.page.expect_navigation():
            self.keys.press(key)


def sign_in(house: House, name: str, size: Any = None) -> Keyboard:
    """Sign in by the button of the demo, by keyboard."""
    visitor = house.visitor(size) if size else house.visitor()
    visitor.open("/konto/login/")
    keyboard = Keyboard(visitor)
    keyboard.press(f"^Als {name} anmelden$")
    visitor.reads("Wartet auf mich")
    return keyboard


def assert_band(visitor: Visitor) -> None:
    """U10: every page of a demo says so."""
    assert "Muster – keine Freigabe" in visitor.page.locator("body").inner_text()


def test_request_and_decision_work_by_keyboard_alone(demo_house: tuple[House, World]) -> None:
    house, world = demo_house
    owner = sign_in(house, "wo01")
    owner.visitor.open(reverse("approval_request", args=[world.workload_id]))
    assert_band(owner.visitor)
    assert owner.tab_to("Zum Inhalt")["tag"] == "A"
    owner.press("^Freigabe beantragen$")
    owner.visitor.reads("Ihr Antrag wartet auf die Prüfung.")
    assert_band(owner.visitor)
    approval = Approval.objects.get()
    demo.review(world.demo, approval)
    approver = sign_in(house, "fg01", PHONE)
    approver.press("^Entscheiden")
    assert_band(approver.visitor)
    decide_by_keyboard(approver)
    approval.refresh_from_db()
    assert approval.status == "FREIGEGEBEN"
    approver.visitor.reads("Siegel ausstehend")


def decide_by_keyboard(approver: Keyboard) -> None:
    """Screen 8 and the act: nothing is chosen before, Space chooses, letters choose in lists."""
    assert approver.visitor.chosen() == []
    assert approver.tab_to(field="decision")["value"] == "FREIGEGEBEN"
    approver.keys.press("Space")
    approver.tab_to(field="reason")
    approver.keys.type("Die geprüften Kriterien sind erfüllt; der Pilot kann beginnen.")
    approver.tab_to(field="meaning")
    approver.keys.press("f")
    approver.press("^Weiter zur Unterschrift$")
    assert_band(approver.visitor)
    approver.press("Software-Authenticator")
