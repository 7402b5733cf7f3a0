"""Starting runs: too early, twice, by people without the permission, and with nothing half-done."""

from __future__ import annotations

import pytest

from pilots import catalog
from pilots.models import Run
from qms.core import jobs
from qms.core.ids import uuid7
from qms.core.jobs import JobFailed
from qms.core.models import Job
from tests.walk import (
    JSON,
    World,
    address,
    assert_refused,
    both_ways,
    kinds_since,
    log_size,
    nothing_but,
    platform,
)

STAGE = "classified"
TWICE = "Für diesen Workload läuft bereits ein Lauf dieser Art (T-11)."
pytestmark = pytest.mark.django_db


def test_double_click_on_the_measurement_starts_one_run(world: World) -> None:
    url, browser, size = address("pilot_baseline", world.workload_id), world.browser("pl01"), log_size()
    assert browser.post(url, {"start": "1"}).status_code == 302
    both_ways(
        world, "pl01", url, {"start": "1"}, event="LAUF_VERWEIGERT", status=409, id="T-11", message=TWICE
    )
    assert Run.objects.count() == Job.objects.count() == 1
    assert kinds_since(size).count("LAUF_GESTARTET") == 1


def test_direct_call_without_any_field_starts_the_measurement(world: World) -> None:
    answer = world.browser("pl01").post(address("pilot_baseline", world.workload_id), headers=JSON)
    assert answer.json()["ok"] is True
    assert Run.objects.count() == 1


def test_target_run_needs_a_baseline_first(world: World) -> None:
    both_ways(
        world,
        "pl01",
        address("pilot_target", world.workload_id),
        {"platform": platform("WSE-2")},
        event="LAUF_VERWEIGERT",
        status=409,
        id="T-11",
        message="Lauf nicht möglich: Es gibt noch keine Vergleichsbasis (T-11).",
    )
    assert world.workload.criteria_frozen_at is None


def test_double_click_on_the_emulation_freezes_once_and_starts_one_run(world: World) -> None:
    browser = world.browser("pl01")
    browser.post(address("pilot_baseline", world.workload_id), {"start": "1"})
    jobs.run_pending()
    size, url = log_size(), address("pilot_target", world.workload_id)
    assert browser.post(url, {"platform": platform("WSE-2")}).status_code == 302
    frozen = world.workload.criteria_sha256
    both_ways(
        world,
        "pl01",
        url,
        {"platform": platform("WSE-2")},
        event="LAUF_VERWEIGERT",
        status=409,
        id="T-11",
        message=TWICE,
    )
    kinds = kinds_since(size)
    assert (kinds.count("KRITERIEN_EINGEFROREN"), kinds.count("LAUF_GESTARTET")) == (1, 1)
    assert world.workload.criteria_sha256 == frozen
    assert Run.objects.filter(role="ZIEL").count() == 1


def test_reviewer_may_not_start_a_run(world: World) -> None:
    with nothing_but("ZUGRIFF_VERWEIGERT", id="P12"):
        answer = world.browser("pr01").post(
            address("pilot_baseline", world.workload_id), {"start": "1"}, headers=JSON
        )
    assert answer.status_code == 403
    assert answer.json()["id"] == "P12"


def test_workload_that_a_person_may_not_see_does_not_exist_for_it(world: World) -> None:
    url = address("pilot_baseline", world.workload_id)
    with nothing_but(""):
        answer = world.browser("ad01").post(url, {"start": "1"}, headers=JSON)
    assert answer.status_code == 404
    unknown = world.browser("ad01").post(
        url.replace(str(world.workload_id), str(uuid7())), {"start": "1"}, headers=JSON
    )
    assert unknown.json() == answer.json()


def test_failed_measurement_leaves_no_evidence(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object, **_values: object) -> None:
        raise JobFailed("Die Messung ist nicht möglich.")

    monkeypatch.setattr(catalog, "run_baseline", broken)
    browser, size = world.browser("pl01"), log_size()
    browser.post(address("pilot_baseline", world.workload_id), {"start": "1"})
    jobs.run_pending()
    run = Run.objects.get()
    assert (run.exit_state, run.failure) == ("FEHLGESCHLAGEN", "Die Messung ist nicht möglich.")
    assert kinds_since(size)[-1] == "LAUF_FEHLGESCHLAGEN"
    assert not run.workload.evidence.exists()
    answer = browser.get(address("run", run.pk))
    assert "Die Messung ist nicht möglich." in answer.content.decode()


def test_cancelled_run_leaves_no_evidence(world: World) -> None:
    browser = world.browser("pl01")
    browser.post(address("pilot_baseline", world.workload_id), {"start": "1"})
    run = Run.objects.get()
    assert browser.post(address("run_cancel", run.pk)).status_code == 302
    jobs.run_pending()
    run.refresh_from_db()
    assert run.exit_state == "ABGEBROCHEN"
    assert not run.workload.evidence.exists()
    with nothing_but("AENDERUNG_VERWEIGERT"):
        answer = browser.post(address("run_cancel", run.pk), headers=JSON)
    assert_refused(
        answer,
        status=409,
        code="AENDERUNG_VERWEIGERT",
        id="T-11",
        message="Dieser Lauf ist bereits beendet.",
    )
