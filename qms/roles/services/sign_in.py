"""Events of signing in and of the means to do so: password, passkeys, TOTP, recovery codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from allauth.mfa.models import Authenticator

from qms.audit.actors import Actor, HasActor
from qms.audit.events import AuditKind
from qms.audit.services import audited, record, unit
from qms.core import tasks
from qms.roles import credentials
from qms.roles.models import User

NOTICE_TASK: Final = "roles.mail_notice"


class SignInMethod(StrEnum):
    """How somebody signed in or tried to."""

    PASSWORD = "PASSWORT"  # noqa: S105 - a code
    PASSWORD_AND_CODE = "PASSWORT_CODE"  # noqa: S105 - a code
    PASSWORD_AND_PASSKEY = "PASSWORT_PASSKEY"  # noqa: S105 - a code
    PASSKEY = "PASSKEY"
    DEMO = "DEMO"


class Means(StrEnum):
    """A means of signing in other than a passkey."""

    PASSWORD = "PASSWORT"  # noqa: S105 - a code
    TOTP = "TOTP"
    RECOVERY_CODES = "WIEDERHERSTELLUNGSCODES"


class Change(StrEnum):
    """What happened to a means of signing in."""

    SET_UP = "EINGERICHTET"
    CHANGED = "GEAENDERT"
    REMOVED = "ENTFERNT"


@audited
def record_sign_in(*, actor: User, method: SignInMethod) -> None:
    """Record that the account signs in; called before the session begins, so no session is without its event."""
    record(AuditKind.SIGNED_IN, actor=actor.audit_actor(), subject=actor, facts={"method": method.value})


@audited
def record_failed_sign_in(
    *, actor: HasActor, account: User | None, method: SignInMethod, count: int, ip: str
) -> None:
    """Record a refused sign-in. count: attempts so far in the window; the address becomes a salted commitment."""
    _record_failure(AuditKind.SIGN_IN_FAILED, actor=actor, account=account, method=method, count=count, ip=ip)


@audited
def record_blocked_sign_in(
    *, actor: HasActor, account: User | None, method: SignInMethod, count: int, ip: str
) -> None:
    """Record that further attempts are blocked for a while."""
    _record_failure(
        AuditKind.SIGN_IN_BLOCKED, actor=actor, account=account, method=method, count=count, ip=ip
    )


@contextmanager
def changing_means(*, actor: User) -> Iterator[None]:
    """Run a change of passwords, passkeys, TOTP or recovery codes and record what changed, in one transaction.

    The person is told by mail. Raises NothingRecorded if nothing changed.
    """
    with unit(actor=actor, action="changing_means"):
        before = _means(actor)
        yield
        _record_changes(actor, before, _means(actor))


@dataclass(frozen=True, slots=True)
class _MeansState:
    password: str
    passkeys: dict[int, credentials.Passkey]
    others: dict[int, Means]


def _means(actor: User) -> _MeansState:
    password = User.objects.values_list("password", flat=True).get(pk=actor.pk)
    passkeys = {passkey.authenticator_id: passkey for passkey in credentials.passkeys_of(actor)}
    kinds = {Authenticator.Type.TOTP: Means.TOTP, Authenticator.Type.RECOVERY_CODES: Means.RECOVERY_CODES}
    rows = Authenticator.objects.filter(user_id=actor.pk, type__in=kinds)
    return _MeansState(password, passkeys, {row.pk: kinds[Authenticator.Type(row.type)] for row in rows})


def _record_changes(actor: User, before: _MeansState, after: _MeansState) -> None:
    as_actor = actor.audit_actor()
    for key in after.passkeys.keys() - before.passkeys.keys():
        _record_passkey(AuditKind.PASSKEY_ENROLLED, actor, after.passkeys[key])
    for key in before.passkeys.keys() - after.passkeys.keys():
        _record_passkey(AuditKind.PASSKEY_REMOVED, actor, before.passkeys[key])
    if before.password != after.password:
        _record_means(actor, as_actor, Means.PASSWORD, Change.CHANGED)
    added = {after.others[key] for key in after.others.keys() - before.others.keys()}
    removed = {before.others[key] for key in before.others.keys() - after.others.keys()}
    for means in sorted(added | removed):
        change = (
            Change.CHANGED
            if means in added & removed
            else Change.SET_UP
            if means in added
            else Change.REMOVED
        )
        _record_means(actor, as_actor, means, change)


def _record_passkey(kind: AuditKind, actor: User, passkey: credentials.Passkey) -> None:
    facts = {
        "person": actor.person.pid,
        "credential_sha256": passkey.credential_sha256,
        "public_key_sha256": passkey.public_key_sha256,
    }
    record(kind, actor=actor.audit_actor(), subject=actor, facts=facts)
    _tell(actor, kind.value)


def _record_means(actor: User, as_actor: Actor, means: Means, change: Change) -> None:
    facts = {"means": means.value, "change": change.value}
    record(AuditKind.CREDENTIAL_CHANGED, actor=as_actor, subject=actor, facts=facts)
    _tell(actor, f"{means.value}_{change.value}")


def _tell(actor: User, notice: str) -> None:
    tasks.enqueue(task=NOTICE_TASK, payload={"account_id": str(actor.pk), "notice": notice})


def _record_failure(
    kind: AuditKind, *, actor: HasActor, account: User | None, method: SignInMethod, count: int, ip: str
) -> None:
    record(
        kind,
        actor=actor,
        subject=account,
        subject_ref=None if account else ("Account", "unknown"),
        facts={"method": method.value, "count": count},
        private={"ip": ip} if ip else None,
    )
