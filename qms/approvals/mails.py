"""Mails on every hand-over: one row per occasion, names who has to do what. Sent by the outbox."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from qms.approvals import selectors
from qms.approvals.models import Approval
from qms.core.tasks import enqueue
from qms.roles.permissions import Permission
from qms.signing.models import DocumentState

if TYPE_CHECKING:
    from qms.signing.models import Document

SEND_TASK = "approvals.send_mail"


class Occasion(StrEnum):
    """Why somebody gets a mail; internal."""

    TO_REVIEW = "TO_REVIEW"
    RETURNED = "RETURNED"
    QUERY = "QUERY"
    ANSWERED = "ANSWERED"
    TO_DECIDE = "TO_DECIDE"
    DECIDED = "DECIDED"
    WITHDRAWN = "WITHDRAWN"
    CONDITION_PROVEN = "CONDITION_PROVEN"
    CONDITION_RETURNED = "CONDITION_RETURNED"
    CONDITIONS_MET = "CONDITIONS_MET"
    SEALED = "SEALED"
    SEAL_FAILED = "SEAL_FAILED"


SUBJECTS = {
    Occasion.TO_REVIEW: _("Bitte prüfen: %(number)s"),
    Occasion.RETURNED: _("Zurückgegeben, bitte ergänzen: %(number)s"),
    Occasion.QUERY: _("Rückfrage zu %(number)s"),
    Occasion.ANSWERED: _("Rückfrage beantwortet: %(number)s"),
    Occasion.TO_DECIDE: _("Bitte entscheiden: %(number)s"),
    Occasion.DECIDED: _("Entschieden: %(number)s"),
    Occasion.WITHDRAWN: _("Zurückgezogen: %(number)s"),
    Occasion.CONDITION_PROVEN: _("Bitte Erfüllung einer Auflage bestätigen: %(number)s"),
    Occasion.CONDITION_RETURNED: _("Nachweis zu einer Auflage zurückgegeben: %(number)s"),
    Occasion.CONDITIONS_MET: _("Alle Auflagen erfüllt: %(number)s"),
    Occasion.SEALED: _("Signiertes Dokument liegt vor: %(number)s"),
    Occasion.SEAL_FAILED: _("Siegelung fehlgeschlagen: %(number)s"),
}
BODIES = {
    Occasion.TO_REVIEW: _("Der Antrag %(number)s zu „%(title)s“ wartet auf Ihre Prüfung."),
    Occasion.RETURNED: _("Der Antrag %(number)s zu „%(title)s“ kam als unvollständig zurück."),
    Occasion.QUERY: _("Zum Antrag %(number)s zu „%(title)s“ wurde eine Rückfrage gestellt."),
    Occasion.ANSWERED: _("Die Rückfrage zum Antrag %(number)s zu „%(title)s“ ist beantwortet."),
    Occasion.TO_DECIDE: _(
        "Der Antrag %(number)s zu „%(title)s“ ist geprüft und wartet auf Ihre Entscheidung."
    ),
    Occasion.DECIDED: _("Über den Antrag %(number)s zu „%(title)s“ ist entschieden."),
    Occasion.WITHDRAWN: _("Der Antrag %(number)s zu „%(title)s“ wurde zurückgezogen."),
    Occasion.CONDITION_PROVEN: _(
        "Zur bedingten Freigabe %(number)s („%(title)s“) liegt der Nachweis zu einer Auflage vor."
    ),
    Occasion.CONDITION_RETURNED: _(
        "Zur bedingten Freigabe %(number)s („%(title)s“) reicht der Nachweis zu einer Auflage noch nicht."
    ),
    Occasion.CONDITIONS_MET: _("Die Auflagen der Freigabe %(number)s („%(title)s“) sind erfüllt."),
    Occasion.SEALED: _("Das signierte Dokument zu %(number)s („%(title)s“) liegt vor."),
    Occasion.SEAL_FAILED: _("Das Dokument zu %(number)s („%(title)s“) konnte nicht gesiegelt werden."),
}


def request_mails(occasion: Occasion, approval: Approval, person_ids: Iterable[UUID]) -> None:
    """Put one mail per person into the outbox, inside the caller's command; the payload carries ids only."""
    for person_id in sorted(set(person_ids)):
        payload = {"occasion": occasion.value, "approval_id": str(approval.pk), "person_id": str(person_id)}
        enqueue(task=SEND_TASK, payload=payload)


def tell_sealing(document: Document) -> None:
    """Tell those who wait that the document is there, or those who can repeat it that sealing failed (P32)."""
    subject = Q(pk=document.subject_id) | Q(addendum__pk=document.subject_id)
    approval = Approval.objects.select_related("workload").filter(subject).first()
    if approval is None:
        return
    waiting = {approval.requester_id, approval.workload.owner_id, approval.reviewer_id}
    sealed = document.state == DocumentState.SEALED
    people = (
        [person for person in waiting if person] if sealed else selectors.holders(Permission.SEAL_DOCUMENT)
    )
    request_mails(Occasion.SEALED if sealed else Occasion.SEAL_FAILED, approval, people)
