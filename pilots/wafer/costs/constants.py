"""The constants of the timing model: what each one means, where its starting value was published, what the fit made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from qms.core import canonical
from qms.core.values import decimal_text, rounded

DATA: Final = Path(__file__).parent.parent / "data"


@dataclass(frozen=True, slots=True)
class Constants:
    """Cycles. All positive; a change of one never changes what another means.

    loop_*: SUMMA of the vendor's examples in fp32: per weight element, per multiply-add.
    step: one step of a product that moves blocks: two collectives start, whichever kernel it is.
    mesh_dispatch, gemv_dispatch: per dispatched vector operation of the open research kernels in fp16.
    map_*: product inside one element, one vector operation per column: per column, per call.
    realign: one element of an activation brought into the place the next product reads it from.
    launch: start of a kernel on a whole rectangle, within a program of many kernels.
    stencil_point: one point of a stencil, per cell.
    """

    loop_element: float
    loop_fma: float
    step: float
    mesh_dispatch: float
    gemv_dispatch: float
    map_column: float
    map_call: float
    realign: float
    launch: float
    stencil_point: float

    def to_json(self) -> dict[str, str]:
        """Return the constants as decimal strings."""
        return {item.name: decimal_text(rounded(getattr(self, item.name), 6)) for item in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Constants:
        """Return the constants of a calibration record; raises KeyError."""
        return cls(**{item.name: float(data[item.name]) for item in fields(cls)})


# Every starting value is published for something else than the runs the constants are fitted on.
PRIOR: Final = Constants(
    loop_element=17.0,
    loop_fma=2.47,
    step=258.0,
    mesh_dispatch=6.0,
    gemv_dispatch=6.0,
    map_column=6.0,
    map_call=17.0,
    realign=17.0,
    launch=129.0,
    stencil_point=2.0,
)
PRIOR_SOURCES: Final[dict[str, str]] = {
    "loop_element": "pe.fma32.si: setup of a vector operation",
    "loop_fma": "pe.fma32.si: two cycles, 1.94 times as long on one of four alignments (pe.bankpen)",
    "step": "hpdc.skew: two collectives, each with the start skew of a two-dimensional mesh",
    "mesh_dispatch": "pe.dsdop: cycles before the elements",
    "gemv_dispatch": "pe.dsdop",
    "map_column": "pe.dsdop",
    "map_call": "pe.fma32.si: setup",
    "realign": "pe.fma32.si: setup",
    "launch": "hpdc.skew: start skew of a two-dimensional mesh",
    "stencil_point": "pe.fma32.si: 0.5 elements per cycle",
}


@lru_cache(maxsize=1)
def record() -> dict[str, Any]:
    """Return the calibration record as `calibrate` wrote it."""
    found: dict[str, Any] = json.loads((DATA / "calibration.json").read_text(encoding="utf-8"))
    return found


@lru_cache(maxsize=1)
def calibrated() -> Constants:
    """Return the fitted constants."""
    return Constants.from_json(record()["constants"])


@lru_cache(maxsize=1)
def calibration_sha256() -> str:
    """Return the digest of the calibration record."""
    return canonical.digest(record())
