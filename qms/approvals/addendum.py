"""The addendum (Nachtrag) to a conditional approval: its record and its document, all from what was signed (T-13)."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Final

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _

from qms.approvals import blocks, sections_record
from qms.approvals.choices import ApprovalStatus, ApprovalType, Meaning
from qms.approvals.documents import REVIEW_FIELD, Frozen, meaning_text, parsed
from qms.approvals.models import Addendum, Approval, Condition, DecisionRecord
from qms.core import canonical, formats
from qms.core.clock import timestamp
from qms.gates import services as gates
from qms.roles.models import Person, User
from qms.roles.roles import Role
from qms.signing import decision as decisions
from qms.signing import selectors as signing
from qms.signing.decision import DecisionFacts, RequiredField
from qms.signing.request import DocumentKind, DocumentRequest, FieldRequest, person_field

MEANING: Final = Meaning.REVIEWED


def number_of(approval: Approval) -> str:
    """Return the number of the addendum: that of the approval with the mark of its first addendum."""
    return f"{approval.number}-N1"


def decided(approval: Approval) -> DecisionRecord:
    """Return the signed record of the approval."""
    return approval.decision_records.filter(sha256=approval.decision_sha256, decisions__isnull=False)[0]


def build(approval: Approval, *, actor: User, role: Role, reason: str, at: datetime) -> Frozen:
    """Return the record of the addendum: the decided one, without open conditions, bound to its digest."""
    before = parsed(decided(approval))
    same = (
        *("organisation", "content_sha256", "dossier_sha256", "workload", "scope", "votes", "thresholds"),
        *("results", "evidence", "rule_set", "rp_id", "origin", "demo"),
    )
    field = RequiredField(
        field=person_field(REVIEW_FIELD),
        role=role.value,
        meaning=meaning_text(MEANING),
        pids=(actor.person.pid,),
    )
    facts = DecisionFacts(
        **{name: before[name] for name in same},
        number=number_of(approval),
        version="1",
        kind=DocumentKind.ADDENDUM,
        decision=ApprovalStatus.APPROVED.value,
        valid_from=before["validity"]["from"],
        valid_until=before["validity"]["until"],
        conditions=_fulfilled(approval, before["conditions"]),
        required_fields=[field],
        created_at=timestamp(at),
        reason=reason,
        target_sha256=approval.decision_sha256,
    )
    raw = decisions.build(facts)
    return Frozen(raw.decode(), canonical.sha256_hex(raw))


def request(addendum: Addendum) -> DocumentRequest:
    """Return what the sealing job turns into the signed addendum; German, whatever language is active."""
    approval, frozen = addendum.approval, addendum.record
    field = FieldRequest(
        field=person_field(REVIEW_FIELD),
        role=addendum.role,
        role_label=gates.rule_set().role_name_de(Role(addendum.role)),
        meaning=meaning_text(addendum.meaning),
        act_record_id=addendum.act_id,
    )
    with translation.override("de"):
        body = _body(approval, frozen)
    return DocumentRequest(
        number=number_of(approval),
        version="1",
        kind=DocumentKind.ADDENDUM,
        subject_id=addendum.pk,
        decision_json=frozen.content.encode(),
        acts_json=signing.acts_json([addendum.act_id]),
        log_proof=b"",
        body=body,
        fields=[field],
        demo=settings.DEMO,
    )


def _fulfilled(approval: Approval, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    conditions = {
        item.position: item for item in approval.conditions.select_related("proven_by", "confirmed_by")
    }
    return [row | _fulfilment(conditions[row["position"]]) for row in rows]


def _fulfilment(item: Condition) -> dict[str, Any]:
    if item.proven_at is None or item.confirmed_at is None:
        raise ValueError(f"expected a fulfilled condition, got {item.status}")
    return {
        "status": item.status,
        "proof": item.proof,
        "evidence": {"id": str(item.evidence.pk), "sha256": item.evidence.facts_sha256}
        if item.evidence
        else None,
        "proven_by": _named(item.proven_by),
        "proven_at": timestamp(item.proven_at),
        "confirmed_by": _named(item.confirmed_by),
        "confirmed_at": timestamp(item.confirmed_at),
    }


def _named(person: Person | None) -> dict[str, str] | None:
    return {"pid": person.pid, "name": person.display_name} if person else None


def _body(approval: Approval, frozen: DecisionRecord) -> dict[str, Any]:
    content = parsed(frozen)
    kind = str(ApprovalType(approval.type).label)
    until = formats.day(datetime.fromisoformat(content["validity"]["until"]))
    platform = content["scope"]["platform"]
    emulated = bool(platform and platform["emulated"])
    sentence = _("%(kind)s bis %(until)s für ‚%(title)s‘: Alle %(count)d Auflagen sind erfüllt.")
    if len(content["conditions"]) == 1:
        sentence = _("%(kind)s bis %(until)s für ‚%(title)s‘: Die Auflage ist erfüllt.")
    values = {
        "kind": kind,
        "until": until,
        "title": content["workload"]["title"],
        "count": len(content["conditions"]),
    }
    wording = _(
        "Die Auflagen der bedingten Freigabe %(number)s sind erfüllt. Sie gilt damit ohne Auflagen weiter."
    )
    return {
        "title": _("Nachtrag: %(name)s") % {"name": kind},
        "language": "de",
        "header": [
            [_("Workload"), content["workload"]["title"]],
            [_("Nachtrag zu"), approval.number],
            [_("Freigabeart"), kind],
            [_("Gültigkeit"), _("unverändert bis %(day)s") % {"day": until}],
        ],
        "board_sentence": sentence % values,
        "figures": [],
        "not_checked": [],
        "notices": [_("Zielplattform emuliert – keine Aussage unter realen Bedingungen")] if emulated else [],
        "verdict": None,
        "sections": [
            blocks.section(
                "1",
                _("Nachtrag"),
                blocks.paragraph(wording % {"number": approval.number}),
                blocks.facts(
                    [
                        [_("Prüfsumme der ersten Entscheidung"), content["target_sha256"]],
                        [_("Begründung"), frozen.reason],
                        [_("Nachtrag gefasst am"), formats.moment(frozen.created_at)],
                    ]
                ),
            ),
            _conditions(content["conditions"]),
            {"number": "14", "title": "Unterschriften und Siegel", "blocks": [{"kind": "signatures"}]},
            sections_record.verification(approval, decided(approval)),
        ],
    }


def _conditions(rows: list[dict[str, Any]]) -> blocks.Section:
    cells = [
        [
            str(row["position"]),
            f"{row['title']} ({row['criterion']})",
            f"{row['text']} ({row['measure']})",
            formats.day(date.fromisoformat(row["due"])),
            row["proof"] + (f" (SHA-256 {row['evidence']['sha256']})" if row["evidence"] else ""),
            f"{row['proven_by']['name']}, {formats.moment(datetime.fromisoformat(row['proven_at']))}",
            f"{row['confirmed_by']['name']}, {formats.moment(datetime.fromisoformat(row['confirmed_at']))}",
        ]
        for row in rows
    ]
    head = [
        _("Nr."),
        _("Kriterium"),
        _("Auflage"),
        _("fällig am"),
        _("Nachweis"),
        _("nachgewiesen von"),
        _("bestätigt von"),
    ]
    table = blocks.table(_("Erfüllte Auflagen"), head, cells, [5, 15, 20, 10, 20, 15, 15])
    return blocks.section("11", _("Auflagen und Ausnahmen"), table)
