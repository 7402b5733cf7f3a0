"""The one sentence for a board: type, end, workload, deciding reason (at most 40 words). Pure; German, stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final

from qms.gates.choices import ApprovalType
from qms.gates.engine import GateReport

MAX_WORDS: Final = 40
_NAMED: Final = 4
_TYPES: Final = {
    ApprovalType.PILOT: "Pilotfreigabe",
    ApprovalType.PRELIMINARY: "Vorfreigabe",
    ApprovalType.PRODUCTION: "Produktionsfreigabe",
    ApprovalType.CAPACITY: "Kapazitätsfreigabe",
}
_EMULATED: Final = "Zielplattform emuliert – keine Aussage unter realen Bedingungen"


def approval_sentence(report: GateReport, *, title: str, valid_until: date, emulated: bool) -> str:
    """Return the sentence of a given (or requested) approval; names the first open criteria if there are any."""
    open_rows = report.blocking_decision()
    if open_rows:
        first = "; ".join(item.row.title_de for item in open_rows[:2])
        count = "ein Kriterium" if len(open_rows) == 1 else f"{len(open_rows)} Kriterien"
        core = f"Noch keine {_TYPES[report.approval_type]} für ‚{{title}}‘, weil {count} offen sind: {first}"
        core = core.replace("ein Kriterium offen sind", "ein Kriterium offen ist")
        return _fitted(core, title)
    core = (
        f"{_TYPES[report.approval_type]} bis {valid_until:%d.%m.%Y} für ‚{{title}}‘, "
        "weil alle geprüften Kriterien erfüllt sind"
    )
    return _fitted(f"{core}; {_EMULATED}" if emulated else core, title)


def conditional_sentence(
    *,
    approval_type: ApprovalType,
    title: str,
    valid_until: date,
    emulated: bool,
    criteria: Sequence[str],
    last_due: date,
) -> str:
    """Return the sentence of an approval given with conditions on `criteria`, the last one due on `last_due`."""
    count = "einer Auflage" if len(criteria) == 1 else f"{len(criteria)} Auflagen"
    named = f" ({', '.join(criteria)})" if len(criteria) <= _NAMED else ""
    core = (
        f"{_TYPES[approval_type]} bis {valid_until:%d.%m.%Y} für ‚{{title}}‘ mit {count}{named}, "
        f"zu erfüllen bis {last_due:%d.%m.%Y}"
    )
    return _fitted(f"{core}; {_EMULATED}" if emulated else core, title)


def rejection_sentence(*, approval_type: ApprovalType, title: str, alternative: str, reason: str) -> str:
    """Return the sentence of a rejection with the first words of its reason."""
    core = f"Keine {_TYPES[approval_type]} für ‚{{title}}‘ – empfohlen: {alternative.rstrip('.')}; weil "
    room = MAX_WORDS - len(core.format(title=title).split())
    words = reason.strip().rstrip(".").split()
    short = " ".join(words) if len(words) <= room else " ".join(words[: max(room - 1, 1)]) + " …"
    return _fitted(core + short.replace("{", "").replace("}", ""), title)


def _fitted(core: str, title: str) -> str:
    words = title.split()
    while True:
        sentence = core.replace("{title}", " ".join(words)) + "."
        if len(sentence.split()) <= MAX_WORDS or len(words) <= 1:
            return sentence
        words = [*words[:-2], "…"] if words[-1] == "…" else [*words[:-1], "…"]
