"""Outbox entries of this package: mails with an invitation, and about changes of the means to sign in."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.conf import settings
from django.core.mail import send_mail
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from qms.core import clock
from qms.core.tasks import handler
from qms.roles import links, selectors
from qms.roles.models import Invitation, User
from qms.roles.services.people import FURTHER_ACCOUNT, MAIL_TASK
from qms.roles.services.sign_in import NOTICE_TASK

NOTICES: Final[dict[str, Promise]] = {
    FURTHER_ACCOUNT: gettext_lazy("Es wurde als weiteres Konto für Sie angelegt."),
    "PASSKEY_REGISTRIERT": gettext_lazy("Ein Passkey wurde registriert."),
    "PASSKEY_ENTFERNT": gettext_lazy("Ein Passkey wurde entfernt."),
    "PASSWORT_GEAENDERT": gettext_lazy("Das Passwort wurde geändert."),
    "TOTP_EINGERICHTET": gettext_lazy("Eine Authenticator-App wurde eingerichtet."),
    "TOTP_GEAENDERT": gettext_lazy("Die Authenticator-App wurde neu eingerichtet."),
    "TOTP_ENTFERNT": gettext_lazy("Die Authenticator-App wurde entfernt."),
    "WIEDERHERSTELLUNGSCODES_EINGERICHTET": gettext_lazy("Wiederherstellungscodes wurden erzeugt."),
    "WIEDERHERSTELLUNGSCODES_GEAENDERT": gettext_lazy("Neue Wiederherstellungscodes wurden erzeugt."),
    "WIEDERHERSTELLUNGSCODES_ENTFERNT": gettext_lazy("Die Wiederherstellungscodes wurden entfernt."),
}


@handler(MAIL_TASK)
def send_invitation_mail(payload: dict[str, str]) -> None:
    """Send the one-time link to the invited person; nothing is sent once the link is used or has expired."""
    invitation = Invitation.objects.select_related("person").get(pk=UUID(payload["invitation_id"]))
    if invitation.accepted_at or invitation.expires_at <= clock.now():
        return
    url = links.public_url("people_accept", links.invitation_token(invitation.pk))
    with translation.override("de"):
        text = _(
            "Guten Tag,\n\n"
            "Sie sind zu AI-QMS eingeladen, dem System für Freigaben von KI-Workloads. Mit diesem Link legen Sie Ihr "
            "Konto an. Er gilt %(days)d Tage und nur einmal:\n\n%(url)s\n\n"
            "Haben Sie keine Einladung erwartet, löschen Sie diese E-Mail.\n"
        ) % {"days": links.INVITATION_LIFETIME.days, "url": url}
        receivers = selectors.addresses_of(invitation.person)
        send_mail(_("Einladung zu AI-QMS"), text, settings.DEFAULT_FROM_EMAIL, receivers)


@handler(NOTICE_TASK)
def send_notice(payload: dict[str, str]) -> None:
    """Tell a person, at every active account's address, that an account of it or a means to sign in changed."""
    account = User.objects.select_related("person").get(pk=int(payload["account_id"]))
    with translation.override("de"):
        text = _(
            "Guten Tag,\n\n"
            "an Ihrem Konto %(username)s wurde etwas geändert: %(notice)s\n\n"
            "Waren Sie das nicht, melden Sie es bitte sofort Ihrer Administration.\n"
        ) % {"username": account.username, "notice": NOTICES[payload["notice"]]}
        receivers = selectors.addresses_of(account.person)
        send_mail(_("Änderung an Ihrem Konto in AI-QMS"), text, settings.DEFAULT_FROM_EMAIL, receivers)
