"""Who acts: a random person reference and the role code under which the person acts. No names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Actor:
    """The actor of an event as it stands in the line (audit.md 4.1).

    pid: random reference of the person, or a service code; acting_role: role code of spec 3.2, `SYS` and `EMU`
    for services; delegated_for: pid of the person represented (i. V.), or None.
    """

    pid: str
    acting_role: str
    delegated_for: str | None = None

    def audit_actor(self, role: str = "") -> Actor:
        """Return this actor, under `role` if one is given."""
        return replace(self, acting_role=role) if role else self


class HasActor(Protocol):
    """Whatever can act: an `Actor`, or an account that knows the reference of its person."""

    def audit_actor(self, role: str = "") -> Actor:
        """Return the actor, acting under `role` ("" = the one the account acts under by itself)."""
        ...


SYSTEM = Actor("SYS", "SYS")
EMULATOR = Actor("EMU", "EMU")
