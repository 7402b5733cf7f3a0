"""The page of a signed act: what is confirmed, under which label, bound to which digest; and reading its answer."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist
from django.http import HttpRequest
from django.utils.translation import gettext as _

from qms.core.errors import CriterionNotMet
from qms.gates import services as gates
from qms.roles.models import User
from qms.roles.roles import Role
from qms.signing import ceremony, passkeys
from qms.signing.acts import DigestName, Method
from qms.signing.ceremony import Response, Statement
from qms.signing.view import method_label
from qms.web.approval_forms import ActForm


def context(request: HttpRequest, actor: User, statement: Statement) -> dict[str, Any]:
    """Begin the ceremony in the session of the request and return what its page shows."""
    challenge = ceremony.begin(actor=actor, session_key=session_key(request), statement=statement)
    means = passkeys.means_of(actor)
    digests = {
        DigestName.DOSSIER: _("Prüfsumme des Dossiers"),
        DigestName.DECISION: _("Prüfsumme der Entscheidung"),
    }
    return {
        "challenge": challenge,
        "options": challenge.options,
        "statement": statement,
        "means": means,
        "role": gates.rule_set().role_name(Role(statement.acting_role)),
        "name": actor.person.display_name,
        "digest_label": digests[statement.digest_name],
        "label_passkey": method_label(Method.PASSKEY),
        "label_code": method_label(Method.PASSWORD_TOTP),
    }


def response_of(request: HttpRequest, actor: User, form: ActForm) -> tuple[UUID, Response]:
    """Return the challenge and the answer of the person; raises CriterionNotMet (G7-10) for an unreadable one."""
    values, key = form.cleaned_data, session_key(request)
    challenge: UUID = values["challenge"]
    if values["software"]:
        return challenge, _by_software(actor, challenge, key)
    if values["response"]:
        try:
            credential = json.loads(values["response"])
        except ValueError as error:
            raise _unreadable() from error
        if not isinstance(credential, dict):
            raise _unreadable()
        return challenge, Response(session_key=key, credential=credential)
    return challenge, Response(session_key=key, password=values["password"], code=values["code"])


def session_key(request: HttpRequest) -> str:
    """Return the key of the session the act has to be answered in."""
    return request.session.session_key or ""


def _by_software(actor: User, challenge: UUID, key: str) -> Response:
    try:
        return ceremony.software_response(actor=actor, challenge_id=challenge, session_key=key)
    except ObjectDoesNotExist as error:
        raise _unreadable() from error


def _unreadable() -> CriterionNotMet:
    return CriterionNotMet(
        _("Die Antwort des Passkeys ist nicht lesbar."),
        id=ceremony.CRITERION,
        code=ceremony.REFUSED,
        next_step=_("Beginnen Sie die Bestätigung auf der Seite erneut."),
    )
