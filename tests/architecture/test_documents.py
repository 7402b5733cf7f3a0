"""Documents that are generated are current, and every decision stands in the index."""

from __future__ import annotations

import re

from django.utils.translation import trans_real

from qms.core import catalogues
from tests import codes
from tests.architecture.sources import ROOT, files

LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#]+)")
PAGES = (*files("docs", pattern="*.md"), *(path.relative_to(ROOT) for path in ROOT.glob("*.md")))


def test_table_of_codes_is_current(monkeypatch):
    catalogues.build()
    monkeypatch.setattr(trans_real, "_translations", {})
    assert codes.TARGET.read_text(encoding="utf-8") == codes.page(), "python -m tests.codes writes it anew"


def test_index_of_decisions_is_current():
    assert codes.INDEX.read_text(encoding="utf-8") == codes.index(), "python -m tests.codes writes it anew"


def test_every_decision_says_its_number():
    wrong = [
        path.name
        for path in codes.INDEX.parent.glob("0*.md")
        if not path.read_text(encoding="utf-8").startswith(f"# {path.name[:4]} ")
    ]
    assert wrong == []


def test_every_link_between_documents_leads_somewhere():
    broken = [
        f"{path}: {target}"
        for path in PAGES
        for target in LINK.findall((ROOT / path).read_text(encoding="utf-8"))
        if not (ROOT / path).parent.joinpath(target).exists()
    ]
    assert broken == []


def test_documents_name_only_files_that_exist():
    """A path in back quotes that begins with one of our folders is there."""
    pattern = re.compile(r"`((?:qms|pilots|tests|templates|docs|\.ci)/[\w./-]+)`")
    missing = [
        f"{path}: {name}"
        for path in PAGES
        for name in pattern.findall((ROOT / path).read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    ]
    assert missing == []
