"""Run an emulation again from its manifest and compare digests. Needs no Django, no database and no files.

An equal digest proves the computation, not reality (EM-14).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final

from pilots.graph.errors import GraphError
from pilots.graph.mlp import mlp_from_text
from pilots.graph.model_config import from_canonical
from pilots.wafer import emulator, serving
from pilots.wafer.errors import WaferError
from pilots.wafer.machine import Machine, UnknownMachine, find
from pilots.wafer.program import Kernel

Progress = Callable[[int, int], None]
Cancel = Callable[[], None]
Manifest = dict[str, Any]


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
    manifest: Manifest, *, on_progress: Progress | None = None, check_cancelled: Cancel | None = None
) -> ReplayVerdict:
    """Rebuild model and inputs from the manifest, emulate again and compare; raises ReplayRefused.

    on_progress gets (samples or tokens done, all); whatever check_cancelled raises passes through if it is no ValueError.
    """
    try:
        kind = (_typed(manifest["format"], str), _typed(manifest["model"]["kind"], str))
        if kind not in _AGAIN:
            raise ReplayRefused(
                f"format {kind[0]!r} of {kind[1]!r}",
                message_de="Das Laufmanifest hat ein unbekanntes Format.",
            )
        again = _AGAIN[kind](manifest, on_progress, check_cancelled)
        expected, actual = _typed(manifest["result_digest"], str), again["result_digest"]
    except (KeyError, TypeError, ValueError, WaferError) as error:
        if isinstance(error, ReplayRefused):
            raise
        reason = error.message_de if isinstance(error, GraphError | WaferError) else ""
        raise ReplayRefused(
            f"manifest cannot be run: {error!r}",
            message_de=f"Das Laufmanifest lässt sich nicht nachrechnen. {reason}".strip(),
        ) from error
    differs = tuple(sorted(key for key in again if manifest.get(key) != again[key]))
    return ReplayVerdict(not differs and expected == actual, expected, actual, differs)


def _samples(manifest: Manifest, on_progress: Progress | None, check_cancelled: Cancel | None) -> Manifest:
    """Return the manifest of running seeded samples through a perceptron again."""
    model, inputs = manifest["model"], manifest["inputs"]
    graph, weights = mlp_from_text(
        _typed(model["text"], str),
        activation=_typed(model["activation"], str),
        dtype=_typed(model["dtype"], str),
        seed=_typed(model["seed"], int),
        output_activation=_typed(model["output_activation"], str),
    )
    return emulator.run(
        graph,
        weights,
        inputs_seed=_typed(inputs["seed"], int),
        batch=_typed(inputs["batch"], int),
        machine=_machine(manifest["machine"]["id"]),
        kernels=tuple(item for item in Kernel if item.value in manifest["kernels"]),
        on_progress=on_progress,
        check_cancelled=check_cancelled,
    ).manifest


def _generation(manifest: Manifest, on_progress: Progress | None, check_cancelled: Cancel | None) -> Manifest:
    """Return the manifest of generating the tokens of a small decoder again."""
    plan = {item.name: _typed(manifest["plan"][item.name], int) for item in fields(serving.Plan)}
    return serving.generate(
        from_canonical(_typed(manifest["model"]["config"], str)),
        _machine(manifest["machine"]["id"]),
        serving.Plan(**plan),
        on_progress=on_progress,
        check_cancelled=check_cancelled,
    ).manifest


_AGAIN: Final[dict[tuple[str, str], Callable[[Manifest, Progress | None, Cancel | None], Manifest]]] = {
    ("wafer-manifest-2", "mlp"): _samples,
    (serving.MANIFEST_FORMAT, "decoder"): _generation,
}


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
