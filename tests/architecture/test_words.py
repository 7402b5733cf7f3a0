"""What we never say: words that promise more than a signature can, and notes to ourselves."""

from __future__ import annotations

import re

from tests.architecture.sources import ROOT, files

PROMISES = re.compile(
    r"rechtsgültig|rechtssicher|rechtsverbindlich|gerichtsfest|fälschungssicher|manipulationssicher|unveränderbar|unveränderlich"
    r"|revisionssicher",
    re.IGNORECASE,
)
NOTES = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
SHOWN = (
    *files("qms", "pilots"),
    *files("qms", "pilots", "templates", pattern="*.html"),
    *files("qms", pattern="*.po"),
    *files("qms", "pilots", pattern="*.json"),
    *files("docs", pattern="*.md"),
    *files("qms", "pilots", "templates", pattern="*.txt"),
)


def lines_with(pattern, paths):
    return [
        f"{path}:{number} {line.strip()[:100]}"
        for path in paths
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_text_promises_too_much():
    assert lines_with(PROMISES, SHOWN) == []


def test_no_source_has_notes_to_ourselves():
    own = [path for path in files("qms", "pilots", "tests") if path.name != "test_words.py"]
    assert lines_with(NOTES, [*own, *files("templates", pattern="*.html")]) == []


def test_no_file_names_a_machine():
    """Neither paths of the machine a file was written on nor addresses of package indexes."""
    pattern = re.compile(r"/(root|home/[a-z]+|work)/|pypi\.org|pythonhosted|/opt/pypi")
    paths = [*files("qms", "pilots", "tests", ".ci", pattern="*"), *files("templates", "docs", pattern="*")]
    text_files = [
        path
        for path in paths
        if (ROOT / path).is_file()
        and path.suffix in {"", ".py", ".md", ".html", ".css", ".js", ".json", ".txt", ".po", ".toml"}
    ]
    assert lines_with(pattern, [path for path in text_files if path.name != "test_words.py"]) == []
