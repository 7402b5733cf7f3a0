"""The steps of sealing one document, each from bytes to bytes; keys and certificates come in from outside.

A person's field is signed only on the strength of a record that is checked again here (signing.md 5, 8 rule 9).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography import x509

from qms.signing import acts, ca, render, revocation, seal, view
from qms.signing.ca import Credential, Purpose
from qms.signing.decision import Decision
from qms.signing.errors import FieldRefused
from qms.signing.request import CLOSING_FIELD, OPENING_FIELD
from qms.signing.tsa import InternalTimeStamper


@dataclass(frozen=True, slots=True, kw_only=True)
class Signatory:
    """The person behind one field: printed name, label of the role, and the record it rests on."""

    field: str
    name: str
    role_label: str
    meaning: str
    record: acts.Record
    record_id: str


@dataclass(frozen=True, slots=True)
class SignedField:
    """A new revision and the certificate it was signed with (None: the rendering)."""

    pdf: bytes
    certificate: x509.Certificate | None


class Sealer:
    """Signs with one set of keys.

    clock: time of each step; zone: for the printed local time; revoked_at: when a certificate was revoked, or None.
    """

    def __init__(
        self,
        credentials: dict[Purpose, Credential],
        *,
        organisation: str,
        base_url: str,
        zone: str,
        clock: Callable[[], datetime],
        revoked_at: Callable[[x509.Certificate], datetime | None] = lambda _: None,
    ) -> None:
        self._credentials, self._organisation = credentials, organisation
        self._base_url, self._zone, self._clock = base_url, zone, clock
        self._revoked_at = revoked_at
        self._demo = ca.is_demo(credentials[Purpose.ROOT].certificate)
        self._timestamper = InternalTimeStamper(
            credentials[Purpose.TSA], credentials[Purpose.ISSUING].certificate, clock
        )

    def opening_seal(self, base: bytes) -> SignedField:
        """Certify revision 0."""
        return self._seal(base, OPENING_FIELD, Purpose.SEAL_OPENING, checkpoint="")

    def closing_seal(self, base: bytes, *, checkpoint: str) -> SignedField:
        """Set the last seal, which locks the document and names the state of the log."""
        return self._seal(base, CLOSING_FIELD, Purpose.SEAL_CLOSING, checkpoint=checkpoint)

    def person_field(self, base: bytes, who: Signatory, decision: Decision) -> SignedField:
        """Check the record again, issue the one-time certificate and sign the field.

        Raises ActInvalid for a record that does not hold, FieldRefused for a field that is not this person's.
        """
        check_signatory(who, decision, software_allowed=self._demo)
        at, act = self._clock(), who.record.act
        certificate, key = ca.issue_one_time(
            name=who.name,
            pid=act.pid,
            organisation=self._organisation,
            record_sha256=who.record.sha256,
            issuing=self._credentials[Purpose.ISSUING],
            base_url=self._base_url,
            at=at,
        )
        confirmed_at = datetime.fromisoformat(act.issued_at)
        appearance = view.person_appearance(
            name=who.name,
            delegated=bool(act.delegated_for),
            role=who.role_label,
            meaning=who.meaning,
            confirmed_at=confirmed_at,
            zone=self._zone,
            method=act.method,
            authenticator=who.record.authenticator,
            certificate_sha256=ca.sha256_of(certificate),
            record_id=who.record_id,
            digest=act.digest,
            demo=self._demo,
        )
        plan = seal.FieldPlan(
            field=who.field,
            certificate=certificate,
            key=key,
            appearance=render.render_appearance(appearance),
            reason=f"{who.meaning} · {who.role_label}",
            location="",
            confirmed_at=confirmed_at,
            by_password=act.method is acts.Method.PASSWORD_TOTP,
        )
        return SignedField(self._sign(base, plan, at), certificate)

    def timestamp(self, base: bytes, *, number: int) -> bytes:
        """Add the document timestamp with the given number (1 is the one after the closing seal)."""
        at = self._clock()
        trust = self._trust(self._credentials[Purpose.TSA].certificate, at)
        return seal.add_timestamp(base, trust=trust, timestamper=self._timestamper, at=at, number=number)

    def _seal(self, base: bytes, field: str, purpose: Purpose, *, checkpoint: str) -> SignedField:
        at, credential = self._clock(), self._credentials[purpose]
        appearance = view.seal_appearance(
            field=field,
            organisation=self._organisation,
            sealed_at=at,
            zone=self._zone,
            certificate_sha256=ca.sha256_of(credential.certificate),
            checkpoint=checkpoint,
            demo=self._demo,
        )
        reason = appearance.heading + (f". Protokollstand: {checkpoint}" if checkpoint else "")
        plan = seal.FieldPlan(
            field=field,
            certificate=credential.certificate,
            key=credential,
            appearance=render.render_appearance(appearance),
            reason=reason,
            location="",
        )
        return SignedField(self._sign(base, plan, at), credential.certificate)

    def _sign(self, base: bytes, plan: seal.FieldPlan, at: datetime) -> bytes:
        trust = self._trust(plan.certificate, at)
        return seal.sign_field(base, plan, trust=trust, timestamper=self._timestamper, at=at)

    def _trust(self, certificate: Any, at: datetime) -> seal.Trust:
        root, issuing = self._credentials[Purpose.ROOT], self._credentials[Purpose.ISSUING].certificate
        tsa, responder = self._credentials[Purpose.TSA].certificate, self._credentials[Purpose.OCSP]
        answers = {
            ca.sha256_of(item): revocation.ocsp_answer(
                item, issuer=issuing, responder=responder, at=at, revoked_at=self._revoked_at(item)
            )
            for item in (certificate, tsa)
        }
        root_crl = revocation.crl(root, number=int(at.timestamp()), at=at)
        return seal.Trust(
            root.certificate, (issuing, tsa, responder.certificate), (root_crl,), tuple(answers.values())
        )


def check_signatory(who: Signatory, decision: Decision, *, software_allowed: bool) -> None:
    """Refuse a field without a valid act for it; raises FieldRefused and ActInvalid."""
    required = {field.field: field for field in decision.required_fields}.get(who.field)
    act = who.record.act
    if required is None or act.field != who.field or act.pid not in required.pids:
        raise FieldRefused(f"{who.field}: the record belongs to another field or person")
    if (act.document, act.version) != (decision.number, decision.version):
        raise FieldRefused(f"{who.field}: the record belongs to another document")
    if (act.acting_role, act.meaning) != (required.role, required.meaning) or who.meaning != required.meaning:
        raise FieldRefused(f"{who.field}: role or meaning differ from the decision record")
    acts.verify_record(who.record, decision.expectation(software_allowed=software_allowed))
