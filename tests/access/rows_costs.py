"""Costs and utilisation."""

from __future__ import annotations

from typing import Any, Final

from tests.access.rows import WORKLOAD, Act, Row, nothing, workload_args
from tests.access.world import World
from tests.pilots.costs_house import form

ENTERS: Final = frozenset("CU")


def _sheet(world: World) -> dict[str, Any]:
    return form()


ROWS: Final[tuple[Row, ...]] = (
    Row(
        "pilot_costs",
        WORKLOAD,
        workload_args("frei"),
        nothing,
        post=Act("P17", "own", _sheet, letters=ENTERS),
    ),
)
