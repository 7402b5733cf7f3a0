"""The built-in certificate authority: one table of profiles, one function that issues. Django-free (signing.md 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID, NameOID

from qms.signing.errors import KeyUsedTwice
from qms.signing.keys import PrivateKey

# Private extension: SHA-256 of the act record on which a one-time certificate rests (UUID arc of X.667).
ACT_RECORD_OID: Final = x509.ObjectIdentifier("2.25.173214603271871640953061853296240175213")
DOCUMENT_SIGNING: Final = x509.ObjectIdentifier("1.3.6.1.5.5.7.3.36")  # RFC 9336
DEMO_MARK: Final = "DEMO"
CLOCK_SKEW: Final = timedelta(minutes=1)
_MAX_NAME: Final = 64  # X.520, upper bound of common and organisation names


class Purpose(StrEnum):
    """What a key is for; stored with the key and bound to its envelope."""

    ROOT = "root"
    ISSUING = "issuing"
    SEAL_OPENING = "seal-opening"
    SEAL_CLOSING = "seal-closing"
    TSA = "tsa"
    OCSP = "ocsp"
    ONE_TIME = "one-time"
    DSSE = "dsse"


class KeyKind(StrEnum):
    """Key algorithms; RSA signs with PKCS#1 v1.5 (signing.md 7)."""

    RSA_3072 = "RSA-3072"
    P256 = "P-256"
    P384 = "P-384"


@dataclass(frozen=True, slots=True)
class Profile:
    """One column of the table in signing.md 5; years: life, cut to the life of the issuer."""

    name: str
    key: KeyKind
    years: int
    path_length: int | None = None
    non_repudiation: bool = False
    extended: tuple[x509.ObjectIdentifier, ...] = ()
    extended_critical: bool = False
    answers_ocsp: bool = False


# pdfsig (NSS) trusts a signer only with emailProtection; the standard one is document signing.
_SIGNER_USAGE: Final = (DOCUMENT_SIGNING, ExtendedKeyUsageOID.EMAIL_PROTECTION)
# Both authorities outlive the retention of the documents (10 years).
PROFILES: Final[Mapping[Purpose, Profile]] = {
    Purpose.ROOT: Profile("Wurzelzertifikat", KeyKind.RSA_3072, 30, path_length=1),
    Purpose.ISSUING: Profile("Zertifizierungsstelle", KeyKind.RSA_3072, 20, path_length=0),
    Purpose.SEAL_OPENING: Profile(
        "Eingangssiegel", KeyKind.RSA_3072, 3, non_repudiation=True, extended=_SIGNER_USAGE
    ),
    Purpose.SEAL_CLOSING: Profile(
        "Abschlusssiegel", KeyKind.P384, 3, non_repudiation=True, extended=_SIGNER_USAGE
    ),
    Purpose.TSA: Profile(
        "Zeitstempeldienst",
        KeyKind.RSA_3072,
        5,
        extended=(ExtendedKeyUsageOID.TIME_STAMPING,),
        extended_critical=True,
    ),
    Purpose.OCSP: Profile(
        "OCSP", KeyKind.RSA_3072, 3, extended=(ExtendedKeyUsageOID.OCSP_SIGNING,), answers_ocsp=True
    ),
    Purpose.ONE_TIME: Profile("", KeyKind.P256, 20, non_repudiation=True, extended=_SIGNER_USAGE),
}
HIERARCHY: Final = (
    Purpose.ROOT, Purpose.ISSUING, Purpose.SEAL_OPENING, Purpose.SEAL_CLOSING, Purpose.TSA, Purpose.OCSP
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Credential:
    """A certificate with its private key; the key never appears in a representation."""

    certificate: x509.Certificate
    key: PrivateKey

    def __repr__(self) -> str:
        """Name the certificate only."""
        return f"Credential({self.certificate.subject.rfc4514_string()})"


@dataclass(frozen=True, slots=True)
class Subject:
    """Who a certificate names; serial_number: the pid of a person, else empty."""

    common_name: str
    organisation: str
    serial_number: str = ""
    demo: bool = False

    def to_name(self) -> x509.Name:
        """Return the distinguished name; a demo certificate says so in its organisational unit."""
        parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, self.organisation[:_MAX_NAME])]
        if self.demo:
            parts.append(x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, DEMO_MARK))
        parts.append(x509.NameAttribute(NameOID.COMMON_NAME, self.common_name[:_MAX_NAME]))
        if self.serial_number:
            parts.append(x509.NameAttribute(NameOID.SERIAL_NUMBER, self.serial_number))
        return x509.Name(parts)


class OneTimeKey:
    """A P-256 key in memory that signs once."""

    def __init__(self) -> None:
        self._key: ec.EllipticCurvePrivateKey | None = ec.generate_private_key(ec.SECP256R1())
        self.public_key = self._key.public_key()

    def sign(self, data: bytes) -> bytes:
        """Return the DER signature (SHA-256) and forget the key; raises KeyUsedTwice the second time."""
        if self._key is None:
            raise KeyUsedTwice("a one-time key signs once; expected a fresh key")
        key, self._key = self._key, None
        return key.sign(data, ec.ECDSA(hashes.SHA256()))


def make_key(kind: KeyKind) -> PrivateKey:
    """Return a new private key of the given kind."""
    match kind:
        case KeyKind.RSA_3072:
            return rsa.generate_private_key(public_exponent=65537, key_size=3072)
        case KeyKind.P256:
            return ec.generate_private_key(ec.SECP256R1())
        case KeyKind.P384:
            return ec.generate_private_key(ec.SECP384R1())


