"""Golden files: `python -m tests.pilots.wafer.update_golden` writes them anew after a wanted change."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Final

from pilots.graph.mlp import mlp_from_text
from pilots.wafer import emulator
from pilots.wafer.machine import WSE_2

GOLDEN: Final = Path(__file__).parent / "golden_demo.json"
FUNCTIONAL: Final = Path(__file__).parent / "golden_functional.json"
TEXT: Final = "64-256-256-8"


def demo() -> dict[str, Any]:
    """Return manifest, metrics and outputs of the demo run as the file holds them."""
    graph, weights = mlp_from_text(TEXT)
    result = emulator.run(graph, weights, inputs_seed=7, batch=32, machine=WSE_2)
    return {
        "manifest": result.manifest,
        "metrics": [item.to_json() for item in result.metrics],
        "outputs_sha256": hashlib.sha256(next(iter(result.outputs.values())).tobytes()).hexdigest(),
    }


def functional() -> dict[str, Any]:
    """Return the digests of perceptrons and of every handler as the file holds them."""
    from tests.pilots.wafer.test_functional_handlers import handler_digests
    from tests.pilots.wafer.test_functional_run import perceptron_digests

    return {"handlers": handler_digests(), "perceptrons": perceptron_digests()}


if __name__ == "__main__":
    for path, made in ((GOLDEN, demo()), (FUNCTIONAL, functional())):
        path.write_text(
            json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        sys.stdout.write(f"{path.name} written\n")
