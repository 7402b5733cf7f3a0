"""What people record once at a platform or the organisation: frozen values, their checks, their facts. Pure.

`problems()` gives the criterion and one German sentence for each thing that keeps an entry from being handed in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, ClassVar, Final, Protocol, TypeAlias

from django.utils.translation import gettext as _

from qms.core.values import decimal_text
from qms.evidence.choices import EvidenceType
from qms.evidence.holder_choices import (
    CRITERIA_OF,
    SCORES,
    CapabilityArea,
    CommercialModel,
    EnvironmentItem,
    EnvironmentStatus,
    LevelCriterion,
    PlatformLevel,
)

Problem: TypeAlias = tuple[str, str]
MAX_MONTHS: Final = 240
MAX_EUR: Final = Decimal(10) ** 12


class Entry(Protocol):
    """One of the four entries; `platform`: key of the platform, "" for the organisation."""

    type: ClassVar[EvidenceType]

    def facts(self, platform: str) -> dict[str, Any]: ...

    def problems(self) -> Iterator[Problem]: ...


@dataclass(frozen=True, slots=True)
class LevelRating:
    """Scores 0 to 4 of one level by criterion, who gave them and on what."""

    scores: Mapping[LevelCriterion, int]
    assessor: str
    evidence: str

    @property
    def score(self) -> int | None:
        """The lowest score: as between the levels, no good one makes up for a bad one; None where nothing is rated."""
        return min(self.scores.values(), default=None)


@dataclass(frozen=True, slots=True)
class Levels:
    """EV-19: the three levels, each with its own assessor and its own evidence (S052 to S054)."""

    type: ClassVar = EvidenceType.LEVELS
    ratings: Mapping[PlatformLevel, LevelRating]

    def facts(self, platform: str) -> dict[str, Any]:
        """Return the facts of EV-19."""
        return {
            "schema": "qms.levels/1",
            "platform": platform,
            "levels": {
                level.value: {
                    "score": rating.score,
                    "criteria": [
                        {"name": item.value, "score": score} for item, score in rating.scores.items()
                    ],
                    "assessor": rating.assessor.strip(),
                    "evidence": rating.evidence.strip(),
                }
                for level, rating in self.ratings.items()
            },
        }

    def problems(self) -> Iterator[Problem]:
        """Yield what is missing: a level, its score, its assessor, its evidence; or what two levels share."""
        for level in PlatformLevel:
            rating = self.ratings.get(level)
            if (
                rating is None
                or rating.score is None
                or not (rating.assessor.strip() and rating.evidence.strip())
            ):
                yield (
                    "G6-1",
                    _(
                        "„%(level)s“ braucht mindestens eine Note, eine bewertende Person und eine Grundlage (G6-1)."
                    )
                    % {"level": level.label},
                )
            elif not set(rating.scores.values()) <= SCORES.keys() or not set(rating.scores) <= set(
                CRITERIA_OF[level]
            ):
                yield "G6-1", _("Noten reichen von 0 bis 4 und gehören zu ihrer Ebene (G6-1).")
        for texts in (
            [rating.assessor for rating in self.ratings.values()],
            [rating.evidence for rating in self.ratings.values()],
        ):
            if len({text.strip().casefold() for text in texts}) < len(texts):
                yield (
                    "G6-1",
                    _("Jede Ebene braucht eine andere bewertende Person und eine eigene Grundlage (G6-1)."),
                )


@dataclass(frozen=True, slots=True)
class Offer:
    """EV-20: offer, contract and way out (S101, S103; Data Act articles 23, 25, 29); amounts in euros."""

    type: ClassVar = EvidenceType.OFFER
    commercial_model: CommercialModel
    reference: str
    offered_at: date
    term_months: int
    notice_months: int
    transition: str
    data_return: str
    export_format: str
    exit_cost_eur: Decimal
    exit_cost_reason: str
    switching_charges_eur: Decimal
    switching_reason: str

    def facts(self, platform: str) -> dict[str, Any]:
        """Return the facts of EV-20."""
        return {
            "schema": "qms.offer/1",
            "platform": platform,
            "commercial_model": self.commercial_model.value,
            "reference": self.reference.strip(),
            "offered_at": self.offered_at.isoformat(),
            "term_months": self.term_months,
            "notice_months": self.notice_months,
            "transition": self.transition.strip(),
            "data_return": self.data_return.strip(),
            "export_format": self.export_format.strip(),
            "exit_cost_eur": decimal_text(self.exit_cost_eur),
            "exit_cost_reason": self.exit_cost_reason.strip(),
            "switching_charges_eur": decimal_text(self.switching_charges_eur),
            "switching_reason": self.switching_reason.strip(),
        }

    def problems(self) -> Iterator[Problem]:
        """Yield what is missing or impossible; a zero needs its reason."""
        texts = (self.reference, self.transition, self.data_return, self.export_format)
        if not all(text.strip() for text in texts):
            yield (
                "G6-6",
                _("Bitte nennen Sie Angebot, Übergang, Rückgabe der Daten und Exportformat (G6-6)."),
            )
        if not 1 <= self.term_months <= MAX_MONTHS or not 0 <= self.notice_months <= MAX_MONTHS:
            yield (
                "G6-6",
                _("Laufzeit und Kündigungsfrist sind Monate zwischen 0 und 240, die Laufzeit ab 1 (G6-6)."),
            )
        for name, amount, reason in (
            (_("Kosten des Ausstiegs"), self.exit_cost_eur, self.exit_cost_reason),
            (_("Wechselentgelte"), self.switching_charges_eur, self.switching_reason),
        ):
            if not amount.is_finite() or not 0 <= amount <= MAX_EUR:
                yield "G6-6", _("%(name)s: bitte einen Betrag ab 0 € nennen (G6-6).") % {"name": name}
            elif not amount and not reason.strip():
                yield "G6-6", _("%(name)s: 0 € brauchen eine Begründung (G6-6).") % {"name": name}


@dataclass(frozen=True, slots=True)
class EnvironmentAnswer:
    """Status of one item, who answers for it, what it costs in euros (None: not known)."""

    status: EnvironmentStatus
    responsible: str
    cost_eur: Decimal | None
    note: str


@dataclass(frozen=True, slots=True)
class Environment:
    """EV-26: the five items of the environment checklist (S085)."""

    type: ClassVar = EvidenceType.ENVIRONMENT
    items: Mapping[EnvironmentItem, EnvironmentAnswer]

    def facts(self, platform: str) -> dict[str, Any]:
        """Return the facts of EV-26."""
        return {
            "schema": "qms.environment/1",
            "platform": platform,
            "items": [
                {
                    "item": item.value,
                    "status": answer.status.value,
                    "responsible": answer.responsible.strip(),
                    "cost_eur": None if answer.cost_eur is None else decimal_text(answer.cost_eur),
                    "note": answer.note.strip(),
                }
                for item, answer in self.items.items()
            ],
        }

    def problems(self) -> Iterator[Problem]:
        """Yield what is missing: an item, who answers for it, why it is not needed."""
        for item in EnvironmentItem:
            answer = self.items.get(item)
            name = {"name": item.label}
            if answer is None or not answer.responsible.strip():
                yield "G6-7", _("%(name)s: bitte Status und zuständige Person nennen (G6-7).") % name
            elif answer.cost_eur is not None and (
                not answer.cost_eur.is_finite() or not 0 <= answer.cost_eur <= MAX_EUR
            ):
                yield "G6-7", _("%(name)s: bitte einen Betrag ab 0 € nennen (G6-7).") % name
            elif answer.status is EnvironmentStatus.NOT_NEEDED and not answer.note.strip():
                yield "G6-7", _("%(name)s: „entfällt“ braucht eine Begründung (G6-7).") % name


@dataclass(frozen=True, slots=True)
class CapabilityAnswer:
    """Who answers for an area, and what shows it; both empty where nobody does."""

    responsible: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Capability:
    """EV-27: the capability matrix of the organisation (S048); a row may stay empty, G2-4 judges it."""

    type: ClassVar = EvidenceType.CAPABILITY
    rows: Mapping[CapabilityArea, CapabilityAnswer]

    def facts(self, platform: str) -> dict[str, Any]:
        """Return the facts of EV-27."""
        return {
            "schema": "qms.capability/1",
            "rows": [
                {
                    "row": area.value,
                    "responsible": answer.responsible.strip(),
                    "evidence": answer.evidence.strip(),
                }
                for area, answer in self.rows.items()
            ],
        }

    def problems(self) -> Iterator[Problem]:
        """Yield that nothing was said, or that a row says only half."""
        filled = [(bool(row.responsible.strip()), bool(row.evidence.strip())) for row in self.rows.values()]
        if not any(any(pair) for pair in filled):
            yield "G2-4", _("Bitte nennen Sie mindestens für einen Bereich, wer ihn verantwortet (G2-4).")
        if any(any(pair) and not all(pair) for pair in filled):
            yield (
                "G2-4",
                _("Zu jeder zuständigen Person gehört ein Beleg, zu jedem Beleg eine Person (G2-4)."),
            )
