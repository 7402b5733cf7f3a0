"""SZ-01.11: a target run moved data across the edge of the wafer; the claims register says so by itself."""

from __future__ import annotations

import html

import pytest
from django.urls import reverse

from qms.audit.models import AuditEvent
from qms.evidence.models import Claim, EvidenceItem
from tests.walk import World

STAGE = "emulated"
pytestmark = pytest.mark.django_db


def test_claim_of_bypassed_buses_is_partly_true_after_the_run(world: World) -> None:
    report = EvidenceItem.objects.get(workload=world.workload, type="EV-04", replaced_by=None)
    assert report.facts()["off_wafer_bytes"] > 0
    claim = Claim.objects.get()
    assert (claim.key, claim.status, claim.evidence, claim.reviewer) == ("S015", "TEILWEISE", report, None)
    assert AuditEvent.objects.filter(kind="BEHAUPTUNG_GEAENDERT").count() == 1
    page = world.browser("wo01").get(reverse("claims"))
    text = html.unescape(page.content.decode()).replace("\u00ad", "")
    assert "Teilweise – Off-Wafer-Verkehr nachgewiesen (S015)." in text
