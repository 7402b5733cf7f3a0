"""First administrator, invitations, accounts, service accounts."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from qms.audit.actors import SYSTEM, HasActor
from qms.audit.events import AuditKind
from qms.core import clock, health, installation, outbox
from qms.core.errors import CriterionNotMet, NotVisible, PermissionMissing, SodViolation, WrongState
from qms.core.models import OutboxEntry
from qms.roles import guards, links, services
from qms.roles.models import FirstRunLink, Invitation, Person, User
from qms.roles.roles import Role
from tests.qms.roles.conftest import PASSWORD, House, change, events

pytestmark = pytest.mark.usefixtures("kompakt")

FIRST = {
    "actor": SYSTEM,
    "display_name": "Administration 1",
    "email": "ad01@example.org",
    "username": "ad01",
    "password": PASSWORD,
}


@pytest.mark.django_db
def test_first_run_link_makes_one_administrator_and_only_one() -> None:
    token = services.issue_first_run_link(actor=SYSTEM)
    account = services.create_first_administrator(token=token, **FIRST)
    assert guards.roles_of(account) == (Role.ADMINISTRATOR,)
    with pytest.raises(WrongState):
        services.create_first_administrator(token=token, **(FIRST | {"username": "ad02"}))
    with pytest.raises(WrongState):
        services.issue_first_run_link(actor=SYSTEM)
    assert len(events(AuditKind.SETUP_COMPLETED)) == 1


@pytest.mark.django_db
def test_token_of_a_link_is_stored_only_as_digest() -> None:
    token = services.issue_first_run_link(actor=SYSTEM)
    assert FirstRunLink.objects.get().token_sha256 == links.token_sha256(token)
    assert token not in str(events(AuditKind.ACCESS_TOKEN_CREATED))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("after", "works"), [(timedelta(hours=23, minutes=59), True), (timedelta(hours=24), False)]
)
def test_first_run_link_ends_after_a_day(after: timedelta, works: bool) -> None:
    now = clock.now()
    with clock.at(now):
        token = services.issue_first_run_link(actor=SYSTEM)
    with clock.at(now + after):
        if works:
            services.create_first_administrator(token=token, **FIRST)
        else:
            with pytest.raises(WrongState):
                services.create_first_administrator(token=token, **FIRST)


@pytest.mark.django_db
def test_new_first_run_link_ends_the_earlier_one_and_unknown_ones_are_not_visible() -> None:
    earlier = services.issue_first_run_link(actor=SYSTEM)
    services.issue_first_run_link(actor=SYSTEM)
    with pytest.raises(WrongState):
        services.create_first_administrator(token=earlier, **FIRST)
    with pytest.raises(NotVisible):
        services.create_first_administrator(token="x", **FIRST)


@pytest.mark.django_db
def test_command_prints_a_link_under_the_public_url_until_there_is_an_administrator() -> None:
    out = StringIO()
    call_command("first_run_link", stdout=out)
    url = out.getvalue().strip().splitlines()[-1]
    assert url.startswith(f"{settings.PUBLIC.url}/erste-schritte/")
    services.create_first_administrator(token=url.rstrip("/").split("/")[-1], **FIRST)
    with pytest.raises(CommandError):
        call_command("first_run_link", stdout=out)


def test_invitation_goes_out_by_mail_with_a_link_that_works_once(house: House) -> None:
    invitation = services.invite_person(
        actor=house.administrator, display_name="Prüfung 1", email="pr01@example.org"
    )
    entry = OutboxEntry.objects.get(task="roles.mail_invitation")
    token = links.invitation_token(invitation.pk)
    assert token not in str(entry.payload)
    outbox.deliver(entry.pk)
    assert mail.outbox[0].to == ["pr01@example.org"]
    assert links.public_url("people_accept", token) in mail.outbox[0].body
    account = services.accept_invitation(actor=SYSTEM, token=token, username="pr01", password=PASSWORD)
    assert account.person == invitation.person
    assert guards.roles_of(account) == ()
    with pytest.raises(WrongState):
        services.accept_invitation(actor=SYSTEM, token=token, username="pr01b", password=PASSWORD)


@pytest.mark.parametrize(("days", "works"), [(6, True), (7, False)])
def test_invitation_expires_after_a_week(house: House, days: int, works: bool) -> None:
    now = clock.now()
    with clock.at(now):
        invitation = services.invite_person(
            actor=house.administrator, display_name="X", email="x@example.org"
        )
    token = links.invitation_token(invitation.pk)
    with clock.at(now + timedelta(days=days)):
        if works:
            services.accept_invitation(actor=SYSTEM, token=token, username="x", password=PASSWORD)
        else:
            with pytest.raises(WrongState):
                services.accept_invitation(actor=SYSTEM, token=token, username="x", password=PASSWORD)


def test_expired_invitation_sends_no_mail(house: House) -> None:
    services.invite_person(actor=house.administrator, display_name="X", email="x@example.org")
    with clock.at(clock.now() + timedelta(days=8)):
        outbox.deliver(OutboxEntry.objects.get(task="roles.mail_invitation").pk)
    assert mail.outbox == []


def test_new_invitation_ends_the_earlier_one(house: House) -> None:
    first = services.invite_person(actor=house.administrator, display_name="X", email="x@example.org")
    services.invite_account(actor=house.administrator, person_id=first.person_id)
    with pytest.raises(WrongState):
        services.accept_invitation(
            actor=SYSTEM, token=links.invitation_token(first.pk), username="x", password=PASSWORD
        )


@pytest.mark.parametrize("who", ["nobody", "ad01", "service"])
def test_further_account_is_refused_to_everybody_but_the_person(staffed: House, who: str) -> None:
    approver = staffed.people["fg01"]
    service = services.register_service_account(
        actor=staffed.administrator, username="messung", person_id=approver.person_id
    )
    invitation = services.invite_account(actor=staffed.administrator, person_id=approver.person_id)
    token = links.invitation_token(invitation.pk)
    actor: HasActor = {"nobody": SYSTEM, "ad01": staffed.administrator, "service": service}[who]
    with pytest.raises(PermissionMissing) as refusal:
        services.accept_invitation(actor=actor, token=token, username="fg01-zwei", password=PASSWORD)
    assert refusal.value.id == "P36"
    line = events(AuditKind.ACCESS_REFUSED)[-1]
    assert line["actor"]["pid"] == actor.audit_actor().pid
    assert line["data"]["invitation"] == str(invitation.pk)
    assert line["data"]["person"] == approver.person.pid
    assert token not in str(line)
    assert not User.objects.filter(username="fg01-zwei").exists()
    twin = services.accept_invitation(actor=approver, token=token, username="fg01-zwei", password=PASSWORD)
    assert twin.person == approver.person


def test_switched_off_account_still_asks_for_its_person(staffed: House) -> None:
    administrator, approver = staffed.administrator, staffed.people["fg01"]
    service = services.register_service_account(
        actor=administrator, username="messung", person_id=approver.person_id
    )
    services.deactivate_account(actor=administrator, account_id=approver.pk, reason="x")
    services.deactivate_account(actor=administrator, account_id=service.pk, reason="x")
    services.reactivate_account(actor=administrator, account_id=service.pk, reason="x")
    # Now the person counts as active without an active account of its own.
    invitation = services.invite_account(actor=administrator, person_id=approver.person_id)
    token = links.invitation_token(invitation.pk)
    with pytest.raises(PermissionMissing):
        services.accept_invitation(actor=SYSTEM, token=token, username="zwei", password=PASSWORD)


def test_person_with_a_service_account_only_makes_its_first_account_anonymously(house: House) -> None:
    invitation = services.invite_person(actor=house.administrator, display_name="X", email="x@example.org")
    services.register_service_account(
        actor=house.administrator, username="messung", person_id=invitation.person_id
    )
    token = links.invitation_token(invitation.pk)
    assert services.accept_invitation(actor=SYSTEM, token=token, username="x", password=PASSWORD).person_id


def test_person_reads_of_a_further_account_at_every_active_address(staffed: House) -> None:
    owner = staffed.people["wo01"]
    staffed.second_account(owner.person, "wo01-zwei")
    change(lambda: User.objects.filter(username="wo01-zwei").update(email="zwei@example.org"))
    staffed.second_account(owner.person, "wo01-drei")
    notices = OutboxEntry.objects.filter(task="roles.mail_notice").order_by("pk")
    assert [entry.payload["notice"] for entry in notices] == ["WEITERES_KONTO"] * 2
    outbox.deliver(notices[1].pk)
    assert "als weiteres Konto" in mail.outbox[-1].body
    assert sorted(mail.outbox[-1].to) == ["wo01@example.org", "zwei@example.org"]
    services.deactivate_account(
        actor=staffed.administrator, account_id=User.objects.get(username="wo01-zwei").pk, reason="x"
    )
    outbox.deliver(notices[0].pk)
    assert mail.outbox[-1].to == ["wo01@example.org"]


def test_first_account_sends_no_notice(house: House) -> None:
    house.join("x")
    assert not OutboxEntry.objects.filter(task="roles.mail_notice").exists()


@pytest.mark.parametrize(
    ("backend", "demo", "ok"),
    [("smtp", False, True), ("console", False, False), ("dummy", False, False), ("dummy", True, True)],
)
def test_doctor_says_where_no_mail_server_is(
    house: House, settings: Any, backend: str, demo: bool, ok: bool
) -> None:
    settings.DEMO = demo
    installation.store_mode()
    settings.EMAIL_BACKEND = f"django.core.mail.backends.{backend}.EmailBackend"
    result = next(item for item in health.run() if item.name == "Mailserver")
    assert (result.finding.ok, result.mandatory) == (ok, False)
    assert bool(result.finding.remedy_de) is not ok
    assert backend == "smtp" or result.finding.text_de == "kein Mailserver eingerichtet"


@pytest.mark.parametrize(
    ("environment", "backend"),
    [
        ({}, "dummy"),
        ({"QMS_DEMO": "0"}, "dummy"),
        ({"QMS_DEMO": "1"}, "console"),
        ({"QMS_EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend"}, "smtp"),
    ],
)
def test_only_a_demo_prints_its_mails(tmp_path: Path, environment: dict[str, str], backend: str) -> None:
    """Read by a process of its own, as the settings are read once."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("QMS_")}
    command = [sys.executable, "-c", "from qms.config import settings; print(settings.EMAIL_BACKEND)"]
    ran = subprocess.run(  # noqa: S603 - our own interpreter
        command,
        env=inherited | {"QMS_DATA": str(tmp_path)} | environment,
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == f"django.core.mail.backends.{backend}.EmailBackend"


@pytest.mark.parametrize(
    ("username", "password", "error"),
    [
        ("neu", "kurz", CriterionNotMet),
        ("neu", "passwordpassword"[:8], CriterionNotMet),
        ("mit leer", PASSWORD, CriterionNotMet),
        ("AD01", PASSWORD, WrongState),
    ],
)
def test_unfit_name_or_password_makes_no_account(
    house: House, username: str, password: str, error: type[Exception]
) -> None:
    invitation = services.invite_person(actor=house.administrator, display_name="X", email="x@example.org")
    with pytest.raises(error):
        services.accept_invitation(
            actor=SYSTEM, token=links.invitation_token(invitation.pk), username=username, password=password
        )
    assert User.objects.count() == 1


def test_password_and_names_never_reach_the_log(house: House) -> None:
    house.join("Erika-Muster")
    lines = str(events(AuditKind.PERSON_CREATED) + events(AuditKind.ACCOUNT_CREATED))
    assert PASSWORD not in lines
    assert "Erika" not in lines
    assert "@example.org" not in lines


def test_known_address_is_not_invited_as_a_second_person(house: House) -> None:
    with pytest.raises(WrongState):
        services.invite_person(actor=house.administrator, display_name="X", email="AD01@example.org")


def test_only_administrators_invite_and_switch_accounts(staffed: House) -> None:
    for name in ("pr01", "wo01", "ohne"):
        with pytest.raises(PermissionMissing):
            services.invite_person(actor=staffed.people[name], display_name="X", email="x@example.org")
        with pytest.raises(PermissionMissing):
            services.deactivate_account(
                actor=staffed.people[name], account_id=staffed.administrator.pk, reason="x"
            )


def test_nobody_switches_own_accounts_or_gives_themselves_another(house: House) -> None:
    actor = house.administrator
    for attempt in (
        lambda: services.deactivate_account(actor=actor, account_id=actor.pk, reason="x"),
        lambda: services.invite_account(actor=actor, person_id=actor.person_id),
    ):
        with pytest.raises(SodViolation) as refusal:
            attempt()
        assert refusal.value.id == "SoD-07"


def test_deactivated_account_has_no_rights_and_reactivation_returns_them(staffed: House) -> None:
    reviewer = staffed.people["pr01"]
    services.deactivate_account(actor=staffed.administrator, account_id=reviewer.pk, reason="Urlaub")
    reviewer = User.objects.get(pk=reviewer.pk)
    assert guards.prefetch(reviewer).roles == ()
    assert not Person.objects.get(pk=reviewer.person_id).is_active
    with pytest.raises(WrongState):
        services.deactivate_account(actor=staffed.administrator, account_id=reviewer.pk, reason="x")
    services.reactivate_account(actor=staffed.administrator, account_id=reviewer.pk, reason="zurück")
    assert guards.prefetch(User.objects.get(pk=reviewer.pk)).roles == (Role.REVIEWER,)
    assert [line["data"]["after"]["active"] for line in events(AuditKind.ACCOUNT_CHANGED)] == [False, True]


def test_person_stays_active_while_one_account_is_active(staffed: House) -> None:
    owner = staffed.people["wo01"]
    staffed.second_account(owner.person, "wo01-zwei")
    services.deactivate_account(actor=staffed.administrator, account_id=owner.pk, reason="x")
    assert Person.objects.get(pk=owner.person_id).is_active


def test_service_account_counts_as_its_person_but_holds_nothing(staffed: House) -> None:
    owner = staffed.people["wo01"]
    service = services.register_service_account(
        actor=staffed.administrator, username="messung", person_id=owner.person_id
    )
    assert service.audit_actor("WO").acting_role == "SYS"
    assert service.audit_actor().pid == owner.person.pid
    assert not service.has_usable_password()
    assert service.email == ""
    assert not service.groups.exists()
    with pytest.raises(SodViolation) as refusal:
        services.invite_person(actor=service, display_name="X", email="x@example.org")
    assert refusal.value.id == "SoD-16"


def test_database_keeps_service_accounts_without_roles_and_privileges(staffed: House) -> None:
    owner = staffed.people["wo01"]
    service = services.register_service_account(
        actor=staffed.administrator, username="messung", person_id=owner.person_id
    )
    for write in (
        lambda: service.groups.add(guards.role_group(Role.WORKLOAD_OWNER)),
        lambda: User.objects.filter(pk=service.pk).update(is_superuser=True),
        lambda: User.objects.filter(pk=service.pk).update(is_service=False),
        lambda: User.objects.filter(pk=owner.pk).update(is_service=True),
    ):
        with pytest.raises(IntegrityError):
            change(write)


def test_database_refuses_unannounced_changes_of_accounts_but_lets_a_sign_in_write(house: House) -> None:
    User.objects.filter(pk=house.administrator.pk).update(password="x")
    for fields in ({"is_active": False}, {"is_superuser": True}, {"is_staff": True}):
        with pytest.raises(IntegrityError):
            change_nothing_announced(house.administrator, fields)


def change_nothing_announced(account: User, fields: dict[str, bool]) -> None:
    from django.db import transaction

    with transaction.atomic():
        User.objects.filter(pk=account.pk).update(**fields)


def test_database_keeps_one_account_per_invitation(house: House) -> None:
    invitation = services.invite_person(actor=house.administrator, display_name="X", email="x@example.org")
    with pytest.raises(IntegrityError):
        change(lambda: Invitation.objects.filter(pk=invitation.pk).update(accepted_at=clock.now()))
