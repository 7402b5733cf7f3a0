from __future__ import annotations

import re
from pathlib import Path

import pytest

from qms.config.env import ROOT

CSS = ROOT / "qms/web/static/css/app.css"
TEMPLATES = sorted(
    path
    for path in (ROOT / "templates").rglob("*.html")
    if "documents" not in path.parts  # templates of PDFs have a style sheet of their own
)


def tokens(scheme: str) -> dict[str, str]:
    blocks = re.findall(r":root\{\n(.*?)\}", CSS.read_text(encoding="utf-8"), re.DOTALL)
    found = dict(re.findall(r"--([\w-]+):(#[0-9a-f]{3,6})", blocks[0]))
    if scheme == "dark":
        found |= dict(re.findall(r"--([\w-]+):(#[0-9a-f]{3,6})", blocks[1]))
    return found


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


TEXT_PAIRS = [
    *[(text, ground) for text in ("fg", "muted", "accent") for ground in ("bg", "surface", "accent-tint")],
    *[(tone, ground) for tone in ("ok", "warn", "bad") for ground in (f"{tone}-tint", "surface", "bg")],
    *[("fg", f"{tone}-tint") for tone in ("ok", "warn", "bad")],
    *[(f"chart-{index}", "surface") for index in (1, 2, 3)],
    ("on-accent", "accent"),
]
CONTROL_PAIRS = [
    *[("line-strong", ground) for ground in ("bg", "surface", "accent-tint")],
    *[(f"chart-{index}", ground) for index in (1, 2, 3) for ground in ("bg", "surface")],
    ("accent", "bg"),
    ("accent", "accent-tint"),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), TEXT_PAIRS)
def test_text_token_has_contrast_on_its_ground(scheme: str, text: str, ground: str) -> None:
    found = tokens(scheme)
    assert contrast(found[text], found[ground]) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("edge", "ground"), CONTROL_PAIRS)
def test_control_token_has_contrast_on_its_ground(scheme: str, edge: str, ground: str) -> None:
    found = tokens(scheme)
    assert contrast(found[edge], found[ground]) >= 3


def test_dark_scheme_answers_every_light_colour() -> None:
    dark = re.findall(r":root\{\n(.*?)\}", CSS.read_text(encoding="utf-8"), re.DOTALL)[1]
    assert set(tokens("light")) == set(re.findall(r"--([\w-]+):#", dark))


def test_dark_tokens_hold_on_screens_only() -> None:
    text = CSS.read_text(encoding="utf-8")
    assert text.count("prefers-color-scheme:dark") == 1
    assert "@media screen and (prefers-color-scheme:dark)" in text


def test_style_sheet_keeps_its_budget() -> None:
    assert 10_000 <= CSS.stat().st_size <= 15 * 1024


def test_style_sheet_takes_colours_from_tokens() -> None:
    rules = re.sub(r":root\{\n.*?\}", "", CSS.read_text(encoding="utf-8"), flags=re.DOTALL)
    colours = set(re.findall(r"#[0-9a-fA-F]{3,8}\b", rules))
    assert colours <= {"#0000", "#fff", "#000"}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_template_has_nothing_the_content_security_policy_refuses(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\sstyle\s*=|<style\b", text)
    assert not re.search(r"\son[a-z]+\s*=\s*[\"']|\shx-on|javascript:", text)
    assert all("src=" in tag or "application/json" in tag for tag in re.findall(r"<script\b[^>]*>", text))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_template_marks_nothing_safe(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "|safe" not in text
    assert "autoescape off" not in text
