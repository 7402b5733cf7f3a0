"""Seals, persons' signatures and document timestamps: one new revision behind the old ones. Django-free.

Order (signing.md 4): opening seal certifies (DocMDP P=2), the persons' fields, closing seal with lock, timestamp.
pyHanko signs after a lock without complaint, so this module refuses it.
"""

from __future__ import annotations

import asyncio
import io
import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from asn1crypto import keys as asn1keys
from asn1crypto import x509
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from pyhanko.pdf_utils import content, layout
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign import fields as pdf_fields
from pyhanko.sign import signers
from pyhanko.sign.ades.api import CAdESSignedAttrSpec, GenericCommitment
from pyhanko.sign.general import SigningError as PdfSigningError
from pyhanko.sign.signers.pdf_cms import PdfCMSSignedAttributes
from pyhanko.sign.signers.pdf_signer import (
    DSSContentSettings,
    SigDSSPlacementPreference,
    TimestampDSSContentSettings,
)
from pyhanko.stamp import StaticStampStyle
from pyhanko_certvalidator import ValidationContext
from pyhanko_certvalidator.registry import SimpleCertificateStore

from qms.signing.ca import Credential, OneTimeKey, hash_for
from qms.signing.errors import CertificateRefused, DocumentClosed, FieldRefused, SigningError
from qms.signing.request import CLOSING_FIELD, OPENING_FIELD
from qms.signing.tsa import InternalTimeStamper, as_asn1

# Answers come from memory on purpose; pyHanko warns at every signature that nothing is fetched.
logging.getLogger("pyhanko").setLevel(logging.ERROR)

_SIGNATURE_SPACE: Final = {"ecdsa": 144}  # longest DER signature on P-384 is 104 bytes


