"""The permission matrix as registered data: which role may do what with which letter (spec 3.3).

The matrix belongs to the rule set, which lies above this package; `set_source` is called once at start.
Letters: C create, U update, S submit, V vote or opinion, D decide, X execute, R read, r read own cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from qms.core.errors import QmsError
from qms.roles.permissions import Permission
from qms.roles.roles import Role

Letters: TypeAlias = frozenset[str]
Matrix: TypeAlias = Mapping[Permission, Mapping[Role, Letters]]

ALL_LETTERS: Final[Letters] = frozenset("CUSVDXRr")
ACTING: Final[Letters] = frozenset("CUSVDX")
READING: Final[Letters] = frozenset("Rr")
# P33 is the one action that consists of reading.
_READ_ACTIONS: Final[frozenset[Permission]] = frozenset({Permission.READ_AUDIT})

_source: list[Callable[[], Matrix]] = []


class MatrixMissing(QmsError):
    """No rule set has registered its permission matrix yet."""


def set_source(source: Callable[[], Matrix]) -> None:
    """Register the function that returns the matrix in force; the last call counts."""
    _source[:] = [source]


def current() -> Matrix:
    """Return the matrix in force; raises MatrixMissing before a rule set has registered one."""
    if not _source:
        raise MatrixMissing("no permission matrix: expected a source set by the rule sets, got none")
    return _source[0]()


def letters(permission: Permission, role: Role) -> Letters:
    """Return the letters of `role` in the row of `permission`; empty means no right at all."""
    return current().get(permission, {}).get(role, frozenset())


def needed(permission: Permission) -> Letters:
    """Return the letters of which a role needs one to perform the action itself."""
    return READING if permission in _READ_ACTIONS else ACTING


def roles_for(permission: Permission, wanted: Letters | None = None) -> frozenset[Role]:
    """Return the roles that hold one of `wanted` (default: `needed`) in the row of `permission`."""
    mask = needed(permission) if wanted is None else wanted
    return frozenset(role for role, held in current().get(permission, {}).items() if held & mask)


def readers_of_everything(permission: Permission) -> frozenset[Role]:
    """Return the roles that read every case in the row of `permission` (letter R, not r)."""
    return frozenset(role for role, held in current().get(permission, {}).items() if "R" in held)
