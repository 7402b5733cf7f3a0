"""Reading a signed PDF with pyHanko: signatures, their state and trust, attachments. Django-free, no network.

Each signature is judged at the time of its own signature timestamp, with the answers embedded in the file; the
document timestamp over everything protects them. A timestamp is judged at its own time.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from asn1crypto import cms, tsp
from cryptography import x509
from pyhanko.pdf_utils import generic
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.diff_analysis import ModificationLevel
from pyhanko.sign.fields import FieldMDPAction, MDPPerm, enumerate_sig_fields
from pyhanko.sign.validation import async_validate_pdf_signature, async_validate_pdf_timestamp
from pyhanko.sign.validation.dss import DocumentSecurityStore
from pyhanko.sign.validation.errors import NoDSSFoundError
from pyhanko.sign.validation.pdf_embedded import EmbeddedPdfSignature
from pyhanko.sign.validation.settings import KeyUsageConstraints
from pyhanko.sign.validation.status import SignatureCoverageLevel
from pyhanko_certvalidator import ValidationContext

from qms.signing.tsa import as_asn1
from qms.signing.verify_bytes import RawSignature, trimmed

_DOC_TIMESTAMP: Final = "/DocTimeStamp"
_USAGE: Final = KeyUsageConstraints(key_usage={"non_repudiation"})


@dataclass(frozen=True, slots=True)
class SignatureFacts:
    """What is known about one signature.

    intact: digest and signature value fit; unchanged: nothing forbidden came after it; trusted: path, revocation
    and signature timestamp lead to the anchor; covers: at least its whole revision; certifies: it allows form
    filling only (P=2); locks: it locks all fields and allows no change (P=1).
    """

    field: str
    is_timestamp: bool
    certificate: x509.Certificate
    signed_at: datetime
    revision: int
    intact: bool
    unchanged: bool
    trusted: bool
    timestamped: bool
    covers: bool
    certifies: bool
    locks: bool
    reason: str

    @property
    def signer(self) -> str:
        """The common name of the certificate."""
        found = self.certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        return str(found[0].value) if found else self.certificate.subject.rfc4514_string()


class SignedPdf:
    """A PDF read strictly; raises whatever the reader raises for a malformed file."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.reader = PdfFileReader(io.BytesIO(data), strict=True)
        self.embedded: list[EmbeddedPdfSignature] = list(self.reader.embedded_signatures)

    def raw_signatures(self) -> list[RawSignature]:
        """Return where the signatures lie, in file order."""
        found = []
        for item in self.embedded:
            numbers = tuple(int(number) for number in item.byte_range)
            if len(numbers) != 4:
                numbers = (0, 0, 0, 0)
            found.append(
                RawSignature(item.field_name, numbers, trimmed(item.pkcs7_content), _is_timestamp(item))
            )
        return found

    def fields(self) -> dict[str, bool]:
        """Return all signature fields and whether each is filled; a name that occurs twice raises ValueError."""
        found: dict[str, bool] = {}
        for name, value, _ in enumerate_sig_fields(self.reader):
            if name in found:
                raise ValueError(f"the field {name} occurs twice")
            found[name] = value is not None
        return found

    def attachments(self) -> dict[str, bytes]:
        """Return the embedded files; a name that occurs twice raises ValueError."""
        names = self.reader.root["/Names"]["/EmbeddedFiles"]["/Names"]
        found: dict[str, bytes] = {}
        for position in range(0, len(names), 2):
            specification = names[position + 1]
            name = str(specification["/UF"])
            if name in found or str(specification["/F"]) != name:
                raise ValueError(f"the attachment {name} occurs twice")
            found[name] = specification["/EF"]["/F"].data
        return found

    def embedded_certificates(self) -> frozenset[bytes]:
        """Return the certificates (DER) in the security store of the file."""
        dss = self._dss()
        return frozenset() if dss is None else frozenset(item.dump() for item in dss.load_certs())

    def first_revision(self) -> bytes:
        """Return the bytes before the opening seal was added: revision 0, as it was rendered."""
        end = self.reader.xrefs.get_startxref_for_revision(0)
        marker = self.data.index(b"%%EOF", end)
        return self.data[: marker + len(b"%%EOF\n")]

    async def facts(self, root: x509.Certificate | None) -> list[SignatureFacts]:
        """Validate every signature, with the difference analysis of everything that came after it."""
        roots = [] if root is None else [as_asn1(root)]
        dss = self._dss()
        return [await self._one(item, roots, dss) for item in self.embedded]

    def _dss(self) -> DocumentSecurityStore | None:
        try:
            return DocumentSecurityStore.read_dss(self.reader)
        except NoDSSFoundError:
            return None

    async def _one(
        self, item: EmbeddedPdfSignature, roots: list[Any], dss: DocumentSecurityStore | None
    ) -> SignatureFacts:
        stamped_at = _stamped_at(item)
        moment = stamped_at or item.self_reported_timestamp or datetime.fromtimestamp(0).astimezone()
        context = _context(roots, dss, moment)
        timestamped = True
        if _is_timestamp(item):
            status: Any = await async_validate_pdf_timestamp(item, context)
            level, allowed = item.diff_result, True
        else:
            status = await async_validate_pdf_signature(item, context, context, key_usage_settings=_USAGE)
            level, allowed = item.diff_result, bool(status.docmdp_ok) and status.seed_value_ok
            inner = status.timestamp_validity
            timestamped = inner is not None and inner.valid and inner.intact and inner.trusted
        other = getattr(level, "modification_level", ModificationLevel.OTHER) is ModificationLevel.OTHER
        return SignatureFacts(
            field=item.field_name,
            is_timestamp=_is_timestamp(item),
            certificate=x509.load_der_x509_certificate(item.signer_cert.dump()),
            signed_at=moment,
            revision=int(item.signed_revision),
            intact=bool(status.intact and status.valid),
            unchanged=allowed and not other,
            trusted=bool(status.trusted),
            timestamped=timestamped,
            covers=status.coverage >= SignatureCoverageLevel.ENTIRE_REVISION,
            certifies=_certifies(self.reader, item),
            locks=_locks(item),
            reason=str(item.sig_object.get("/Reason", "")),
        )