@dataclass(frozen=True, slots=True)
class Trust:
    """What a signature is checked against while it is made: root, the certificates between, fresh answers."""

    root: Any
    others: tuple[Any, ...]
    crls: tuple[bytes, ...]
    ocsps: tuple[bytes, ...]

    def context(self, at: datetime) -> ValidationContext:
        """Return a validation context without any network."""
        return ValidationContext(
            trust_roots=[as_asn1(self.root)],
            other_certs=[as_asn1(certificate) for certificate in self.others],
            crls=list(self.crls),
            ocsps=list(self.ocsps),
            revocation_mode="require",
            allow_fetching=False,
            moment=at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldPlan:
    """One signature: field, certificate and key, the picture (PDF bytes), reason, place, time of the act."""

    field: str
    certificate: Any
    key: OneTimeKey | Credential
    appearance: bytes
    reason: str
    location: str
    confirmed_at: datetime | None = None
    by_password: bool = False


def sign_field(
    base: bytes, plan: FieldPlan, *, trust: Trust, timestamper: InternalTimeStamper, at: datetime
) -> bytes:
    """Return the next revision: the planned field signed at PAdES B-LT.

    Raises DocumentClosed after the closing seal, FieldRefused for a missing, filled or premature field,
    CertificateRefused for an expired, revoked or foreign certificate.
    """
    check_field(base, plan.field)
    writer = IncrementalPdfFileWriter(io.BytesIO(base))
    signer = _PlanSigner(plan, trust)
    pdf_signer = signers.PdfSigner(
        _metadata(plan, trust, at), signer, timestamper=timestamper, stamp_style=_stamp(plan.appearance)
    )
    try:
        return asyncio.run(_sign(pdf_signer, writer, at))
    except PdfSigningError as error:
        raise CertificateRefused(f"{plan.field}: {error}") from error


def add_timestamp(
    base: bytes, *, trust: Trust, timestamper: InternalTimeStamper, at: datetime, number: int
) -> bytes:
    """Return the next revision: an invisible document timestamp over everything, with fresh answers inside."""
    settings = pdf_fields.InvisSigSettings(set_print_flag=True, box_out_of_bounds=True)
    stamper = signers.PdfTimeStamper(
        timestamper, field_name=f"Zeitstempel_{number:02d}", invis_settings=settings
    )
    output = stamper.timestamp_pdf(
        IncrementalPdfFileWriter(io.BytesIO(base)),
        "sha256",
        trust.context(at),
        dss_settings=TimestampDSSContentSettings(include_vri=False, update_before_ts=True),
    )
    return _bytes(output)


def check_field(base: bytes, name: str) -> None:
    """Refuse to sign where it is not this field's turn; raises DocumentClosed and FieldRefused."""
    filled = filled_fields(base)
    if filled.get(CLOSING_FIELD):
        raise DocumentClosed("Das Dokument ist abgeschlossen; weitere Signaturen sind nicht möglich.")
    if name not in filled:
        raise FieldRefused(f"the document has no field {name}")
    if filled[name]:
        raise FieldRefused(f"the field {name} is signed already")
    if name != OPENING_FIELD and not filled.get(OPENING_FIELD):
        raise FieldRefused(f"{name}: the opening seal comes first")
    missing = [other for other, done in filled.items() if not done and other not in {name, OPENING_FIELD}]
    if name == CLOSING_FIELD and missing:
        raise FieldRefused(f"the closing seal comes last; unsigned: {', '.join(sorted(missing))}")


def filled_fields(base: bytes) -> dict[str, bool]:
    """Return the names of all signature fields and whether each is signed."""
    reader = PdfFileReader(io.BytesIO(base))
    return {name: value is not None for name, value, _ in pdf_fields.enumerate_sig_fields(reader)}


class _PlanSigner(signers.Signer):
    """A signer over a loaded key object; loading an RSA key anew costs 150 ms for every signature."""

    def __init__(self, plan: FieldPlan, trust: Trust) -> None:
        self._plan = plan
        certificate = as_asn1(plan.certificate)
        registry = SimpleCertificateStore()  # type: ignore[no-untyped-call]  # untyped in its library
        registry.register_multiple([as_asn1(other) for other in trust.others])
        super().__init__(signing_cert=certificate, cert_registry=registry, embed_roots=False)
        self._space = _space(certificate.public_key)

    async def async_sign_raw(self, data: bytes, digest_algorithm: str, dry_run: bool = False) -> bytes:
        """Sign; a dry run only tells how much space the signature takes."""
        if dry_run:
            return bytes(self._space)
        if isinstance(self._plan.key, OneTimeKey):
            return self._plan.key.sign(data)
        key = self._plan.key.key
        if hash_for(key).name != digest_algorithm:
            raise SigningError(f"expected digest {hash_for(key).name}, got {digest_algorithm}")
        if isinstance(key, rsa.RSAPrivateKey):
            return key.sign(data, padding.PKCS1v15(), hash_for(key))
        return key.sign(data, ec.ECDSA(hash_for(key)))


def _space(public_key: asn1keys.PublicKeyInfo) -> int:
    return _SIGNATURE_SPACE["ecdsa"] if public_key.algorithm == "ec" else int(public_key.bit_size) // 8


class _BytesPage(content.PdfContent):
    """The only page of a PDF in memory, imported as picture."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = data

    def render(self) -> bytes:
        """Import the page into the writer and return the operator that draws it."""
        form = self._ensure_writer.import_page_as_xobject(PdfFileReader(io.BytesIO(self._data)))
        self.resources.xobject["/Feld"] = form
        left, bottom, right, top = (float(value) for value in form.get_object()["/BBox"])
        self.box = layout.BoxConstraints(width=abs(right - left), height=abs(top - bottom))
        return b"/Feld Do"


def _stamp(appearance: bytes) -> StaticStampStyle:
    return StaticStampStyle(
        background=_BytesPage(appearance),
        background_layout=layout.SimpleBoxLayoutRule(
            x_align=layout.AxisAlignment.ALIGN_MID,
            y_align=layout.AxisAlignment.ALIGN_MID,
            margins=layout.Margins(0, 0, 0, 0),
        ),
        border_width=0,
    )


def _metadata(plan: FieldPlan, trust: Trust, at: datetime) -> signers.PdfSignatureMetadata:
    opening = plan.field == OPENING_FIELD
    key = plan.key.key if isinstance(plan.key, Credential) else None
    seconds = None if plan.confirmed_at is None else max(0, int((at - plan.confirmed_at).total_seconds()))
    return signers.PdfSignatureMetadata(
        field_name=plan.field,
        md_algorithm=hash_for(key).name if key is not None else "sha256",
        reason=plan.reason,
        location=plan.location or None,
        subfilter=pdf_fields.SigSeedSubFilter.PADES,
        certify=opening,
        docmdp_permissions=pdf_fields.MDPPerm.FILL_FORMS,
        embed_validation_info=True,
        use_pades_lta=False,
        validation_context=trust.context(at),
        cades_signed_attr_spec=CAdESSignedAttrSpec(commitment_type=GenericCommitment.PROOF_OF_APPROVAL.asn1),
        prop_auth_time=seconds,
        prop_auth_type=pdf_fields.SigAuthType.PASSWORD if plan.by_password else None,
        dss_settings=DSSContentSettings(
            include_vri=False,
            placement=SigDSSPlacementPreference.TOGETHER_WITH_SIGNATURE,
            next_ts_settings=None,
        ),
    )


async def _sign(signer: signers.PdfSigner, writer: IncrementalPdfFileWriter, at: datetime) -> bytes:
    """PyHanko's own `async_sign_pdf`, with the time handed in instead of read from the machine."""
    session = signer.init_signing_session(writer, existing_fields_only=True)
    session.system_time = at.replace(microsecond=0)
    info = await session.perform_presign_validation(writer)
    space = await session.estimate_signature_container_size(info)
    prepared = session.prepare_tbs_document(validation_info=info, bytes_reserved=space)
    digest, output = prepared.digest_tbs_document(in_place=False)
    done = await prepared.perform_signature(
        document_digest=digest.document_digest,
        pdf_cms_signed_attrs=PdfCMSSignedAttributes(
            signing_time=session.system_time, cades_signed_attrs=signer.signature_meta.cades_signed_attr_spec
        ),
    )
    await done.post_signature_processing(output)
    return _bytes(output)


def _bytes(output: Any) -> bytes:
    output.seek(0)
    return bytes(output.read())


def certificate_of(certificate: Any) -> x509.Certificate:
    """Return the asn1crypto form of a certificate."""
    return as_asn1(certificate)
