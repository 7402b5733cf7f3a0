"""From the decision to the sealed document: events, revisions, crashes, refusals, keys at rest (S6 to S9)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction

from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.models import AuditEvent
from qms.audit.services import record, unit
from qms.core import canonical, clock, jobs, store
from qms.core.errors import CriterionNotMet, NotVisible, WrongState
from qms.core.ids import uuid7
from qms.core.models import Job
from qms.roles.models import User
from qms.signing import authority, ca, ceremony, decision, selectors, services, verify
from qms.signing import jobs as signing_jobs
from qms.signing.acts import DigestName
from qms.signing.ca import Purpose
from qms.signing.errors import KeyFileError, KeySealBroken, RenderFailed, StaleBase
from qms.signing.models import Certificate, Document, DocumentState, SigningKey
from qms.signing.request import DocumentKind, DocumentRequest, FieldRequest, person_field
from tests.qms.signing import samples
from tests.qms.signing.conftest import PASSWORD

pytestmark = [pytest.mark.django_db, pytest.mark.needs("pango")]
EVENTS = [
    "SIEGELUNG_ANGEFORDERT", "SCHLUESSEL_AUSGESTELLT", "DOKUMENT_ERZEUGT", "EINGANGSSIEGEL_GESETZT",
    "ZERTIFIKAT_AUSGESTELLT", "SIGNATUR_GESETZT", "ABSCHLUSSSIEGEL_GESETZT", "DOKUMENT_GESIEGELT",
    "SIEGELUNG_FEHLGESCHLAGEN",
]  # fmt: skip


def _confirm(user: User, who: samples.Person, number: int, made: Any) -> ceremony.SignedAct:
    first = number == 1
    statement = ceremony.Statement(
        act="BESTAETIGUNG_ABGEGEBEN", document=samples.NUMBER, version=samples.VERSION, field=person_field(number),
        acting_role=who.role, meaning=who.meaning, value="FREIGEGEBEN",
        digest_name=DigestName.DOSSIER if first else DigestName.DECISION,
        digest="ab" * 32 if first else made.sha256,
    )  # fmt: skip
    challenge = ceremony.begin(actor=user, session_key="s", statement=statement)
    response = ceremony.software_response(actor=user, challenge_id=challenge.id, session_key="s")
    with unit(actor=user):
        done = ceremony.complete(
            actor=user, challenge_id=challenge.id, response=response, digest=statement.digest
        )
        record(
            AuditKind.ACT_RECORDED, actor=user.audit_actor(who.role), subject=user, refs=[done.record_sha256]
        )
    return done


@pytest.fixture(autouse=True)
def _fixed_clock() -> Iterator[None]:
    with clock.at(samples.AT):
        yield


@pytest.fixture
def request_(demo: Any, join: Callable[[str], User]) -> DocumentRequest:
    """A decided request with two confirmed fields."""
    return _decided(samples.people(2), join)


def _decided(signers: list[samples.Person], join: Callable[[str], User]) -> DocumentRequest:
    accounts = [join(who.name) for who in signers]
    for who, account in zip(signers, accounts, strict=True):
        who.pid = account.person.pid
        with unit(actor=account):
            ceremony.enrol_software(actor=account)
    raw = samples.decision_bytes(signers)
    made = decision.parse(raw)
    done = [
        _confirm(account, who, number, made)
        for number, (account, who) in enumerate(zip(accounts, signers, strict=True), start=1)
    ]
    return DocumentRequest(
        number=samples.NUMBER,
        version=samples.VERSION,
        kind=DocumentKind.APPROVAL,
        subject_id=uuid7(),
        decision_json=raw,
        acts_json=selectors.acts_json([act.record_id for act in done]),
        log_proof=b"c2sp.org/tlog-proof@v1\n",
        body=samples.BODY,
        fields=[
            FieldRequest(
                field=person_field(number), role=who.role, meaning=who.meaning, act_record_id=act.record_id
            )
            for number, (who, act) in enumerate(zip(signers, done, strict=True), start=1)
        ],
        demo=True,
    )


@pytest.fixture
def stored_keys(demo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the keys of the sample instead of making six new ones."""
    made = samples.hierarchy()
    monkeypatch.setattr(ca, "create_hierarchy", lambda **_: made)


def _sealing_events() -> list[str]:
    rows = AuditEvent.objects.filter(kind__in=EVENTS).order_by("leaf__seq")
    return [row.kind for row in rows if "SCHLUESSEL" not in row.kind]


