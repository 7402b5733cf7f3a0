"""Everything the page of a request or Freigabe shows: live while it is undecided, as decided afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from qms.approvals import conditions, documents, dossier, figures, panel, selectors, transitions
from qms.approvals.choices import ApprovalType, Meaning, Severity
from qms.approvals.dossier import BuiltDossier
from qms.approvals.models import Approval, DecisionRecord
from qms.audit import selectors as audit
from qms.core import clock, formats
from qms.core.values import Assurance, Axes, Origin, Provenance
from qms.evidence import selectors as evidence
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from qms.gates.rule_sets import RuleSet
from qms.roles.models import Person, User
from qms.roles.roles import Role
from qms.signing import selectors as signing
from qms.signing.acts import Authenticator, Method
from qms.signing.view import method_label
from qms.web import approval_gates, approval_runs, condition_page, workload_changes
from qms.workloads.models import Workload

HISTORY: Final = 10


def page(approval: Approval, actor: User) -> dict[str, Any]:
    """Return the context of the page of one request or Freigabe."""
    built = live_dossier(approval)
    found = panel.panel(approval, actor=actor, built=built)
    force = selectors.force(approval)
    head = headline(approval, built)
    stored = _stored(approval)
    items = _items(approval, stored)
    return {
        "approval": approval,
        "workload": approval.workload,
        "panel": found,
        "force": force,
        "steps": panel.steps(approval),
        "facts": _facts(approval),
        "checklist": approval_gates.stored_checklist(stored, condition_page.covered(approval))
        if stored
        else approval_gates.checklist(found.report or built.report, approval.workload_id),
        "evidence": approval_gates.evidence_rows(items, ApprovalType(approval.type)),
        "runs": approval_runs.run_values(approval.workload, items),
        "acts": acts(approval),
        "questions": list(approval.questions.select_related("asked_by", "answered_by")),
        "return_reason": _return_reason(approval),
        "production_refusal": panel.production_refusal(approval.workload) if force.in_force else "",
        "history": history(approval),
        "history_url": f"{reverse('audit_log')}?objekt=Approval:{approval.pk}",
        "bar": bottom_bar(found),
        **head,
        **changes(approval),
        **condition_page.page(approval, actor),
    }


def stated_conditions(frozen: DecisionRecord) -> list[dict[str, Any]]:
    """Return the conditions of a frozen record with their dates and words for the reader."""
    return [
        row | {"due": date.fromisoformat(row["due"]), "severity": Severity(row["severity"]).label}
        for row in conditions.stated(frozen)
    ]


def bottom_bar(found: panel.Panel) -> dict[str, str]:
    """Return what the bar at the foot of a phone says and where it leads."""
    decided = found.state is panel.PanelState.DECIDED
    text = _("%(n)d von %(m)d Stimmen") % {"n": found.given, "m": found.required}
    action = _("Zum Dokument") if decided else _("Zur Entscheidung")
    return {"state": found.sentence if decided else text, "url": "#entscheidung", "action": action}


def report_page(approval: Approval) -> dict[str, Any]:
    """Return the context of the gate report: as it stands now, or as it was decided on."""
    built = live_dossier(approval)
    stored = _stored(approval)
    checklist = (
        approval_gates.stored_checklist(stored, condition_page.covered(approval))
        if stored
        else approval_gates.checklist(built.report, approval.workload_id)
    )
    return {
        "approval": approval,
        "workload": approval.workload,
        "checklist": checklist,
        "facts": _facts(approval),
        "live": stored is None,
        "evidence": approval_gates.evidence_rows(_items(approval, stored), ApprovalType(approval.type)),
        **headline(approval, built),
    }


def live_dossier(approval: Approval) -> BuiltDossier:
    """Return the dossier of the request as it is now, at the time of its last evaluation."""
    return dossier.build(approval, at=approval.evaluated_at or clock.now())


def headline(approval: Approval, built: BuiltDossier) -> dict[str, Any]:
    """Return board sentence, figures, notices and what was not checked: live, or as they stand on the document."""
    issued = documents.issued_body(approval) if approval.decided_at else None
    if issued is None:
        end = approval.valid_until or documents.validity(ApprovalType(approval.type), clock.now())[1]
        with translation.override("de"):
            return preview_headline(built, figures.board_sentence(approval, built, end))
    return {
        "board": issued["board_sentence"],
        "figures": [_figure(row) for row in issued["figures"]],
        "notices": issued["notices"],
        "verdict": issued["verdict"],
        "not_checked": issued["not_checked"],
    }


def preview_headline(built: BuiltDossier, sentence: str) -> dict[str, Any]:
    """Return what `headline` returns, for a dossier without a document; the texts are German like the document's."""
    with translation.override("de"):
        return {
            "board": sentence,
            "figures": [_figure(row) for row in figures.figures(built)],
            "notices": figures.notices(built),
            "verdict": built.report.verdict.to_json() if built.report.verdict else None,
            "not_checked": figures.not_checked(built),
        }


