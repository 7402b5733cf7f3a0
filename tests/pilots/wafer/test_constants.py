"""Starting values of the timing constants: where they come from, and that no scored entry is among their sources."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pilots.wafer.costs import constants
from pilots.wafer.costs.constants import PRIOR, PRIOR_SOURCES, Constants, calibrated, record

WORD = re.compile(r"[\w-]+(?:\.[\w-]+)*")
FITTED_FORMULAS = {"summa", "meshgemm", "meshgemv"}


@pytest.fixture(scope="module")
def reference() -> Any:
    return json.loads((constants.DATA / "reference.json").read_text(encoding="utf-8"))


def mentioned(sentence: str) -> set[str]:
    return set(WORD.findall(sentence))


def test_every_constant_has_a_positive_starting_value_with_a_source() -> None:
    assert set(PRIOR_SOURCES) == set(PRIOR.to_json()) == set(record()["constants"])
    assert all(getattr(PRIOR, name) > 0 for name in PRIOR_SOURCES)


@pytest.mark.parametrize("name", PRIOR_SOURCES)
def test_a_source_starts_with_a_published_figure(name: str, reference: Any) -> None:
    published = {item["id"] for item in (*reference["hardware"], *reference["measured"])}
    assert PRIOR_SOURCES[name].split(":")[0] in published


@pytest.mark.parametrize("name", PRIOR_SOURCES)
def test_no_source_is_what_the_constants_are_scored_on(name: str, reference: Any) -> None:
    fitted = {entry for item in record()["families"].values() for entry in item["fitted_on"]}
    formulas = {item["id"] for item in reference["formulas"]}
    assert fitted
    assert formulas >= FITTED_FORMULAS
    assert not mentioned(PRIOR_SOURCES[name]) & (fitted | FITTED_FORMULAS)


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("formula meshgemm: two hops", "meshgemm"),
        ("meshgemv.wse2: a step", "meshgemv.wse2"),
        ("pe.fma32.si: see (summa)", "summa"),
    ],
)
def test_a_source_is_found_wherever_it_stands(sentence: str, found: str) -> None:
    assert found in mentioned(sentence)


def test_constants_survive_their_record() -> None:
    assert Constants.from_json(PRIOR.to_json()) == PRIOR
    assert calibrated() == Constants.from_json(record()["constants"])
    with pytest.raises(KeyError):
        Constants.from_json({"loop_element": "1"})
