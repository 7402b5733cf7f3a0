"""S2, S4, S6 and the foreign tools: what the chain of revisions must and must not be."""

from __future__ import annotations

import io
import re
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pikepdf
import pytest

from qms.signing import acts, ca, verify
from qms.signing.acts import Method
from qms.signing.ca import Purpose
from qms.signing.errors import (
    ActInvalid,
    CertificateRefused,
    DocumentClosed,
    FieldRefused,
    KeyUsedTwice,
)
from tests import verapdf
from tests.qms.signing import samples

pytestmark = pytest.mark.needs("pango")


@pytest.mark.needs("java", "jaxb")
@pytest.mark.parametrize("flavour", ["3a", "ua1"])
def test_every_revision_is_archivable_and_accessible(chain: samples.Chain, flavour: str) -> None:
    for number, pdf in enumerate([*chain.revisions, chain.sealer.timestamp(chain.final, number=2)]):
        assert not verapdf.broken_rules(pdf, flavour), f"revision {number}"


@pytest.mark.needs("java", "jaxb")
def test_missing_profile_is_an_error() -> None:
    assert verapdf.missing_profile()


def _edited(pdf: bytes, change: Any) -> bytes:
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(pdf)) as document:
        change(document)
        document.save(output)
    return output.getvalue()


def _drop_appearance(document: pikepdf.Pdf) -> None:
    del document.Root.AcroForm.Fields[0]["/AP"]


def _ask_for_appearances(document: pikepdf.Pdf) -> None:
    document.Root.AcroForm["/NeedAppearances"] = True


def _drop_fonts(document: pikepdf.Pdf) -> None:
    for item in document.objects:
        if isinstance(item, pikepdf.Dictionary) and "/FontFile2" in item:
            del item["/FontFile2"]
        if isinstance(item, pikepdf.Dictionary) and "/FontFile3" in item:
            del item["/FontFile3"]


def _xmp(document: pikepdf.Pdf, old: bytes, new: bytes) -> None:
    data = document.Root.Metadata.read_bytes()
    assert old in data
    document.Root.Metadata.write(data.replace(old, new))


def _notdef(document: pikepdf.Pdf) -> None:
    page = document.pages[0]
    name = next(iter(page.Resources.Font.keys()))
    page.contents_add(f"/Artifact BMC BT {name} 9 Tf 20 20 Td <0000> Tj ET EMC".encode())


@pytest.mark.needs("java", "jaxb")
@pytest.mark.parametrize(
    ("change", "flavour"),
    [
        (_drop_appearance, "3a"),
        (_ask_for_appearances, "3a"),
        (_drop_fonts, "3a"),
        (_notdef, "3a"),
        (lambda document: _xmp(document, b"pdfuaid:part>1", b"pdfuaid:part>9"), "ua1"),
        (lambda document: _xmp(document, b'conformance="A"', b'conformance="X"'), "3a"),
    ],
    ids=["no-appearance", "need-appearances", "no-font", "notdef", "no-pdfuaid", "wrong-conformance"],
)
def test_validator_sees_planted_flaws(chain: samples.Chain, change: Any, flavour: str) -> None:
    assert verapdf.broken_rules(_edited(chain.revisions[0], change), flavour)


@pytest.mark.parametrize("count", [1, 3, 10])
def test_no_earlier_signature_counts_as_changed(count: int) -> None:
    made = samples.make_chain(count)
    report = verify.verify(made.final, root=made.root, at=samples.AT)
    assert report.verdict == "Gültig und vollständig (Muster – keine Freigabe)", report.findings
    assert [line.field for line in report.signatures] == [
        "Siegel_Eingang", *[f"Freigabe_{number:02d}" for number in range(1, count + 1)],
        "Siegel_Abschluss", "Zeitstempel_01",
    ]  # fmt: skip
    assert all(line.intact and line.trusted for line in report.signatures)


@pytest.mark.needs("pdfsig", "certutil")
def test_pdfsig_accepts_and_trusts_every_signature(chain: samples.Chain, tmp_path: Path) -> None:
    root, file, store = tmp_path / "root.pem", tmp_path / "a.pdf", f"sql:{tmp_path}"
    root.write_bytes(chain.root_pem)
    file.write_bytes(chain.final)
    subprocess.run(["certutil", "-N", "-d", store, "--empty-password"], check=True, capture_output=True)
    subprocess.run(
        ["certutil", "-A", "-n", "root", "-t", "C,C,C", "-i", str(root), "-d", store],
        check=True,
        capture_output=True,
    )
    out = subprocess.run(
        ["pdfsig", "-no-ocsp", "-nssdir", store, str(file)], check=False, capture_output=True, text=True
    ).stdout
    assert out.count("Signature Validation: Signature is Valid.") == 4
    assert out.count("Certificate Validation: Certificate is Trusted.") == 4
    assert "Total document signed" in out


@pytest.mark.needs("openssl")
def test_openssl_accepts_signatures_and_timestamp(chain: samples.Chain, tmp_path: Path) -> None:
    root = tmp_path / "root.pem"
    root.write_bytes(chain.root_pem)
    at = str(int(samples.AT.timestamp()) + 60)
    for raw in verify.SignedPdf(chain.final).raw_signatures():
        first, length, second, rest = raw.byte_range
        (tmp_path / "sig").write_bytes(raw.der)
        (tmp_path / "data").write_bytes(chain.final[first:length] + chain.final[second : second + rest])
        if raw.is_timestamp:
            command = ["openssl", "ts", "-verify", "-token_in", "-in", "sig", "-data", "data", "-attime", at]
        else:
            command = [
                "openssl", "cms", "-verify", "-binary", "-cades", "-inform", "DER", "-in", "sig", "-content", "data",
                "-attime", at, "-out", "out",
            ]  # fmt: skip
        done = subprocess.run(
            [*command, "-CAfile", str(root)], check=False, capture_output=True, cwd=tmp_path
        )
        assert done.returncode == 0, (raw.field, done.stderr)


