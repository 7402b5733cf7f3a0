"""SZ-02.2 and SZ-02.4: the sealed documents of a conditional approval and of its addendum."""

from __future__ import annotations

import re
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qms.approvals import selectors
from qms.core import canonical, jobs
from qms.signing import selectors as signing
from tests.conditional import (
    approve,
    complete,
    conditional_house,
    conditions_of,
    fulfil,
)
from tests.walk import World, address, kinds_since, log_size

pytestmark = [pytest.mark.django_db, pytest.mark.needs("pango", "pdfsig")]


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """The house with a reviewed request that has two open criteria."""
    with django_db_blocker.unblock(), conditional_house() as made:
        yield made


def printed(data: bytes, folder: Path) -> str:
    path = folder / "dokument.pdf"
    path.write_bytes(data)
    found = subprocess.run(["pdftotext", str(path), "-"], check=True, capture_output=True, text=True).stdout
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", found).replace("\u00ad", ""))


def test_SZ_02_both_documents_are_sealed_and_verify(world: World, tmp_path: Path) -> None:
    approve(world)
    jobs.run_pending()
    first = signing.document_of(world.approval_id)
    assert first is not None
    assert (first.state, first.error) == ("GESIEGELT", "")
    assert first.kind == "BEDINGTE_FREIGABE"
    text = printed(signing.final_pdf(first), tmp_path)
    for part in (
        "Bedingte Freigabe: Vorfreigabe auf Emulationsbasis",
        "mit 2 Auflagen (G0-2, G3-3)",
        "Stellvertretung benennen und einarbeiten.",
        "Streuung höchstens 5 %.",
        "Pilotleitung 1",
        "bedingt freigegeben",
    ):
        assert part in text
    assert selectors.force(world.approval).in_force
    assert signing.verify_file(signing.final_pdf(first)).valid

    for item in conditions_of(world):
        fulfil(world, item)
    size = log_size()
    complete(world)
    assert selectors.force(world.approval).seal_pending
    jobs.run_pending()
    assert "DOKUMENT_GESIEGELT" in kinds_since(size)
    made = world.approval.addendum
    second = signing.document_of(made.pk)
    assert second is not None
    assert (second.state, second.error, second.kind) == ("GESIEGELT", "", "NACHTRAG")
    answer = world.browser("wo01").get(address("approval_addendum_document", world.approval_id))
    assert answer["Content-Type"] == "application/pdf"
    assert answer.content == signing.final_pdf(second)
    text = printed(answer.content, tmp_path)
    assert "Alle 2 Auflagen sind erfüllt." in text
    assert "Liegt vor." in text
    assert world.approval.number in text
    report = signing.verify_file(answer.content)
    assert report.valid
    assert canonical.loads(made.record.content)["target_sha256"] == world.approval.decision_sha256
    assert selectors.force(world.approval).in_force
    # The decision stays the document of the approval.
    answer = world.browser("wo01").get(address("approval_document", world.approval_id))
    assert answer.content == signing.final_pdf(first)
