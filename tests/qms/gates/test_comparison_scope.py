"""A baseline of the platform in use widens what is judged, in the command and on every page (ADR 0154)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from qms.evidence import selectors as evidence
from qms.gates import services as gates
from qms.gates.choices import ApprovalType
from tests.walk import World, address, nothing_but, platform, review_post, screen, world

__all__ = ["world"]

STAGE = "requested"
pytestmark = pytest.mark.django_db
FILES: Final = Path(__file__).parents[2] / "pilots" / "baseline" / "files"
LOAD: Final = "vllm-0.33.0_serve_ok_20req.json"


def measure_platform_in_use(world: World) -> None:
    upload = SimpleUploadedFile(LOAD, (FILES / LOAD).read_bytes())
    data = {"file": upload, "platform": platform("DISKRET-4GPU"), "only_file": "1"}
    answer = world.browser("pl01").post(reverse("pilot_baseline", args=[world.workload_id]), data)
    assert answer.status_code == 302


def codes(world: World) -> list[str]:
    return [subject.code for subject in gates.asked_subjects(world.workload)]


def test_development_machine_stays_as_light_as_before(world: World) -> None:
    report = gates.report(world.workload)
    assert (report.checked, report.total, report.verdict) == (44, 76, None)
    assert "KOSTEN" not in codes(world)
    shown = screen(world.browser("wo01").get(address("workload", world.workload_id)))
    assert "44 von 76" in shown
    page = world.browser("pr01").get(address("approval_review", world.approval_id))
    assert 'name="subject_KOSTEN"' not in page.content.decode()


def test_platform_in_use_brings_criteria_verdict_and_the_subject_of_costs(world: World) -> None:
    measure_platform_in_use(world)
    report = gates.report(world.workload)
    assert (report.checked, report.total) == (60, 76)
    assert report.result("G6-2").reason_de == "Das TCO-Blatt (EV-17) fehlt."
    assert report.verdict is not None
    assert codes(world)[-1] == "KOSTEN"
    shown = screen(world.browser("wo01").get(address("workload", world.workload_id)))
    assert "60 von 76" in shown
    assert "Das TCO-Blatt (EV-17) fehlt." in shown


def test_review_without_an_answer_on_costs_is_refused(world: World) -> None:
    measure_platform_in_use(world)
    url = address("approval_review", world.approval_id)
    assert 'name="subject_KOSTEN"' in world.browser("pr01").get(url).content.decode()
    with nothing_but():
        page = world.browser("pr01").post(url, review_post())
    assert page.status_code == 422
    act = world.browser("pr01").post(url, review_post(subject_KOSTEN="ZUSTIMMUNG"))
    assert act.status_code == 200
    assert "Kosten" in screen(act)


def test_evidence_says_what_it_carries_only_where_it_is_judged(world: World) -> None:
    def carried() -> set[str]:
        items = evidence.counting(world.workload)
        baseline = next(item for item in items if item.type == "EV-02")
        return {row.id for row in gates.carried(baseline, items)}

    before = carried()
    assert "G6-8" not in before
    measure_platform_in_use(world)
    assert carried() - before == {"G2-1", "G3-2", "G6-8"}


def test_votes_needed_stay_the_same(world: World) -> None:
    before = gates.votes_required(world.workload, ApprovalType.PRELIMINARY)
    measure_platform_in_use(world)
    after = gates.votes_required(world.workload, ApprovalType.PRELIMINARY)
    assert after.approvers == before.approvers
    assert set(after.votes[0].subjects) - set(before.votes[0].subjects) == {"KOSTEN"}
