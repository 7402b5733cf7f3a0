"""Two worked cases on the same path: well used it ends with a Vorfreigabe, seldom used with "Nein"."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.urls import reverse

from pilots import demo_cases
from pilots.baseline import signature
from pilots.demo_cases import CASES
from qms.approvals import documents
from qms.approvals.models import Approval
from qms.core import jobs
from qms.gates import services as gates
from tests.pilots.baseline.measured_files import measured, signed, steady
from tests.walk import World, screen, world

__all__ = ["world"]
STAGE = "house"
pytestmark = pytest.mark.django_db
MODEL = "8-16-4"
USED, SELDOM = CASES
_keys = iter(range(1, 200))


def _slow_server() -> tuple[str, bytes]:
    """A server that takes 10 ms for each batch, measured with a clock that no machine disturbs."""
    key = Ed25519PrivateKey.from_private_bytes(bytes([next(_keys)]) * 32)
    return signature.card(key), signed(measured(MODEL, clock=lambda: steady(10_000_000)), key)


@pytest.fixture(autouse=True)
def measured_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_cases, "MODEL", MODEL)
    monkeypatch.setattr(demo_cases, "signed_measurement", _slow_server)


def walk(world: World, case: demo_cases.Case) -> Approval:
    return demo_cases.walk_case(world.demo, case, carry_out=jobs.run_pending)


def test_the_well_used_case_ends_with_a_vorfreigabe(world: World) -> None:
    approval = walk(world, USED)
    assert approval.status == "FREIGEGEBEN"
    report = gates.report(approval.workload)
    assert report.verdict is not None
    assert (report.verdict.id, report.verdict.code) == ("VF-08", "VORFREIGABE_EMPFOHLEN")
    assert (report.checked, report.total) == (60, 76)
    assert [item.row.id for item in report.criteria if item.row.scope and not item.result.passes] == []
    page = screen(world.browser("fg01").get(reverse("approval", args=[approval.pk])))
    assert "(VF-08)" in page


def test_the_seldom_used_case_ends_with_a_no_and_says_why(world: World) -> None:
    approval = walk(world, SELDOM)
    assert approval.status == "ABGELEHNT"
    verdict = gates.report(approval.workload).verdict
    assert verdict is not None
    assert (verdict.id, verdict.code) == ("VF-06", "GPU_BEIBEHALTEN_ODER_OPTIMIEREN")
    assert verdict.sentence_de.startswith(
        "Nein, bisherige Plattform behalten – weil die erwartete Auslastung von "
    )
    body = documents.issued_body(approval)
    assert body is not None
    assert body["board_sentence"].startswith("Nein, ")
    assert "(VF-06)" in body["board_sentence"]
    page = screen(world.browser("fg01").get(reverse("approval", args=[approval.pk])))
    assert "(VF-06)" in page


def test_both_cases_share_contract_prices_model_and_measurement(world: World) -> None:
    approvals = [walk(world, case) for case in CASES]
    sheets = [
        approval.workload.evidence.get(type="EV-17", replaced_by=None).facts()["entered"]
        for approval in approvals
    ]
    for sheet in sheets:
        del sheet["units_per_month"], sheet["history"]
    assert sheets[0] == sheets[1]
    assert demo_cases.walk_cases(world.demo, carry_out=jobs.run_pending) == []
