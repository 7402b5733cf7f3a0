"""A complete sample: hierarchy, decision, acts, and the chain of revisions of one signed document."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

from qms.core import canonical, clock
from qms.signing import ca, decision, render, view
from qms.signing.acts import Act, Authenticator, DigestName, Method, Record
from qms.signing.ca import Credential, Purpose
from qms.signing.request import DocumentKind, FieldRequest, person_field
from qms.signing.sealer import Sealer, Signatory
from qms.signing.software import SoftwareAuthenticator

ORGANISATION = "Beispielwerk AG (fiktiv)"
RP_ID, ORIGIN = "localhost", "http://localhost:8000"
AT = datetime(2026, 3, 17, 9, 30, 0, tzinfo=UTC)
NUMBER, VERSION = "FRG-2026-0007-v1", "1"
SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
CHECKPOINT = "localhost/protokoll, 128 Ereignisse, Wurzel q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k="

BODY: dict[str, Any] = {
    "title": "Vorfreigabe",
    "language": "de",
    "header": [
        ["Dokumentnummer", NUMBER],
        ["Freigabeart", "Vorfreigabe"],
        ["Entscheidung", "Freigegeben"],
        ["Gültig", "01.12.2026 bis 30.11.2027"],
        ["Klassifizierung", "K1 · TLP:GREEN"],
        ["Regelwerk", "kompakt, Version 0.1.0 · geprüft: 31 von 48 Kriterien"],
    ],
    "board_sentence": "Der KI-Workload „Dokumentensortierung“ wird bis 30.11.2027 für den Betrieb auf der "
    "Wafer-Scale-Plattform vorfreigegeben.",
    "figures": [
        {
            "label": "Durchsatz",
            "value": "4 210 Proben/s",
            "axes": "EMULIERT · eingereicht · eigen",
            "note": "Modellfehler 3 870 bis 4 550; Schwelle 3 500",
        },
        {
            "label": "Latenz p95",
            "value": "11,4 ms",
            "axes": "EMULIERT · eingereicht · eigen",
            "note": "Schwelle 15 ms",
        },
        {
            "label": "Fehlerquote der Baseline",
            "value": "0,02 %",
            "axes": "GEMESSEN · gegengeprüft · eigen",
            "note": "n = 1 000",
        },
    ],
    "not_checked": [
        "Energieverbrauch: keine Messung der Zielplattform",
        "Gesamtkosten über fünf Jahre: Angebot des Anbieters liegt nicht vor",
    ],
    "notices": [
        "Die Zielwerte stammen aus einem Hardwaremodell, nicht aus der Software des Herstellers. (EM-08)"
    ],
    "sections": [
        {
            "number": "1",
            "title": "Entscheidung",
            "blocks": [
                {"kind": "paragraph", "text": "Alle nicht ausnahmefähigen Kriterien sind erfüllt (§ 10)."},
                {"kind": "note", "text": "Vergleichsbasis: Entwicklungsrechner (EM-12)."},
            ],
        },
        {
            "number": "5",
            "title": "Qualitätsniveau",
            "blocks": [
                {
                    "kind": "table",
                    "caption": "Qualitätsziele, Schwellen und Werte",
                    "head": ["Ziel", "Maß", "Schwelle", "Baseline", "Zielwert", "Herkunft", "Ergebnis"],
                    "rows": [
                        ["QZ-1", "Durchsatz in Proben/s", "3 500", "1 120", "4 210", "EMULIERT", "erfüllt"],
                        ["QZ-2", "Latenz p95 in ms", "15,0", "22,8", "11,4", "EMULIERT", "erfüllt"],
                    ],
                    "numeric": [2, 3, 4],
                },
                {"kind": "list", "items": ["keine Auflagen", "keine Ausnahmen"]},
            ],
        },
        {"number": "14", "title": "Unterschriften", "blocks": [{"kind": "signatures"}]},
        {
            "number": "17",
            "title": "Prüfanleitung",
            "blocks": [
                {
                    "kind": "qr",
                    "text": f"{ORIGIN}/v/{NUMBER}?h={SHA}",
                    "caption": "Aktuellen Status abfragen",
                    "alt": "QR-Code mit der Adresse der Statusabfrage",
                },
                {
                    "kind": "facts",
                    "rows": [["Befehl", "python -m qms.signing.verify DATEI --root wurzel.pem"]],
                },
            ],
        },
    ],
}


@dataclass
class Person:
    """A signer of the sample with a software authenticator."""

    pid: str
    name: str
    role: str
    role_label: str
    meaning: str
    method: Method = Method.PASSKEY
    device: SoftwareAuthenticator = field(default_factory=lambda: SoftwareAuthenticator(RP_ID))


def people(count: int) -> list[Person]:
    """Return one person of quality management and `count - 1` approvers."""
    first = Person("a0" * 16, "Prüferin 1", "PR", "Prüfer(in)", "geprüft")
    rest = [
        Person(f"b{number % 10}" * 16, f"Freigeber {number}", "FG", "Freigeber(in)", "freigegeben")
        for number in range(1, count)
    ]
    return [first, *rest]


def hierarchy(demo: bool = True) -> dict[Purpose, Credential]:
    """Return one set of keys for the whole run; making RSA keys takes a second."""
    return _hierarchy(demo)


@cache
def _hierarchy(demo: bool) -> dict[Purpose, Credential]:
    return ca.create_hierarchy(organisation=ORGANISATION, base_url=ORIGIN, demo=demo, at=AT)


def decision_bytes(signers: list[Person], *, demo: bool = True, **changes: Any) -> bytes:
    """Return `entscheidung.json` of the sample."""
    required = [
        decision.RequiredField(
            field=person_field(number), role=who.role, meaning=who.meaning, pids=(who.pid,)
        )
        for number, who in enumerate(signers, start=1)
    ]
    facts: dict[str, Any] = {
        "number": NUMBER,
        "version": VERSION,
        "kind": DocumentKind.APPROVAL,
        "decision": "FREIGEGEBEN",
        "organisation": ORGANISATION,
        "content_sha256": SHA,
        "dossier_sha256": "ab" * 32,
        "workload": {"id": "WL-0012"},
        "scope": {},
        "valid_from": "2026-12-01",
        "valid_until": "2027-11-30",
        "conditions": [],
        "votes": [],
        "thresholds": [],
        "results": [],
        "evidence": [],
        "rule_set": {"name": "kompakt", "version": "0.1.0"},
        "rp_id": RP_ID,
        "origin": ORIGIN,
        "required_fields": required,
        "created_at": clock.timestamp(AT),
        "demo": demo,
    }
    return decision.build(decision.DecisionFacts(**{**facts, **changes}))


def act_of(who: Person, number: int, made: decision.Decision, **changes: Any) -> Act:
    """Return the statement of one signer: the first over the dossier, the others over the decision."""
    name = DigestName.DOSSIER if number == 1 else DigestName.DECISION
    fields: dict[str, Any] = {
        "act": "BESTAETIGUNG_ABGEGEBEN",
        "document": made.number,
        "version": made.version,
        "field": person_field(number),
        "pid": who.pid,
        "acting_role": who.role,
        "delegated_for": "",
        "meaning": who.meaning,
        "value": "FREIGEGEBEN",
        "digest_name": name,
        "digest": made.dossier_sha256 if number == 1 else made.sha256,
        "method": who.method,
        "rp_id": RP_ID,
        "origin": ORIGIN,
        "issued_at": clock.timestamp(AT),
        "random": f"{number:064x}",
    }
    return Act(**{**fields, **changes})


def record_of(who: Person, act: Act) -> Record:
    """Return the stored record of an act, signed by the person's device or by password and code."""
    by_key = act.method is Method.PASSKEY
    return Record(
        act=act,
        assertion=who.device.sign(act) if by_key else None,
        authenticator=Authenticator.SOFTWARE if by_key else Authenticator.NONE,
        checked_at=clock.timestamp(AT),
        enrolment="ff" * 32 if by_key else "",
    )


