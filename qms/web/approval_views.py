"""Requests and Freigaben: screen 6, the list, the Freigabe page, what is done from it, its documents."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from qms.approvals import documents, figures, panel, selectors
from qms.approvals.choices import ApprovalType
from qms.approvals.dossier import BuiltDossier
from qms.approvals.models import UNDECIDED, Approval
from qms.approvals.panel import Action
from qms.approvals.services import decisions, files, requests
from qms.core import clock
from qms.core.store import StoredFileError
from qms.evidence import selectors as evidence
from qms.gates import services as gates
from qms.roles.models import User
from qms.signing import selectors as signing
from qms.web import approval_gates, approval_page
from qms.web.answers import account, done, submit
from qms.web.approval_forms import RequestForm, TextForm
from qms.web.downloads import attachment, attachment_file
from qms.web.workload_views import workload_crumbs
from qms.workloads import selectors as workloads
from qms.workloads.models import Workload

PAGE_SIZE: Final = 25


@login_required
@require_http_methods(["GET", "POST"])
def request_approval(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Screen 6: nothing to fill in; what will be asked of others, what is open, what changed, one button."""
    actor = account(request)
    workload = workloads.get(workload_id, actor=actor)
    form = RequestForm(request.POST or None)

    def command() -> HttpResponse:
        made = requests.request_approval(actor=actor, workload_id=workload_id, type=form.approval_type)
        messages.success(request, _("Die Freigabe ist beantragt. Als Nächstes wird der Antrag geprüft."))
        return done(request, made, reverse("approval", args=[made.pk]))

    def page() -> HttpResponse:
        return render(request, "approvals/request.html", _request_context(workload, actor, form))

    return submit(request, form, command, page) if request.method == "POST" else page()


@login_required
@require_GET
def approvals(request: HttpRequest) -> HttpResponse:
    """List the visible requests and Freigaben, newest first, 25 a page."""
    actor = account(request)
    found = selectors.visible_to(actor).select_related("workload", "requester").order_by("-id")
    only_open = request.GET.get("stand") == "offen"
    if only_open:
        found = found.filter(status__in=UNDECIDED)
    after = _uuid(request.GET.get("after", ""))
    if after is not None:
        found = found.filter(pk__lt=after)
    rows = list(found[: PAGE_SIZE + 1])
    shown = rows[:PAGE_SIZE]
    forces = selectors.forces(shown)
    context = {
        "crumbs": [],
        "rows": [{"approval": row, "force": forces[row.pk]} for row in shown],
        "only_open": only_open,
        "after": after,
        "next_after": shown[-1].pk if len(rows) > PAGE_SIZE else None,
    }
    return render(request, "approvals/list.html", context)


