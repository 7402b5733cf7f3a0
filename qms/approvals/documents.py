"""From a request to `entscheidung.json` and to the document that is sealed: everything frozen at the decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import QuerySet
from django.utils import translation

from qms.approvals import body, conditions, selectors
from qms.approvals.choices import Decision, Meaning
from qms.approvals.conditions import ConditionWording
from qms.approvals.dossier import BuiltDossier
from qms.approvals.models import Addendum, Approval, ApprovalDecision, DecisionRecord
from qms.audit import verify
from qms.core import canonical, store
from qms.core.clock import timestamp
from qms.evidence import selectors as evidence
from qms.gates import services as gates
from qms.gates.case_facts import (
    CaseFacts,
    DocumentFacts,
    IntegrityFacts,
    SignerFacts,
    ValidityFacts,
    VoteFacts,
)
from qms.gates.choices import ApprovalType, VoteValue
from qms.gates.facts import Facts
from qms.roles.models import Person, User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.signing import decision as decisions
from qms.signing import frozen as frozen_request
from qms.signing import selectors as signing
from qms.signing.decision import DecisionFacts, RequiredField
from qms.signing.request import DocumentKind, DocumentRequest, FieldRequest, person_field
from qms.workloads import selectors as workloads
from qms.workloads.models import Workload

REVIEW_FIELD = 1
KINDS = {
    Decision.APPROVE: DocumentKind.APPROVAL,
    Decision.APPROVE_WITH_CONDITIONS: DocumentKind.CONDITIONAL_APPROVAL,
    Decision.REJECT: DocumentKind.REJECTION,
}


@dataclass(frozen=True)
class Wording:
    """What the approver chose: decision, reason, meaning; the alternative of a rejection, the conditions."""

    decision: Decision
    reason: str
    meaning: Meaning
    alternative: str = ""
    conditions: tuple[ConditionWording, ...] = ()

    @property
    def given(self) -> tuple[ConditionWording, ...]:
        """The conditions that count: no other decision has any."""
        return self.conditions if self.decision is Decision.APPROVE_WITH_CONDITIONS else ()


@dataclass(frozen=True)
class Frozen:
    """The canonical text of `entscheidung.json` and its SHA-256."""

    text: str
    sha256: str


def validity(approval_type: ApprovalType, at: datetime) -> tuple[datetime, datetime]:
    """Return from when and until when an approval decided at `at` is valid: the end of the last day (POL-20)."""
    zone = ZoneInfo(settings.TIME_ZONE)
    last = (at.astimezone(zone) + gates.policy().span("POL-20", approval_type.value)).date()
    return at, _end_of_day(last, zone)


def decision_json(
    approval: Approval, built: BuiltDossier, wording: Wording, *, actor: User, at: datetime
) -> Frozen:
    """Build `entscheidung.json` for this wording, in canonical form."""
    approval_type = ApprovalType(approval.type)
    start, end = validity(approval_type, at)
    approved = wording.decision is not Decision.REJECT
    report = built.report
    workload = approval.workload
    metrics = _metrics(built)
    facts = DecisionFacts(
        number=approval.number,
        version="1",
        kind=KINDS[wording.decision],
        decision=wording.decision.value,
        organisation=settings.ORGANISATION_NAME or settings.PUBLIC.host,
        content_sha256=workload.content_sha256,
        dossier_sha256=approval.dossier_sha256,
        workload=_workload(workload, approval),
        scope=_scope(workload, built),
        valid_from=timestamp(start) if approved else None,
        valid_until=timestamp(end) if approved else None,
        conditions=conditions.to_record(wording.given, report),
        votes=_votes(approval),
        thresholds=workloads.criteria(workload)["quality_targets"],
        results=metrics,
        evidence=[
            {"id": item["id"], "sha256": item["facts_sha256"], **item} for item in built.content["evidence"]
        ],
        rule_set={
            "name": report.rule_set.split(" ")[0],
            "version": report.rule_set.split(" ")[1],
            "digest": report.rule_set_digest,
            "checked": report.checked,
            "total": report.total,
        },
        rp_id=settings.PUBLIC.host,
        origin=settings.PUBLIC.origin,
        required_fields=_required_fields(approval, wording, actor),
        created_at=timestamp(at),
        demo=settings.DEMO,
        reason=wording.reason,
    )
    raw = decisions.build(facts)
    return Frozen(raw.decode(), canonical.sha256_hex(raw))


def decision_facts(
    approval: Approval,
    built: BuiltDossier,
    *,
    actor: User,
    at: datetime,
    signer: SignerFacts | None = None,
    frozen: DecisionRecord | None = None,
    given: Sequence[ConditionWording] = (),
) -> Facts:
    """Return the facts of the dossier with what only the decision knows: votes, persons, integrity, act (G7).

    frozen: the record that is signed; its dates (G7-6) and conditions are judged, not those of a decision at `at`;
    given: the conditions where nothing is frozen yet.
    """
    items = evidence.counting(approval.workload)
    start, end = validity_of(frozen) if frozen else validity(ApprovalType(approval.type), at)
    deciders = [*approval.decisions.values_list("person_id", flat=True)]
    if actor.person_id not in deciders:
        deciders.append(actor.person_id)
    facts = replace(
        built.facts,
        now=at,
        votes=_vote_facts(approval),
        case=CaseFacts(
            requester=approval.requester_id,
            lead=built.facts.case.lead,
            workers=built.facts.case.workers,
            reviewer=approval.reviewer_id,
            deciders=tuple(deciders),
        ),
        integrity=IntegrityFacts(
            files=sum(len(item.hashes()) for item in items),
            changed=tuple(item.type for item in evidence.damaged(items)),
            log_ok=verify.check_log().ok,
        ),
        validity=ValidityFacts(start, end) if start and end else None,
        document=DocumentFacts(notice=True),
        signer=signer,
        deviation_reason="",
    )
    chosen = conditions.from_record(frozen) if frozen else given
    return conditions.judged(facts, chosen, approval.workload)


def document_request(approval: Approval, frozen: DecisionRecord, built: BuiltDossier) -> DocumentRequest:
    """Return what the sealing job turns into the signed document; German, whatever language is active."""
    fields = _fields(approval, frozen)
    with translation.override("de"):
        model = body.document_body(approval, frozen, built)
    return DocumentRequest(
        number=approval.number,
        version="1",
        kind=KINDS[Decision(frozen.decision)],
        subject_id=approval.pk,
        decision_json=frozen.content.encode(),
        acts_json=signing.acts_json([field.act_record_id for field in fields]),
        log_proof=b"",
        body=model,
        fields=fields,
        demo=settings.DEMO,
    )


def meaning_text(code: str) -> str:
    """Return the meaning of a signature as the document prints it, in German."""
    with translation.override("de"):
        return str(Meaning(code).label)


def parsed(frozen: DecisionRecord) -> dict[str, Any]:
    """Return the content of a frozen decision record."""
    content: dict[str, Any] = canonical.loads(frozen.content)
    return content


def may_sign(frozen: DecisionRecord, actor: User) -> bool:
    """Return whether the person is named for one of the deciding fields of a frozen decision record."""
    fields = parsed(frozen)["required_fields"]
    return any(
        actor.person.pid in field["pids"] for field in fields if field["field"] != person_field(REVIEW_FIELD)
    )


def decisions_on(approval: Approval, frozen: DecisionRecord) -> QuerySet[ApprovalDecision]:
    """Return the signed decisions that carry this record, in the order of their fields."""
    return approval.decisions.filter(decision_sha256=frozen.sha256).order_by("created_at", "id")


def issued_body(approval: Approval) -> dict[str, Any] | None:
    """Return the document model of the decision, or None if it is not there (any more).

    Once there is an addendum its board sentence counts.
    """
    issued = _issued(approval.pk)
    later = Addendum.objects.filter(approval=approval).first()
    newest = _issued(later.pk) if issued and later else None
    return issued | {"board_sentence": newest["board_sentence"]} if issued and newest else issued


def _issued(subject_id: UUID) -> dict[str, Any] | None:
    document = signing.document_of(subject_id)
    if document is None:
        return None
    try:
        request, _organisation, _at = frozen_request.load(store.get(document.request_sha256))
    except store.StoredFileError:
        return None
    return request.body


def validity_of(frozen: DecisionRecord) -> tuple[datetime | None, datetime | None]:
    """Return the validity written in a frozen decision record."""
    values = parsed(frozen)["validity"]
    return _moment(values["from"]), _moment(values["until"])


def _vote_facts(approval: Approval) -> tuple[VoteFacts, ...]:
    return tuple(
        VoteFacts(
            role=Role(vote.role),
            person=vote.person_id,
            value=VoteValue(vote.value),
            subjects={row["subject"]: VoteValue(row["value"]) for row in vote.subjects},
            outdated=vote.dossier_sha256 != approval.dossier_sha256,
        )
        for vote in approval.votes.filter(reset_at__isnull=True)
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _end_of_day(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day + timedelta(days=1), time.min, zone) - timedelta(seconds=1)


def _workload(workload: Workload, approval: Approval) -> dict[str, Any]:
    return {
        "id": str(workload.pk),
        "title": workload.title,
        "purpose": workload.purpose,
        "mode": workload.mode,
        "approval_type": approval.type,
        "owner": workload.owner.pid if workload.owner else None,
        "deputy": workload.deputy.pid if workload.deputy else None,
        "model": {"text": workload.model_text, "sha256": workload.model_digest}
        | workloads.model_file(workload),
        "criteria_sha256": workload.criteria_sha256,
    }


def _scope(workload: Workload, built: BuiltDossier) -> dict[str, Any]:
    target = built.facts.target
    location = getattr(workload, "location", None)
    level = built.facts.level()
    return {
        "model_sha256": workload.model_digest,
        "level": level.value if level else None,
        "flags": sorted(flag.value for flag in built.facts.flags()),
        "leaves_own_env": bool(location and location.leaves_own_env),
        "platform": {
            "hardware_gen": target.platform.hardware_gen,
            "system_release": target.platform.system_release,
            "framework_release": target.platform.framework_release,
            "operating_model": target.platform.operating_model,
            "emulated": target.emulated,
        }
        if target
        else None,
    }


def _metrics(built: BuiltDossier) -> list[dict[str, Any]]:
    runs = (("BASELINE", built.facts.baseline), ("ZIEL", built.facts.target))
    return [{"run": name, **metric.to_json()} for name, run in runs if run for metric in run.metrics]


def _votes(approval: Approval) -> list[dict[str, Any]]:
    return [
        {
            "role": vote.role,
            "pid": vote.person.pid,
            "name": vote.person.display_name,
            "meaning": vote.meaning,
            "value": vote.value,
            "subjects": vote.subjects,
            "dossier_sha256": vote.dossier_sha256,
            "act_sha256": vote.act.sha256,
            "method": vote.act.method,
            "at": timestamp(vote.created_at),
        }
        for vote in approval.votes.filter(reset_at__isnull=True).select_related("person", "act")
    ]


def _required_fields(approval: Approval, wording: Wording, actor: User) -> list[RequiredField]:
    vote = approval.votes.filter(reset_at__isnull=True).select_related("person").latest("created_at")
    reviewer = RequiredField(
        field=person_field(REVIEW_FIELD),
        role=vote.role,
        meaning=meaning_text(vote.meaning),
        pids=(vote.person.pid,),
    )
    count = gates.votes_required(approval.workload, ApprovalType(approval.type)).approvers
    entitled = [actor.person.pid] if count == 1 else _entitled(approval)
    deciders = [
        RequiredField(
            field=person_field(REVIEW_FIELD + number),
            role=Role.APPROVER.value,
            meaning=meaning_text(wording.meaning),
            pids=tuple(entitled),
        )
        for number in range(1, count + 1)
    ]
    return [reviewer, *deciders]


def _entitled(approval: Approval) -> list[str]:
    barred = workloads.people(approval.workload) | {approval.requester_id, approval.reviewer_id}
    ids = [person for person in selectors.holders(Permission.DECIDE_APPROVAL) if person not in barred]
    return list(Person.objects.filter(pk__in=ids).values_list("pid", flat=True))


def _fields(approval: Approval, frozen: DecisionRecord) -> list[FieldRequest]:
    rule_set = gates.rule_set()
    vote = approval.votes.filter(reset_at__isnull=True).latest("created_at")
    acts = [vote, *decisions_on(approval, frozen)]
    return [
        FieldRequest(
            field=person_field(number),
            role=act.role,
            role_label=rule_set.role_name_de(Role(act.role)),
            meaning=meaning_text(act.meaning),
            act_record_id=act.act_id,
        )
        for number, act in enumerate(acts, start=REVIEW_FIELD)
    ]
