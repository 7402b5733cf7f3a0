"""The claims register (spec 0.4): what vendor texts state, as data, and what is known about each statement.

The statements are a file; a row exists only of a claim somebody changed. What the emulator says comes from a provider.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Final

from qms.core import canonical
from qms.core.errors import QmsError
from qms.evidence.claim_choices import ClaimKind, ClaimStatus, EmulatorAnswer
from qms.evidence.models import Claim

_FILE: Final = Path(__file__).parent / "data" / "claims.json"
BYPASS: Final = "S015"
"""The claim that external buses are bypassed completely."""


class ClaimsError(QmsError):
    """The file of the claims is malformed; the message names the claim."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a vendor text. line: in that text; criteria: gate criteria it concerns, none for an opinion."""

    key: str
    line: int
    kind: ClaimKind
    text_de: str
    criteria: tuple[str, ...]
    source_de: str
    stated_on: date

    @property
    def first_status(self) -> ClaimStatus:
        """Return the status before anybody changed it."""
        return ClaimStatus.OPINION if self.kind is ClaimKind.OPINION else ClaimStatus.OPEN


@dataclass(frozen=True, slots=True)
class Entry:
    """A claim as it stands: the statement, what is stored of it, and what the emulator says."""

    statement: Statement
    stored: Claim | None
    emulator: EmulatorAnswer | None

    @property
    def status(self) -> ClaimStatus:
        """Return the status, stored or first."""
        return ClaimStatus(self.stored.status) if self.stored else self.statement.first_status

    @property
    def version(self) -> int:
        """Return how often the claim was changed."""
        return self.stored.version if self.stored else 0

    def review_due(self, months: int) -> date:
        """Return the day of the next review: as set, else `months` (POL-55) after the statement."""
        if self.stored and self.stored.next_review:
            return self.stored.next_review
        return add_months(self.statement.stated_on, months)


Emulator = Callable[[], Mapping[str, EmulatorAnswer]]
_emulator: list[Emulator] = []


def set_emulator(provider: Emulator) -> None:
    """Register the function that says what the emulator knows about each claim, by its key."""
    _emulator[:] = [provider]


@cache
def statements() -> Mapping[str, Statement]:
    """Return all statements by key, in the order of the text; raises ClaimsError."""
    data = canonical.loads(_FILE.read_bytes())
    source, stated_on = str(data["source_de"]), date.fromisoformat(data["stated_on"])
    found = [
        Statement(
            row["key"],
            int(row["line"]),
            ClaimKind(row["kind"]),
            row["statement_de"],
            tuple(row["criteria"]),
            source,
            stated_on,
        )
        for row in data["claims"]
    ]
    for item in found:
        if item.kind is ClaimKind.OPINION and item.criteria:
            raise ClaimsError(f"{item.key}: an opinion is linked to no criterion, got {item.criteria}")
    return {item.key: item for item in found}


def register() -> list[Entry]:
    """Return every claim as it stands, in the order of the text."""
    stored = {row.key: row for row in Claim.objects.select_related("reviewer", "evidence")}
    said = _emulator[0]() if _emulator else {}
    return [Entry(item, stored.get(key), said.get(key)) for key, item in statements().items()]


def entry(key: str) -> Entry | None:
    """Return one claim as it stands, None if the register does not hold it."""
    return next((item for item in register() if item.statement.key == key), None)


def add_months(day: date, months: int) -> date:
    """Return the same day some months later, the last of the month where that one has no such day."""
    years, month = divmod(day.month - 1 + months, 12)
    year = day.year + years
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