def _is_timestamp(item: EmbeddedPdfSignature) -> bool:
    return bool(item.sig_object_type == _DOC_TIMESTAMP)


def _stamped_at(item: EmbeddedPdfSignature) -> datetime | None:
    """Return the time of the document timestamp itself, or of the signature timestamp inside a signature."""
    if _is_timestamp(item):
        content = item.signed_data["encap_content_info"]["content"].parsed
    else:
        values = {attr["type"].native: attr["values"] for attr in item.signer_info["unsigned_attrs"] or []}
        token = values.get("signature_time_stamp_token")
        if token is None:
            return None
        content = token[0]["content"]["encap_content_info"]["content"].parsed
    moment = tsp.TSTInfo.load(content.dump())["gen_time"].native
    return moment if isinstance(moment, datetime) else None


def _context(roots: list[Any], dss: DocumentSecurityStore | None, moment: datetime) -> ValidationContext:
    settings: dict[str, Any] = {
        "trust_roots": roots,
        "moment": moment,
        "revocation_mode": "require",
        "allow_fetching": False,
    }
    return ValidationContext(**settings) if dss is None else dss.as_validation_context(settings)


def _certifies(reader: PdfFileReader, item: EmbeddedPdfSignature) -> bool:
    """The catalog names this signature as certification, and it allows form filling and signing only."""
    try:
        permissions = reader.root["/Perms"].raw_get("/DocMDP")
    except KeyError:
        return False
    own = item.sig_field.raw_get("/V")
    same = isinstance(own, generic.IndirectObject) and permissions == own
    return same and item.docmdp_level is MDPPerm.FILL_FORMS


def _locks(item: EmbeddedPdfSignature) -> bool:
    lock = item.fieldmdp
    return lock is not None and lock.action is FieldMDPAction.ALL and item.docmdp_level is MDPPerm.NO_CHANGES


def signed_data(der: bytes) -> cms.SignedData:
    """Return the CMS content of a signature."""
    return cms.ContentInfo.load(der)["content"]
