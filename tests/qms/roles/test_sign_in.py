"""Signing in and the means to do so, through the pages: password, passkey, TOTP, recovery codes, resets."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.conf import settings as django_settings
from django.core import mail
from django.test import Client
from django.urls import reverse
from fido2 import cbor
from fido2.cose import ES256

from qms.audit.events import AuditKind
from qms.core import installation, outbox
from qms.core.models import OutboxEntry
from qms.roles import credentials, services
from qms.roles.models import User
from tests.qms.roles.conftest import PASSWORD, House, change, events
from tests.qms.roles.software_key import USER_PRESENT, SoftwareKey

pytestmark = pytest.mark.usefixtures("kompakt")

HOST = {"headers": {"host": "localhost:8000"}}


@pytest.fixture
def browser() -> Client:
    return Client(**HOST)


def sign_in(browser: Client, username: str = "ad01", password: str = PASSWORD) -> Any:
    return browser.post(reverse("account_login"), {"login": username, "password": password})


def sign_in_and_confirm(browser: Client) -> None:
    """Sign in and give the password once more, as every change of the means asks for."""
    sign_in(browser)
    browser.post(reverse("account_reauthenticate"), {"password": PASSWORD})


def enrol(browser: Client, key: SoftwareKey) -> Any:
    page = browser.get(reverse("mfa_add_webauthn"))
    options = page.context["js_data"]["creation_options"]
    answer = key.register(json.loads(json.dumps(options, default=str)))
    return browser.post(
        reverse("mfa_add_webauthn"), {"name": "Testgerät", "credential": answer, "passwordless": "on"}
    )


def activate_totp(browser: Client) -> Any:
    secret = browser.get(reverse("mfa_activate_totp")).context["form"].secret
    return browser.post(reverse("mfa_activate_totp"), {"code": totp_code(secret)})


def totp_code(secret: str) -> str:
    counter = next(iter(yield_hotp_counters_from_time()))
    return str(format_hotp_value(hotp_value(secret, counter)))


@pytest.mark.parametrize("name", ["ad01", "AD01", "ad01@example.org"])
def test_password_sign_in_is_recorded_with_its_method(house: House, browser: Client, name: str) -> None:
    answer = sign_in(browser, name)
    assert answer.status_code == 302
    line = events(AuditKind.SIGNED_IN)[-1]
    assert line["actor"]["pid"] == house.administrator.person.pid
    assert line["data"]["method"] == "PASSWORT"


def test_wrong_password_is_counted_and_recorded_at_the_first_and_the_tenth(
    house: House, browser: Client, settings: Any
) -> None:
    settings.ACCOUNT_RATE_LIMITS = False
    for _attempt in range(11):
        assert sign_in(browser, password="falsch").status_code == 200
    assert [line["data"]["count"] for line in events(AuditKind.SIGN_IN_FAILED)] == [1, 10]
    assert events(AuditKind.SIGNED_IN) == []


def test_typed_name_of_an_unknown_account_is_not_kept(house: House, browser: Client) -> None:
    sign_in(browser, "geheimes-passwort", "x")
    line = events(AuditKind.SIGN_IN_FAILED)[-1]
    assert line["object"]["id"] == "unknown"
    assert "geheimes" not in str(line)
    assert "127.0.0.1" not in str(line)


def test_blocked_sign_in_is_recorded_once(house: House, browser: Client) -> None:
    for _attempt in range(8):
        sign_in(browser, password="falsch")
    assert len(events(AuditKind.SIGN_IN_BLOCKED)) == 1
    assert sign_in(browser).status_code == 200  # the right password does not help while blocked


@pytest.mark.parametrize("what", ["account", "service"])
def test_inactive_and_service_accounts_cannot_sign_in(staffed: House, browser: Client, what: str) -> None:
    if what == "account":
        services.deactivate_account(
            actor=staffed.administrator, account_id=staffed.people["ohne"].pk, reason="x"
        )
        name = "ohne"
    else:
        service = services.register_service_account(
            actor=staffed.administrator, username="messung", person_id=staffed.people["wo01"].person_id
        )
        service.set_password(PASSWORD)
        service.save(update_fields=["password"])
        name = "messung"
    answer = sign_in(browser, name)
    assert answer.status_code == 302
    assert answer.url == reverse("account_inactive")
    assert "_auth_user_id" not in browser.session
    assert events(AuditKind.SIGNED_IN) == []


def test_registration_is_closed(house: House, browser: Client) -> None:
    page = browser.get(reverse("account_signup"))
    assert "Konten gibt es auf Einladung" in page.content.decode()
    browser.post(
        reverse("account_signup"), {"email": "x@example.org", "username": "x", "password1": PASSWORD}
    )
    assert User.objects.count() == 1


def test_passkey_is_enrolled_with_the_digests_in_the_log_and_a_mail(house: House, browser: Client) -> None:
    sign_in_and_confirm(browser)
    key = SoftwareKey()
    assert enrol(browser, key).url == reverse("mfa_view_recovery_codes")
    line = events(AuditKind.PASSKEY_ENROLLED)[-1]
    cose = cbor.encode(dict(ES256.from_cryptography_key(key.key.public_key())))
    assert line["data"]["person"] == house.administrator.person.pid
    assert line["data"]["credential_sha256"] == hashlib.sha256(key.credential_id).hexdigest()
    assert line["data"]["public_key_sha256"] == hashlib.sha256(cose).hexdigest()
    assert events(AuditKind.CREDENTIAL_CHANGED)[-1]["data"]["means"] == "WIEDERHERSTELLUNGSCODES"
    for entry in OutboxEntry.objects.filter(task="roles.mail_notice"):
        outbox.deliver(entry.pk)
    assert "Ein Passkey wurde registriert." in mail.outbox[0].body
    (stored,) = credentials.passkeys_of(house.administrator)
    assert (stored.name, stored.credential_id, stored.cose_key) == ("Testgerät", key.credential_id, cose)


@pytest.mark.parametrize(
    "key",
    [
        SoftwareKey(flags=USER_PRESENT),
        SoftwareKey(origin="http://boese.example"),
        SoftwareKey(rp_id="boese.example"),
    ],
    ids=["without user verification", "other origin", "other relying party"],
)
def test_unfit_passkey_is_not_enrolled(house: House, browser: Client, key: SoftwareKey) -> None:
    sign_in_and_confirm(browser)
    assert enrol(browser, key).status_code == 200
    assert credentials.passkeys_of(house.administrator) == []
    assert events(AuditKind.PASSKEY_ENROLLED) == []


def test_relying_party_is_the_public_url_whatever_the_host_header(house: House) -> None:
    browser = Client(headers={"host": "127.0.0.1"})
    sign_in_and_confirm(browser)
    options = browser.get(reverse("mfa_add_webauthn")).context["js_data"]["creation_options"]
    assert options["publicKey"]["rp"]["id"] == "localhost"


def test_enrolling_needs_a_recent_confirmation(house: House, browser: Client) -> None:
    browser.force_login(house.administrator, backend="allauth.account.auth_backends.AuthenticationBackend")
    answer = browser.get(reverse("mfa_add_webauthn"))
    assert answer.url.startswith(reverse("account_reauthenticate"))
    again = browser.post(answer.url, {"password": PASSWORD})
    assert again.url == reverse("mfa_add_webauthn")


def test_passkey_signs_in_without_name_and_password(house: House, browser: Client) -> None:
    sign_in_and_confirm(browser)
    key = SoftwareKey()
    enrol(browser, key)
    browser.post(reverse("account_logout"))
    options = browser.get(reverse("mfa_login_webauthn"), headers={"accept": "application/json"}).json()
    answer = browser.post(reverse("mfa_login_webauthn"), {"credential": key.sign(options["request_options"])})
    assert answer.status_code == 302
    assert browser.session["_auth_user_id"] == str(house.administrator.pk)
    assert events(AuditKind.SIGNED_IN)[-1]["data"]["method"] == "PASSKEY"


def test_foreign_passkey_is_refused_and_recorded(house: House, browser: Client) -> None:
    sign_in_and_confirm(browser)
    key = SoftwareKey()
    enrol(browser, key)
    browser.post(reverse("account_logout"))
    other = SoftwareKey(credential_id=key.credential_id, user_handle=key.user_handle)
    options = browser.get(reverse("mfa_login_webauthn"), headers={"accept": "application/json"}).json()
    browser.post(reverse("mfa_login_webauthn"), {"credential": other.sign(options["request_options"])})
    assert "_auth_user_id" not in browser.session
    assert events(AuditKind.SIGN_IN_FAILED)[-1]["data"]["method"] == "PASSKEY"


def test_removing_the_passkey_is_recorded_and_ends_the_recovery_codes(house: House, browser: Client) -> None:
    sign_in_and_confirm(browser)
    enrol(browser, SoftwareKey())
    (stored,) = credentials.passkeys_of(house.administrator)
    answer = browser.post(reverse("mfa_remove_webauthn", args=[stored.authenticator_id]))
    assert answer.url == reverse("mfa_list_webauthn")
    line = events(AuditKind.PASSKEY_REMOVED)[-1]
    assert line["data"]["credential_sha256"] == stored.credential_sha256
    assert events(AuditKind.CREDENTIAL_CHANGED)[-1]["data"]["change"] == "ENTFERNT"


def test_totp_is_needed_after_the_password_and_stored_encrypted(house: House, browser: Client) -> None:
    sign_in_and_confirm(browser)
    assert activate_totp(browser).status_code == 302
    row = Authenticator.objects.get(type=Authenticator.Type.TOTP)
    secret = TOTP(row).instance.data["secret"]
    assert not re.fullmatch(r"[A-Z2-7]+", secret)
    browser.post(reverse("account_logout"))
    assert sign_in(browser).url == reverse("mfa_authenticate")
    assert "_auth_user_id" not in browser.session
    browser.post(reverse("mfa_authenticate"), {"code": "000000"})
    assert events(AuditKind.SIGN_IN_FAILED)[-1]["data"]["method"] == "PASSWORT_CODE"
    codes = Authenticator.objects.get(type=Authenticator.Type.RECOVERY_CODES).wrap().get_unused_codes()
    browser.post(reverse("mfa_authenticate"), {"code": codes[0]})
    assert browser.session["_auth_user_id"] == str(house.administrator.pk)
    assert events(AuditKind.SIGNED_IN)[-1]["data"]["method"] == "PASSWORT_CODE"


def test_totp_page_alone_allows_data_images(house: House, browser: Client) -> None:
    sign_in_and_confirm(browser)
    assert (
        "img-src 'self' data:" in browser.get(reverse("mfa_activate_totp")).headers["Content-Security-Policy"]
    )
    assert "data:" not in browser.get(reverse("mfa_index")).headers["Content-Security-Policy"]


def test_totp_and_codes_are_recorded_when_set_up_renewed_and_removed(house: House, browser: Client) -> None:
    sign_in_and_confirm(browser)
    activate_totp(browser)
    browser.post(reverse("mfa_generate_recovery_codes"))
    browser.post(reverse("mfa_deactivate_totp"))
    seen = [(line["data"]["means"], line["data"]["change"]) for line in events(AuditKind.CREDENTIAL_CHANGED)]
    assert seen == [
        ("TOTP", "EINGERICHTET"),
        ("WIEDERHERSTELLUNGSCODES", "EINGERICHTET"),
        ("WIEDERHERSTELLUNGSCODES", "GEAENDERT"),
        ("TOTP", "ENTFERNT"),
        ("WIEDERHERSTELLUNGSCODES", "ENTFERNT"),
    ]


def test_changed_password_is_recorded_and_the_session_goes_on(house: House, browser: Client) -> None:
    sign_in(browser)
    new = {"oldpassword": PASSWORD, "password1": "ganz-neues-passwort", "password2": "ganz-neues-passwort"}
    assert browser.post(reverse("account_change_password"), new).status_code == 302
    assert events(AuditKind.CREDENTIAL_CHANGED)[-1]["data"]["means"] == "PASSWORT"
    assert browser.get(reverse("people_profile")).status_code == 200


def test_weak_new_password_changes_and_records_nothing(house: House, browser: Client) -> None:
    sign_in(browser)
    new = {"oldpassword": PASSWORD, "password1": "kurz", "password2": "kurz"}
    assert browser.post(reverse("account_change_password"), new).status_code == 200
    assert events(AuditKind.CREDENTIAL_CHANGED) == []


def test_reset_link_comes_under_the_public_url_and_works_once(house: House, browser: Client) -> None:
    answer = browser.post(reverse("account_reset_password"), {"email": "ad01@example.org"})
    assert answer.url == reverse("account_reset_password_done")
    (link,) = re.findall(r"http\S+", mail.outbox[0].body)
    assert link.startswith(django_settings.PUBLIC.url)
    assert "ad01" in mail.outbox[0].body
    page = browser.get(link, follow=True)
    new = {"password1": "ganz-neues-passwort", "password2": "ganz-neues-passwort"}
    browser.post(page.redirect_chain[-1][0], new)
    assert events(AuditKind.CREDENTIAL_CHANGED)[-1]["data"]["means"] == "PASSWORT"
    assert sign_in(browser, password="ganz-neues-passwort").status_code == 302
    again = Client(**HOST).get(link, follow=True)
    assert "Der Link ist ungültig" in again.content.decode()


@pytest.mark.parametrize("email", ["fremd@example.org", ""])
def test_unknown_address_gets_no_mail(house: House, browser: Client, email: str) -> None:
    browser.post(reverse("account_reset_password"), {"email": email})
    assert mail.outbox == []


def test_login_page_names_a_wrong_host_and_no_other(house: House, browser: Client) -> None:
    assert "nicht die eingerichtete" not in browser.get(reverse("account_login")).content.decode()
    page = Client(headers={"host": "127.0.0.1:8000"}).get(reverse("account_login"))
    assert "nicht die eingerichtete" in page.content.decode()


def test_demo_logins_are_offered_by_role_in_a_demo(staffed: House, browser: Client, settings: Any) -> None:
    settings.DEMO = True
    installation.store_mode()
    page = browser.get(reverse("account_login")).content.decode()
    assert page.index("pr01") > page.index("wo01")  # order of the roles
    answer = browser.post(reverse("people_demo_login", args=[staffed.people["fg01"].pk]))
    assert answer.status_code == 302
    assert events(AuditKind.SIGNED_IN)[-1]["data"]["method"] == "DEMO"


def test_demo_logins_do_not_exist_outside_a_demo(staffed: House, browser: Client) -> None:
    assert "fg01" not in browser.get(reverse("account_login")).content.decode()
    answer = browser.post(reverse("people_demo_login", args=[staffed.people["fg01"].pk]))
    assert answer.status_code == 404
    assert "_auth_user_id" not in browser.session


def test_demo_logins_do_not_exist_where_the_data_are_real(
    staffed: House, browser: Client, settings: Any
) -> None:
    installation.store_mode()
    settings.DEMO = True
    assert "fg01" not in browser.get(reverse("account_login")).content.decode()
    answer = browser.post(reverse("people_demo_login", args=[staffed.people["fg01"].pk]))
    assert answer.status_code == 404


def test_demo_offers_no_inactive_account(staffed: House, browser: Client, settings: Any) -> None:
    settings.DEMO = True
    installation.store_mode()
    change(lambda: User.objects.filter(pk=staffed.people["fg01"].pk).update(is_active=False))
    answer = browser.post(reverse("people_demo_login", args=[staffed.people["fg01"].pk]))
    assert answer.status_code == 404


@pytest.mark.parametrize(
    "name",
    [
        "mfa_index",
        "mfa_list_webauthn",
        "mfa_add_webauthn",
        "mfa_activate_totp",
        "account_change_password",
        "account_logout",
        "people_profile",
    ],
)
def test_page_is_german_formal_and_without_inline_script(house: House, browser: Client, name: str) -> None:
    sign_in_and_confirm(browser)
    page = browser.get(reverse(name))
    text = page.content.decode()
    assert page.status_code == 200
    assert not re.search(r"<script(?![^>]*(src=|application/json))", text)
    assert "style=" not in text
    assert not re.search(r"\b(Du|du|dein|Dein|deine|Deine)\b", text)


def test_page_for_addresses_is_closed(
    house: House, browser: Client, signed_in: Callable[[User], Client]
) -> None:
    assert signed_in(house.administrator).get("/konto/email/").status_code == 404
