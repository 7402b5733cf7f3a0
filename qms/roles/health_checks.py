"""What `doctor` and the health page ask about people: whether links reach them."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from qms.core import installation
from qms.core.health import Finding, register_check
from qms.roles import links


@register_check(str(gettext_lazy("Mailserver")))
def check_mail() -> Finding:
    """Invitations and links for a new password go out by mail; a demo needs none."""
    if links.mail_configured():
        return Finding(ok=True, text_de=_("eingerichtet"))
    text = _("kein Mailserver eingerichtet")
    if installation.is_demo():
        return Finding(ok=True, text_de=text)
    return Finding(ok=False, text_de=text, remedy_de=_("QMS_EMAIL_BACKEND setzen"))