@dataclass
class Chain:
    """All revisions of one document, and everything they were made from."""

    signers: list[Person]
    decision: decision.Decision
    records: list[Record]
    sealer: Sealer
    revisions: list[bytes]
    root: Any
    root_pem: bytes

    @property
    def final(self) -> bytes:
        """The closed and timestamped file."""
        return self.revisions[-1]


def page_input(
    signers: list[Person], made: decision.Decision, *, demo: bool = True, body: Any = None
) -> view.PageInput:
    """Return what stands on the pages of the sample."""
    fields = tuple(
        FieldRequest(
            field=person_field(number),
            role=who.role,
            role_label=who.role_label,
            meaning=who.meaning,
            act_record_id=uuid.UUID(int=number),
        )
        for number, who in enumerate(signers, start=1)
    )
    return view.PageInput(
        number=NUMBER,
        version=VERSION,
        organisation=ORGANISATION,
        body=body or BODY,
        fields=fields,
        dossier_sha256=made.dossier_sha256,
        decision_sha256=made.sha256,
        root_sha256=ca.sha256_of(hierarchy(demo)[Purpose.ROOT].certificate),
        log_key="localhost/protokoll+1b2c3d4e+AWlvY2FsaG9zdHByb3Rva29sbGtleQ==",
        methods=tuple(who.method for who in signers),
        software=demo,
        demo=demo,
    )


