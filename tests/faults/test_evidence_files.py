"""A file behind a piece of evidence was changed on the disk: refused (G7-4), marked, and never counted again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pilots import demo
from qms.approvals import selectors
from qms.approvals.models import ApprovalDecision, DecisionRecord
from qms.core import store
from qms.evidence.models import EvidenceItem
from tests.walk import (
    JSON,
    SIGN,
    World,
    address,
    assert_refused,
    decision_post,
    hidden,
    kinds_since,
    log_size,
    review_post,
    rows,
    screen,
)

STAGE = "requested"
SENTENCE = "Nachweis verändert: Die Datei zu EV-04 stimmt nicht mit ihrer Prüfsumme überein (G7-4)."
pytestmark = pytest.mark.django_db


def target(world: World) -> EvidenceItem:
    return EvidenceItem.objects.get(workload=world.workload_id, type="EV-04")


@contextmanager
def changed(item: EvidenceItem, *, gone: bool = False) -> Iterator[None]:
    """Change, or take away, the stored file of an item; it is put back for the other tests."""
    path = store.path(item.facts_sha256)
    good = path.read_bytes()
    path.chmod(0o644)
    if gone:
        path.unlink()
    else:
        path.write_bytes(good.replace(b"EMULIERT", b"GEMESSEN", 1))
    try:
        yield
    finally:
        path.write_bytes(good)


@contextmanager
def marked_and_nothing_else(item: EvidenceItem) -> Iterator[None]:
    """The refusal and the mark are recorded in one unit; every other row stays as it is."""
    before, size = rows(), log_size()
    yield
    assert kinds_since(size) == ["GATE_NICHT_ERFUELLT", "NACHWEIS_MANIPULIERT"]
    after = rows()
    assert [name for name in after if after[name] != before[name]] == ["evidence.evidenceitem"]
    item.refresh_from_db()
    assert item.status == "MANIPULIERT"


@pytest.mark.parametrize("gone", [False, True])
def test_changed_file_refuses_the_decision_and_marks_the_evidence(world: World, gone: bool) -> None:
    demo.review(world.demo, world.approval)
    item = target(world)
    with changed(item, gone=gone), marked_and_nothing_else(item):
        answer = world.browser("fg01").post(
            address("approval_decide", world.approval_id), decision_post(), headers=JSON
        )
    assert_refused(answer, status=422, code="GATE_NICHT_ERFUELLT", id="G7-4", message=SENTENCE)
    assert world.approval.status == "ENTSCHEIDUNGSREIF"
    assert not DecisionRecord.objects.exists()


def test_page_of_the_decision_says_so(world: World) -> None:
    demo.review(world.demo, world.approval)
    item = target(world)
    with changed(item), marked_and_nothing_else(item):
        page = world.browser("fg01").post(address("approval_decide", world.approval_id), decision_post())
    assert page.status_code == 422
    assert SENTENCE in screen(page)
    shown = screen(world.browser("fg01").get(address("evidence", item.pk)))
    assert "manipuliert" in shown


def test_file_changed_between_wording_and_signature(world: World) -> None:
    demo.review(world.demo, world.approval)
    browser, item = world.browser("fg01"), target(world)
    url = browser.post(address("approval_decide", world.approval_id), decision_post()).url
    act = {"challenge": hidden(browser.get(url), "challenge")} | SIGN
    with changed(item), marked_and_nothing_else(item):
        answer = browser.post(url, act, headers=JSON)
    assert_refused(answer, status=422, code="GATE_NICHT_ERFUELLT", id="G7-4", message=SENTENCE)
    assert not ApprovalDecision.objects.exists()


def test_changed_file_refuses_the_review(world: World) -> None:
    item = target(world)
    with changed(item), marked_and_nothing_else(item):
        answer = world.browser("pr01").post(
            address("approval_review", world.approval_id), review_post(), headers=JSON
        )
    assert_refused(answer, status=422, code="GATE_NICHT_ERFUELLT", id="G7-4", message=SENTENCE)
    assert world.approval.status == "EINGEREICHT"


def test_download_of_a_changed_file_is_refused_and_marks_it(world: World) -> None:
    item = target(world)
    with changed(item), marked_and_nothing_else(item):
        answer = world.browser("pr01").get(address("evidence_file", item.pk), headers=JSON)
    assert_refused(answer, status=422, code="GATE_NICHT_ERFUELLT", id="G7-4", message=SENTENCE)


def test_second_look_leaves_no_second_mark(world: World) -> None:
    item = target(world)
    with changed(item):
        for _ in range(2):
            size = log_size()
            world.browser("pr01").get(address("evidence_file", item.pk), headers=JSON)
    assert kinds_since(size) == ["GATE_NICHT_ERFUELLT"]


def test_marked_evidence_no_longer_counts(world: World) -> None:
    demo.review(world.demo, world.approval)
    item = target(world)
    with changed(item):
        world.browser("pr01").get(address("evidence_file", item.pk), headers=JSON)
    size = log_size()
    answer = world.browser("fg01").post(
        address("approval_decide", world.approval_id), decision_post(), headers=JSON
    )
    assert answer.status_code == 409
    assert kinds_since(size) == ["AENDERUNG_VERWEIGERT"]


def test_decided_approval_with_manipulated_evidence_is_outdated(world: World) -> None:
    demo.review(world.demo, world.approval)
    demo.decide(world.demo, world.approval)
    item = target(world)
    assert not selectors.force(world.approval).outdated
    with changed(item):
        world.browser("au01").get(address("evidence_file", item.pk), headers=JSON)
    assert selectors.force(world.approval).outdated
