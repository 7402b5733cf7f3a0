"""What a criterion answers, and the registry that ties criterion ids to their functions. Pure.

The texts of an outcome are German whatever language is active: they are hashed with the dossier and printed in
the signed document.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, auto
from typing import Final, TypeAlias

from qms.core.values import Assurance, Origin, Provenance, decimal_text
from qms.gates.choices import CriterionResult
from qms.gates.errors import RuleSetError
from qms.gates.facts import Facts
from qms.gates.policy import Policy
from qms.workloads import metrics as catalogue


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one criterion: value found, threshold asked, and the reason as one German sentence.

    cause: set where somebody else, or something else, helps than the row of the rule set says; never stored.
    """

    result: CriterionResult
    value_de: str
    threshold_de: str
    reason_de: str
    cause: Cause | None = None


class Cause(Enum):
    """A reason why a criterion is not met that its row of the rule set does not know."""

    MODEL_FILE_LEVEL = auto()
    ANOTHER_WORKLOAD = auto()


Check: TypeAlias = Callable[[Facts, Policy], Outcome]

_REGISTRY: Final[dict[str, Check]] = {}
_MEBI: Final = 2**20
_AXIS_DE: Final[dict[Provenance | Assurance | Origin, str]] = {
    Provenance.MEASURED: "GEMESSEN",
    Provenance.EMULATED: "EMULIERT",
    Provenance.VENDOR_STATED: "HERSTELLERANGABE",
    Provenance.DERIVED: "ABGELEITET",
    Provenance.ESTIMATED: "GESCHÄTZT",
    Assurance.SUBMITTED: "eingereicht",
    Assurance.CROSS_CHECKED: "gegengeprüft",
    Assurance.SIGNED_BY_COMMAND: "vom Messbefehl signiert",
    Assurance.REPEATED: "wiederholt",
    Origin.OWN: "eigen",
    Origin.THIRD_PARTY: "Dritte",
    Origin.PUBLISHED: "veröffentlicht",
}


def criterion(criterion_id: str) -> Callable[[Check], Check]:
    """Register the decorated function as the check of `criterion_id`; raises RuleSetError on a second one."""

    def register(check: Check) -> Check:
        if criterion_id in _REGISTRY:
            raise RuleSetError(f"{criterion_id} has two functions")
        _REGISTRY[criterion_id] = check
        return check

    return register


def registered() -> dict[str, Check]:
    """Return all checks by criterion id."""
    return dict(_REGISTRY)


def met(value: str, threshold: str, reason: str) -> Outcome:
    """Return a fulfilled criterion."""
    return Outcome(CriterionResult.MET, value, threshold, reason)


def not_met(value: str, threshold: str, reason: str) -> Outcome:
    """Return a criterion whose facts are there and do not suffice."""
    return Outcome(CriterionResult.NOT_MET, value, threshold, reason)


def missing(threshold: str, reason: str) -> Outcome:
    """Return an open criterion: a fact is missing or may not be judged."""
    return Outcome(CriterionResult.OPEN, "liegt nicht vor", threshold, reason)


def not_applicable(reason: str) -> Outcome:
    """Return a criterion that does not apply; `reason` completes "nicht anwendbar, weil …"."""
    return Outcome(CriterionResult.NOT_APPLICABLE, "", "", f"Nicht anwendbar, weil {reason}.")


def decide(fulfilled: bool, value: str, threshold: str, good: str, bad: str) -> Outcome:
    """Return a fulfilled or unfulfilled criterion with the sentence that fits."""
    return met(value, threshold, good) if fulfilled else not_met(value, threshold, bad)


def german(value: Decimal) -> str:
    """Return a number with decimal comma."""
    return decimal_text(value).replace(".", ",")


def percent(share: Decimal) -> str:
    """Return a share as per cent with decimal comma ("1,8 %")."""
    return f"{german(share * 100)}\u00a0%"


def shown(value: Decimal, places: int = 1) -> str:
    """Return a number rounded to at most so many decimals, with decimal comma ("29,3", "22")."""
    return german(round(value, places))


def apart(value: Decimal, limit: Decimal, show: Callable[[Decimal, int], str]) -> tuple[str, str]:
    """Return both numbers with as few decimals as tell them apart, so that 19,96 never reads like 20."""
    for places in range(1, 8):
        texts = show(value, places), show(limit, places)
        if texts[0] != texts[1] or value == limit:
            return texts
    return show(value, 8), show(limit, 8)


def share(value: Decimal, places: int = 1) -> str:
    """Return a share as rounded per cent ("29,3 %")."""
    return f"{shown(value * 100, places)}\u00a0%"


def euro(value: Decimal) -> str:
    """Return an amount of money ("1.433,33 €")."""
    whole, _, cents = f"{value:,.2f}".partition(".")
    return f"{whole.replace(',', '.')},{cents}\u00a0€"


def count(value: int) -> str:
    """Return a whole number with points between groups of three ("4.000")."""
    return f"{value:,}".replace(",", ".")


def mebibytes(value: int) -> str:
    """Return bytes as whole MiB, rounded up so that a need never looks smaller ("34.945 MiB")."""
    return f"{count(-(-value // _MEBI))}\u00a0MiB"


def metric_de(key: str, percentile: str | None = None) -> str:
    """Return the German name of a metric with its percentile, whatever language is active; unknown keys as they are."""
    known = catalogue.catalogue().get(key)
    name = str(known.row["name_de"]) if known else key
    return f"{name} {percentile}" if percentile else name


def axis(value: Provenance | Assurance | Origin) -> str:
    """Return the German word of one evidence axis, as the badge beside a number has it."""
    return _AXIS_DE[value]
