"""The signing ceremony: ask a person for one act, check the answer, keep the record (signing.md 6.1).

`begin` makes a challenge bound to person, session and act; `complete` runs inside the command that acts on it, so
the nonce is consumed in the transaction that stores the record. A session or request never comes in here.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from qms.core import canonical, clock
from qms.core.errors import CriterionNotMet, WrongState
from qms.roles.models import User
from qms.signing import acts, passkeys
from qms.signing.acts import Act, Authenticator, DigestName, Method
from qms.signing.errors import ActInvalid
from qms.signing.models import ActChallenge, ActRecord, Passkey
from qms.signing.software import SoftwareAuthenticator

CHALLENGE_LIFE: Final = timedelta(minutes=5)  # POL-35
CRITERION: Final = "G7-10"
REFUSED: Final = "SIGNATUR_VERWEIGERT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What the person is asked to confirm; the codes of role, meaning and value as in `acts.Act`."""

    act: str
    document: str
    version: str
    field: str
    acting_role: str
    meaning: str
    value: str
    digest_name: DigestName
    digest: str
    delegated_for: str = ""


@dataclass(frozen=True, slots=True)
class Challenge:
    """An open question. options: `PublicKeyCredentialRequestOptions` as JSON for the browser (base64url)."""

    id: UUID
    options: dict[str, Any]
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The answer of the person, from one request. Either `credential` (as the browser gives it), or both secrets."""

    session_key: str
    credential: dict[str, Any] | None = None
    password: str = ""
    code: str = ""

    def __repr__(self) -> str:
        """Show the method only; password and code never reach a log."""
        return f"Response({'passkey' if self.credential is not None else 'password and code'})"


@dataclass(frozen=True, slots=True)
class SignedAct:
    """A stored act."""

    record_id: UUID
    record_sha256: str
    method: Method


def begin(
    *, actor: User, session_key: str, statement: Statement, valid_for: timedelta = CHALLENGE_LIFE
) -> Challenge:
    """Ask `actor` for one act; the answer must come in the same session before it expires."""
    act = Act(
        **{name: getattr(statement, name) for name in Statement.__slots__},
        pid=actor.person.pid,
        method=Method.PASSKEY,
        rp_id=settings.PUBLIC.host,
        origin=settings.PUBLIC.origin,
        issued_at=clock.timestamp(clock.now()),
        random=secrets.token_hex(32),
    )
    row = ActChallenge.objects.create(
        person=actor.person,
        session_sha256=_session(session_key),
        act=canonical.dumps(act.to_json()).decode(),
        digest=act.digest,
        expires_at=clock.now() + valid_for,
    )
    options = {
        "challenge": acts.b64(act.challenge),
        "rpId": act.rp_id,
        "allowCredentials": [
            {"type": "public-key", "id": acts.b64(key)} for key in passkeys.credential_ids(actor)
        ],
        "userVerification": "required",
        "timeout": int(valid_for.total_seconds() * 1000),
    }
    return Challenge(row.pk, options, row.expires_at)


def complete(*, actor: User, challenge_id: UUID, response: Response, digest: str) -> SignedAct:
    """Check the answer to a challenge and store the record, inside the caller's unit; the caller records the event.

    digest: what the caller is about to act on now. Raises WrongState (409) when the content changed, CriterionNotMet
    (422, SIGNATUR_VERWEIGERT) for every other reason.
    """
    row = ActChallenge.objects.select_for_update().filter(pk=challenge_id, person=actor.person).first()
    _check_challenge(row, response)
    assert row is not None
    if row.digest != digest:
        raise WrongState(
            _("Der Inhalt hat sich geändert; bitte erneut prüfen und bestätigen."), id=CRITERION, code=REFUSED
        )
    act = Act.from_json(canonical.loads(row.act))
    if response.credential is None:
        record, key = _by_password(actor, act, response), None
    else:
        record, key = _by_passkey(actor, act, response.credential)
    row.consumed_at = clock.now()
    row.save(update_fields=["consumed_at"])
    return _store(actor, record, key)


def software_response(*, actor: User, challenge_id: UUID, session_key: str) -> Response:
    """Answer a challenge with the person's software authenticator: demo only, and named everywhere."""
    row = ActChallenge.objects.get(pk=challenge_id, person=actor.person)
    assertion = _software(actor).sign(Act.from_json(canonical.loads(row.act)))
    fields = {
        "clientDataJSON": assertion.client_data,
        "authenticatorData": assertion.authenticator_data,
        "signature": assertion.signature,
    }
    response = {name: acts.b64(value) for name, value in fields.items()}
    credential_id = acts.b64(assertion.credential_id)
    credential = {"id": credential_id, "rawId": credential_id, "type": "public-key", "response": response}
    return Response(session_key=session_key, credential=credential)


