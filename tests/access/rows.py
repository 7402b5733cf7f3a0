"""What a row of the access table says, and the relations its expectations follow from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from tests.access.world import World

ROLES: Final = {  # what each actor is by role; nobody else holds one
    **dict.fromkeys(("fremd", "owner", "stellv", "leitung"), "WO"),
    **{code: code for code in ("PR", "FG", "AU", "AD")},
}
SIGNED_IN: Final = frozenset(
    {"ohne", "fremd", "owner", "stellv", "leitung", "PR", "FG", "AU", "AD", "super", "dienst"}
)
# Who may know that the workloads exist: owner, deputy and lead by personal grant (the owner's service account counts
# as its person), PR, FG and AU through the grant of their role group.
SEES_WORKLOAD: Final = frozenset({"owner", "stellv", "leitung", "PR", "FG", "AU", "dienst"})
GRANTS: Final = {
    "view": SEES_WORKLOAD,
    "own": frozenset({"owner", "stellv", "leitung"}),
    "run": frozenset({"owner", "stellv", "leitung"}),
    "review": frozenset({"PR"}),
    "decide": frozenset({"FG"}),
    "": SIGNED_IN,  # the act concerns no workload
}
KNOWS_PEOPLE: Final = frozenset({"PR", "AU", "AD"})  # any letter in the row of P36
PUBLIC, LOGIN, WORKLOAD, PEOPLE = "public", "login", "workload", "people"
UNKNOWN: Final = UUID("01890000-0000-7000-8000-000000000000")
INVOLVED_DECIDES: Final = {"owner": "SoD-01", "stellv": "SoD-02", "leitung": "SoD-02"}
INVOLVED_JUDGES: Final = {"owner": "SoD-02", "stellv": "SoD-02", "leitung": "SoD-02"}
PRODUCER_JUDGES: Final = INVOLVED_JUDGES | {"leitung": "SoD-03"}  # the lead started the runs
CHANGING: Final = frozenset("CUSVDX")


@dataclass(frozen=True)
class Act:
    """One act: the row of the permission table and the grant on the workload it needs, and its answer when allowed.

    letters: the letters that carry this act; sod: actors whom segregation of duties refuses, with the rule named;
    hidden: actors for whom the thing itself does not exist; json: the status for machines, if it is another one.
    """

    permission: str = ""
    grant: str = ""
    data: Callable[[World], dict[str, Any]] = lambda world: {}
    status: int = 302
    letters: frozenset[str] = CHANGING
    sod: dict[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    json: int | None = None


@dataclass(frozen=True)
class Row:
    """One address. args: of the URL; unknown: the same with a thing that does not exist; query: added to GET.

    get: the status of reading for those in scope, None where there is no GET; reading: the permission a page needs
    (refused with 403 by name); hidden: actors for whom the page does not exist although they are in scope.
    """

    name: str
    scope: str
    args: Callable[[World], list[Any]] = lambda world: []
    unknown: Callable[[World], list[Any]] | None = None
    get: int | None = 200
    post: Act | None = None
    query: Callable[[World], str] = lambda world: ""
    reading: str = ""
    read_letters: frozenset[str] = CHANGING
    hidden: frozenset[str] = frozenset()
    note: str = ""


def workload_args(state: str) -> Callable[[World], list[Any]]:
    return lambda world: [world.workloads[state].pk]


def approval_args(state: str) -> Callable[[World], list[Any]]:
    return lambda world: [world.approvals[state].pk]


def extra_args(name: str) -> Callable[[World], list[Any]]:
    return lambda world: [world.extras[name].pk]


def person_args(actor: str) -> Callable[[World], list[Any]]:
    return lambda world: [world.accounts[actor].person_id]


def account_args(actor: str) -> Callable[[World], list[Any]]:
    return lambda world: [world.accounts[actor].pk]


def nothing(world: World) -> list[Any]:
    return [UNKNOWN]
