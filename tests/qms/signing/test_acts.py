"""The offline check of a record (signing.md 6.1): every step has its refusal."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from qms.core import canonical
from qms.signing import acts, cose, decision
from qms.signing.acts import Act, Assertion, Authenticator, DigestName, Expectation, Method, Record
from qms.signing.errors import ActInvalid, DecisionMalformed
from qms.signing.software import SoftwareAuthenticator
from tests.qms.signing import samples


@pytest.fixture
def made() -> decision.Decision:
    return decision.parse(samples.decision_bytes(samples.people(2)))


@pytest.fixture
def who() -> samples.Person:
    return samples.people(2)[1]


@pytest.fixture
def act(made: decision.Decision, who: samples.Person) -> Act:
    return samples.act_of(who, 2, made)


@pytest.fixture
def expected(made: decision.Decision) -> Expectation:
    return made.expectation(software_allowed=True)


def test_record_holds(act: Act, who: samples.Person, expected: Expectation) -> None:
    acts.verify_record(samples.record_of(who, act), expected)


def test_record_survives_storing(act: Act, who: samples.Person, expected: Expectation) -> None:
    stored = canonical.dumps(samples.record_of(who, act).to_json())
    read = Record.from_json(canonical.loads(stored))
    acts.verify_record(read, expected)
    assert canonical.dumps(read.to_json()) == stored


def test_challenge_shows_the_digest_and_binds_everything_else(act: Act) -> None:
    assert act.challenge[:32].hex() == act.digest
    assert act.challenge[32:] == hashlib.sha256(canonical.dumps(act.to_json())).digest()
    for name in ("meaning", "value", "acting_role", "field", "pid", "random", "delegated_for"):
        assert replace(act, **{name: "ff" * 32}).challenge[:32] == act.challenge[:32]
        assert replace(act, **{name: "ff" * 32}).challenge != act.challenge


@pytest.mark.parametrize(
    "changes",
    [{"digest": "cd" * 32}, {"rp_id": "boese.example"}, {"origin": "https://boese.example"}],
)
def test_act_bound_to_something_else_is_refused(
    act: Act, who: samples.Person, expected: Expectation, changes: dict[str, str]
) -> None:
    with pytest.raises(ActInvalid, match=r"another (decision_sha256|relying party or origin)"):
        acts.verify_record(samples.record_of(who, replace(act, **changes)), expected)


def test_meaning_changed_after_signing_is_refused(
    act: Act, who: samples.Person, expected: Expectation
) -> None:
    record = samples.record_of(who, act)
    with pytest.raises(ActInvalid, match="another digest or statement"):
        acts.verify_record(replace(record, act=replace(act, meaning="verfasst")), expected)


def _client(assertion: Assertion, who: samples.Person, **changes: Any) -> Assertion:
    """Change the client data and sign them properly."""
    client = json.dumps({**json.loads(assertion.client_data), **changes}).encode()
    signed = assertion.authenticator_data + hashlib.sha256(client).digest()
    return replace(
        assertion, client_data=client, signature=who.device.key.sign(signed, ec.ECDSA(hashes.SHA256()))
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"type": "webauthn.create"}, "webauthn.get"),
        ({"origin": "https://boese.example"}, "another origin"),
        ({"crossOrigin": True}, "embedded foreign page"),
        ({"challenge": "AAAA"}, "another digest"),
    ],
)
def test_client_data_must_fit(act: Act, who: samples.Person, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ActInvalid, match=message):
        acts.verify_assertion(_client(who.device.sign(act), who, **changes), act)


@pytest.mark.parametrize("client", [b"", b"[]", b"{", b"\xff"])
def test_client_data_must_be_an_object(act: Act, who: samples.Person, client: bytes) -> None:
    with pytest.raises(ActInvalid):
        acts.verify_assertion(replace(who.device.sign(act), client_data=client), act)


def test_user_verification_is_required(act: Act, who: samples.Person) -> None:
    with pytest.raises(ActInvalid, match="UP and UV"):
        acts.verify_assertion(who.device.sign(act, user_verified=False), act)


def test_other_relying_party_in_the_authenticator_data_is_refused(act: Act) -> None:
    foreign = SoftwareAuthenticator("boese.example")
    with pytest.raises(ActInvalid, match="another relying party"):
        acts.verify_assertion(foreign.sign(act), act)


@pytest.mark.parametrize("part", ["signature", "authenticator_data", "public_key", "client_data"])
def test_every_changed_part_breaks_the_assertion(act: Act, who: samples.Person, part: str) -> None:
    assertion = who.device.sign(act)
    raw = bytearray(getattr(assertion, part))
    raw[-1] ^= 1
    with pytest.raises(ActInvalid):
        acts.verify_assertion(replace(assertion, **{part: bytes(raw)}), act)


def test_cut_off_authenticator_data_are_refused(act: Act, who: samples.Person) -> None:
    cut = replace(who.device.sign(act), authenticator_data=hashlib.sha256(b"localhost").digest() + b"\x05")
    with pytest.raises(ActInvalid, match="cut off"):
        acts.verify_assertion(cut, act)


def test_software_authenticator_needs_a_sample(act: Act, who: samples.Person, expected: Expectation) -> None:
    with pytest.raises(ActInvalid, match="samples only"):
        acts.verify_record(samples.record_of(who, act), replace(expected, software_allowed=False))


def test_passkey_record_without_assertion_is_refused(
    act: Act, who: samples.Person, expected: Expectation
) -> None:
    with pytest.raises(ActInvalid, match="missing"):
        acts.verify_record(replace(samples.record_of(who, act), assertion=None), expected)


def test_fallback_record_with_assertion_is_refused(
    act: Act, who: samples.Person, expected: Expectation
) -> None:
    record = replace(samples.record_of(who, act), act=replace(act, method=Method.PASSWORD_TOTP))
    with pytest.raises(ActInvalid, match="no assertion"):
        acts.verify_record(record, expected)


def test_fallback_claiming_a_device_is_refused(act: Act, expected: Expectation) -> None:
    record = Record(
        act=replace(act, method=Method.PASSWORD_TOTP), assertion=None, authenticator=Authenticator.DEVICE,
        checked_at="", enrolment="",
    )  # fmt: skip
    with pytest.raises(ActInvalid):
        acts.verify_record(record, expected)


@pytest.mark.parametrize(
    ("stored", "received", "accepted"),
    [(0, 0, True), (0, 1, True), (5, 6, True), (5, 5, False), (5, 4, False), (5, 0, False)],
)
def test_counter_only_grows_unless_there_is_none(stored: int, received: int, accepted: bool) -> None:
    if accepted:
        acts.check_sign_count(stored, received)
    else:
        with pytest.raises(ActInvalid, match="went back"):
            acts.check_sign_count(stored, received)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("act"),
        lambda data: data.update(spare=1),
        lambda data: data["act"].update(v=2),
        lambda data: data["act"].update(spare="x"),
        lambda data: data["act"].update(method="ANRUF"),
        lambda data: data["act"].update(digest="ab"),
        lambda data: data["act"].update(digest=7),
        lambda data: data.update(authenticator="mensch"),
        lambda data: data["assertion"].update(signature="!!"),
        lambda data: data["assertion"].update(sign_count=99),
        lambda data: data["assertion"]["flags"].update(uv=False),
        lambda data: data["assertion"].pop("signature"),
    ],
)
def test_malformed_record_is_refused(act: Act, who: samples.Person, change: Any) -> None:
    data = samples.record_of(who, act).to_json()
    change(data)
    with pytest.raises(ActInvalid):
        Record.from_json(data)


# Keys of authenticators


def test_cose_form_of_a_p256_key_is_what_authenticators_write() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    encoded = cose.encode_p256(key.public_key())
    assert len(encoded) == 77
    assert cose.algorithm(encoded) == cose.ES256
    cose.verify(encoded, key.sign(b"a", ec.ECDSA(hashes.SHA256())), b"a")


def test_rs256_key_verifies() -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    n = key.public_key().public_numbers().n.to_bytes(256, "big")
    encoded = bytes.fromhex("a401030339010020590100") + n + bytes.fromhex("2143010001")
    assert cose.algorithm(encoded) == cose.RS256
    cose.verify(encoded, key.sign(b"a", padding.PKCS1v15(), hashes.SHA256()), b"a")
    with pytest.raises(ActInvalid, match="does not match"):
        cose.verify(encoded, key.sign(b"b", padding.PKCS1v15(), hashes.SHA256()), b"a")


def test_eddsa_key_verifies() -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    encoded = bytes.fromhex("a4010103272006215820") + raw
    assert cose.algorithm(encoded) == cose.EDDSA
    cose.verify(encoded, key.sign(b"a"), b"a")


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        b"\xa0",
        b"\xa1\x01",
        bytes.fromhex("a10326") + b"x",
        bytes.fromhex("a103381f"),
        bytes.fromhex("a5010203262001215820") + b"\0" * 32 + bytes.fromhex("225820") + b"\0" * 32,
        bytes.fromhex("a201020102"),
        bytes.fromhex("a10180"),
        bytes.fromhex("9f"),
        bytes.fromhex("a401010327200621410a"),
        bytes.fromhex("a4010303390100204101214101"),
    ],
)
def test_malformed_or_weak_key_is_refused(encoded: bytes) -> None:
    with pytest.raises(ActInvalid):
        cose.verify(encoded, b"", b"")


def test_same_seed_same_device() -> None:
    first, second = (SoftwareAuthenticator.from_seed("localhost", b"s" * 32) for _ in range(2))
    assert (first.credential_id, first.public_key) == (second.credential_id, second.public_key)
    assert first.sign_count == 0


# The decision record


def test_decision_is_canonical_and_named_by_its_digest() -> None:
    raw = samples.decision_bytes(samples.people(2))
    made = decision.parse(raw)
    assert made.sha256 == hashlib.sha256(raw).hexdigest()
    assert [field.field for field in made.required_fields] == ["Freigabe_01", "Freigabe_02"]
    assert canonical.dumps(made.data) == raw


@pytest.mark.parametrize(
    "changes",
    [
        {"dossier_sha256": "ab"},
        {"origin": "localhost"},
        {"required_fields": []},
        {"decision": "VIELLEICHT"},
        {"number": ""},
        {"evidence": [{"id": "EV-02"}]},
    ],
)
def test_decision_outside_the_schema_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DecisionMalformed):
        samples.decision_bytes(samples.people(1), **changes)


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"a": 1}', b'{"a":1.5}'])
def test_anything_else_is_no_decision(raw: bytes) -> None:
    with pytest.raises(DecisionMalformed):
        decision.parse(raw)


def test_decision_with_spaces_is_refused() -> None:
    raw = samples.decision_bytes(samples.people(1))
    with pytest.raises(DecisionMalformed, match="canonical"):
        decision.parse(raw.replace(b'":', b'": ', 1))


def test_field_named_twice_is_refused() -> None:
    twice = [decision.RequiredField(field="Freigabe_01", role="FG", meaning="freigegeben", pids=("a",))] * 2
    with pytest.raises(DecisionMalformed, match="twice"):
        samples.decision_bytes(samples.people(1), required_fields=twice)


def test_digest_names_are_those_of_the_chain() -> None:
    assert {name.value for name in DigestName} == {"dossier_sha256", "decision_sha256"}