def acts(approval: Approval) -> list[dict[str, Any]]:
    """Return the signed acts in order: the review and each decision, with how they were confirmed."""
    rules = gates.rule_set()
    names = {subject.code: subject.name for subject in rules.subjects}
    votes = approval.votes.filter(reset_at__isnull=True).select_related("act__passkey")
    found = [
        _act(
            rules,
            vote,
            [
                {"subject": names.get(row["subject"], row["subject"]), "value": row["value"]}
                for row in vote.subjects
            ],
        )
        for vote in votes
    ]
    decided = approval.decisions.select_related("act__passkey", "record")
    return found + [
        _act(rules, row, []) | {"value": row.decision, "alternative": row.record.alternative}
        for row in decided
    ]


def history(approval: Approval) -> list[dict[str, Any]]:
    """Return the newest events of the request, its conditions and its documents as sentences, with who acted."""
    objects = [("Approval", str(approval.pk))]
    objects += [("Condition", str(item.pk)) for item in approval.conditions.all()]
    addendum = getattr(approval, "addendum", None)
    if addendum is not None:
        objects.append(("Addendum", str(addendum.pk)))
    for subject in (approval, addendum):
        document = signing.document_of(subject.pk) if subject else None
        objects += [("Document", str(document.pk))] if document else []
    return sentences(audit.histories(objects, limit=HISTORY))


def sentences(entries: list[audit.Entry]) -> list[dict[str, Any]]:
    """Return events in the form the timeline takes."""
    names = names_of(entry.pid for entry in entries)
    return [
        {"at": entry.ts, "sentence": entry.sentence, "detail": names.get(entry.pid, _("System"))}
        for entry in entries
    ]


def names_of(pids: Iterable[str]) -> dict[str, str]:
    """Return the names of people by the id the log knows them by."""
    return dict(Person.objects.filter(pid__in=set(pids)).values_list("pid", "display_name"))


def changes(approval: Approval) -> dict[str, Any]:
    """Return what changed: since the last Freigabe while undecided, since this one afterwards."""
    workload = approval.workload
    if approval.decided_at:
        found = workload_changes.since(workload, approval.content_sha256)
        return {
            "changes": found,
            "first": False,
            "changed_after": True,
            "changes_title": _("Seit dieser Freigabe geändert"),
        }
    earlier = selectors.previous(approval)
    return {
        **previous_changes(workload, earlier),
        "changed_after": False,
        "changed_since_request": workload_changes.since(workload, approval.content_sha256),
    }


