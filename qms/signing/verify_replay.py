"""`--replay`: compute the emulated run of a document again, found by the SHA-256 that the document names. Django-free.

The replay is loaded by its dotted name. It says nothing about the signatures, and proves the computation, not reality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from qms.core import canonical
from qms.signing import decision
from qms.signing.report import EXIT_INVALID, EXIT_NO_ANCHOR, EXIT_VALID, Report
from qms.signing.request import DECISION_FILE
from qms.signing.verify_pdf import SignedPdf

MODULE: Final = "pilots.replay"  # replay(manifest, fetch=...), folder(path), ReplayRefused
LINEAGE_TYPE: Final = "EV-16"
PINNED: Final = (  # EV-16 is found by the digest in the document, so its statements on origin are those decided on
    "Der Nachweis EV-16 hat die Prüfsumme, die das Dokument nennt; seine Angaben zur Herkunft sind unverändert, aber "
    "nicht nachgerechnet."
)


class ReplayState(StrEnum):
    """What computing again found."""

    EQUAL = "gleich"
    DIFFERENT = "verschieden"
    UNCHECKED = "nicht geprüft"


@dataclass(frozen=True, slots=True)
class Replayed:
    """One run computed again: evidence it stands in, what was found, one sentence, and both digests where there are some."""

    evidence_sha256: str
    state: ReplayState
    reason: str
    expected: str = ""
    actual: str = ""

    def to_json(self) -> dict[str, str]:
        """Return plain JSON values."""
        return {
            "evidence_sha256": self.evidence_sha256,
            "state": self.state.value,
            "reason": self.reason,
            "expected": self.expected,
            "actual": self.actual,
        }

    def to_text(self) -> str:
        """Return one line for a terminal."""
        return f"Nachrechnung: {self.state.value} – {self.reason}"


def replay(data: bytes, report: Report, evidence: Path | None) -> list[Replayed]:
    """Compute again every run that the verified document rests on; evidence: folder with EV-16 and the model file."""
    if not report.intact:
        return [_unchecked("", "das Dokument ist nicht unversehrt")]
    made = decision.parse(SignedPdf(data).attachments()[DECISION_FILE])
    digests = [str(item["sha256"]) for item in made.data["evidence"] if item.get("type") == LINEAGE_TYPE]
    if not digests:
        return [_unchecked("", "das Dokument nennt kein Laufmanifest (EV-16)")]
    if evidence is None:
        sentence = "das Laufmanifest liegt nicht im Dokument; bitte den Ordner mit den Nachweisen angeben (--evidence)"
        return [_unchecked(sha256, sentence) for sha256 in digests]
    return list(_all(digests, evidence))


def exit_code(report: Report, found: list[Replayed]) -> int:
    """Return the code of the whole command: a different result is no success; what was not checked changes nothing."""
    different = any(item.state is ReplayState.DIFFERENT for item in found)
    return (
        EXIT_INVALID if different and report.exit_code in {EXIT_VALID, EXIT_NO_ANCHOR} else report.exit_code
    )


def _all(digests: list[str], evidence: Path) -> Iterator[Replayed]:
    try:
        door: Any = import_module(MODULE)
    except ImportError:
        for sha256 in digests:
            yield _unchecked(sha256, "der Emulator (pilots) ist hier nicht eingerichtet")
        return
    fetch = door.folder(evidence)
    for sha256 in digests:
        yield _one(sha256, door, fetch)


def _one(sha256: str, door: Any, fetch: Callable[[str], bytes]) -> Replayed:
    try:
        raw = fetch(sha256)
    except KeyError:
        return _unchecked(
            sha256, f"der Nachweis EV-16 mit der Prüfsumme {sha256[:16]}… liegt nicht im Ordner"
        )
    try:
        manifest = canonical.loads(raw)["manifest"]
    except (ValueError, KeyError, TypeError):
        return _unchecked(sha256, f"der Nachweis mit der Prüfsumme {sha256[:16]}… enthält kein Laufmanifest")
    try:
        verdict = door.replay(manifest, fetch=fetch)
    except door.ReplayRefused as error:
        return _unchecked(sha256, error.message_de)
    state = ReplayState.EQUAL if verdict.equal else ReplayState.DIFFERENT
    sentence = f"{verdict.sentence_de} {PINNED}"
    return Replayed(sha256, state, sentence, verdict.expected, verdict.actual)


def _unchecked(sha256: str, reason: str) -> Replayed:
    return Replayed(sha256, ReplayState.UNCHECKED, reason)
