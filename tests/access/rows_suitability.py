"""Suitability and the claims register."""

from __future__ import annotations

from typing import Any, Final

from tests.access.rows import LOGIN, WORKLOAD, Act, Row, nothing, workload_args
from tests.access.world import World


def _answers(world: World) -> dict[str, Any]:
    return {"org_profile": "UNTERNEHMEN", "usage_kind": "REGELBETRIEB"}


def _claim(world: World) -> dict[str, Any]:
    return {"status": "TEILWEISE", "reason": "Nur unter Laborbedingungen.", "version": "0"}


ANY_LETTER: Final = frozenset("CUSVDXRr")

ROWS: Final[tuple[Row, ...]] = (
    Row(
        "workload_suitability",
        WORKLOAD,
        workload_args("entwurf"),
        nothing,
        post=Act("P11", "own", _answers),
    ),
    Row("claims", LOGIN, reading="P40", read_letters=ANY_LETTER),
    Row(
        "claim",
        LOGIN,
        lambda world: ["S031"],
        lambda world: ["S999"],
        reading="P40",
        read_letters=ANY_LETTER,
        post=Act("P40", data=_claim),
    ),
)
