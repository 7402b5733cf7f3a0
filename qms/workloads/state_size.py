"""How much memory a workload needs at the same time, computed from what was read from its model (E2). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from qms.workloads.choices import TRAINING, Mode

TRAINING_BYTES_PER_PARAMETER: Final = 16
"""Mixed precision with Adam: weights and gradients in 16 bit, master weights and two moments in 32 bit (2+2+4+4+4)."""
GB: Final = 10**9


def state_bytes(mode: str, model_facts: Mapping[str, Any]) -> int | None:
    """Return the needed state in bytes: for training per parameter, for inference the weights; None if unknown."""
    if mode in TRAINING:
        params = model_facts.get("params")
        return None if params is None else TRAINING_BYTES_PER_PARAMETER * int(params)
    weights = model_facts.get("weight_bytes")
    return None if mode != Mode.INFERENCE or weights is None else int(weights)


def state_gb(entered: Decimal | None, mode: str, model_facts: Mapping[str, Any]) -> Decimal | None:
    """Return the needed state in GB: as entered, else as computed from the model; None if neither is known."""
    if entered is not None:
        return entered
    found = state_bytes(mode, model_facts)
    return None if found is None else Decimal(found) / GB


def params_b(model_facts: Mapping[str, Any]) -> Decimal | None:
    """Return the number of parameters in billions, None if it is not known."""
    params = model_facts.get("params")
    return None if params is None else Decimal(int(params)) / 10**9