def document_input(
    signers: list[Person], raw: bytes, records: list[Record], *, demo: bool = True
) -> render.DocumentInput:
    """Return the input of revision 0."""
    acts_json = canonical.dumps([record.to_json() for record in records])
    page = page_input(signers, decision.parse(raw), demo=demo)
    return render.DocumentInput(page, raw, acts_json, b"c2sp.org/tlog-proof@v1\n", AT)


def signatory(who: Person, number: int, record: Record) -> Signatory:
    """Return the signer of one field as the job sees it."""
    return Signatory(
        field=person_field(number),
        name=who.name,
        role_label=who.role_label,
        meaning=who.meaning,
        record=record,
        record_id=str(uuid.UUID(int=number)),
    )


def sealer_of(credentials: dict[Purpose, Credential], **options: Any) -> Sealer:
    """Return a sealer at the fixed time of the sample."""
    settings: dict[str, Any] = {"clock": lambda: AT, **options}
    return Sealer(credentials, organisation=ORGANISATION, base_url=ORIGIN, zone="Europe/Berlin", **settings)


def make_chain(
    count: int = 2, *, signers: list[Person] | None = None, demo: bool = True, raw: bytes | None = None
) -> Chain:
    """Render, seal, sign every field, close and timestamp."""
    who = signers or people(count)
    raw = raw or decision_bytes(who, demo=demo)
    made = decision.parse(raw)
    records = [record_of(item, act_of(item, number, made)) for number, item in enumerate(who, start=1)]
    credentials = hierarchy(demo)
    sealer = sealer_of(credentials)
    revisions = [render.render_document(document_input(who, raw, records, demo=demo))]
    revisions.append(sealer.opening_seal(revisions[-1]).pdf)
    for number, (item, record) in enumerate(zip(who, records, strict=True), start=1):
        revisions.append(sealer.person_field(revisions[-1], signatory(item, number, record), made).pdf)
    revisions.append(sealer.closing_seal(revisions[-1], checkpoint=CHECKPOINT).pdf)
    revisions.append(sealer.timestamp(revisions[-1], number=1))
    root = credentials[Purpose.ROOT].certificate
    return Chain(who, made, records, sealer, revisions, root, ca.pem(root))
