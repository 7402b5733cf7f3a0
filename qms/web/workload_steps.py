"""The six steps to the first Vorfreigabe as the overview shows them: what is done, whose turn it is, what comes next.

A step is done when the criteria it serves pass in the gate report, or when its evidence or request exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

DONE: Final = "done"
CURRENT: Final = "current"
WAITING: Final = "waiting"
OPEN: Final = "open"


@dataclass(frozen=True, slots=True)
class Step:
    """One row of the table: the page that does it and the criteria it serves, by id or by gate."""

    key: str
    label: Promise
    action: Promise
    url_name: str
    criteria: tuple[str, ...] = ()
    prefix: str = ""
    evidence: str = ""


STEPS: Final[tuple[Step, ...]] = (
    Step(
        "angaben",
        lazy("Angaben"),
        lazy("Angaben ergänzen"),
        "workload_edit",
        ("G0-1", "G0-3", "G0-4", "G0-5", "G0-9"),
    ),
    Step("daten", lazy("Daten"), lazy("Vier Fragen beantworten"), "workload_data", prefix="G1-"),
    Step(
        "ziele",
        lazy("Ziele"),
        lazy("Ziele festlegen"),
        "workload_criteria",
        ("G0-6", "G0-7", "G0-8", "G0-10"),
    ),
    Step(
        "vergleichsbasis",
        lazy("Vergleichsbasis"),
        lazy("Vergleichsbasis messen"),
        "pilot_baseline",
        evidence="EV-02",
    ),
    Step("emulation", lazy("Emulation"), lazy("Ziellauf starten"), "pilot_target", evidence="EV-04"),
    Step("beantragen", lazy("Beantragen"), lazy("Freigabe beantragen"), "approval_request"),
)


@dataclass(frozen=True, slots=True)
class Progress:
    """What the steps depend on.

    passes: per criterion id whether it passes (not applicable passes); answered: the four questions have
    answers; confirmed: every object class is confirmed; evidence: types there; requested: a request exists.
    """

    passes: Mapping[str, bool]
    answered: bool
    confirmed: bool
    evidence: frozenset[str]
    requested: bool


@dataclass(frozen=True, slots=True)
class StepView:
    """One step on the page."""

    number: int
    key: str
    label: str
    state: str
    note: str
    url: str
    action: str


def views(workload_id: UUID, progress: Progress) -> list[StepView]:
    """Return the six steps; exactly one is current unless all are done or the next one waits for another person."""
    found: list[StepView] = []
    current_taken = False
    for number, step in enumerate(STEPS, start=1):
        state, note = _state(step, progress)
        if state == OPEN and not current_taken:
            state, current_taken = CURRENT, True
        url = reverse(step.url_name, args=[workload_id])
        found.append(StepView(number, step.key, str(step.label), state, note, url, str(step.action)))
    return found


def current(steps: list[StepView]) -> StepView | None:
    """Return the step that can be worked on now, None if there is none."""
    return next((step for step in steps if step.state == CURRENT), None)


def _state(step: Step, progress: Progress) -> tuple[str, str]:
    if step.key == "daten":
        return _data_state(step, progress)
    if step.key == "beantragen":
        return (DONE, "") if progress.requested else (OPEN, "")
    if step.evidence:
        if step.evidence in progress.evidence:
            return DONE, ""
        if step.key == "emulation" and not progress.confirmed:
            return WAITING, _("beginnt nach der bestätigten Klassifizierung")
        return OPEN, ""
    return (DONE, "") if _passes(step, progress) else (OPEN, "")


def _data_state(step: Step, progress: Progress) -> tuple[str, str]:
    if progress.answered and not progress.confirmed:
        return WAITING, _("beantwortet, wartet auf Bestätigung durch Prüfer(in)")
    return (DONE, "") if progress.answered and _passes(step, progress) else (OPEN, "")


def _passes(step: Step, progress: Progress) -> bool:
    wanted = step.criteria or tuple(key for key in progress.passes if key.startswith(step.prefix))
    return all(progress.passes.get(key, False) for key in wanted)
