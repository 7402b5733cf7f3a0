"""What this installation is: a demo or the real thing, stored in the database when it is made (stack.md 3.5)."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.utils.translation import gettext as _

from qms.core.errors import QmsError
from qms.core.models import Installation, InstallationMode


class WrongMode(QmsError):
    """The process was started in another mode than the database was made for; the text is a German sentence."""


_steps: list[Callable[[], None]] = []


def add_step(step: Callable[[], None]) -> None:
    """Register what `prepare` does in every installation; a step may run any number of times."""
    if step not in _steps:
        _steps.append(step)


def take_steps() -> None:
    """Run the registered steps in their order."""
    for step in _steps:
        step()


def stored_mode() -> InstallationMode | None:
    """Return what the database was made for, or None before `store_mode`."""
    value = Installation.objects.values_list("mode", flat=True).first()
    return InstallationMode(value) if value else None


def started_mode() -> InstallationMode:
    """Return the mode this process was started in."""
    return InstallationMode.DEMO if settings.DEMO else InstallationMode.REAL


def store_mode() -> InstallationMode:
    """Store the mode of this process in a new database and return what is stored; raises WrongMode."""
    Installation.objects.get_or_create(id=1, defaults={"mode": started_mode()})
    check_mode()
    return started_mode()


def check_mode() -> None:
    """Raise WrongMode unless process and database agree."""
    stored = stored_mode()
    if stored is None:
        raise WrongMode(_("Die Datenbank ist noch nicht eingerichtet (Befehl: prepare)."))
    if stored != started_mode():
        raise WrongMode(
            _(
                "Diese Datenbank wurde für „%(stored)s“ angelegt und lässt sich nicht als „%(started)s“ starten. "
                "Nehmen Sie einen anderen Datenordner (QMS_DATA)."
            )
            % {"stored": stored.label, "started": started_mode().label}
        )


def is_demo() -> bool:
    """Return whether demo logins, demo data and the DEMO root may be used: process and database both say demo."""
    return bool(settings.DEMO) and stored_mode() == InstallationMode.DEMO
