from __future__ import annotations

import json
import random
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
import rfc8785

from qms.audit import lines
from qms.audit.actors import Actor
from qms.audit.errors import LineInvalid
from qms.audit.events import AuditKind
from qms.core import canonical

TRICKY = "Zeile\u2028Absatz\u0085Wagen\rTab\tEnde"


def draft(**changes) -> lines.Draft:
    values = {
        "id": uuid.UUID(int=7),
        "ts": datetime(2026, 11, 30, 1, 2, 3, 4, UTC),
        "actor": Actor("p" * 32, "FG", None),
        "kind": AuditKind.APPROVAL_GRANTED,
        "obj_type": "Approval",
        "obj_id": "1",
        "request_id": "r",
    }
    return lines.Draft(**(values | changes))


def test_line_has_exactly_the_fields_of_the_format():
    line = json.loads(draft().line(3))
    assert line == {
        "v": 1,
        "id": "00000000-0000-0000-0000-000000000007",
        "ts": "2026-11-30T01:02:03.000004Z",
        "actor": {"pid": "p" * 32},
        "acting_role": "FG",
        "delegated_for": None,
        "kind": "FREIGABE_ERTEILT",
        "object": {"type": "Approval", "id": "1", "seq": 3},
        "data": {},
        "refs": [],
        "request": {"id": "r"},
        "_sd": [],
        "_sd_alg": "sha-256",
    }


def test_acting_role_is_never_empty():
    assert json.loads(draft(actor=Actor("p", "")).line(0))["acting_role"] == "-"


def test_line_is_canonical_json():
    data, commitments = lines.split_private({"z": 1, "a": [True, None, "Ö"]}, None, None, {"reason": TRICKY})
    line = draft(data=data, commitments=commitments).line(0)
    assert line == rfc8785.dumps(json.loads(line))


def test_line_of_the_greatest_length_passes_and_one_byte_more_is_refused():
    room = lines.MAX_LINE_BYTES - len(draft(data={"x": ""}).line(0))
    assert len(draft(data={"x": "a" * room}).line(0)) == 65_535
    with pytest.raises(LineInvalid, match="65536 bytes"):
        draft(data={"x": "a" * (room + 1)}).line(0)


def test_private_values_are_committed_to_and_absent_from_the_line():
    data, commitments = lines.split_private({"count": 1}, None, None, {"reason": "Erika war dagegen"})
    line = draft(data=data, commitments=commitments).line(0)
    assert b"Erika" not in line
    assert json.loads(line)["_sd"] == [commitments[0].digest()]


@pytest.mark.parametrize(
    "facts",
    [
        {"detail": "ein freier Satz"},
        {"contact": "person@example.org"},
        {"name": "Erika"},
        {"inner": {"reason": "Kurz"}},
        {"several": ["CODE", "zwei Worte"]},
        {"rows": [{"name": "Erika"}]},
    ],
)
def test_text_among_the_facts_is_committed_to(facts):
    data, commitments = lines.split_private(facts, None, None, None)
    line = draft(data=data, commitments=commitments).line(0).decode()
    assert len(commitments) == 1
    assert not any(text in line for text in ("Satz", "example", "Erika", "Kurz", "zwei"))


def test_text_in_before_and_after_is_committed_to_under_its_path():
    data, commitments = lines.split_private(None, {"title": "Alt"}, {"title": "Neu", "level": "K1"}, None)
    assert data == {"before": {}, "after": {"level": "K1"}}
    assert [item.path for item in commitments] == ["before.title", "after.title"]


def test_codes_stay_in_clear():
    facts = {"id": "SoD-04", "sha256": "ab" * 32, "empty": "", "none": None, "list": ["K0", "K1"], "n": 3}
    assert lines.split_private(facts, None, None, None) == (facts, ())


def test_values_become_plain():
    value = {"d": Decimal("1.50"), "t": datetime(2026, 1, 1, tzinfo=UTC), "day": date(2026, 1, 2)}
    value |= {"u": uuid.UUID(int=1), "k": AuditKind.VOTE_CAST, "s": {"b", "a"}, "nfd": "u\u0308"}
    assert lines.plain(value) == {
        "d": "1.5",
        "t": "2026-01-01T00:00:00.000000Z",
        "day": "2026-01-02",
        "u": "00000000-0000-0000-0000-000000000001",
        "k": "MITZEICHNUNG_ABGEGEBEN",
        "s": ["a", "b"],
        "nfd": "ü",
    }


def test_reserved_and_doubled_names_are_refused():
    with pytest.raises(LineInvalid, match="before and after"):
        lines.split_private({"before": 1}, None, None, None)
    with pytest.raises(LineInvalid, match="twice"):
        lines.split_private({"reason": "a b"}, None, None, {"reason": "c"})


@pytest.mark.parametrize("ref", ["", "ab" * 31, "AB" * 32, "zz" * 32])
def test_references_are_sha256(ref):
    with pytest.raises(LineInvalid):
        lines.checked_refs([ref])


def test_float_is_refused():
    with pytest.raises(canonical.CanonicalError, match="float"):
        draft(data={"x": 1.5}).line(0)


def test_commitment_is_an_rfc_9901_disclosure():
    first, second = lines.Commitment.make("reason", TRICKY), lines.Commitment.make("reason", TRICKY)
    assert first.digest() != second.digest()
    padded = first.encoded() + "=" * (-len(first.encoded()) % 4)
    salt, name, value = json.loads(lines.base64.urlsafe_b64decode(padded))
    assert (name, value) == ("reason", TRICKY)
    assert len(lines.base64.urlsafe_b64decode(salt + "==")) == 16


def _document(source: random.Random, depth: int = 0):
    kind = source.randrange(7 if depth < 4 else 5)
    if kind == 0:
        return source.choice([None, True, False])
    if kind == 1:
        return source.randint(-(2**53), 2**53)
    if kind in {2, 3, 4}:
        alphabet = (
            'aZ09 "\\/\n\r\t\b\f\x00\x1f\x7f\u0085\u2028\u2029äß€\ud7ff\ue000\uffff\U0001f600\U00010000'
        )
        text = "".join(source.choice(alphabet) for _ in range(source.randrange(12)))
        return lines.unicodedata.normalize("NFC", text)
    if kind == 5:
        return [_document(source, depth + 1) for _ in range(source.randrange(5))]
    keys = ["".join(source.choice('aB_"\\\x01~-.9') for _ in range(source.randrange(5))) for _ in range(5)]
    return {key: _document(source, depth + 1) for key in keys}


def _writers_agree(count: int) -> None:
    source = random.Random(20261130)
    for _ in range(count):
        value = _document(source)
        assert canonical.dumps(value) == rfc8785.dumps(value)


def test_canonical_writer_agrees_with_rfc8785():
    _writers_agree(2_000)


@pytest.mark.full
def test_canonical_writer_agrees_with_rfc8785_on_50_000():
    _writers_agree(50_000)