def previous_changes(workload: Workload, earlier: Approval | None) -> dict[str, Any]:
    """Return what changed in content and evidence since the Freigabe `earlier`; taken-over evidence says so."""
    title = _("Seit der letzten Freigabe geändert")
    if earlier is None:
        return {"changes": [], "first": True, "changes_title": title}
    found: list[Any] = list(workload_changes.since(workload, earlier.content_sha256))
    before = {row["id"]: row for row in dossier.current(earlier)["evidence"]}
    found.extend(_evidence_change(item, before) for item in evidence.counting(workload))
    return {"changes": found, "first": False, "changes_title": title, "compared_with": earlier}


def _evidence_change(item: EvidenceItem, before: dict[str, Any]) -> dict[str, Any]:
    carried = str(item.pk) in before
    replaced = any(row["type"] == item.type for row in before.values())
    return {
        "field": f"{item.type} {item.title}",
        "before": formats.day(item.measured_at) if carried else _("früherer Nachweis") if replaced else "",
        "now": formats.day(item.measured_at),
        "carried": carried,
        "who": item.producer.display_name,
        "at": item.uploaded_at,
        "touches": "",
    }


def _stored(approval: Approval) -> dict[str, Any] | None:
    return dossier.current(approval) if approval.decided_at else None


def _items(approval: Approval, stored: dict[str, Any] | None) -> list[EvidenceItem]:
    """Return the evidence of the request: what counts now, or what was decided on."""
    if stored is None:
        return evidence.counting(approval.workload)
    wanted = [UUID(row["id"]) for row in stored["evidence"]]
    related = ("producer", "reviewer", "workload", "platform", "organisation")
    return list(EvidenceItem.objects.filter(pk__in=wanted).select_related(*related))


def _figure(row: dict[str, str]) -> dict[str, Any]:
    return {**row, "axes": _axes_from_words(row["axes"])}


def _axes_from_words(text: str) -> Axes:
    """Return the axes behind the German words of the document, which stores words only."""
    with translation.override("de"):
        known = {str(word): code for code, word in formats.AXIS_WORDS.items()}
    first, second, third = (known[word] for word in text.split(" · "))
    return Axes(Provenance(first), Assurance(second), Origin(third))


def _facts(approval: Approval) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"label": _("Nummer"), "value": approval.number},
        {"label": _("Antragstellende Person"), "value": approval.requester.display_name},
    ]
    if approval.submitted_at:
        found.append({"label": _("gestellt am"), "value": formats.moment(approval.submitted_at)})
    if approval.decided_at:
        found.append({"label": _("entschieden am"), "value": formats.moment(approval.decided_at)})
    if approval.valid_until:
        found.append({"label": _("gültig bis"), "value": formats.day(approval.valid_until)})
    found.append({"label": _("Prüfsumme des Inhalts"), "digest": approval.content_sha256})
    if approval.decision_sha256:
        found.append({"label": _("Prüfsumme der Entscheidung"), "digest": approval.decision_sha256})
    else:
        found.append({"label": _("Prüfsumme des Dossiers"), "digest": approval.dossier_sha256})
    return found


def _act(rules: RuleSet, row: Any, subjects: list[dict[str, str]]) -> dict[str, Any]:
    label = method_label(Method(row.act.method))
    if row.act.passkey is not None and row.act.passkey.kind == Authenticator.SOFTWARE.value:
        label = _("%(label)s – Muster: Software-Authenticator") % {"label": label}
    return {
        "name": row.act.name,
        "role": rules.role_name(Role(row.role)),
        "meaning": Meaning(row.meaning).label,
        "at": row.created_at,
        "reason": row.reason,
        "label": label,
        "value": getattr(row, "value", ""),
        "subjects": subjects,
    }


def _return_reason(approval: Approval) -> str:
    """Return why the request was given back last, for the person who has to complete it."""
    if approval.status in transitions.UNDECIDED and approval.submitted_at and approval.status == "ENTWURF":
        for entry in audit.history("Approval", str(approval.pk), limit=HISTORY, with_texts=True):
            if entry.kind == transitions.transition(transitions.Trigger.RETURN).event:
                return str(next(iter(entry.texts.values()), ""))
    return ""
