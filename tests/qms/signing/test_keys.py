"""Envelopes, certificates, revocation data and time-stamp tokens."""

from __future__ import annotations

import asyncio
import hashlib
import io
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asn1crypto import cms
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509 import ocsp
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.ades.report import AdESPassed
from pyhanko.sign.validation.ades import ades_lta_validation, simulate_future_ades_lta_validation
from pyhanko.sign.validation.policy_decl import (
    PdfSignatureValidationSpec,
    RevinfoOnlineFetchingRule,
    RevocationInfoGatheringSpec,
    SignatureValidationSpec,
)
from pyhanko_certvalidator.context import CertValidationPolicySpec
from pyhanko_certvalidator.ltv.types import ValidationTimingInfo
from pyhanko_certvalidator.policy_decl import REQUIRE_REVINFO, CertRevTrustPolicy
from pyhanko_certvalidator.registry import SimpleTrustManager

from qms.signing import ca, keys, revocation, tsa, tst
from qms.signing.ca import KeyKind, Purpose
from qms.signing.errors import KeyFileError, KeySealBroken
from qms.signing.request import person_field
from qms.signing.tsa import as_asn1
from tests.qms.signing import samples


@pytest.fixture
def keyring(tmp_path: Path) -> keys.Keyring:
    return keys.load_keyring(tmp_path / "folder" / "kek")


def _wrapped(keyring: keys.Keyring) -> tuple[Any, keys.WrappedKey]:
    key = ca.make_key(KeyKind.P384)
    return key, keyring.wrap(key, id="1", purpose="seal-closing", version=1)


