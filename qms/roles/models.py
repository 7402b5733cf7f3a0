"""People, accounts and roles. One person may have several accounts; rules are evaluated on the person (SoD-15)."""

from __future__ import annotations

import secrets
from enum import StrEnum
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from qms.audit.actors import Actor
from qms.core import clock
from qms.core.ids import uuid7
from qms.roles.roles import Role

SERVICE_ROLE = "SYS"  # acting role of a service account (spec 3.2)


def new_pid() -> str:
    """Return a random person id: 32 hex digits without meaning, the only name of a person in the log."""
    return secrets.token_hex(16)


class Person(models.Model):
    """A natural person; the name stands here only, the log knows the `pid`."""

    audit_type: ClassVar[str] = "Person"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    pid = models.CharField(max_length=32, unique=True, default=new_pid, editable=False)
    display_name = models.CharField(_("Name"), max_length=120)
    email = models.EmailField(_("E-Mail-Adresse"))
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ("display_name", "pid")

    def __str__(self) -> str:
        return self.display_name

    def audit_actor(self, role: str = "") -> Actor:
        """Return the person as it stands in the log, acting under `role`."""
        return Actor(self.pid, role)


class UserManager(BaseUserManager["User"]):
    """Makes accounts; used by the commands of this package and by fixtures inside an audit unit."""

    use_in_migrations = True

    def create_user(
        self, username: str, *, person: Person, password: str | None = None, **fields: Any
    ) -> User:
        """Return a new saved account of `person`; without a password nobody can sign in with one."""
        email = self.normalize_email(fields.pop("email", person.email))
        user = self.model(
            username=self.model.normalize_username(username), email=email, person=person, **fields
        )
        user.set_password(password)
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str | None) -> User:
        """Return the account named `username`, whatever the case of its letters."""
        return self.get(username__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):
    """An account of a person. A service account only appends (SoD-16) and counts as its responsible person."""

    audit_type: ClassVar[str] = "Account"
    # The guard would have to let a sign-in change governed rows; the sign-in stands in the log instead.
    last_login = None

    username = models.CharField(
        _("Benutzername"), max_length=60, unique=True, validators=[UnicodeUsernameValidator()]
    )
    email = models.EmailField(_("E-Mail-Adresse"))
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="accounts")
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    is_service = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["email"]

    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        ordering = ("username",)
        constraints: ClassVar = [
            models.CheckConstraint(
                name="roles_user_service_has_no_privilege",  # SoD-16
                condition=Q(is_service=False) | Q(is_staff=False, is_superuser=False),
            ),
        ]

    def __str__(self) -> str:
        return self.username

    def audit_actor(self, role: str = "") -> Actor:
        """Return the account's person as it stands in the log; a service account acts as SYS."""
        return Actor(self.person.pid, SERVICE_ROLE if self.is_service else role)

    def get_full_name(self) -> str:
        """Return the display name of the person."""
        return self.person.display_name

    def get_short_name(self) -> str:
        """Return the display name of the person."""
        return self.person.display_name


class RoleAction(StrEnum):
    """What a role request asks for."""

    GRANT = "ERTEILEN"
    REVOKE = "ENTZIEHEN"


_ROLE_CODES = [role.value for role in Role]


class RoleRequest(models.Model):
    """One requested role change; takes effect when a second person confirms it (SoD-07)."""

    audit_type: ClassVar[str] = "RoleRequest"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    subject = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="role_requests")
    role = models.CharField(max_length=2)
    action = models.CharField(max_length=12)
    reason = models.TextField(_("Begründung"))
    requested_by = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    requested_at = models.DateTimeField(default=clock.now, editable=False)
    confirmed_by = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")
    rejected_by = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")
    decided_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ("requested_at", "id")
        constraints: ClassVar = [
            models.CheckConstraint(name="roles_request_role", condition=Q(role__in=_ROLE_CODES)),
            models.CheckConstraint(
                name="roles_request_action", condition=Q(action__in=[a.value for a in RoleAction])
            ),
            models.CheckConstraint(
                name="roles_request_not_for_oneself", condition=~Q(subject=F("requested_by"))
            ),
            models.CheckConstraint(
                name="roles_request_not_confirmed_by_subject",
                condition=Q(confirmed_by=None) | ~Q(subject=F("confirmed_by")),
            ),
            models.CheckConstraint(
                name="roles_request_four_eyes",
                condition=Q(confirmed_by=None) | ~Q(requested_by=F("confirmed_by")),
            ),
            models.CheckConstraint(
                name="roles_request_decided_once",
                condition=Q(confirmed_by=None, rejected_by=None, decided_at=None)
                | Q(confirmed_by__isnull=False, rejected_by=None, decided_at__isnull=False)
                | Q(confirmed_by=None, rejected_by__isnull=False, decided_at__isnull=False),
            ),
            models.UniqueConstraint(
                name="roles_request_one_open",
                fields=["subject", "role"],
                condition=Q(decided_at=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.role}"

    @property
    def is_open(self) -> bool:
        """Whether nobody has confirmed or rejected the request yet."""
        return self.decided_at is None


class RoleAssignment(models.Model):
    """A role a person holds or held. Triggers in `triggers.py` repeat SoD-07 and SoD-08 across rows."""

    audit_type: ClassVar[str] = "RoleAssignment"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="assignments")
    role = models.CharField(max_length=2)
    active = models.BooleanField(default=True)
    granted_request = models.OneToOneField(
        RoleRequest, null=True, on_delete=models.PROTECT, related_name="granted"
    )
    revoked_request = models.OneToOneField(
        RoleRequest, null=True, on_delete=models.PROTECT, related_name="revoked"
    )
    granted_at = models.DateTimeField(default=clock.now, editable=False)
    ended_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ("granted_at", "id")
        constraints: ClassVar = [
            models.CheckConstraint(name="roles_assignment_role", condition=Q(role__in=_ROLE_CODES)),
            models.CheckConstraint(
                name="roles_assignment_ends_by_request",
                condition=Q(active=True, ended_at=None, revoked_request=None)
                | Q(active=False, ended_at__isnull=False, revoked_request__isnull=False),
            ),
            models.CheckConstraint(
                name="roles_assignment_first_is_administrator",
                condition=Q(granted_request__isnull=False) | Q(role=Role.ADMINISTRATOR.value),
            ),
            models.UniqueConstraint(
                name="roles_assignment_one_active", fields=["person", "role"], condition=Q(active=True)
            ),
        ]

    def __str__(self) -> str:
        return self.role


class Invitation(models.Model):
    """A one-time link with which a person makes an account; only the digest of its token is stored."""

    audit_type: ClassVar[str] = "Invitation"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="invitations")
    token_sha256 = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=clock.now, editable=False)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    account = models.OneToOneField(User, null=True, on_delete=models.PROTECT, related_name="invitation")

    class Meta:
        ordering = ("created_at", "id")
        constraints: ClassVar = [
            models.CheckConstraint(
                name="roles_invitation_used_once",
                condition=Q(accepted_at=None, account=None)
                | Q(accepted_at__isnull=False, account__isnull=False),
            ),
            models.CheckConstraint(
                name="roles_invitation_not_for_oneself", condition=~Q(person=F("invited_by"))
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class FirstRunLink(models.Model):
    """A one-time link that makes the first administrator; only the digest of its token is stored."""

    audit_type: ClassVar[str] = "FirstRunLink"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    token_sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("created_at", "id")

    def __str__(self) -> str:
        return str(self.id)
