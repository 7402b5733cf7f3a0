"""Passkeys that may confirm acts: copied from the sign-in tables into a governed one, each resting on its event.

The sign-in tables are exempt from the audit guard; a row there counts only if the log knows the enrolment of
exactly this credential by this account. `roles.credentials` is the one place that reads how they store a key.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from allauth.mfa.models import Authenticator as SignInAuthenticator
from django.conf import settings

from qms.audit.events import AuditKind
from qms.audit.models import AuditEvent
from qms.audit.services import record
from qms.core import canonical, clock
from qms.roles import accounts, credentials
from qms.roles.models import User
from qms.signing import cose
from qms.signing.acts import Authenticator
from qms.signing.models import Passkey

MAX_TRIES: Final = 5
_TRIES: Final = "act"


def credential_ids(actor: User) -> list[bytes]:
    """Return the credential ids an account may answer with now."""
    software = Passkey.objects.filter(account=actor, kind=Authenticator.SOFTWARE.value, removed_at=None)
    own = [key.credential_id for key in credentials.passkeys_of(actor)]
    return own + [bytes(key.credential_id) for key in software if settings.DEMO]


@dataclass(frozen=True, slots=True)
class Means:
    """How an account can confirm an act now: passkeys on devices, the demo's software one, password and code."""

    device: int
    software: bool
    code: bool


def means_of(actor: User) -> Means:
    """Return with what the account can confirm an act."""
    software = Passkey.objects.filter(account=actor, kind=Authenticator.SOFTWARE.value, removed_at=None)
    code = SignInAuthenticator.objects.filter(user_id=actor.pk, type=SignInAuthenticator.Type.TOTP)
    return Means(len(credentials.passkeys_of(actor)), settings.DEMO and software.exists(), code.exists())


def find(*, actor: User, credential_id: bytes) -> Passkey | None:
    """Return the governed passkey of this account, copied on first use inside the caller's unit; None refuses."""
    row = Passkey.objects.filter(
        account=actor, credential_sha256=_sha256(credential_id), removed_at=None
    ).first()
    if row is not None and row.kind == Authenticator.SOFTWARE.value:
        return row if settings.DEMO else None
    enrolled = next(
        (key for key in credentials.passkeys_of(actor) if key.credential_id == credential_id), None
    )
    if enrolled is None:
        return None
    if row is not None:
        return row if bytes(row.public_key) == enrolled.cose_key else None
    event = _enrolment_event(actor, enrolled)
    return None if event is None else _adopt(actor, enrolled, event)


def enrol_software(*, actor: User, credential_id: bytes, public_key: bytes) -> Passkey:
    """Keep a software authenticator with its event, inside the caller's unit; the caller has checked the mode."""
    found = Passkey.objects.filter(account=actor, credential_sha256=_sha256(credential_id)).first()
    facts = {
        "person": actor.person.pid,
        "credential_sha256": _sha256(credential_id),
        "public_key_sha256": _sha256(public_key),
        "authenticator": Authenticator.SOFTWARE.value,
    }
    event = record(AuditKind.PASSKEY_ENROLLED, actor=actor.audit_actor(), subject=actor, facts=facts)
    if found is not None:
        return found
    return _create(
        actor=actor,
        name="Software-Authenticator",
        credential_id=credential_id,
        public_key=public_key,
        event=event,
        kind=Authenticator.SOFTWARE,
    )


def check_password_and_code(*, actor: User, password: str, code: str) -> bool:
    """Check both components together; after too many wrong tries in a quarter of an hour always False."""
    if accounts.attempts(_TRIES, actor) >= MAX_TRIES:
        return False
    row = SignInAuthenticator.objects.filter(user_id=actor.pk, type=SignInAuthenticator.Type.TOTP).first()
    # The password comes first: a wrong one must not use up a code.
    if row is not None and actor.check_password(password) and row.wrap().validate_code(code):
        return True
    accounts.count_attempt(_TRIES, actor)
    return False


def _enrolment_event(actor: User, key: credentials.Passkey) -> UUID | None:
    """Return the newest event of this credential, if it says that it was enrolled, not removed."""
    kinds = (AuditKind.PASSKEY_ENROLLED.value, AuditKind.PASSKEY_REMOVED.value)
    events = AuditEvent.objects.filter(obj_type=User.audit_type, obj_id=str(actor.pk), kind__in=kinds)
    for event in events.order_by("-obj_seq"):
        facts = canonical.loads(event.body)["data"]
        if facts.get("credential_sha256") == key.credential_sha256:
            same = facts.get("public_key_sha256") == key.public_key_sha256
            return event.uid if same and event.kind == AuditKind.PASSKEY_ENROLLED.value else None
    return None


def _adopt(actor: User, key: credentials.Passkey, event: UUID) -> Passkey:
    return _create(
        actor=actor,
        name=key.name,
        credential_id=key.credential_id,
        public_key=key.cose_key,
        event=event,
        kind=Authenticator.DEVICE,
    )


def _create(
    *, actor: User, name: str, credential_id: bytes, public_key: bytes, event: UUID, kind: Authenticator
) -> Passkey:
    return Passkey.objects.create(
        person=actor.person,
        account=actor,
        name=name[:100],
        credential_id=credential_id,
        credential_sha256=_sha256(credential_id),
        public_key=public_key,
        enrolment=cose.fingerprint(credential_id, public_key),
        enrolment_event=event,
        kind=kind.value,
        enrolled_at=clock.now(),
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
