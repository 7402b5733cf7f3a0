from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qms.core.hyphens import CORRECTIONS, MIN_LEFT, MIN_RIGHT, SOFT_HYPHEN, harden, soften


@pytest.mark.parametrize(
    "broken",
    [
        "Daten-schutz-fol-gen-ab-schät-zung",
        "Funktions-trennung",
        "Abbruch-kri-te-rium",
        "Ver-gleichs-ba-sis",
        "Geschäfts-ge-heim-nis",
        "außer-ge-wöhn-lich",
        "Qualitäts-management",
        "Her-stel-ler-an-gabe",
        "Unab-hängige",
        "Work-loads",
        "Zeit-stempel-dienst",
    ],
)
def test_long_word_breaks_where_german_breaks(broken: str) -> None:
    assert soften(broken.replace("-", "")).replace(SOFT_HYPHEN, "-") == broken


@pytest.mark.parametrize(
    "kept", ["Übergang", "Freigabe", "HERSTELLERANGABE", "9f2c1d84e6b7", "EV-02", "Vier-Augen-Prinzip"]
)
def test_word_stays_whole_when_short_or_not_a_word(kept: str) -> None:
    assert soften(kept) == kept


def test_text_with_soft_hyphens_stays_as_it_is() -> None:
    text = "Funktions\u00adtrennung und Vergleichsbasis"
    assert soften(text) == text


def test_corrections_spell_their_own_word() -> None:
    assert all(known.replace("-", "") == word for word, known in CORRECTIONS.items())


@given(st.text(max_size=60))
def test_softening_changes_nothing_but_soft_hyphens(text: str) -> None:
    assert harden(soften(text)) == harden(text)


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyzäöüß", min_size=9, max_size=30))
def test_no_part_of_a_word_gets_too_short(word: str) -> None:
    parts = soften(word).split(SOFT_HYPHEN)
    assert len(parts) == 1 or (len(parts[0]) >= MIN_LEFT and len(parts[-1]) >= MIN_RIGHT)
