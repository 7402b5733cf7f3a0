"""Outbox entries of this package: mails on hand-over."""

from __future__ import annotations

from urllib.parse import urljoin
from uuid import UUID

from django.conf import settings
from django.core.mail import send_mail
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from qms.approvals.mails import BODIES, SEND_TASK, SUBJECTS, Occasion
from qms.approvals.models import Approval
from qms.core.tasks import handler
from qms.roles.models import Person


@handler(SEND_TASK)
def send_hand_over_mail(payload: dict[str, str]) -> None:
    """Send one mail about an approval to one person, in German; mails name no content beyond the title (K0/K1)."""
    approval = Approval.objects.select_related("workload").get(pk=UUID(payload["approval_id"]))
    person = Person.objects.get(pk=UUID(payload["person_id"]))
    occasion = Occasion(payload["occasion"])
    url = urljoin(settings.PUBLIC.url, reverse("approval", args=[approval.pk]))
    with translation.override("de"):
        values = {"number": approval.number, "title": approval.workload.title}
        greeting = _("Guten Tag,")
        text = f"{greeting}\n\n{BODIES[occasion] % values}\n\n{url}\n\nAI-QMS\n"
        send_mail(str(SUBJECTS[occasion] % values), text, settings.DEFAULT_FROM_EMAIL, [person.email])
