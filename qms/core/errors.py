"""Refusals: one class per cause, in the order in which they are checked (spec 3.5.4).

`code` is the name of the audit event the refusal leaves behind, `id` the rule, transition or criterion that
refuses. Texts are German source strings; callers pass them translated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class QmsError(Exception):
    """Base of every error raised on purpose by this product."""


class Refusal(QmsError):
    """A person's action is refused; nothing was changed. The text is one clear sentence for the person.

    demands: what a detected manipulation asks for (G7-4), done in the transaction of the refusal's event.
    """

    http_status: ClassVar[int] = 400
    default_code: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        id: str = "",
        next_step: str = "",
        code: str = "",
        facts: dict[str, Any] | None = None,
        demands: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.id = id
        self.next_step = next_step
        self.code = code or self.default_code
        self.facts = facts or {}
        self.recorded = False  # whether its event stands in the log
        self.demands = demands

    def body(self) -> dict[str, Any]:
        """Return the answer body of spec 3.5.4."""
        body = {
            "code": self.code,
            "id": self.id,
            "message_de": str(self.message),
            "next_step_de": str(self.next_step),
        }
        if self.http_status == 422:
            body["criterion"] = self.id
        return body


class NotVisible(Refusal):
    """The object does not exist or the person may not know that it does; leaves no event."""

    http_status = 404


class SodViolation(Refusal):
    """Segregation of duties refuses the person (spec 3.4)."""

    http_status = 403
    default_code = "SOD_VERLETZUNG"


class PermissionMissing(Refusal):
    """The person lacks the permission, the role or the grant (spec 3.3)."""

    http_status = 403
    default_code = "ZUGRIFF_VERWEIGERT"


class WrongState(Refusal):
    """The object is not in a state that allows the action, or it changed meanwhile."""

    http_status = 409
    default_code = "AENDERUNG_VERWEIGERT"


class CriterionNotMet(Refusal):
    """A criterion is not fulfilled or the content is incomplete."""

    http_status = 422
    default_code = "GATE_NICHT_ERFUELLT"