def create_hierarchy(
    *, organisation: str, base_url: str, demo: bool, at: datetime
) -> dict[Purpose, Credential]:
    """Make root, issuing CA, both seals, TSA and OCSP responder; `base_url` stands in the URLs of certificates."""
    made: dict[Purpose, Credential] = {}
    for purpose in HIERARCHY:
        profile = PROFILES[purpose]
        key = make_key(profile.key)
        title = f"{DEMO_MARK} {profile.name}" if demo else profile.name
        subject = Subject(f"{title} {organisation}", organisation, demo=demo)
        issuer = made.get(Purpose.ROOT if purpose is Purpose.ISSUING else Purpose.ISSUING)
        certificate = issue(
            purpose, subject, key.public_key(), issuer=issuer or key, base_url=base_url, at=at
        )
        made[purpose] = Credential(certificate, key)
    return made


def issue_one_time(
    *,
    name: str,
    pid: str,
    organisation: str,
    record_sha256: str,
    issuing: Credential,
    base_url: str,
    at: datetime,
) -> tuple[x509.Certificate, OneTimeKey]:
    """Issue the certificate of one field on the strength of one act record; the key exists in memory only."""
    key = OneTimeKey()
    subject = Subject(name, organisation, serial_number=pid, demo=is_demo(issuing.certificate))
    proof = x509.UnrecognizedExtension(ACT_RECORD_OID, bytes([4, 32]) + bytes.fromhex(record_sha256))
    certificate = issue(
        Purpose.ONE_TIME, subject, key.public_key, issuer=issuing, base_url=base_url, at=at, extra=(proof,)
    )
    return certificate, key


def issue(
    purpose: Purpose,
    subject: Subject,
    public_key: rsa.RSAPublicKey | ec.EllipticCurvePublicKey,
    *,
    issuer: Credential | PrivateKey,
    base_url: str,
    at: datetime,
    extra: tuple[x509.ExtensionType, ...] = (),
) -> x509.Certificate:
    """Issue one certificate by the table; a bare key as issuer makes a self-signed root."""
    profile = PROFILES[purpose]
    above = issuer.certificate if isinstance(issuer, Credential) else None
    signing_key = issuer.key if isinstance(issuer, Credential) else issuer
    end = _years_later(at, profile.years)
    name = subject.to_name()
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(above.subject if above else name)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(at - CLOCK_SKEW)
        .not_valid_after(min(end, above.not_valid_after_utc) if above else end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )
    for extension, critical in _extensions(purpose, profile, above, signing_key, base_url):
        builder = builder.add_extension(extension, critical=critical)
    for extension in extra:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(signing_key, hash_for(signing_key))


def hash_for(key: PrivateKey) -> hashes.SHA256 | hashes.SHA384:
    """Return the digest that fits a key: SHA-384 for P-384, else SHA-256."""
    return (
        hashes.SHA384()
        if isinstance(key, ec.EllipticCurvePrivateKey) and key.key_size == 384
        else hashes.SHA256()
    )


def is_demo(certificate: x509.Certificate) -> bool:
    """Return whether the certificate carries the demo mark."""
    units = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATIONAL_UNIT_NAME)
    return any(unit.value == DEMO_MARK for unit in units)


def pid_of(certificate: x509.Certificate) -> str:
    """Return the pid in the subject, or an empty text for a certificate of the organisation."""
    found = certificate.subject.get_attributes_for_oid(NameOID.SERIAL_NUMBER)
    return str(found[0].value) if len(found) == 1 else ""


def record_of(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of the act record the certificate rests on, or an empty text."""
    try:
        value = certificate.extensions.get_extension_for_oid(ACT_RECORD_OID).value
    except x509.ExtensionNotFound:
        return ""
    raw = value.value if isinstance(value, x509.UnrecognizedExtension) else b""
    return raw[2:].hex() if raw[:2] == bytes([4, 32]) and len(raw) == 34 else ""


def sha256_of(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of the certificate in hexadecimal, as printed on the document."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def pem(certificate: x509.Certificate) -> bytes:
    """Return the PEM text of a certificate."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def _extensions(
    purpose: Purpose, profile: Profile, above: x509.Certificate | None, signing_key: PrivateKey, base_url: str
) -> list[tuple[x509.ExtensionType, bool]]:
    is_ca = profile.path_length is not None
    found: list[tuple[x509.ExtensionType, bool]] = [
        (x509.BasicConstraints(ca=is_ca, path_length=profile.path_length), True),
        (_key_usage(profile), True),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), False),
    ]
    if profile.extended:
        found.append((x509.ExtendedKeyUsage(profile.extended), profile.extended_critical))
    if profile.answers_ocsp:
        found.append((x509.OCSPNoCheck(), False))
    if above is not None:
        authority = "wurzel" if purpose is Purpose.ISSUING else "aussteller"
        found.append((_crl_url(f"{base_url}/pki/{authority}.crl"), False))
        if not is_ca:
            # Answers given in memory are consulted only when the certificate names a responder.
            found.append((_ocsp_url(f"{base_url}/pki/ocsp"), False))
    return found


def _key_usage(profile: Profile) -> x509.KeyUsage:
    is_ca = profile.path_length is not None
    return x509.KeyUsage(
        digital_signature=not is_ca,
        content_commitment=profile.non_repudiation,
        key_cert_sign=is_ca,
        crl_sign=is_ca,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _crl_url(url: str) -> x509.CRLDistributionPoints:
    point = x509.DistributionPoint([x509.UniformResourceIdentifier(url)], None, None, None)
    return x509.CRLDistributionPoints([point])


def _ocsp_url(url: str) -> x509.AuthorityInformationAccess:
    location = x509.UniformResourceIdentifier(url)
    return x509.AuthorityInformationAccess(
        [x509.AccessDescription(AuthorityInformationAccessOID.OCSP, location)]
    )


def _years_later(at: datetime, years: int) -> datetime:
    return at + timedelta(days=365 * years + years // 4)
