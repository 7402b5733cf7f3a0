"""What people write has to be printable before anybody signs it: checked when it is written, not when it is sealed."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from qms.core.errors import CriterionNotMet
from qms.roles.models import User
from qms.signing import glyphs
from qms.signing.errors import GlyphMissing
from qms.workloads import selectors
from qms.workloads.models import Workload


def check_printable(*values: Any) -> None:
    """Raise CriterionNotMet (G7-9) naming the first character the document could not show, hidden ones included."""
    try:
        glyphs.check_all(values)
    except GlyphMissing as error:
        raise CriterionNotMet(
            str(error), id="G7-9", next_step=_("Ersetzen oder entfernen Sie das Zeichen.")
        ) from error


def check_content(workload: Workload, actor: User) -> None:
    """Check the stored content of a workload; a hook that runs inside the command that changes it."""
    check_printable(selectors.content_by_sha256(workload, workload.content_sha256))