def test_decision_becomes_a_sealed_document(request_: DocumentRequest, stored_keys: None) -> None:
    document = services.request_document(actor=SYSTEM, request=request_)
    assert selectors.seal_state(request_.subject_id) == selectors.SealState(False, True, "", document.pk)
    jobs.run_pending()
    document.refresh_from_db()
    assert document.state == DocumentState.SEALED, document.error
    assert _sealing_events() == [
        "SIEGELUNG_ANGEFORDERT",
        *["ZERTIFIKAT_AUSGESTELLT"] * 6,
        "DOKUMENT_ERZEUGT",
        "EINGANGSSIEGEL_GESETZT",
        "ZERTIFIKAT_AUSGESTELLT",
        "SIGNATUR_GESETZT",
        "ZERTIFIKAT_AUSGESTELLT",
        "SIGNATUR_GESETZT",
        "ABSCHLUSSSIEGEL_GESETZT",
        "DOKUMENT_GESIEGELT",
    ]
    pdf = selectors.final_pdf(document)
    report = selectors.verify_file(pdf)
    assert report.verdict == "Gültig und vollständig (Muster – keine Freigabe)"
    attachment = next(claim for claim in report.claims if claim.name == "Anhang entspricht dem Text")
    assert attachment.answer == "ja"
    numbers = document.revisions.values_list("number", "field")
    assert list(numbers) == [
        (0, ""), (1, "Siegel_Eingang"), (2, "Freigabe_01"), (3, "Freigabe_02"), (4, "Siegel_Abschluss"),
        (5, "Zeitstempel_01"),
    ]  # fmt: skip
    assert pdf.startswith(store.get(document.revisions.get(number=2).sha256)[:1000])
    assert Certificate.objects.filter(purpose="one-time", act__isnull=False).count() == 2
    assert Job.objects.get(pk=document.job_id).state == "SUCCEEDED"


class Killed(BaseException):
    """The process is gone; no code of ours runs after it."""