def test_key_file_is_made_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "kek"
    keys.load_keyring(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert keys.load_keyring(path).current_id == keys.load_keyring(path).current_id


@pytest.mark.parametrize("text", ["", "kein base64!", "AAAA"])
def test_malformed_key_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kek"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(KeyFileError):
        keys.load_keyring(path)


def test_wrapped_key_opens_again(keyring: keys.Keyring) -> None:
    key, wrapped = _wrapped(keyring)
    assert keyring.unwrap(wrapped).private_numbers() == key.private_numbers()


@pytest.mark.parametrize("part", ["aad", "nonce", "ct", "outer"])
def test_changed_envelope_does_not_open(keyring: keys.Keyring, part: str) -> None:
    _, wrapped = _wrapped(keyring)
    raw = bytearray(getattr(wrapped, part))
    raw[-1] ^= 1
    with pytest.raises(KeySealBroken):
        keyring.unwrap(replace(wrapped, **{part: bytes(raw)}))


def test_foreign_key_file_does_not_open(keyring: keys.Keyring, tmp_path: Path) -> None:
    _, wrapped = _wrapped(keyring)
    with pytest.raises(KeySealBroken, match="not at hand"):
        keys.load_keyring(tmp_path / "other").unwrap(wrapped)


def test_table_of_certificates_is_kept() -> None:
    made = samples.hierarchy()
    root, issuing = made[Purpose.ROOT].certificate, made[Purpose.ISSUING].certificate
    assert root.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length == 1
    assert issuing.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length == 0
    assert isinstance(made[Purpose.SEAL_CLOSING].key, ec.EllipticCurvePrivateKey)
    assert made[Purpose.SEAL_CLOSING].key.curve.name == "secp384r1"
    for purpose in (Purpose.ROOT, Purpose.ISSUING, Purpose.SEAL_OPENING, Purpose.TSA, Purpose.OCSP):
        key = made[purpose].key
        assert isinstance(key, rsa.RSAPrivateKey)
        assert key.key_size == 3072
    usage = made[Purpose.TSA].certificate.extensions.get_extension_for_oid(ExtensionOID.EXTENDED_KEY_USAGE)
    assert (usage.critical, list(usage.value)) == (True, [ExtendedKeyUsageOID.TIME_STAMPING])
    made[Purpose.OCSP].certificate.extensions.get_extension_for_oid(ExtensionOID.OCSP_NO_CHECK)
    for purpose in (Purpose.SEAL_OPENING, Purpose.SEAL_CLOSING, Purpose.TSA):
        extensions = made[purpose].certificate.extensions
        extensions.get_extension_for_oid(ExtensionOID.AUTHORITY_INFORMATION_ACCESS)
        extensions.get_extension_for_oid(ExtensionOID.CRL_DISTRIBUTION_POINTS)


def test_authorities_outlive_the_retention_of_ten_years() -> None:
    made = samples.hierarchy()
    ten_years = samples.AT + timedelta(days=3653)
    assert made[Purpose.ISSUING].certificate.not_valid_after_utc > ten_years + timedelta(days=5 * 365)
    assert (
        made[Purpose.ROOT].certificate.not_valid_after_utc
        > made[Purpose.ISSUING].certificate.not_valid_after_utc
    )


def test_the_two_seals_are_different_certificates() -> None:
    made = samples.hierarchy()
    assert made[Purpose.SEAL_OPENING].certificate != made[Purpose.SEAL_CLOSING].certificate


def test_demo_hierarchy_carries_its_mark_and_a_real_one_does_not() -> None:
    assert all(ca.is_demo(item.certificate) for item in samples.hierarchy(True).values())
    assert not any(ca.is_demo(item.certificate) for item in samples.hierarchy(False).values())
    assert "DEMO" in samples.hierarchy(True)[Purpose.ROOT].certificate.subject.rfc4514_string()


def test_representation_of_a_credential_shows_no_key() -> None:
    assert repr(samples.hierarchy()[Purpose.TSA]).startswith("Credential(CN=DEMO Zeitstempeldienst")


def test_answer_never_outlives_its_certificate() -> None:
    made = samples.hierarchy()
    seal = made[Purpose.SEAL_OPENING].certificate
    late = seal.not_valid_after_utc - timedelta(days=1)
    raw = revocation.ocsp_answer(
        seal, issuer=made[Purpose.ISSUING].certificate, responder=made[Purpose.OCSP], at=late
    )
    answer = ocsp.load_der_ocsp_response(raw)
    assert answer.next_update_utc == seal.not_valid_after_utc
    assert answer.certificate_status is ocsp.OCSPCertStatus.GOOD


def test_revoked_certificate_is_named_in_answer_and_list() -> None:
    made = samples.hierarchy()
    seal, when = made[Purpose.SEAL_OPENING].certificate, samples.AT - timedelta(hours=1)
    raw = revocation.ocsp_answer(
        seal,
        issuer=made[Purpose.ISSUING].certificate,
        responder=made[Purpose.OCSP],
        at=samples.AT,
        revoked_at=when,
    )
    assert ocsp.load_der_ocsp_response(raw).certificate_status is ocsp.OCSPCertStatus.REVOKED
    listed = revocation.crl(
        made[Purpose.ISSUING], number=7, at=samples.AT, revoked=((seal.serial_number, when),)
    )
    found = x509.load_der_x509_crl(listed).get_revoked_certificate_by_serial_number(seal.serial_number)
    assert found is not None


@pytest.fixture
def token() -> bytes:
    made = samples.hierarchy()
    return tsa.issue_token(
        digest_name="sha256", digest=hashlib.sha256(b"a").digest(), nonce=42, credential=made[Purpose.TSA],
        issuing=made[Purpose.ISSUING].certificate, at=samples.AT,
    )  # fmt: skip


def test_token_says_what_and_when(token: bytes) -> None:
    content = cms.ContentInfo.load(token)["content"]
    statement = content["encap_content_info"]["content"].parsed
    assert statement["gen_time"].native == samples.AT
    assert statement["nonce"].native == 42
    assert statement["accuracy"]["seconds"].native == 1
    assert content["signer_infos"][0]["signature_algorithm"]["algorithm"].native == "sha256_rsa"


def test_token_can_be_rebuilt_byte_for_byte(token: bytes) -> None:
    assert tst.rebuild(token) == token


def test_spare_certificate_cannot_be_rebuilt(token: bytes) -> None:
    info = cms.ContentInfo.load(token)
    spare = as_asn1(samples.hierarchy()[Purpose.SEAL_OPENING].certificate)
    info["content"]["certificates"].append(cms.CertificateChoices("certificate", spare))
    with pytest.raises(ValueError, match="exactly the certificate path"):
        tst.rebuild(info.dump(force=True))


@pytest.mark.parametrize(("name", "size"), [("sha256", 31), ("md5", 16), ("sha1", 20)])
def test_token_over_another_digest_is_refused(name: str, size: int) -> None:
    made = samples.hierarchy()
    with pytest.raises(ValueError, match="expected a sha256"):
        tsa.issue_token(
            digest_name=name, digest=b"a" * size, nonce=None, credential=made[Purpose.TSA],
            issuing=made[Purpose.ISSUING].certificate, at=samples.AT,
        )  # fmt: skip


@pytest.mark.parametrize("position", [1, 10, 99])
def test_no_field_name_begins_another(position: int) -> None:
    names = [person_field(number) for number in range(1, 100)]
    assert not [
        name for name in names if name != person_field(position) and name.startswith(person_field(position))
    ]


@pytest.mark.parametrize("position", [0, 100])
def test_there_are_ninety_nine_fields(position: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 99"):
        person_field(position)


@pytest.mark.needs("pango")
@pytest.mark.parametrize("years", [0, 2, 8, 15])
def test_long_term_validation_passes_from_the_file_and_the_root_alone(
    chain: samples.Chain, years: int
) -> None:
    gathering = RevocationInfoGatheringSpec(online_fetching_rule=RevinfoOnlineFetchingRule.LOCAL_ONLY)
    policy = CertValidationPolicySpec(
        trust_manager=SimpleTrustManager.build(trust_roots=[as_asn1(chain.root)]),
        revinfo_policy=CertRevTrustPolicy(REQUIRE_REVINFO),
    )
    spec = PdfSignatureValidationSpec(SignatureValidationSpec(policy, revinfo_gathering_policy=gathering))
    reader = PdfFileReader(io.BytesIO(chain.final), strict=True)
    now = samples.AT + timedelta(minutes=1)
    for embedded in reader.embedded_regular_signatures:
        if years:
            later = samples.AT + timedelta(days=365 * years)
            run = simulate_future_ades_lta_validation(embedded, spec, later, current_reference_time=now)
        else:
            run = ades_lta_validation(embedded, spec, timing_info=ValidationTimingInfo(now, now, True))
        result = asyncio.run(run)
        assert result.ades_subindic is AdESPassed.OK, (embedded.field_name, result.ades_subindic)
