"""What stands in the way of a run is said before its button, and the newest runs stand on the page of the workload."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from django.urls import reverse

from pilots import demo
from pilots.jobs import remaining
from pilots.models import Run
from pilots.services import results, runs
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.models import AuditEvent
from qms.audit.services import record, unit
from qms.core import jobs
from qms.core.models import Job
from qms.workloads.choices import Level, ObjectClass
from qms.workloads.models import ObjectClassification, Workload
from tests.walk import World, house

pytestmark = pytest.mark.django_db
BUTTONS = {"pilot_baseline": "Messung starten", "pilot_target": "Emulation starten"}
NOT_COVERED = "Das Regelwerk kompakt 0.2.0 hat keine Kriterien für die Stufe K2 vertraulich (EM-13)."


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    with django_db_blocker.unblock(), house("recorded") as made:
        yield made


def shown_by(answer: Any) -> str:
    return html.unescape(answer.content.decode().replace("\u00ad", "")).replace("\u00a0", " ")


def page(world: World, name: str, who: str = "wo01") -> str:
    answer = world.browser(who).get(reverse(name, args=[world.workload_id]))
    assert answer.status_code == 200
    return shown_by(answer)


def is_offered(shown: str, label: str) -> bool:
    found = re.search(rf"<button[^>]*?( disabled)?>{label}", shown)
    assert found, label
    return not found.group(1)


def written(rows: Any, **values: Any) -> None:
    """Change rows in a way that no command does."""
    with unit(actor=SYSTEM):
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))
        rows.update(**values)


def classify_weights(world: World, level: Level) -> None:
    rows = ObjectClassification.objects.filter(workload=world.workload_id)
    written(rows.filter(object_class=ObjectClass.MODEL_WEIGHTS), level=level.value)


@pytest.mark.parametrize("name", BUTTONS)
def test_unconfirmed_classes_block_both_pages_and_link_to_them(world: World, name: str) -> None:
    shown = page(world, name)
    assert "Vor einem Lauf muss die Datenklassifizierung vollständig bestätigt sein" in shown
    assert reverse("workload_data", args=[world.workload_id]) in shown
    assert not is_offered(shown, BUTTONS[name])
    assert "Dateien übernehmen" not in shown or not is_offered(shown, "Dateien übernehmen")


@pytest.mark.parametrize("name", BUTTONS)
def test_a_refused_start_leads_back_to_the_workload(world: World, name: str) -> None:
    sent = {"platform": str(world.workload.pilot.platform_id)} if name == "pilot_target" else {}
    answer = world.browser("pl01").post(reverse(name, args=[world.workload_id]), sent)
    assert answer.status_code == 409
    assert f'href="{reverse("workload", args=[world.workload_id])}">Zum Workload' in shown_by(answer)


def test_the_target_page_links_to_what_is_missing_next(world: World) -> None:
    demo.confirm_classification(world.demo, world.workload)
    assert is_offered(page(world, "pilot_baseline"), "Messung starten")
    shown = page(world, "pilot_target")
    assert "Es gibt noch keine Vergleichsbasis" in shown
    assert f'href="{reverse("pilot_baseline", args=[world.workload_id])}">Zur Vergleichsbasis' in shown


@pytest.mark.parametrize(
    ("change", "url_name"),
    [
        ({"model_digest": ""}, "workload_edit"),
        ({"ai_act_risk_class": "HOCHRISIKO_ANHANG_III"}, "workload_edit"),
    ],
)
def test_a_blocker_links_to_the_page_that_closes_it(
    world: World, change: dict[str, str], url_name: str
) -> None:
    demo.confirm_classification(world.demo, world.workload)
    written(Workload.objects, **change)
    shown = page(world, "pilot_baseline")
    assert not is_offered(shown, "Messung starten")
    assert f'href="{reverse(url_name, args=[world.workload_id])}">Zu den Angaben' in shown


@pytest.mark.parametrize("confirmed", [False, True])
def test_a_level_without_criteria_is_said_from_the_classification_on(world: World, confirmed: bool) -> None:
    if confirmed:
        demo.confirm_classification(world.demo, world.workload)
    classify_weights(world, Level.CONFIDENTIAL)
    for name, who in (("workload", "wo01"), ("workload_data", "wo01"), ("workload_confirm", "pr01")):
        shown = page(world, name, who)
        assert NOT_COVERED in shown, name
        assert "Ein Lauf und ein Freigabeantrag sind damit nicht möglich." in shown
        assert "Dem Antrag steht kein Kriterium im Weg." not in shown


def test_a_level_without_criteria_takes_the_place_of_the_next_step(world: World) -> None:
    demo.confirm_classification(world.demo, world.workload)
    assert "Vergleichsbasis messen" in page(world, "workload")
    classify_weights(world, Level.CONFIDENTIAL)
    shown = page(world, "workload")
    assert "Vergleichsbasis messen" not in shown
    assert "Ansehen und klären" not in shown
    assert "die Einstufung richtet sich allein nach den Daten" in shown
    start = page(world, "pilot_baseline")
    assert NOT_COVERED in start
    assert "die Einstufung richtet sich allein nach den Daten" in start
    assert not is_offered(start, "Messung starten")


@pytest.mark.parametrize("level", [Level.PUBLIC, Level.INTERNAL])
def test_a_covered_level_is_not_remarked_on(world: World, level: Level) -> None:
    classify_weights(world, level)
    assert "keine Kriterien für die Stufe" not in page(world, "workload")


def started(world: World) -> Run:
    demo.confirm_classification(world.demo, world.workload)
    return demo.start_baseline(world.demo, world.workload)


def test_a_lasting_run_is_the_next_step_and_no_second_is_offered(world: World) -> None:
    run = started(world)
    written(Job.objects.filter(pk=run.job_id), progress_permille=420, progress_text="Messung: 42 von 100")
    shown = page(world, "workload")
    assert "Vergleichsbasis messen" not in shown
    assert "Der Lauf ist im Gange (42 % · Messung: 42 von 100)." in shown
    assert shown.count(reverse("run", args=[run.pk])) == 2
    start = page(world, "pilot_baseline")
    assert "Ein Lauf ist im Gange." in start
    assert not is_offered(start, "Messung starten")
    assert is_offered(start, "Dateien übernehmen"), "a file needs no turn of this machine"


def test_a_failed_run_stands_there_with_its_reason_and_may_be_started_again(world: World) -> None:
    run = started(world)
    results.fail_run(actor=SYSTEM, job_id=run.job_id, reason="Der Speicher reicht nicht.")
    shown = page(world, "workload")
    assert "Der Speicher reicht nicht." in shown
    assert "fehlgeschlagen" in shown
    assert "Vergleichsbasis messen" in shown
    assert is_offered(page(world, "pilot_baseline"), "Messung starten")


def test_a_cancelled_run_stands_there_as_cancelled(world: World) -> None:
    run = started(world)
    runs.cancel_run(actor=world.user("pl01"), run_id=run.pk)
    assert "abgebrochen" in page(world, "workload")


def test_both_roles_stand_there_and_the_effort_is_a_link_once_there_is_a_porting_report(world: World) -> None:
    effort = reverse("pilot_porting", args=[world.workload_id])
    started(world)
    jobs.run_pending()
    shown = page(world, "workload")
    assert "Vergleichsbasis (Baseline): " in shown
    assert "Ziellauf: " not in shown
    assert f'href="{effort}"' not in shown.split('id="nachweise"')[1].split("</section>")[0]
    demo.start_target(world.demo, world.workload)
    jobs.run_pending()
    shown = page(world, "workload")
    assert "Ziellauf: " in shown
    assert f'href="{effort}">Portierung und Aufwand' in shown


def test_looking_at_a_blocked_page_leaves_no_event(world: World) -> None:
    browser = world.browser("wo01")
    before = AuditEvent.objects.count()
    browser.get(reverse("pilot_baseline", args=[world.workload_id]))
    assert AuditEvent.objects.count() == before


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, ""),
        (29.9, ""),
        (30, "noch etwa 1 Minute"),
        (89, "noch etwa 1 Minute"),
        (91, "noch etwa 2 Minuten"),
        (4 * 3600, "noch etwa 240 Minuten"),
    ],
)
def test_time_that_is_left_is_told_in_whole_minutes(seconds: float, text: str) -> None:
    assert remaining(seconds) == text


def test_a_long_measurement_says_how_long_it_will_take(world: World) -> None:
    said: list[str] = []
    with (
        mock.patch("pilots.jobs.perf_counter_ns", Ticks(10_000_000)),
        mock.patch("qms.core.jobs.JobContext.progress", lambda _self, _permille, text: said.append(text)),
    ):
        started(world)
        jobs.run_pending()
    assert said[0] == "Messung: 0 von 20.000"
    assert "Messung: 0 von 20.000, noch etwa 3 Minuten" in said
    assert said[-1] == "Messung: 20.000 von 20.000"


class Ticks:
    """A clock on which each reading is `step` nanoseconds later."""

    def __init__(self, step: int) -> None:
        self._now, self._step = 0, step

    def __call__(self) -> int:
        self._now += self._step
        return self._now
