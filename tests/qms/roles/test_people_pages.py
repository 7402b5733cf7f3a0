"""The pages of people: what each role sees, and that a direct request is refused like the button."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.core import clock, installation
from qms.roles import guards, links, services
from qms.roles.models import RoleAction, RoleRequest, User
from qms.roles.roles import Role
from tests.qms.roles.conftest import PASSWORD, House, change, events

pytestmark = pytest.mark.usefixtures("kompakt")

SignIn = Callable[[User], Client]
ACCOUNT = {"username": "neu", "password": PASSWORD, "password_repeat": PASSWORD}
FIRST = ACCOUNT | {"display_name": "Administration 1", "email": "ad01@example.org"}


@pytest.mark.django_db
def test_first_run_page_makes_the_administrator_once(client: Client) -> None:
    url = reverse("people_first_run", args=[services.issue_first_run_link(actor=SYSTEM)])
    assert "Erste Schritte" in client.get(url).content.decode()
    assert client.post(url, FIRST).url == reverse("account_login")
    assert guards.roles_of(User.objects.get()) == (Role.ADMINISTRATOR,)
    assert "gilt nicht mehr" in client.get(url).content.decode()
    assert client.post(url, FIRST | {"username": "zwei"}).status_code == 409
    assert User.objects.count() == 1


@pytest.mark.django_db
def test_unknown_links_are_404(client: Client) -> None:
    assert client.get(reverse("people_first_run", args=["x"])).status_code == 404
    assert client.get(reverse("people_accept", args=["x"])).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"password": "kurz", "password_repeat": "kurz"}, "kurz"),
        ({"password_repeat": "anders"}, "stimmen nicht überein"),
        ({"username": "mit leer"}, "Benutzername"),
        ({"email": "keine"}, "E-Mail"),
    ],
)
def test_wrong_values_stand_on_the_form(client: Client, wrong: dict[str, str], sentence: str) -> None:
    url = reverse("people_first_run", args=[services.issue_first_run_link(actor=SYSTEM)])
    answer = client.post(url, FIRST | wrong)
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert not User.objects.exists()


def test_invited_person_makes_its_account_once(house: House, client: Client) -> None:
    invitation = services.invite_person(
        actor=house.administrator, display_name="Prüfung 1", email="x@example.org"
    )
    url = reverse("people_accept", args=[links.invitation_token(invitation.pk)])
    assert "Prüfung 1" in client.get(url).content.decode()
    assert client.post(url, ACCOUNT | {"username": "AD01"}).status_code == 422
    assert client.post(url, ACCOUNT).url == reverse("account_login")
    assert client.post(url, ACCOUNT | {"username": "zwei"}).status_code == 409
    with clock.at(clock.now() + timedelta(days=8)):
        assert "gilt nicht mehr" in client.get(url).content.decode()


@pytest.mark.parametrize("who", ["", "ad01", "pr01"])
def test_further_account_needs_its_person_signed_in(staffed: House, signed_in: SignIn, who: str) -> None:
    approver = staffed.people["fg01"]
    invitation = services.invite_account(actor=staffed.administrator, person_id=approver.person_id)
    url = reverse("people_accept", args=[links.invitation_token(invitation.pk)])
    client = signed_in(staffed.people.get(who, staffed.administrator)) if who else Client()
    shown = client.get(url)
    assert shown.status_code == 403
    assert "Melden Sie sich zuerst mit Ihrem vorhandenen Konto an" in shown.content.decode()
    before = len(events(AuditKind.ACCESS_REFUSED))
    answer = client.post(url, ACCOUNT, headers={"accept": "application/json"})
    assert answer.status_code == 403
    assert (answer.json()["code"], answer.json()["id"]) == ("ZUGRIFF_VERWEIGERT", "P36")
    assert len(events(AuditKind.ACCESS_REFUSED)) == before + 1
    assert events(AuditKind.ACCESS_REFUSED)[-1]["data"]["person"] == approver.person.pid
    assert approver.person.accounts.count() == 1
    own = signed_in(approver)
    assert own.get(url).status_code == 200
    assert own.post(url, ACCOUNT).status_code == 302
    assert approver.person.accounts.count() == 2
    assert Client().post(url, ACCOUNT | {"username": "drei"}).status_code == 409
    assert "gilt nicht mehr" in Client().get(url).content.decode()


def test_first_account_is_made_beside_the_session_of_another(house: House, signed_in: SignIn) -> None:
    invitation = services.invite_person(actor=house.administrator, display_name="X", email="x@example.org")
    url = reverse("people_accept", args=[links.invitation_token(invitation.pk)])
    assert signed_in(house.administrator).post(url, ACCOUNT).status_code == 302
    assert User.objects.get(username="neu").person == invitation.person


@pytest.mark.parametrize(
    ("backend", "demo", "status"),
    [
        ("smtp", False, 200),
        ("console", False, 404),
        ("dummy", False, 404),
        ("console", True, 200),
        ("dummy", True, 200),
    ],
)
@pytest.mark.usefixtures("house")
def test_new_password_by_mail_is_offered_only_where_mail_goes_out(
    client: Client, settings: Any, backend: str, demo: bool, status: int
) -> None:
    settings.DEMO = demo
    installation.store_mode()
    settings.EMAIL_BACKEND = f"django.core.mail.backends.{backend}.EmailBackend"
    page = reverse("account_reset_password")
    assert client.get(page).status_code == status
    assert client.get(reverse("account_reset_password_done")).status_code == status
    assert client.get(reverse("account_reset_password_from_key", args=["1", "x-y"])).status_code == status
    assert (f'href="{page}"' in client.get(reverse("account_login")).content.decode()) is (status == 200)


def test_nothing_is_mailed_by_a_page_that_is_not_there(house: House, client: Client, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    answer = client.post(reverse("account_reset_password"), {"email": "ad01@example.org"})
    assert answer.status_code == 404


def test_pages_need_a_sign_in(house: House, client: Client) -> None:
    person = house.administrator.person_id
    for url in (reverse("people_list"), reverse("people_invite"), reverse("people_detail", args=[person])):
        assert client.get(url).url.startswith(reverse("account_login"))
    for name in ("people_request_role", "people_invite_account", "people_service_account"):
        assert client.post(reverse(name, args=[person])).url.startswith(reverse("account_login"))


@pytest.mark.parametrize(
    ("who", "listed", "invites"),
    [("ad01", 200, 200), ("pr01", 200, 404), ("wo01", 404, 404), ("fg01", 404, 404), ("ohne", 404, 404)],
)
def test_people_are_seen_by_holders_of_a_letter_of_p36_only(
    staffed: House, signed_in: SignIn, who: str, listed: int, invites: int
) -> None:
    client = signed_in(staffed.people.get(who, staffed.administrator))
    person = staffed.people["ohne"].person_id
    assert client.get(reverse("people_list")).status_code == listed
    assert client.get(reverse("people_detail", args=[person])).status_code == listed
    assert client.get(reverse("people_invite")).status_code == invites


def test_superuser_without_role_gets_404(staffed: House, signed_in: SignIn) -> None:
    outsider = staffed.people["ohne"]
    change(lambda: User.objects.filter(pk=outsider.pk).update(is_superuser=True, is_staff=True))
    assert signed_in(User.objects.get(pk=outsider.pk)).get(reverse("people_list")).status_code == 404


def test_unknown_person_is_404(staffed: House, signed_in: SignIn) -> None:
    client = signed_in(staffed.administrator)
    assert client.get(reverse("people_detail", args=[uuid4()])).status_code == 404
    assert client.post(reverse("people_confirm", args=[uuid4()])).status_code == 404


def test_administrator_invites_by_form(house: House, signed_in: SignIn) -> None:
    client = signed_in(house.administrator)
    answer = client.post(reverse("people_invite"), {"display_name": "Prüfung 1", "email": "pr01@example.org"})
    assert answer.status_code == 302
    page = client.get(answer.url).content.decode()
    assert "Eine Einladung ist offen bis" in page
    again = client.post(reverse("people_invite"), {"display_name": "X", "email": "PR01@example.org"})
    assert again.status_code == 422
    assert "gehört schon zu einer Person" in again.content.decode()


@pytest.mark.parametrize(("backend", "shown"), [("console", True), ("dummy", True), ("smtp", False)])
def test_link_is_shown_only_without_a_mail_server(
    house: House, signed_in: SignIn, settings: Any, backend: str, shown: bool
) -> None:
    settings.EMAIL_BACKEND = f"django.core.mail.backends.{backend}.EmailBackend"
    client = signed_in(house.administrator)
    answer = client.post(reverse("people_invite"), {"display_name": "X", "email": "x@example.org"})
    texts = " ".join(str(message) for message in get_messages(answer.wsgi_request))
    assert ("/einladung/" in texts) is shown


def test_conflicts_are_shown_before_anything_is_requested(staffed: House, signed_in: SignIn) -> None:
    page = signed_in(staffed.administrator).get(
        reverse("people_detail", args=[staffed.people["wo01"].person_id])
    )
    text = page.content.decode()
    assert "Administrator(in) hält keine fachliche Rolle (SoD-07)." in text
    assert "Auditor(in) hält keine weitere Rolle (SoD-08)." in text


def test_role_goes_from_request_to_confirmation_through_the_pages(staffed: House, signed_in: SignIn) -> None:
    subject = staffed.people["ohne"]
    url = reverse("people_request_role", args=[subject.person_id])
    values = {"role": "FG", "action": RoleAction.GRANT.value, "reason": "zweite Entscheidung"}
    assert signed_in(staffed.administrator).post(url, values).status_code == 302
    request = RoleRequest.objects.get(decided_at=None)
    confirm = reverse("people_confirm", args=[request.pk])
    own = signed_in(staffed.administrator)
    assert f'action="{confirm}"' not in own.get(reverse("people_list")).content.decode()
    assert own.post(confirm).status_code == 403
    reviewer = signed_in(staffed.people["pr01"])
    assert f'action="{confirm}"' in reviewer.get(reverse("people_list")).content.decode()
    assert reviewer.post(confirm).url == reverse("people_list")
    assert guards.roles_of(subject) == (Role.APPROVER,)


def test_direct_request_against_sod_is_refused_with_sentence_and_event(
    staffed: House, signed_in: SignIn
) -> None:
    url = reverse("people_request_role", args=[staffed.people["wo01"].person_id])
    values = {"role": "AD", "action": RoleAction.GRANT.value, "reason": "x"}
    answer = signed_in(staffed.administrator).post(url, values, headers={"accept": "application/json"})
    assert answer.status_code == 403
    assert answer.json()["id"] == "SoD-07"
    assert answer.json()["message_de"] == "Administrator(in) hält keine fachliche Rolle (SoD-07)."
    assert events(AuditKind.SOD_VIOLATION)[-1]["data"]["id"] == "SoD-07"


def test_own_roles_are_refused_by_page_and_by_direct_request(house: House, signed_in: SignIn) -> None:
    client = signed_in(house.administrator)
    person = house.administrator.person_id
    page = client.get(reverse("people_detail", args=[person])).content.decode()
    assert "Eigene Rollen können nicht geändert werden (SoD-07)." in page
    assert reverse("people_request_role", args=[person]) not in page
    values = {"role": "PR", "action": RoleAction.GRANT.value, "reason": "x"}
    assert client.post(reverse("people_request_role", args=[person]), values).status_code == 403


def test_person_without_p36_leaves_an_event_when_it_tries(staffed: House, signed_in: SignIn) -> None:
    request = staffed.request(staffed.people["ohne"], Role.APPROVER)
    assert (
        signed_in(staffed.people["wo01"]).post(reverse("people_confirm", args=[request.pk])).status_code
        == 403
    )
    assert events(AuditKind.ACCESS_REFUSED)[-1]["data"]["id"] == "P36"


def test_everybody_sees_and_confirms_requests_during_the_first_days(house: House, signed_in: SignIn) -> None:
    reviewer, other = house.join("pr01"), house.join("ohne")
    request = house.request(reviewer, Role.REVIEWER)
    client = signed_in(other)
    page = client.get(reverse("people_list")).content.decode()
    assert reverse("people_confirm", args=[request.pk]) in page
    assert "ad01@example.org" not in page
    assert client.post(reverse("people_confirm", args=[request.pk])).status_code == 302
    assert client.get(reverse("people_list")).status_code == 404


def test_request_is_rejected_through_the_page(staffed: House, signed_in: SignIn) -> None:
    request = staffed.request(staffed.people["ohne"], Role.APPROVER)
    signed_in(staffed.people["pr01"]).post(reverse("people_reject", args=[request.pk]), {"reason": "nein"})
    request.refresh_from_db()
    assert request.rejected_by == staffed.people["pr01"].person


def test_accounts_are_switched_and_added_through_the_page(staffed: House, signed_in: SignIn) -> None:
    client = signed_in(staffed.administrator)
    owner = staffed.people["wo01"]
    for name, active in (("people_deactivate", False), ("people_reactivate", True)):
        client.post(reverse(name, args=[owner.pk]), {"reason": "x"})
        assert User.objects.get(pk=owner.pk).is_active is active
    client.post(reverse("people_service_account", args=[owner.person_id]), {"username": "messung"})
    assert User.objects.get(username="messung").is_service
    taken = client.post(reverse("people_service_account", args=[owner.person_id]), {"username": "messung"})
    assert taken.status_code == 422
    client.post(reverse("people_invite_account", args=[owner.person_id]))
    assert owner.person.invitations.filter(accepted_at=None).count() == 1


def test_deactivated_account_is_signed_out_at_once(staffed: House) -> None:
    browser = Client(headers={"host": "localhost:8000"})
    browser.post(reverse("account_login"), {"login": "pr01", "password": PASSWORD})
    assert browser.get(reverse("people_list")).status_code == 200
    services.deactivate_account(actor=staffed.administrator, account_id=staffed.people["pr01"].pk, reason="x")
    assert browser.get(reverse("people_list")).url.startswith(reverse("account_login"))


def test_profile_shows_own_roles_and_the_reference_in_the_log(staffed: House, signed_in: SignIn) -> None:
    page = signed_in(staffed.people["wo01"]).get(reverse("people_profile")).content.decode()
    assert "Workload-Owner" in page
    assert staffed.people["wo01"].person.pid in page


def test_list_costs_the_same_for_more_people(staffed: House, signed_in: SignIn) -> None:
    client = signed_in(staffed.administrator)
    client.get(reverse("people_list"))
    counts = []
    for number in (0, 6):
        for index in range(number):
            staffed.join(f"neu{index}")
        with CaptureQueriesContext(connection) as queries:
            client.get(reverse("people_list"))
        counts.append(len(queries))
    assert counts[0] == counts[1]