@login_required
@require_GET
def approval(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """The page of one request or Freigabe."""
    return _page(request, selectors.get(approval_id, actor=account(request)))


@login_required
@require_POST
def query(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Ask the requester a question."""

    def command(actor: User, text: str) -> None:
        requests.ask_question(actor=actor, approval_id=approval_id, text=text)

    return _text_action(request, approval_id, Action.ASK, command, _("Die Rückfrage ist gestellt."))


@login_required
@require_POST
def answer(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Answer the open question."""

    def command(actor: User, text: str) -> None:
        requests.answer_question(actor=actor, approval_id=approval_id, answer=text)

    return _text_action(request, approval_id, Action.ANSWER, command, _("Die Rückfrage ist beantwortet."))


@login_required
@require_POST
def give_back(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Give the request back as incomplete."""

    def command(actor: User, text: str) -> None:
        requests.return_incomplete(actor=actor, approval_id=approval_id, reason=text)

    return _text_action(request, approval_id, Action.RETURN, command, _("Der Antrag ist zurückgegeben."))


@login_required
@require_POST
def withdraw(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Withdraw the request for good."""

    def command(actor: User, text: str) -> None:
        requests.withdraw_request(actor=actor, approval_id=approval_id, reason=text)

    return _text_action(request, approval_id, Action.WITHDRAW, command, _("Der Antrag ist zurückgezogen."))


@login_required
@require_http_methods(["GET", "POST"])
def document(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """GET: download the signed document. POST: ask for the seal again after it failed."""
    actor = account(request)
    if request.method == "POST":
        found = decisions.request_document(actor=actor, approval_id=approval_id)
        messages.success(request, _("Die Siegelung läuft wieder."))
        return done(request, found, reverse("approval", args=[approval_id]))
    found, data = files.retrieve_document(actor=actor, approval_id=approval_id)
    return attachment(data, f"{found.number}.pdf", "application/pdf")


@login_required
@require_GET
def evidence_zip(request: HttpRequest, approval_id: UUID) -> HttpResponseBase:
    """Download document, evidence and model file in one: what a replay on an own computer needs."""
    with ExitStack() as opened:
        file = opened.enter_context(TemporaryFile())
        found = files.retrieve_evidence(actor=account(request), approval_id=approval_id, target=file)
        opened.pop_all()  # the answer closes it
    return attachment_file(file, f"{found.number}-nachweise.zip", "application/zip")


@login_required
@require_GET
def verification(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """The Prüfbericht of the signed document: one verdict, one line per claim."""
    found = selectors.get(approval_id, actor=account(request))
    sealed = signing.document_of(found.pk)
    report, damaged = None, ""
    if sealed is not None and sealed.final_sha256:
        try:
            report = signing.verify_file(signing.final_pdf(sealed))
        except StoredFileError:
            damaged = _(
                "Die gespeicherte Datei passt nicht mehr zu ihrer Prüfsumme. Verwenden Sie sie nicht."
            )
    context = {
        "approval": found,
        "report": report,
        "damaged": damaged,
        "root_sha256": signing.root_sha256(),
        "crumbs": [*approval_crumbs(found), {"label": _("Prüfbericht")}],
    }
    return render(request, "approvals/verification.html", context)


@login_required
@require_GET
def gate_report(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """The gate report: what exists before a decision instead of a document; made for paper too."""
    found = selectors.get(approval_id, actor=account(request))
    context = approval_page.report_page(found)
    context["crumbs"] = [*approval_crumbs(found), {"label": _("Gate-Bericht")}]
    return render(request, "approvals/gate_report.html", context)


def approval_crumbs(found: Approval) -> list[dict[str, str]]:
    """Return the path to the page of a request or Freigabe."""
    return [
        {"label": _("Freigaben"), "url": reverse("approvals")},
        {"label": found.workload.title, "url": reverse("approval", args=[found.pk])},
    ]


def text_forms(data: Any = None, only: Action | None = None) -> dict[str, TextForm]:
    """Return the one-text forms of the page by action; `only` is bound to `data`."""
    texts = {
        Action.ASK: (_("Ihre Frage"), _("Bitte schreiben Sie Ihre Frage.")),
        Action.ANSWER: (_("Ihre Antwort"), _("Bitte schreiben Sie Ihre Antwort.")),
        Action.RETURN: (_("Was fehlt?"), _("Bitte sagen Sie, was fehlt.")),
        Action.WITHDRAW: (_("Grund"), _("Bitte begründen Sie, warum Sie den Antrag zurückziehen.")),
    }
    found = {}
    for action, (label, missing) in texts.items():
        bound = data if action is only else None
        prefix = f"id_{action.value.lower()}_%s"
        found[action.value.lower()] = TextForm(bound, label=label, missing=missing, auto_id=prefix)
    return found


def _text_action(
    request: HttpRequest,
    approval_id: UUID,
    action: Action,
    command: Callable[[User, str], None],
    success: str,
) -> HttpResponse:
    actor = account(request)
    found = selectors.get(approval_id, actor=actor)
    made = text_forms(request.POST, action)
    form = made[action.value.lower()]

    def run() -> HttpResponse:
        command(actor, form.text_value)
        messages.success(request, success)
        return done(request, found, reverse("approval", args=[approval_id]))

    return submit(request, form, run, lambda: _page(request, found, made, form))


def _page(
    request: HttpRequest,
    found: Approval,
    made: dict[str, TextForm] | None = None,
    failed: TextForm | None = None,
) -> HttpResponse:
    context = approval_page.page(found, account(request))
    context |= {"forms": made or text_forms(), "form": failed, "crumbs": approval_crumbs(found)}
    return render(request, "approvals/detail.html", context)


def _request_context(workload: Workload, actor: User, form: RequestForm) -> dict[str, Any]:
    chosen = ApprovalType.PRELIMINARY
    now = clock.now()
    items = evidence.counting(workload)
    facts = gates.facts_for(workload, chosen, at=now, items=items)
    report = gates.evaluate_dossier(facts)
    end = documents.validity(chosen, now)[1]
    emulated = bool(facts.target and facts.target.emulated)
    sentence = figures.request_sentence(report, title=workload.title, valid_until=end, emulated=emulated)
    earlier = workload.approvals.filter(type=chosen, decided_at__isnull=False).order_by("-decided_at").first()
    running = workload.approvals.filter(type=chosen, status__in=UNDECIDED).exclude(status="ENTWURF").first()
    return {
        "workload": workload,
        "form": form,
        "type": chosen,
        "panel": panel.request_panel(workload, chosen, actor=actor),
        "uncovered": gates.uncovered(workload, chosen),
        "running": running,
        "valid_until": end,
        "checklist": approval_gates.checklist(report, workload.pk),
        "evidence": approval_gates.evidence_rows(items, chosen),
        "crumbs": [*workload_crumbs(workload), {"label": _("Freigabe beantragen")}],
        **approval_page.preview_headline(BuiltDossier({}, "", report, facts), sentence),
        **approval_page.previous_changes(workload, earlier),
    }


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
