"""Errors of rule sets."""

from __future__ import annotations

from qms.core.errors import QmsError


class RuleSetError(QmsError):
    """A rule-set file is missing, malformed or contradicts the code; the message names file and place."""
