"""What holds for every answer: headers, no script and no style in the page, CSRF, size, host, redirects, downloads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from qms.audit.models import AuditEvent, AuditLeaf
from qms.core import health
from qms.core.management.commands import serve
from qms.core.models import OutboxEntry
from qms.evidence.models import EvidenceItem
from qms.roles import services
from qms.roles.models import Person, User
from qms.signing.models import SigningKey
from qms.web.downloads import MAX_NAME, attachment, safe_name
from qms.workloads.models import PlatformProfile
from tests.access.table import ROWS
from tests.access.world import PASSWORD, World

pytestmark = pytest.mark.django_db
HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
}
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
INLINE = (
    r'<script(?![^>]*\bsrc=)(?![^>]*type="application/json")[^>]*>\s*[^<\s]',
    r"<style\b",
    r"\sstyle\s*=",
    r"<[^>]*\son[a-z]+\s*=",
    r"javascript:",
    r"<(?:iframe|object|embed|base)\b",
)
ACCOUNT_PAGES = ("/konto/login/", "/konto/logout/", "/konto/password/reset/", "/konto/2fa/", "/konto/signup/")
READERS = ("owner", "PR", "FG", "AD", "anonym")


def check_answer(response: HttpResponse, what: str) -> None:
    for name, value in HEADERS.items():
        assert response.headers.get(name) == value, f"{what}: {name}"
    assert response.headers["Referrer-Policy"] in {"same-origin", "no-referrer"}, what
    policy = dict(
        part.strip().split(" ", 1) for part in response.headers["Content-Security-Policy"].split(";")
    )
    assert policy == POLICY, what
    if response["Content-Type"].startswith("text/html"):
        body = response.content.decode()
        for pattern in INLINE:
            assert not re.search(pattern, body, re.IGNORECASE), f"{what}: {pattern}"
        for address in re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="([^"]+)"', body):
            assert address.startswith("/"), f"{what} loads {address}"


def _open(world: World, actor: str) -> Iterator[tuple[str, HttpResponse]]:
    browser = world.browser(actor)
    for row in ROWS:
        if row.get is not None:
            url = f"{reverse(row.name, args=row.args(world))}?{row.query(world)}"
            yield f"{actor} GET {row.name}", browser.get(url)
    for url in ACCOUNT_PAGES:
        yield f"{actor} GET {url}", browser.get(url)


@pytest.mark.parametrize("actor", READERS)
def test_headers_and_no_inline_code_on_every_page(world: World, actor: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(health, "run", lambda **_chosen: [])
    for what, response in _open(world, actor):
        check_answer(response, what)


def test_headers_on_refusals_and_errors(world: World, monkeypatch: pytest.MonkeyPatch):
    browser = world.browser("owner")
    check_answer(browser.get("/gibt-es-nicht/"), "404 of no address")
    check_answer(browser.get(reverse("workload_owner", args=[world.workloads["frei"].pk])), "405")
    check_answer(browser.get(reverse("audit_export")), "403")
    strict = Client(enforce_csrf_checks=True)
    check_answer(strict.post("/konto/login/", {}), "403 of CSRF")
    browser.raise_request_exception = False

    def broken(*_args: Any, **_values: Any) -> None:
        raise RuntimeError("geheim-4711")

    monkeypatch.setattr("qms.web.start_views.guards.prefetch", broken)
    failed = browser.get("/")
    assert failed.status_code == 500
    assert "geheim-4711" not in failed.content.decode()
    check_answer(failed, "500")


def test_only_the_page_of_the_qr_code_allows_data_pictures(world: World):
    browser = Client()
    browser.post("/konto/login/", {"login": "wo01", "password": PASSWORD})
    browser.post("/konto/reauthenticate/", {"password": PASSWORD})
    response = browser.get(reverse("mfa_activate_totp"))
    assert response.status_code == 200
    assert "img-src 'self' data:" in response.headers["Content-Security-Policy"]


def test_cookies_are_closed_to_scripts_and_other_sites(world: World):
    response = Client().post("/konto/login/", {"login": "wo01", "password": PASSWORD})
    cookie = response.cookies[settings.SESSION_COOKIE_NAME]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert cookie["max-age"] in {"", settings.SESSION_COOKIE_AGE}
    assert settings.CSRF_COOKIE_SAMESITE == "Lax"


@pytest.mark.parametrize("row", [row for row in ROWS if row.post], ids=lambda row: row.name)
def test_every_act_needs_its_csrf_token(world: World, row: Any):
    actor = next(
        (one for one in ("owner", "PR", "FG", "AD") if row.post.grant in {"own", "run", "view"}), "PR"
    )
    strict = Client(enforce_csrf_checks=True)
    strict.cookies.update(world.browsers[actor].cookies)
    data = row.post.data(world)  # which may have made a platform
    before = AuditLeaf.objects.count()
    for headers in ({}, {"HTTP_ACCEPT": "application/json"}, {"HTTP_ORIGIN": "https://evil.example"}):
        response = strict.post(reverse(row.name, args=row.args(world)), data, **headers)
        assert response.status_code == 403
    assert AuditLeaf.objects.count() == before


# addresses


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "localhost:80@evil.example"])
def test_a_foreign_host_header_is_refused(world: World, host: str):
    assert Client().get("/konto/login/", HTTP_HOST=host).status_code == 400


def test_links_in_mails_come_from_the_public_url(world: World, mailoutbox: list[Any]):
    person = world.accounts["owner"]
    response = Client().post("/konto/password/reset/", {"email": person.email}, HTTP_HOST="127.0.0.1")
    assert response.status_code == 302
    (mail,) = [mail for mail in mailoutbox if mail.to == [person.email]]
    links = re.findall(r"https?://\S+", mail.body)
    assert links
    assert [link for link in links if not link.startswith(settings.PUBLIC.url)] == []


TARGETS = (
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example",
    "https:evil.example",
    "javascript:alert(1)",
    "http://localhost@evil.example/",
)


@pytest.mark.parametrize("target", TARGETS)
def test_no_redirect_to_another_site(world: World, target: str):
    response = Client().post("/konto/login/", {"login": "wo01", "password": PASSWORD, "next": target})
    assert response.status_code == 302
    assert response["Location"] == "/"
    language = world.browser("owner").post(
        "/sprache/", {"language": "de", "next": target}, HTTP_REFERER=target
    )
    assert "evil" not in language["Location"]
    assert "javascript" not in language["Location"]


# sessions


def test_session_key_changes_at_sign_in_and_out(world: World):
    browser = Client()
    browser.get("/konto/login/")
    planted = browser.session
    planted["planted"] = "x"
    planted.save()
    browser.cookies[settings.SESSION_COOKIE_NAME] = planted.session_key
    browser.post("/konto/login/", {"login": "wo01", "password": PASSWORD})
    signed_in = browser.cookies[settings.SESSION_COOKIE_NAME].value
    assert signed_in != planted.session_key
    browser.post("/konto/logout/")
    browser.cookies[settings.SESSION_COOKIE_NAME] = signed_in
    assert browser.get("/").status_code == 302


def test_deactivation_ends_a_session_at_once(world: World):
    browser = world.browser("fremd")
    assert browser.get("/").status_code == 200
    services.deactivate_account(
        actor=world.accounts["AD"], account_id=world.accounts["fremd"].pk, reason="ausgeschieden"
    )
    assert browser.get("/").status_code == 302


def test_new_password_ends_other_sessions(world: World):
    account = User.objects.get(pk=world.accounts["fremd"].pk)
    account.set_password("ganz-anderes-passwort")
    account.save(update_fields=["password"])
    assert world.browser("fremd").get("/").status_code == 302


def test_service_account_cannot_sign_in(world: World):
    account = User.objects.get(username="dienst")
    account.set_password(PASSWORD)
    account.save(update_fields=["password"])
    browser = Client()
    browser.post("/konto/login/", {"login": "dienst", "password": PASSWORD})
    assert browser.get("/").status_code == 302


def test_unknown_name_costs_the_same_as_a_wrong_password(world: World, monkeypatch: pytest.MonkeyPatch):
    from django.contrib.auth.hashers import MD5PasswordHasher

    counted: list[str] = []
    real = MD5PasswordHasher.encode
    monkeypatch.setattr(
        MD5PasswordHasher, "encode", lambda self, *values: (counted.append("x"), real(self, *values))[1]
    )
    costs, answers = [], []
    for name in ("wo01", "niemand"):
        counted.clear()
        response = Client().post("/konto/login/", {"login": name, "password": "falsch-falsch-falsch"})
        costs.append(len(counted))
        answers.append(
            re.sub(r'value="[^"]*"|"X-CSRFToken": "[^"]*"|<time[^>]*>[^<]*', "", response.content.decode())
        )
    assert costs[0] == costs[1] > 0
    assert answers[0] == answers[1]


def test_sign_in_is_limited_for_one_name(world: World):
    for _attempt in range(5):
        Client().post("/konto/login/", {"login": "wo01", "password": "falsch-falsch-falsch"})
    browser = Client()
    browser.post("/konto/login/", {"login": "wo01", "password": PASSWORD})
    assert browser.get("/").status_code == 302
    cache.clear()


# downloads and uploads


def test_file_names_of_downloads_cannot_break_out():
    for name in (
        "../../etc/passwd",
        'a"; filename="b.html',
        "a\r\nSet-Cookie: x=1",
        "\u202efdp.exe",
        "",
        ".htaccess",
        "x" * 500,
    ):
        safe = safe_name(name)
        assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", safe)
        assert len(safe) <= MAX_NAME
        response = attachment(b"<script>alert(1)</script>", name, "application/octet-stream")
        assert response["Content-Disposition"] == f'attachment; filename="{safe}"'


def test_every_download_is_an_attachment_nobody_caches(world: World):
    urls = {
        "FG": [
            reverse(name, args=[world.approvals["frei"].pk])
            for name in ("approval_document", "approval_evidence_zip")
        ],
        "PR": [reverse("evidence_file", args=[world.extras["evidence"].pk])],
        "AU": [reverse("audit_export_file", args=[world.extras["export"].pk])],
    }
    for actor, addresses in urls.items():
        for url in addresses:
            response = world.browser(actor).get(url)
            assert response.status_code == 200
            assert response["Content-Disposition"].startswith("attachment; filename=")
            assert "no-store" in response["Cache-Control"]
            assert not response["Content-Type"].startswith(("text/html", "image/svg"))
            check_answer(response, url)


def test_body_above_the_limit_is_refused_before_it_is_read(world: World):
    for announced in (str(settings.MAX_REQUEST_BYTES + 1), "-1", "1e9"):
        for url in ("/konto/login/", reverse("pilot_baseline", args=[world.workloads["frei"].pk])):
            response = Client().generic("POST", url, b"", CONTENT_LENGTH=announced)
            assert response.status_code == 413
            check_answer(response, url)


def deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("leer.json", b""),
        ("bombe.zip", b"PK\x03\x04" + b"\x00" * 100),
        ("bombe.gz", b"\x1f\x8b" + b"\x00" * 100),
        ("tief.json", deep(100_000)),
        ("zahl.json", b'{"duration": ' + b"9" * 10_000 + b', "completed": 1, "request_throughput": 1}'),
        ("nan.json", b'{"duration": NaN, "completed": 1, "request_throughput": 1}'),
        ("viel.json", b'{"duration": 1e308, "completed": 1e308, "request_throughput": 1e308}'),
        ("doppelt.json", b'{"duration": 1, "duration": 2, "completed": 1, "request_throughput": 1}'),
        ("entity.xml", b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'),
        ("../../var/qms.sqlite3", b"\x00\xff\xfe"),
        ("a\x00b.json", b"{}"),
    ],
)
def test_hostile_benchmark_file_is_refused_with_a_sentence(world: World, name: str, data: bytes):
    before = EvidenceItem.objects.count()
    platform = PlatformProfile.objects.get(key="DISKRET-4GPU")
    response = world.browser("owner").post(
        reverse("pilot_baseline", args=[world.workloads["frei"].pk]),
        {"file": SimpleUploadedFile(name, data), "platform": str(platform.pk)},
    )
    assert response.status_code == 422
    assert EvidenceItem.objects.count() == before


# secrets


def test_outbox_carries_ids_and_codes_only(world: World):
    private = {value for person in Person.objects.all() for value in (person.display_name, person.email)}
    private |= {world.extras["invitation_token"], world.extras["first_run_token"], PASSWORD}
    private |= {workload.title for workload in world.workloads.values()}
    assert OutboxEntry.objects.exists()
    for entry in OutboxEntry.objects.all():
        assert not private & set(entry.payload.values()), entry.task
        assert all(re.fullmatch(r"[A-Za-z0-9_.:-]{0,80}", value) for value in entry.payload.values()), (
            entry.task
        )


def test_log_lines_carry_no_names_and_no_secrets(world: World):
    lines = "\n".join(AuditEvent.objects.values_list("body", flat=True))
    for person in Person.objects.all():
        assert person.display_name not in lines
        assert person.email not in lines
    for secret in (
        PASSWORD,
        world.extras["invitation_token"],
        world.extras["first_run_token"],
        settings.SECRET_KEY,
    ):
        assert secret not in lines


def test_no_secret_is_logged_at_sign_in(world: World, caplog: pytest.LogCaptureFixture):
    with caplog.at_level("DEBUG"):
        Client().post("/konto/login/", {"login": "wo01", "password": PASSWORD})
        Client().post("/konto/login/", {"login": PASSWORD, "password": "vertippt-vertippt"})
    assert PASSWORD not in caplog.text
    assert "vertippt" not in caplog.text
    assert PASSWORD not in "".join(AuditEvent.objects.values_list("body", flat=True))


def test_processes_are_started_without_secrets_in_their_arguments():
    words = " ".join(word for child in serve.children("127.0.0.1", 8000, 2) for word in child.command)
    assert settings.SECRET_KEY not in words
    assert not re.search(r"password|secret|token", words, re.IGNORECASE)


def test_no_key_lies_readable_in_the_database(world: World):
    for key in SigningKey.objects.all():
        assert b"PRIVATE KEY" not in bytes(key.ct)


# refusals of pages


def test_a_page_that_may_not_be_read_leaves_its_event(world: World):
    browser = world.browser("ohne")
    response = browser.get(reverse("audit_log"))
    assert response.status_code == 403
    assert "Der Versuch steht im Audit-Protokoll." in response.content.decode()
    event = AuditEvent.objects.order_by("-leaf__seq")[0]
    line = json.loads(event.body)
    assert event.kind == "ZUGRIFF_VERWEIGERT"
    assert (line["data"]["id"], line["data"]["action"]) == ("P33", "audit_log")
    assert line["actor"]["pid"] == world.accounts["ohne"].person.pid


def test_page_claims_no_event_that_is_not_there(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("qms.web.middleware.record_refusal", lambda *_args, **_values: None)
    response = world.browser("ohne").get(reverse("audit_log"))
    assert "Der Versuch steht im Audit-Protokoll." not in response.content.decode()


def test_status_of_a_document_needs_number_and_digest(world: World):
    approval, browser = world.approvals["frei"], Client()
    url = reverse("document_status", args=[approval.number])
    assert browser.get(url, {"h": approval.decision_sha256}).status_code == 200
    for digest in ("", "0" * 64, approval.decision_sha256[:-1], approval.decision_sha256 + "0", "ä" * 64):
        assert browser.get(url, {"h": digest}).status_code == 404
    undecided = reverse("document_status", args=[world.approvals["reif"].number])
    assert browser.get(undecided, {"h": ""}).status_code == 404


def test_status_page_names_no_person(world: World):
    approval = world.approvals["frei"]
    url = reverse("document_status", args=[approval.number])
    body = Client().get(url, {"h": approval.decision_sha256}).content.decode()
    assert not [person for person in Person.objects.all() if person.display_name in body]
