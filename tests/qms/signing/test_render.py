"""S1, S3 and what a board reads on page 1."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import Any

import pytest

from qms.signing import render
from qms.signing.errors import GlyphMissing, RenderFailed
from tests.qms.signing import samples

pytestmark = pytest.mark.needs("pango")

_CHILD = """
import django; django.setup()
import hashlib
from dataclasses import replace
from qms.signing import render
from tests.qms.signing import samples
signers = samples.people(2)
page = samples.page_input(signers, samples.decision.parse(samples.decision_bytes(signers)))
page = replace(page, root_sha256="ab" * 32)
data = render.DocumentInput(page, samples.decision_bytes(signers), b"[]", b"proof", samples.AT)
print(hashlib.sha256(render.render_document(data)).hexdigest())
"""


def _text(pdf: bytes, tmp_path: Any) -> list[str]:
    file = tmp_path / "a.pdf"
    file.write_bytes(pdf)
    raw = subprocess.run(["pdftotext", "-layout", str(file), "-"], check=True, capture_output=True).stdout
    return raw.decode().split("\f")[:-1]


def test_two_renders_are_equal_bytes_with_other_hash_seed_and_time_zone() -> None:
    digests = set()
    for seed, zone in (("1", "UTC"), ("2", "Europe/Berlin")):
        environment = {
            **os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "DJANGO_SETTINGS_MODULE": "tests.settings", "PYTHONPATH": "."
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", _CHILD], check=True, capture_output=True, env=environment, text=True
        )
        digests.add(done.stdout.strip())
    assert len(digests) == 1


@pytest.mark.parametrize("character", ["⚠", "🙂", "中"])
def test_character_without_glyph_is_refused_before_rendering(character: str) -> None:
    signers = samples.people(1)
    body = {**samples.BODY, "board_sentence": f"Freigabe {character}"}
    page = samples.page_input(signers, samples.decision.parse(samples.decision_bytes(signers)), body=body)
    with pytest.raises(GlyphMissing, match=character) as caught:
        render.render_document(render.DocumentInput(page, b"{}", b"[]", b"", samples.AT))
    assert caught.value.character == character


def test_german_typography_can_be_drawn() -> None:
    from qms.signing import glyphs

    glyphs.check("ÄÖÜäöüß „Freigabe“ ‚a‘ – — … € § · × ≥ ≤ → µ ² \u00a0\u00ad")


def test_every_page_of_a_sample_says_so(chain: samples.Chain, tmp_path: Any) -> None:
    pages = _text(chain.final, tmp_path)
    assert len(pages) >= 3
    assert all("Muster – keine Freigabe" in page for page in pages)
    assert all(f"Seite {number} von {len(pages)}" in page for number, page in enumerate(pages, start=1))
    assert all("abababababababab" in page for page in pages)


def test_page_1_answers_the_board(chain: samples.Chain, tmp_path: Any) -> None:
    first = " ".join(_text(chain.revisions[0], tmp_path)[0].split())
    for text in (samples.ORGANISATION, samples.NUMBER, "Vorfreigabe", "wird bis 30.11.2027", "4 210 Proben/s",
                 "EMULIERT · eingereicht · eigen", "Nicht geprüft", "01.12.2026 bis 30.11.2027"):  # fmt: skip
        assert text in first


def test_resource_outside_the_package_stops_the_rendering(monkeypatch: pytest.MonkeyPatch) -> None:
    html = "<html lang=de><title>x</title><body><img src='file:///etc/passwd' alt=x></body></html>"
    monkeypatch.setattr(render, "render_to_string", lambda *_: html)
    signers = samples.people(1)
    page = samples.page_input(signers, samples.decision.parse(samples.decision_bytes(signers)))
    with pytest.raises(RenderFailed, match="refused"):
        render.render_document(render.DocumentInput(page, b"{}", b"[]", b"", samples.AT))


def test_markup_in_texts_stays_text(tmp_path: Any) -> None:
    signers = samples.people(1)
    raw = samples.decision_bytes(signers)
    body = {**samples.BODY, "board_sentence": "<link rel=attachment href='file:///etc/passwd'> & <b>fett</b>"}
    page = samples.page_input(signers, samples.decision.parse(raw), body=body)
    pdf = render.render_document(render.DocumentInput(page, raw, b"[]", b"", samples.AT))
    assert "<b>fett</b>" in " ".join(_text(pdf, tmp_path)[0].split())


def test_attachments_are_the_given_bytes(chain: samples.Chain, tmp_path: Any) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(chain.final)
    out = tmp_path / "out.json"
    subprocess.run(
        ["pdfdetach", "-savefile", "entscheidung.json", "-o", str(out), str(file)],
        check=True,
        capture_output=True,
    )
    assert hashlib.sha256(out.read_bytes()).hexdigest() == chain.decision.sha256
