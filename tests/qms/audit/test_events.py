from __future__ import annotations

import re
from pathlib import Path

import pytest

from qms.audit.events import LEGALLY_RELEVANT, SENTENCES, AuditKind
from qms.core import errors

CATALOGUE = Path(__file__).with_name("catalogue_events.txt").read_text(encoding="utf-8").split()


def test_kinds_hold_the_whole_catalogue():
    assert len(CATALOGUE) == 105
    assert set(CATALOGUE) <= {kind.value for kind in AuditKind}


def test_codes_and_names_follow_their_grammar():
    for kind in AuditKind:
        assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", kind.value)
        assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", kind.name)
        assert len(kind.value) <= 64


def test_every_kind_has_a_sentence_of_its_own():
    texts = [str(SENTENCES[kind]) for kind in AuditKind]
    assert all(text.endswith(".") for text in texts)
    assert len(set(texts)) == len(texts)


def test_unknown_code_is_an_error():
    with pytest.raises(ValueError, match="GIBT_ES_NICHT"):
        AuditKind("GIBT_ES_NICHT")


def test_every_refusal_has_its_event():
    refusals = [errors.SodViolation, errors.PermissionMissing, errors.WrongState, errors.CriterionNotMet]
    for refusal in refusals:
        assert AuditKind(refusal.default_code)


def test_decisions_are_legally_relevant():
    wanted = {"FREIGABE_ERTEILT", "FREIGABE_BEDINGT_ERTEILT", "FREIGABE_ABGELEHNT", "DOKUMENT_GESIEGELT"}
    assert wanted <= {kind.value for kind in LEGALLY_RELEVANT}
