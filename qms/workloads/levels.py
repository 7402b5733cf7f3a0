"""Order of the classification levels (spec 4.1) and what follows from it (4.3). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from qms.workloads.choices import Flag, Level, ProtectionNeed

# Lowest level a flag allows (spec 4.1); F-GA and F-VS have none of their own.
FLAG_MINIMUM: Final[dict[Flag, Level]] = {
    Flag.PERSONAL_DATA: Level.CONFIDENTIAL,
    Flag.SPECIAL_CATEGORIES: Level.STRICTLY_CONFIDENTIAL,
    Flag.PROTECTED_WEIGHTS: Level.CONFIDENTIAL,
    Flag.EMPLOYEE_DATA: Level.CONFIDENTIAL,
    Flag.TRADE_SECRET: Level.CONFIDENTIAL,
    Flag.THIRD_PARTY_LICENCE: Level.INTERNAL,
    Flag.EXPORT_CONTROLLED: Level.CONFIDENTIAL,
}

PROTECTION_C: Final[dict[Level, ProtectionNeed]] = {
    Level.PUBLIC: ProtectionNeed.NORMAL,
    Level.INTERNAL: ProtectionNeed.NORMAL,
    Level.CONFIDENTIAL: ProtectionNeed.HIGH,
    Level.STRICTLY_CONFIDENTIAL: ProtectionNeed.VERY_HIGH,
}


def rank(level: Level) -> int:
    """Return the position of `level` from K0 = 0 to K3 = 3."""
    return list(Level).index(level)


def highest(levels: Iterable[Level]) -> Level | None:
    """Return the highest level (maximum principle, 4.3 rule 4), None for nothing: there is no default level."""
    found = list(levels)
    return max(found, key=rank) if found else None


def lower_of(first: Level, second: Level) -> Level:
    """Return the lower of two levels."""
    return min(first, second, key=rank)


def at_least(level: Level, minimum: Level | None) -> Level:
    """Return `level` raised to `minimum`."""
    return level if minimum is None else max(level, minimum, key=rank)


def minimum_for(flags: Iterable[Flag]) -> Level | None:
    """Return the lowest level that `flags` allow (spec 4.1), None if they set none."""
    return highest(FLAG_MINIMUM[flag] for flag in flags if flag in FLAG_MINIMUM)


def ordered(flags: Iterable[Flag]) -> tuple[Flag, ...]:
    """Return `flags` without duplicates in the order of the catalogue, so that two writers agree."""
    found = set(flags)
    return tuple(flag for flag in Flag if flag in found)