def test_nothing_is_signed_after_the_closing_seal(chain: samples.Chain) -> None:
    for base in (chain.revisions[-2], chain.final):
        with pytest.raises(DocumentClosed):
            chain.sealer.opening_seal(base)
        who = samples.signatory(chain.signers[0], 1, chain.records[0])
        with pytest.raises(DocumentClosed):
            chain.sealer.person_field(base, who, chain.decision)


def test_field_is_refused_before_the_opening_seal(chain: samples.Chain) -> None:
    who = samples.signatory(chain.signers[0], 1, chain.records[0])
    with pytest.raises(FieldRefused, match="opening seal comes first"):
        chain.sealer.person_field(chain.revisions[0], who, chain.decision)


def test_closing_seal_is_refused_while_a_field_is_open(chain: samples.Chain) -> None:
    with pytest.raises(FieldRefused, match="Freigabe_02"):
        chain.sealer.closing_seal(chain.revisions[2], checkpoint="")


def test_field_is_signed_once(chain: samples.Chain) -> None:
    who = samples.signatory(chain.signers[0], 1, chain.records[0])
    with pytest.raises(FieldRefused, match="signed already"):
        chain.sealer.person_field(chain.revisions[2], who, chain.decision)


def test_record_of_another_person_does_not_open_a_field(chain: samples.Chain) -> None:
    foreign = samples.signatory(chain.signers[1], 1, chain.records[1])
    with pytest.raises(FieldRefused, match="another field or person"):
        chain.sealer.person_field(chain.revisions[1], foreign, chain.decision)


@pytest.mark.parametrize(
    "changes", [{"meaning": "verfasst"}, {"acting_role": "FG"}, {"document": "FRG-2026-0008-v1"}]
)
def test_act_for_something_else_does_not_open_a_field(chain: samples.Chain, changes: dict[str, str]) -> None:
    act = samples.act_of(chain.signers[0], 1, chain.decision, **changes)
    who = samples.signatory(chain.signers[0], 1, samples.record_of(chain.signers[0], act))
    with pytest.raises(FieldRefused):
        chain.sealer.person_field(chain.revisions[1], who, chain.decision)


def test_act_for_another_digest_does_not_open_a_field(chain: samples.Chain) -> None:
    act = samples.act_of(chain.signers[0], 1, chain.decision, digest="cd" * 32)
    who = samples.signatory(chain.signers[0], 1, samples.record_of(chain.signers[0], act))
    with pytest.raises(ActInvalid, match="another dossier_sha256"):
        chain.sealer.person_field(chain.revisions[1], who, chain.decision)


def test_revoked_certificate_is_refused(chain: samples.Chain) -> None:
    seal = samples.hierarchy()[Purpose.SEAL_OPENING].certificate
    revoked = samples.sealer_of(
        samples.hierarchy(),
        revoked_at=lambda item: samples.AT - timedelta(days=1) if item == seal else None,
    )
    with pytest.raises(CertificateRefused):
        revoked.opening_seal(chain.revisions[0])


def test_expired_certificate_is_refused(chain: samples.Chain) -> None:
    late = samples.sealer_of(samples.hierarchy(), clock=lambda: samples.AT + timedelta(days=4 * 365))
    with pytest.raises(CertificateRefused):
        late.opening_seal(chain.revisions[0])


def test_one_time_key_signs_once() -> None:
    key = ca.OneTimeKey()
    key.sign(b"a")
    with pytest.raises(KeyUsedTwice):
        key.sign(b"b")


def test_one_time_certificate_lives_as_long_as_its_authority(chain: samples.Chain) -> None:
    issuing = samples.hierarchy()[Purpose.ISSUING].certificate
    for line in verify.verify(chain.final, root=chain.root, at=samples.AT).signatures:
        assert line.intact
    made, _ = ca.issue_one_time(
        name="Prüferin 1", pid="ab" * 16, organisation="A", record_sha256="cd" * 32,
        issuing=samples.hierarchy()[Purpose.ISSUING], base_url="http://a", at=samples.AT + timedelta(days=400),
    )  # fmt: skip
    assert made.not_valid_after_utc == issuing.not_valid_after_utc
    assert (ca.pid_of(made), ca.record_of(made)) == ("ab" * 16, "cd" * 32)


def test_appearance_names_person_role_meaning_time_and_method(chain: samples.Chain, tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(chain.final)
    raw = subprocess.run(
        ["pdftotext", "-layout", str(file), "-"], check=True, capture_output=True
    ).stdout.decode()
    text = re.sub(r"\s+", " ", raw)
    for part in ("Freigegeben durch", "Freigeber 1", "Freigeber(in)", "17.03.2026, 10:30:00 MEZ (UTC+01:00)",
                 "Elektronische Freigabebestätigung mit", "Software-Authenticator", "128 Ereignisse"):  # fmt: skip
        assert part in text


def test_fallback_is_printed_and_reported(tmp_path: Path) -> None:
    signers = samples.people(2)
    signers[1] = replace(signers[1], method=Method.PASSWORD_TOTP)
    made = samples.make_chain(signers=signers)
    report = verify.verify(made.final, root=made.root, at=samples.AT)
    assert report.valid
    (claim,) = [claim for claim in report.claims if claim.name == "Bestätigung mit dem Schlüssel der Person"]
    assert claim.answer == "nein"
    assert "Freigabe_02" in claim.reason
    assert acts.Record.from_json(made.records[1].to_json()).assertion is None
