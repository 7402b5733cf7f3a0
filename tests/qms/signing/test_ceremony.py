"""The ceremony (signing.md 6.1) and S8: what is asked, what is accepted, what is never stored."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value, yield_hotp_counters_from_time

from qms.audit.events import AuditKind
from qms.audit.models import AuditEvent
from qms.audit.services import record, unit
from qms.core import canonical, clock
from qms.core.errors import CriterionNotMet, Refusal, WrongState
from qms.roles import credentials
from qms.roles.models import User
from qms.signing import acts, ceremony
from qms.signing.acts import DigestName, Method
from qms.signing.models import ActChallenge, ActRecord, Passkey
from qms.signing.software import SoftwareAuthenticator
from tests.qms.signing import samples
from tests.qms.signing.conftest import PASSWORD

pytestmark = pytest.mark.django_db
SESSION = "sitzung-1"
DIGEST = "ab" * 32
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def _statement(**changes: Any) -> ceremony.Statement:
    fields: dict[str, Any] = {
        "act": "BESTAETIGUNG_ABGEGEBEN",
        "document": samples.NUMBER,
        "version": samples.VERSION,
        "field": "Freigabe_01",
        "acting_role": "FG",
        "meaning": "freigegeben",
        "value": "FREIGEGEBEN",
        "digest_name": DigestName.DECISION,
        "digest": DIGEST,
    }
    return ceremony.Statement(**{**fields, **changes})


def _complete(
    user: User, challenge_id: UUID, response: ceremony.Response, digest: str = DIGEST
) -> ceremony.SignedAct:
    with unit(actor=user):
        done = ceremony.complete(actor=user, challenge_id=challenge_id, response=response, digest=digest)
        record(AuditKind.ACT_RECORDED, actor=user.audit_actor("FG"), subject=user, refs=[done.record_sha256])
    return done


@pytest.fixture
def person(demo: Any, join: Callable[[str], User]) -> User:
    user = join("Freigeber 1")
    with unit(actor=user):
        ceremony.enrol_software(actor=user)
    return user


def _answer(user: User, challenge: ceremony.Challenge, session: str = SESSION) -> ceremony.Response:
    return ceremony.software_response(actor=user, challenge_id=challenge.id, session_key=session)


def test_answered_challenge_is_stored_and_can_be_checked_offline(person: User) -> None:
    challenge = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    done = _complete(person, challenge.id, _answer(person, challenge))
    row = ActRecord.objects.get(pk=done.record_id)
    stored = acts.Record.from_json(canonical.loads(row.record))
    expected = acts.Expectation(
        rp_id="localhost", origin="http://localhost:8000",
        digests={DigestName.DECISION: DIGEST}, software_allowed=True,
    )  # fmt: skip
    acts.verify_record(stored, expected)
    assert (row.sha256, row.method, row.name) == (stored.sha256, Method.PASSKEY, "Freigeber 1")
    assert stored.act.pid == person.person.pid
    assert ActChallenge.objects.get(pk=challenge.id).consumed_at is not None


def test_options_ask_for_user_verification_and_carry_the_digest(person: User) -> None:
    challenge = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    assert challenge.options["userVerification"] == "required"
    assert challenge.options["rpId"] == "localhost"
    assert acts.unb64(challenge.options["challenge"])[:32].hex() == DIGEST
    assert len(challenge.options["allowCredentials"]) == 1


def _refused(user: User, challenge_id: UUID, response: ceremony.Response, digest: str = DIGEST) -> Refusal:
    with pytest.raises(Refusal) as caught:
        _complete(user, challenge_id, response, digest)
    assert caught.value.code == "SIGNATUR_VERWEIGERT"
    assert not ActRecord.objects.exists() or ActRecord.objects.count() == 1
    return caught.value


def test_nonce_is_used_once(person: User) -> None:
    challenge = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    answer = _answer(person, challenge)
    _complete(person, challenge.id, answer)
    assert "schon verwendet" in str(_refused(person, challenge.id, answer))


def test_nonce_lives_for_five_minutes(person: User) -> None:
    with clock.at(samples.AT):
        challenge = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    answer = _answer(person, challenge)
    with clock.at(samples.AT + timedelta(minutes=5)):
        assert "abgelaufen" in str(_refused(person, challenge.id, answer))
    with clock.at(samples.AT + timedelta(minutes=5, microseconds=-1)):
        _complete(person, challenge.id, answer)


def test_other_session_is_refused(person: User) -> None:
    challenge = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    assert "Sitzung" in str(_refused(person, challenge.id, _answer(person, challenge, "sitzung-2")))


def test_other_person_is_refused(person: User, join: Callable[[str], User]) -> None:
    challenge = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    answer, other = _answer(person, challenge), join("Freigeber 2")
    with unit(actor=other):
        ceremony.enrol_software(actor=other)
    _refused(other, challenge.id, answer)


def test_key_of_another_person_is_refused(person: User, join: Callable[[str], User]) -> None:
    other = join("Freigeber 2")
    with unit(actor=other):
        ceremony.enrol_software(actor=other)
    challenge = ceremony.begin(actor=other, session_key=SESSION, statement=_statement())
    answer = ceremony.software_response(actor=other, challenge_id=challenge.id, session_key=SESSION)
    mine = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    assert "nicht mehr gültig" in str(_refused(person, mine.id, answer))


def test_changed_content_is_a_conflict(person: User) -> None:
    challenge = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    refusal = _refused(person, challenge.id, _answer(person, challenge), digest="cd" * 32)
    assert isinstance(refusal, WrongState)


def test_answer_to_another_challenge_is_refused(person: User) -> None:
    first = ceremony.begin(actor=person, session_key=SESSION, statement=_statement(meaning="abgelehnt"))
    second = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    _refused(person, second.id, _answer(person, first))


@pytest.mark.parametrize("credential", [{}, {"rawId": "a", "response": {}}, {"rawId": 1, "response": None}])
def test_malformed_answer_is_refused(person: User, credential: dict[str, Any]) -> None:
    challenge = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    _refused(person, challenge.id, ceremony.Response(session_key=SESSION, credential=credential))


def test_software_authenticator_is_refused_outside_the_demo(person: User, demo: Any) -> None:
    challenge = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    answer = _answer(person, challenge)
    demo.DEMO = False
    assert "nicht mehr gültig" in str(_refused(person, challenge.id, answer))
    with pytest.raises(CriterionNotMet), unit(actor=person):
        ceremony.enrol_software(actor=person)


# A passkey of the sign-in tables


@pytest.fixture
def device(person: User, monkeypatch: pytest.MonkeyPatch) -> SoftwareAuthenticator:
    """A device whose key stands in the sign-in tables (their own form is tested with the sign-in pages)."""
    made = SoftwareAuthenticator("localhost")
    key = credentials.Passkey(1, "Schlüssel 1", made.credential_id, made.public_key, clock.now())
    monkeypatch.setattr(credentials, "passkeys_of", lambda user: [key] if user.pk == person.pk else [])
    return made


def _log_enrolment(
    user: User, device: SoftwareAuthenticator, kind: AuditKind = AuditKind.PASSKEY_ENROLLED
) -> None:
    facts = {
        "person": user.person.pid,
        "credential_sha256": hashlib.sha256(device.credential_id).hexdigest(),
        "public_key_sha256": hashlib.sha256(device.public_key).hexdigest(),
    }
    with unit(actor=user):
        record(kind, actor=user.audit_actor(), subject=user, facts=facts)


def _by_device(
    device: SoftwareAuthenticator, challenge: ceremony.Challenge, **options: Any
) -> ceremony.Response:
    act = acts.Act.from_json(canonical.loads(ActChallenge.objects.get(pk=challenge.id).act))
    assertion = device.sign(act, **options)
    parts = {
        "clientDataJSON": assertion.client_data,
        "authenticatorData": assertion.authenticator_data,
        "signature": assertion.signature,
    }
    answer = {name: acts.b64(value) for name, value in parts.items()}
    return ceremony.Response(
        session_key=SESSION, credential={"rawId": acts.b64(device.credential_id), "response": answer}
    )


def test_enrolled_device_is_copied_on_first_use(person: User, device: SoftwareAuthenticator) -> None:
    _log_enrolment(person, device)
    challenge = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    _complete(person, challenge.id, _by_device(device, challenge))
    key = Passkey.objects.get(kind="geraet")
    assert (key.sign_count, bytes(key.public_key)) == (1, device.public_key)
    assert AuditEvent.objects.get(uid=key.enrolment_event).kind == AuditKind.PASSKEY_ENROLLED


def test_device_without_enrolment_event_is_refused(person: User, device: SoftwareAuthenticator) -> None:
    challenge = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    assert "nicht mehr gültig" in str(_refused(person, challenge.id, _by_device(device, challenge)))


def test_device_removed_in_the_log_is_refused(person: User, device: SoftwareAuthenticator) -> None:
    _log_enrolment(person, device)
    _log_enrolment(person, device, AuditKind.PASSKEY_REMOVED)
    challenge = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    _refused(person, challenge.id, _by_device(device, challenge))


def test_device_without_user_verification_is_refused(person: User, device: SoftwareAuthenticator) -> None:
    _log_enrolment(person, device)
    challenge = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    _refused(person, challenge.id, _by_device(device, challenge, user_verified=False))


def test_counter_that_goes_back_is_refused(person: User, device: SoftwareAuthenticator) -> None:
    _log_enrolment(person, device)
    first = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    _complete(person, first.id, _by_device(device, first))
    device.sign_count = 0
    second = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    _refused(person, second.id, _by_device(device, second))


# Password and one-time code


def _code() -> str:
    counter = list(yield_hotp_counters_from_time())
    return format_hotp_value(hotp_value(SECRET, counter[len(counter) // 2]))


@pytest.fixture
def with_totp(person: User) -> User:
    TOTP.activate(person, SECRET)
    return person


def _both(password: str = PASSWORD, code: str | None = None) -> ceremony.Response:
    return ceremony.Response(session_key=SESSION, password=password, code=code or _code())


def test_password_and_code_leave_a_record_that_says_so(with_totp: User) -> None:
    challenge = ceremony.begin(actor=with_totp, session_key=SESSION, statement=_statement())
    done = _complete(with_totp, challenge.id, _both())
    row = ActRecord.objects.get(pk=done.record_id)
    stored = acts.Record.from_json(canonical.loads(row.record))
    assert (stored.act.method, stored.assertion, row.passkey) == (Method.PASSWORD_TOTP, None, None)


@pytest.mark.parametrize(
    ("password", "code"), [("falsch", None), (PASSWORD, "000000"), ("", None), (PASSWORD, " ")]
)
def test_both_components_are_needed(with_totp: User, password: str, code: str | None) -> None:
    challenge = ceremony.begin(actor=with_totp, session_key=SESSION, statement=_statement())
    _refused(with_totp, challenge.id, _both(password, code))


def test_code_is_used_once(with_totp: User) -> None:
    for number in range(2):
        challenge = ceremony.begin(actor=with_totp, session_key=SESSION, statement=_statement())
        if number:
            _refused(with_totp, challenge.id, _both())
        else:
            _complete(with_totp, challenge.id, _both())


def test_guessing_ends_after_five_tries(with_totp: User) -> None:
    challenge = ceremony.begin(actor=with_totp, session_key=SESSION, statement=_statement())
    for _ in range(5):
        _refused(with_totp, challenge.id, _both("falsch"))
    _refused(with_totp, challenge.id, _both())


def test_secrets_of_the_answer_are_not_shown() -> None:
    response = ceremony.Response(session_key=SESSION, password=PASSWORD, code="123456")
    assert PASSWORD not in repr(response)
    assert "123456" not in repr(response)


def test_refusal_leaves_an_event_without_secrets(with_totp: User) -> None:
    challenge = ceremony.begin(actor=with_totp, session_key=SESSION, statement=_statement())
    _refused(with_totp, challenge.id, _both("mein-geheimes-wort", "987654"))
    (event,) = AuditEvent.objects.filter(kind=AuditKind.ACT_REFUSED.value)
    assert canonical.loads(event.body)["data"]["id"] == "G7-10"
    everything = "".join(AuditEvent.objects.values_list("body", flat=True))
    assert "mein-geheimes-wort" not in everything
    assert "987654" not in everything


def test_challenge_without_unit_cannot_be_completed(person: User) -> None:
    from django.db import DatabaseError

    challenge = ceremony.begin(actor=person, session_key=SESSION, statement=_statement())
    with pytest.raises(DatabaseError):
        ceremony.complete(
            actor=person, challenge_id=challenge.id, response=_answer(person, challenge), digest=DIGEST
        )
