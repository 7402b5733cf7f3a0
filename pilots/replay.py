"""Run an emulation again from its manifest and compare digests. Needs no Django, no database and no files.

An equal digest proves the computation, not reality (EM-14).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pilots.graph.errors import GraphError
from pilots.graph.mlp import mlp_from_text
from pilots.wafer import emulator
from pilots.wafer.errors import WaferError
from pilots.wafer.machine import Machine, UnknownMachine, find
from pilots.wafer.program import Kernel


class ReplayRefused(ValueError):
    """The manifest cannot be run again; `message_de` says why in one German sentence."""

    def __init__(self, message: str, *, message_de: str) -> None:
        super().__init__(message)
        self.message_de = message_de


@dataclass(frozen=True, slots=True)
class ReplayVerdict:
    """Digest of the manifest against the digest computed now; `differs` names the parts that are not the same."""

    equal: bool
    expected: str
    actual: str
    differs: tuple[str, ...] = ()


def replay(
    manifest: dict[str, Any],
    *,
    on_progress: Callable[[int, int], None] | None = None,
    check_cancelled: Callable[[], None] | None = None,
) -> ReplayVerdict:
    """Rebuild the graph from the manifest, emulate it again and compare; raises ReplayRefused.

    on_progress gets (samples done, all); whatever check_cancelled raises passes through if it is no ValueError.
    """
    try:
        model, inputs = manifest["model"], manifest["inputs"]
        if manifest["format"] != "wafer-manifest-2" or model["kind"] != "mlp":
            raise ReplayRefused(
                f"format {manifest['format']!r} of {model['kind']!r}",
                message_de="Das Laufmanifest hat ein unbekanntes Format.",
            )
        graph, weights = mlp_from_text(
            _typed(model["text"], str),
            activation=_typed(model["activation"], str),
            dtype=_typed(model["dtype"], str),
            seed=_typed(model["seed"], int),
            output_activation=_typed(model["output_activation"], str),
        )
        result = emulator.run(
            graph,
            weights,
            inputs_seed=_typed(inputs["seed"], int),
            batch=_typed(inputs["batch"], int),
            machine=_machine(manifest["machine"]["id"]),
            kernels=tuple(item for item in Kernel if item.value in manifest["kernels"]),
            on_progress=on_progress,
            check_cancelled=check_cancelled,
        )
        expected = _typed(manifest["result_digest"], str)
    except (KeyError, TypeError, ValueError, WaferError) as error:
        if isinstance(error, ReplayRefused):
            raise
        reason = error.message_de if isinstance(error, GraphError | WaferError) else ""
        raise ReplayRefused(
            f"manifest cannot be run: {error!r}",
            message_de=f"Das Laufmanifest lässt sich nicht nachrechnen. {reason}".strip(),
        ) from error
    differs = tuple(sorted(key for key in result.manifest if manifest.get(key) != result.manifest[key]))
    return ReplayVerdict(
        not differs and expected == result.result_digest, expected, result.result_digest, differs
    )


def _typed(value: Any, kind: type[Any]) -> Any:
    if type(value) is not kind:
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value


def _machine(name: Any) -> Machine:
    try:
        return find(_typed(name, str))
    except UnknownMachine as error:
        raise ReplayRefused(
            str(error), message_de="Das Laufmanifest nennt eine unbekannte Maschine."
        ) from error
