"""Deviations of a target run from its baseline."""

from __future__ import annotations

from typing import Any, Final

from tests.access.rows import WORKLOAD, Act, Row, nothing, workload_args
from tests.access.world import World


def _deviation(world: World) -> dict[str, Any]:
    texts = {f"{name}_1": "Angabe" for name in ("baseline", "target", "reason", "effect")}
    return {"field_1": "BATCHGROESSE"} | texts


ROWS: Final[tuple[Row, ...]] = (
    Row(
        "pilot_deviations",
        WORKLOAD,
        workload_args("entwurf"),
        nothing,
        post=Act("P13", "run", _deviation, status=422),
        note="the manifest comes with the target run",
    ),
)
