"""Requests, Freigaben, evidence, the audit log, and the two public pages."""

from django.urls import path

from qms.web import (
    approval_views,
    audit_views,
    condition_views,
    decision_views,
    evidence_views,
    health_views,
    review_views,
    status_views,
)

_APPROVAL = "freigaben/<uuid:approval_id>/"
_CONDITION = f"{_APPROVAL}auflagen/<uuid:condition_id>/"

urlpatterns = [
    path(
        "workloads/<uuid:workload_id>/beantragen/", approval_views.request_approval, name="approval_request"
    ),
    path("freigaben/", approval_views.approvals, name="approvals"),
    path(_APPROVAL, approval_views.approval, name="approval"),
    path(f"{_APPROVAL}pruefen/", review_views.review, name="approval_review"),
    path(f"{_APPROVAL}pruefen/unterschreiben/", review_views.sign, name="approval_review_sign"),
    path(f"{_APPROVAL}entscheiden/", decision_views.decide, name="approval_decide"),
    path(f"{_APPROVAL}entscheiden/<uuid:record_id>/", decision_views.sign, name="approval_decide_sign"),
    path(f"{_APPROVAL}rueckfrage/", approval_views.query, name="approval_query"),
    path(f"{_APPROVAL}antwort/", approval_views.answer, name="approval_answer"),
    path(f"{_APPROVAL}zurueckgeben/", approval_views.give_back, name="approval_return"),
    path(f"{_APPROVAL}zurueckziehen/", approval_views.withdraw, name="approval_withdraw"),
    path(f"{_APPROVAL}dokument/", approval_views.document, name="approval_document"),
    path(f"{_APPROVAL}nachweise.zip", approval_views.evidence_zip, name="approval_evidence_zip"),
    path(f"{_APPROVAL}pruefbericht/", approval_views.verification, name="approval_verification"),
    path(f"{_APPROVAL}gate-bericht/", approval_views.gate_report, name="approval_gate_report"),
    path(f"{_CONDITION}nachweis/", condition_views.prove, name="condition_proof"),
    path(f"{_CONDITION}bestaetigen/", condition_views.confirm, name="condition_confirm"),
    path(f"{_CONDITION}zurueckgeben/", condition_views.give_back, name="condition_return"),
    path(f"{_APPROVAL}nachtrag/", condition_views.complete, name="approval_addendum"),
    path(f"{_APPROVAL}nachtrag/dokument/", condition_views.document, name="approval_addendum_document"),
    path(f"{_APPROVAL}nachtrag/<uuid:record_id>/", condition_views.sign, name="approval_addendum_sign"),
    path("nachweise/<uuid:evidence_id>/", evidence_views.evidence, name="evidence"),
    path("nachweise/<uuid:evidence_id>/pruefen/", evidence_views.review, name="evidence_review"),
    path("nachweise/<uuid:evidence_id>/datei/", evidence_views.file, name="evidence_file"),
    path("protokoll/", audit_views.log, name="audit_log"),
    path("protokoll/export/", audit_views.export, name="audit_export"),
    path("protokoll/export/<uuid:export_id>/", audit_views.export_file, name="audit_export_file"),
    path(
        "protokoll/export/<uuid:export_id>/fortschritt/",
        audit_views.export_progress,
        name="audit_export_progress",
    ),
    path("v/<str:number>/", status_views.document_status, name="document_status"),
    path("gesundheit/", health_views.health, name="health"),
]