def enrol_software(*, actor: User) -> Passkey:
    """Enrol the person's software authenticator, inside the caller's unit; refused outside the demo."""
    software = _software(actor)
    return passkeys.enrol_software(
        actor=actor, credential_id=software.credential_id, public_key=software.public_key
    )


def _software(actor: User) -> SoftwareAuthenticator:
    if not settings.DEMO:
        raise _refused(_("Einen Software-Authenticator gibt es nur in der Vorführung."))
    seed = hashlib.sha256(
        b"qms-demo-authenticator" + settings.SECRET_KEY.encode() + actor.person.pid.encode()
    ).digest()
    return SoftwareAuthenticator.from_seed(settings.PUBLIC.host, seed)


def _check_challenge(row: ActChallenge | None, response: Response) -> None:
    if row is None or not secrets.compare_digest(row.session_sha256, _session(response.session_key)):
        raise _refused(_("Diese Bestätigung gehört nicht zu Ihrer Sitzung."))
    if row.consumed_at is not None:
        raise _refused(_("Diese Bestätigung wurde schon verwendet."))
    if row.expires_at <= clock.now():
        raise _refused(_("Die Zeit für diese Bestätigung ist abgelaufen."))


def _by_passkey(actor: User, act: Act, credential: dict[str, Any]) -> tuple[acts.Record, Passkey]:
    raw = _read_credential(credential)
    key = passkeys.find(actor=actor, credential_id=raw["rawId"])
    if key is None:
        raise _refused(_("Ihr Passkey ist nicht mehr gültig."))
    assertion = acts.Assertion(
        credential_id=raw["rawId"],
        public_key=bytes(key.public_key),
        authenticator_data=raw["authenticatorData"],
        client_data=raw["clientDataJSON"],
        signature=raw["signature"],
    )
    record = _record(act, assertion, Authenticator(key.kind), key.enrolment)
    try:
        acts.verify_assertion(assertion, act)
        acts.check_sign_count(key.sign_count, assertion.sign_count)
    except ActInvalid as error:
        raise _refused(
            _("Die Bestätigung mit dem Passkey ist nicht gültig: %(cause)s") % {"cause": error}
        ) from error
    key.sign_count = assertion.sign_count
    key.save(update_fields=["sign_count"])
    return record, key


def _by_password(actor: User, act: Act, response: Response) -> acts.Record:
    if not passkeys.check_password_and_code(actor=actor, password=response.password, code=response.code):
        raise _refused(_("Passwort oder Einmalcode stimmen nicht."))
    return _record(replace(act, method=Method.PASSWORD_TOTP), None, Authenticator.NONE, "")


def _record(act: Act, assertion: acts.Assertion | None, kind: Authenticator, enrolment: str) -> acts.Record:
    return acts.Record(
        act=act,
        assertion=assertion,
        authenticator=kind,
        checked_at=clock.timestamp(clock.now()),
        enrolment=enrolment,
    )


def _store(actor: User, record: acts.Record, key: Passkey | None) -> SignedAct:
    row = ActRecord.objects.create(
        person=actor.person,
        name=actor.person.display_name,
        passkey=key,
        nonce=record.act.nonce.hex(),
        act=record.act.act,
        document=record.act.document,
        field=record.act.field,
        method=record.act.method.value,
        digest=record.act.digest,
        record=canonical.dumps(record.to_json()).decode(),
        sha256=record.sha256,
        created_at=clock.now(),
    )
    return SignedAct(row.pk, row.sha256, record.act.method)


def _read_credential(credential: dict[str, Any]) -> dict[str, bytes]:
    """Return the four byte strings of the browser's answer; anything malformed is refused."""
    try:
        answer = credential["response"]
        texts = {name: answer[name] for name in ("clientDataJSON", "authenticatorData", "signature")}
        return {name: acts.unb64(text) for name, text in {**texts, "rawId": credential["rawId"]}.items()}
    except (KeyError, TypeError, ValueError) as error:
        raise _refused(_("Die Antwort des Passkeys ist nicht lesbar.")) from error


def _session(session_key: str) -> str:
    return hashlib.sha256(session_key.encode()).hexdigest()


def _refused(message: str) -> CriterionNotMet:
    return CriterionNotMet(
        message, id=CRITERION, code=REFUSED, next_step=_("Beginnen Sie die Bestätigung auf der Seite erneut.")
    )
