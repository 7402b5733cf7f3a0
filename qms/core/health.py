"""Registry of health checks, shared by `doctor`, the health page and the preflight of `serve`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext as _

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    ok: nothing to do; text_de: one line that says what is; remedy_de: one line that says what to do, empty when ok.
    """

    ok: bool
    text_de: str
    remedy_de: str = ""


Check = Callable[[], Finding]


@dataclass(frozen=True, slots=True)
class Result:
    """One check with its outcome; a mandatory one that is not ok makes the installation unfit."""

    name: str
    mandatory: bool
    finding: Finding


@dataclass(frozen=True, slots=True)
class _Entry:
    check: Check
    mandatory: bool
    before_migration: bool


_checks: dict[str, _Entry] = {}


def register_check(
    name: str, *, mandatory: bool = False, before_migration: bool = False
) -> Callable[[Check], Check]:
    """Register a check under its German title; the order of registration is the order of the report.

    before_migration: it makes sense, and works, on a database that still lacks migrations.
    """

    def register(check: Check) -> Check:
        _checks[name] = _Entry(check, mandatory, before_migration)
        return check

    return register


def run(*, mandatory_only: bool = False, before_migration: bool = False) -> list[Result]:
    """Run the registered checks, or those of a kind only; one that raises is a finding, not an error."""
    return [
        Result(name, entry.mandatory, _finding(name, entry.check))
        for name, entry in _checks.items()
        if entry.mandatory >= mandatory_only and entry.before_migration >= before_migration
    ]


def is_fit(results: list[Result]) -> bool:
    """Return whether every mandatory check is ok."""
    return all(result.finding.ok for result in results if result.mandatory)


def _finding(name: str, check: Check) -> Finding:
    try:
        return check()
    except Exception as error:  # outermost frame of a check
        logger.exception("health check %s failed", name)
        return Finding(
            ok=False,
            text_de=_("Die Prüfung konnte nicht laufen (%(error)s)") % {"error": type(error).__name__},
            remedy_de=_("Meldung im Protokoll des Dienstes lesen"),
        )
