"""SZ-01.10 and SZ-01.13: the sealed document, and the audit bundle that anybody can check."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unicodedata
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.urls import reverse

from qms.approvals import documents, selectors
from qms.audit import checkpoints
from qms.audit.models import Export
from qms.core import jobs
from qms.signing import selectors as signing
from tests.system_parts import require_system
from tests.walk import World, address, events_since, kinds_since, log_size, nothing_but, recorded, screen

STAGE = "decided"
NOTICE = "Zielplattform emuliert – keine Aussage unter realen Bedingungen"
pytestmark = [pytest.mark.django_db, pytest.mark.needs("pango", "pdfsig")]


@dataclass
class Sealed:
    """The page before the seal, what sealing recorded, and the PDF as it is downloaded."""

    before: str
    was_in_force: bool
    kinds: list[str]
    pdf: bytes
    text: str
    first_page: str


@pytest.fixture(scope="module")
def sealed(world: World, tmp_path_factory: pytest.TempPathFactory) -> Sealed:
    require_system("pango", "pdfsig")
    page, browser = address("approval", world.approval_id), world.browser("wo01")
    before, size = screen(browser.get(page)), log_size()
    was_in_force = selectors.force(world.approval).in_force
    jobs.run_pending()
    kinds = kinds_since(size)
    answer = browser.get(address("approval_document", world.approval_id))
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/pdf")
    path = tmp_path_factory.mktemp("pdf") / "freigabe.pdf"
    path.write_bytes(answer.content)
    return Sealed(before, was_in_force, kinds, answer.content, _text(path), _text(path, "-l", "1"))


def _text(path: Path, *options: str) -> str:
    command = ["pdftotext", *options, str(path), "-"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", found).replace("\u00ad", ""))


def test_SZ_01_10_sealing_makes_the_decision_effective(world: World, sealed: Sealed) -> None:
    assert "Siegel ausstehend" in sealed.before
    assert not sealed.was_in_force
    wanted = ["DOKUMENT_ERZEUGT", "SIGNATUR_GESETZT", "SIGNATUR_GESETZT", "DOKUMENT_GESIEGELT"]
    assert [kind for kind in sealed.kinds if kind in wanted] == wanted
    assert world.approval.status == "FREIGEGEBEN"
    assert selectors.force(world.approval).in_force
    page = screen(world.browser("wo01").get(address("approval", world.approval_id)))
    assert NOTICE in page
    assert "wirksam" in page
    assert "Siegel ausstehend" not in page


def test_SZ_01_10_document_says_what_it_rests_on(world: World, sealed: Sealed) -> None:
    assert NOTICE in sealed.first_page
    assert re.search(r"geprüft: \d+ von \d+ Kriterien", sealed.first_page)
    assert "Vergleichsbasis: Entwicklungsrechner" in sealed.first_page
    assert "Kein Vergleichsfaktor" in sealed.first_page


BLOCKS = (
    "Vergleich mit der Vergleichsbasis",
    "Portierungsaufwand",
    "Auslastung und Break-even",
    "Wiederanlauf",
    "Gesamtkosten",
)


def test_SZ_01_10_five_blocks_and_three_options_are_there(world: World, sealed: Sealed) -> None:
    body = documents.issued_body(world.approval)
    assert body is not None
    sections = {section["number"]: section["blocks"] for section in body["sections"]}
    proof = [block.get("caption", "") for block in sections["7"]] + [
        row[0] for block in sections["7"] if block["kind"] == "facts" for row in block["rows"]
    ]
    assert [name for name in BLOCKS if name in proof] == list(BLOCKS)
    porting, *empty = [row for block in sections["7"] if block["kind"] == "facts" for row in block["rows"]]
    assert porting == ["Portierungsaufwand", "entfällt, weil das Modell nur aus Schichtbreiten besteht"]
    assert len(empty) == 3
    assert all(text.startswith("nicht geprüft, weil ") for _name, text in empty)
    table = sections["9"][0]
    assert [text.split(":")[0] for text in table["head"][1:]] == ["Option A", "Option B", "Option C"]
    assert [row[0] for row in table["rows"]] == ["Nutzen", "Kosten", "Risiko", "Aufwand", "Zeit"]
    assert all(cell for row in table["rows"] for cell in row)
    for text in ("Entscheidungsnachweis", "Optionenvergleich", *BLOCKS):
        assert text in sealed.text


def test_SZ_01_10_both_signatures_stand_with_their_method(world: World, sealed: Sealed) -> None:
    for name in ("pr01", "fg01"):
        assert world.user(name).person.display_name in sealed.text
    assert sealed.text.count("Passkey") >= 2


def test_SZ_01_10_seal_is_valid(world: World, sealed: Sealed) -> None:
    report = signing.verify_file(sealed.pdf)
    assert report.valid, report.verdict
    page = world.browser("au01").get(address("approval_verification", world.approval_id))
    assert page.status_code == 200


def test_SZ_01_13_bundle_is_checked_by_the_script_alone(world: World, sealed: Sealed, tmp_path: Path) -> None:
    browser, size = world.browser("au01"), log_size()
    with recorded("EXPORT_ERSTELLT"):
        answer = browser.post(reverse("audit_export"), {"purpose": "Stichprobe Freigaben"})
        assert answer.status_code == 302
    jobs.run_pending()
    made = Export.objects.get()
    assert world.approval.status == "FREIGEGEBEN"
    answer = browser.get(reverse("audit_export_file", args=[made.pk]))
    assert answer.status_code == 200
    bundle = tmp_path / "audit.zip"
    bundle.write_bytes(b"".join(answer.streaming_content))
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(tmp_path / "bundle")
    folder = next((tmp_path / "bundle").iterdir())
    names = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    assert sealed.pdf in [(folder / name).read_bytes() for name in names if name.endswith(".pdf")]
    assert any(name.endswith("events.jsonl") for name in names)
    assert any("checkpoint" in name for name in names)
    assert any(name.endswith(".json") and "dossier" in name for name in names)
    uid = events_since(size, "EXPORT_ERSTELLT")[0]["id"]
    lines = next(folder.rglob("events.jsonl")).read_text(encoding="utf-8")
    assert uid in lines
    result = subprocess.run(
        [
            sys.executable,
            "-I",
            str(next(folder.rglob("pruefen.py"))),
            str(folder),
            "--schluessel",
            checkpoints.vkey(),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Wurzel und Unterschrift stimmen" in result.stdout


def test_SZ_01_13_published_key_stands_on_the_document(world: World, sealed: Sealed) -> None:
    key = checkpoints.vkey().split("+")[-1]
    assert key[:12] in sealed.text.replace(" ", "")


def test_SZ_01_13_export_needs_the_permission(world: World, sealed: Sealed) -> None:
    with nothing_but("ZUGRIFF_VERWEIGERT", id="P34"):
        answer = world.browser("wo01").post(
            reverse("audit_export"), {"purpose": "Neugier"}, headers={"accept": "application/json"}
        )
    assert answer.status_code == 403
    assert not Export.objects.exists()
    assert json.loads(answer.content)["id"] == "P34"