@pytest.mark.parametrize("step", range(6))
def test_killed_job_goes_on_from_the_last_revision(
    request_: DocumentRequest, stored_keys: None, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    document = services.request_document(actor=SYSTEM, request=request_)
    names = ("store_revision", "record_sealed")
    real = {name: getattr(services, name) for name in names}

    def dying(name: str) -> Callable[..., Any]:
        def run(**arguments: Any) -> Any:
            if arguments["new"].number == step:
                raise Killed
            return real[name](**arguments)

        return run

    for name in names:
        monkeypatch.setattr(services, name, dying(name))
    with pytest.raises(Killed):
        jobs.run_pending()
    for name in names:
        monkeypatch.setattr(services, name, real[name])
    before = list(document.revisions.values_list("sha256", flat=True))
    assert len(before) == step
    with transaction.atomic():
        Job.objects.filter(pk=document.job_id).update(state="QUEUED", lease_until=None)
        jobs.add_message(Job.objects.get(pk=document.job_id))
    jobs.run_pending()
    document.refresh_from_db()
    assert document.state == DocumentState.SEALED, document.error
    assert list(document.revisions.values_list("sha256", flat=True))[:step] == before
    assert selectors.verify_file(selectors.final_pdf(document)).valid


def test_outdated_job_stores_nothing(request_: DocumentRequest, stored_keys: None) -> None:
    document = services.request_document(actor=SYSTEM, request=request_)
    Job.objects.filter(pk=document.job_id).update(state="RUNNING", attempt=2)
    old = jobs.JobContext(document.job_id, 1, {})
    new = services.NewRevision(number=0, field="", pdf_sha256="ab" * 32, size_bytes=1, base_sha256="")
    with pytest.raises(jobs.LeaseLost):
        services.store_revision(actor=SYSTEM, ctx=old, new=new)
    current = jobs.JobContext(document.job_id, 2, {})
    with pytest.raises(StaleBase):
        services.store_revision(actor=SYSTEM, ctx=current, new=replace(new, number=1, base_sha256="cd" * 32))
    assert not document.revisions.exists()


def test_failure_is_named_and_can_be_repeated(
    request_: DocumentRequest, stored_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = services.request_document(actor=SYSTEM, request=request_)

    def fail(_: Any) -> bytes:
        raise RenderFailed("Pango is missing; the PDF cannot be rendered")

    with monkeypatch.context() as patched:
        patched.setattr(signing_jobs.render, "render_document", fail)
        jobs.run_pending()
    state = selectors.seal_state(request_.subject_id)
    assert (state.sealed, state.pending) == (False, False)
    assert "Pango" in state.error
    assert _sealing_events()[-1] == "SIEGELUNG_FEHLGESCHLAGEN"
    services.repeat_sealing(actor=SYSTEM, subject_id=request_.subject_id)
    with pytest.raises(WrongState):
        services.repeat_sealing(actor=SYSTEM, subject_id=request_.subject_id)
    jobs.run_pending()
    document.refresh_from_db()
    assert document.state == DocumentState.SEALED
    assert _sealing_events()[-1] == "DOKUMENT_GESIEGELT"


def test_unknown_document_cannot_be_repeated(demo: Any) -> None:
    with pytest.raises(NotVisible):
        services.repeat_sealing(actor=SYSTEM, subject_id=uuid7())


def test_text_without_glyph_is_refused_with_the_character(request_: DocumentRequest) -> None:
    body = {**samples.BODY, "board_sentence": "Freigabe 🙂"}
    with pytest.raises(CriterionNotMet, match="🙂") as caught:
        services.request_document(actor=SYSTEM, request=replace(request_, body=body))
    assert "🙂" in caught.value.next_step
    assert not Document.objects.exists()


def test_name_without_glyph_is_refused_before_the_job(demo: Any, join: Callable[[str], User]) -> None:
    signers = samples.people(2)
    signers[1].name = "Freigeber 中"
    with pytest.raises(CriterionNotMet, match="中"):
        services.request_document(actor=SYSTEM, request=_decided(signers, join))


@pytest.mark.parametrize(
    "changes", [{"fields": []}, {"number": "FRG-2026-0008-v1"}, {"demo": False}, {"decision_json": b"{}"}]
)
def test_request_that_contradicts_the_decision_is_refused(
    request_: DocumentRequest, changes: dict[str, Any]
) -> None:
    with pytest.raises(CriterionNotMet):
        services.request_document(actor=SYSTEM, request=replace(request_, **changes))


def test_sample_is_refused_outside_the_demo(request_: DocumentRequest, demo: Any) -> None:
    demo.DEMO = False
    with pytest.raises(CriterionNotMet, match="Muster"):
        services.request_document(actor=SYSTEM, request=request_)


# Keys at rest


def _private_bytes() -> list[bytes]:
    found = []
    for credential in samples.hierarchy().values():
        numbers = credential.key.private_numbers()
        secret = numbers.d if hasattr(numbers, "d") else numbers.private_value
        found.append(secret.to_bytes((secret.bit_length() + 7) // 8, "big")[:32])
    return found


def _everything_stored(folder: Path) -> bytes:
    parts = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    for model in apps.get_models():
        with connection.cursor() as cursor:
            cursor.execute(f'SELECT * FROM "{model._meta.db_table}"')  # noqa: S608 - our own table names
            for row in cursor.fetchall():
                parts += [value if isinstance(value, bytes) else str(value).encode() for value in row]
    return b"\n".join(parts)


def test_no_key_password_or_code_is_stored_or_logged(
    request_: DocumentRequest,
    stored_keys: None,
    settings: Any,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    services.request_document(actor=SYSTEM, request=request_)
    jobs.run_pending()
    stored = _everything_stored(Path(settings.STORAGES["default"]["OPTIONS"]["location"]))
    logged = caplog.text.encode()
    for secret in [*_private_bytes(), b"PRIVATE KEY", PASSWORD.encode()]:
        for text in (stored, logged):
            assert secret not in text
            assert secret.hex().encode() not in text


def test_keys_open_with_their_file_only(stored_keys: None, settings: Any, tmp_path: Path) -> None:
    authority.ensure(actor=SYSTEM)
    assert set(authority.load()) == set(ca.HIERARCHY)
    settings.KEK_FILE = tmp_path / "other"
    with pytest.raises(KeySealBroken):
        authority.load()


def test_keys_are_made_once(stored_keys: None) -> None:
    authority.ensure(actor=SYSTEM)
    authority.ensure(actor=SYSTEM)
    assert SigningKey.objects.count() == len(ca.HIERARCHY)
    assert selectors.root_sha256() == ca.sha256_of(samples.hierarchy()[Purpose.ROOT].certificate)


def test_rotated_key_file_still_opens_and_the_old_one_does_not(stored_keys: None, settings: Any) -> None:
    authority.ensure(actor=SYSTEM)
    old = settings.KEK_FILE.read_text()
    assert authority.rotate_kek(actor=SYSTEM) == len(ca.HIERARCHY)
    authority.drop_old_keks()
    assert authority.load()
    settings.KEK_FILE.write_text(old)
    with pytest.raises(KeySealBroken):
        authority.load()


def test_key_file_that_others_can_read_is_refused(stored_keys: None, settings: Any) -> None:
    authority.ensure(actor=SYSTEM)
    settings.KEK_FILE.chmod(0o640)
    with pytest.raises(KeyFileError, match="0600"):
        authority.load()


def test_exchanged_key_rows_do_not_open(stored_keys: None) -> None:
    authority.ensure(actor=SYSTEM)
    with unit(actor=SYSTEM):
        first, second = SigningKey.objects.filter(purpose__in=["tsa", "ocsp"])
        first.aad, first.nonce, first.ct, first.outer = second.aad, second.nonce, second.ct, second.outer
        first.save()
        record(AuditKind.KEY_ROTATED, actor=SYSTEM, subject=first)
    with pytest.raises(KeySealBroken):
        authority.load()


def test_own_verification_stops_a_broken_document(
    request_: DocumentRequest, stored_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = services.request_document(actor=SYSTEM, request=request_)
    monkeypatch.setattr(signing_jobs.Sealer, "timestamp", lambda self, base, number: base)
    jobs.run_pending()
    document.refresh_from_db()
    assert document.state == DocumentState.FAILED
    assert "Zeitstempel des Dokuments fehlt" in document.error
    assert not document.final_sha256


def test_file_of_another_house_is_not_ours(chain: samples.Chain, stored_keys: None) -> None:
    other = ca.create_hierarchy
    assert other is not None
    assert selectors.verify_file(chain.final).exit_code == verify.EXIT_NO_ANCHOR
    authority.ensure(actor=SYSTEM)
    assert canonical.sha256_hex(chain.final) == selectors.verify_file(chain.final).document_sha256
