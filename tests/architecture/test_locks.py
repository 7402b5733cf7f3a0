"""The locks work with any mirror of the package index, and tests run on what is shipped."""

from __future__ import annotations

import re

import pytest

from tests.architecture.sources import ROOT

RUN, DEV = "requirements.lock", "requirements-dev.lock"
FRONT_ENDS = "requirements-frontends.lock"


def pins(name):
    return {line.rstrip(" \\") for line in (ROOT / name).read_text().splitlines() if line[:1].isalnum()}


@pytest.mark.parametrize("name", [RUN, DEV, FRONT_ENDS])
def test_lock_names_no_host_and_no_index(name):
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert not re.search(
        r"^\s*(-i|-f|--index-url|--extra-index-url|--find-links|--trusted-host)\b", text, re.MULTILINE
    )


@pytest.mark.parametrize("name", [RUN, DEV, FRONT_ENDS])
def test_lock_pins_every_package_once_with_hashes(name):
    lines = (ROOT / name).read_text().splitlines()
    names = [line.split("==")[0] for line in lines if line[:1].isalnum()]
    assert len(names) == len(set(names))
    starts = [number for number, line in enumerate(lines) if line[:1].isalnum()]
    assert all("--hash=sha256:" in lines[number + 1] for number in starts)
    assert all("==" in lines[number] for number in starts)


def test_every_pin_of_the_run_time_stands_unchanged_in_the_dev_lock():
    assert pins(RUN) - pins(DEV) == set()
