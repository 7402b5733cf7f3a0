"""The feed-forward part of a mixture of experts: only the experts a row was sent to are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from pilots.wafer.handlers.base import Array, Handler, Inputs, text, wide
from pilots.wafer.numerics import Float, gelu, relu, silu
from pilots.wafer.numerics_products import two_level_product
from pilots.wafer.program import Call

ACTIVATIONS: Final[dict[str, Callable[[Float], Float]]] = {"relu": relu, "gelu": gelu, "silu": silu}


def _expert_ffn(call: Call, inputs: Inputs) -> Array:
    """Return the sum over experts, from first to last, of gate x (activation(x w_gate) x (x w_up)) w_down.

    A gate of zero says that the row was not sent there. Products are matrix-vector products over the whole rectangle:
    k is cut into as many tiles as it has rows, whose sums meet in a two-level tree.
    """
    x, gates, w_gate, w_up, w_down = (wide(item) for item in inputs)
    activation = ACTIVATIONS[text(call, "activation")]
    total = np.zeros_like(x)
    for expert in range(gates.shape[1]):
        sent = np.flatnonzero(gates[:, expert])
        if not len(sent):
            continue
        rows = x[sent]
        hidden = np.multiply(
            activation(_product(call, rows, w_gate[expert])), _product(call, rows, w_up[expert])
        )
        part = np.multiply(gates[sent, expert, None], _product(call, hidden, w_down[expert]))
        total[sent] = np.add(total[sent], part)
    return total


def _product(call: Call, left: Float, right: Float) -> Float:
    return two_level_product(left, right, -(-left.shape[1] // call.rect.height))


HANDLERS: Final[dict[str, Handler]] = {"expert_ffn": _expert_ffn}
