"""Run an emulation again from its manifest and compare digests: no Django, no database, no file but that of a capture.

An equal digest proves the computation, not reality (EM-14).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final

from pilots.graph.capture import Captured, Example, from_bytes
from pilots.graph.errors import GraphError
from pilots.graph.mlp import mlp_from_text
from pilots.graph.model_config import from_canonical
from pilots.wafer import emulator, serving
from pilots.wafer.errors import WaferError
from pilots.wafer.evidence_folder import NotInFolder
from pilots.wafer.machine import Machine, UnknownMachine, find
from pilots.wafer.manifest import MANIFEST_FORMAT
from pilots.wafer.program import Kernel
from pilots.wafer.replay_words import sentence_de
from qms.core import canonical

Progress = Callable[[int, int], None]
Cancel = Callable[[], None]
Fetch = Callable[[str], bytes]
Manifest = dict[str, Any]
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


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

    @property
    def sentence_de(self) -> str:
        """The verdict in German, with what it proves."""
        return sentence_de(self.expected, self.actual, self.differs)


@dataclass(frozen=True, slots=True)
class _Hooks:
    """What the caller lends: bytes by SHA-256, a place to report to, and a question whether to stop."""

    fetch: Fetch | None
    on_progress: Progress | None
    check_cancelled: Cancel | None


def replay(
    manifest: Manifest,
    *,
    fetch: Fetch | None = None,
    on_progress: Progress | None = None,
    check_cancelled: Cancel | None = None,
) -> ReplayVerdict:
    """Rebuild model and inputs from the manifest, emulate again and compare; raises ReplayRefused.

    fetch: returns the bytes of a file by its SHA-256 or raises KeyError; only captures need it. on_progress gets
    (samples, calls or tokens done, all); whatever check_cancelled raises passes through if it is no ValueError.
    """
    try:
        kind = (_typed(manifest["format"], str), _typed(manifest["model"]["kind"], str))
        if kind not in _AGAIN:
            raise ReplayRefused(
                f"format {kind[0]!r} of {kind[1]!r}",
                message_de="Das Laufmanifest hat ein unbekanntes Format.",
            )
        expected = _typed(manifest["result_digest"], str)
        again = _AGAIN[kind](manifest, _Hooks(fetch, on_progress, check_cancelled))
    except (KeyError, TypeError, ValueError, WaferError) as error:
        if isinstance(error, ReplayRefused):
            raise
        reason = error.message_de if isinstance(error, GraphError | WaferError) else ""
        raise ReplayRefused(
            f"manifest cannot be run: {error!r}",
            message_de=f"Das Laufmanifest lässt sich nicht nachrechnen. {reason}".strip(),
        ) from error
    names = {*again, *manifest}
    differs = tuple(sorted(name for name in names if not _same(manifest, again, name)))
    return ReplayVerdict(not differs, expected, again["result_digest"], differs)


def _same(manifest: Manifest, again: Manifest, name: str) -> bool:
    return name in manifest and name in again and _plain(manifest[name]) == _plain(again[name])


def _plain(value: Any) -> bytes:
    """Return the canonical form, in which 1 and true are two things; what has none is equal to nothing."""
    try:
        return canonical.dumps(value)
    except (canonical.CanonicalError, TypeError, RecursionError):
        return b""


def _samples(manifest: Manifest, hooks: _Hooks) -> Manifest:
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
        kernels=_kernels(manifest),
        on_progress=hooks.on_progress,
        check_cancelled=hooks.check_cancelled,
    ).manifest


def _capture(manifest: Manifest, hooks: _Hooks) -> Manifest:
    """Return the manifest of running a capture on its example again."""
    machine, kernels = _machine(manifest["machine"]["id"]), _kernels(manifest)
    file_sha256 = _typed(manifest["model"]["file_sha256"], str)
    inputs_sha256 = _typed(manifest["inputs"]["sha256"], str)
    captured = from_bytes(_fetched(file_sha256, hooks.fetch))
    return emulator.run_example(
        captured.graph,
        captured.weights,
        _example(captured, inputs_sha256),
        file_sha256=file_sha256,
        machine=machine,
        kernels=kernels,
        on_progress=hooks.on_progress,
        check_cancelled=hooks.check_cancelled,
    ).manifest


def _fetched(sha256: str, fetch: Fetch | None) -> bytes:
    """Return the bytes of a file; raises ReplayRefused unless they are there and have this digest."""
    if not _SHA256.fullmatch(sha256):
        raise TypeError("file_sha256 is no SHA-256")
    try:
        data = (fetch or _nothing)(sha256)
    except KeyError as error:
        sentence = (
            f"Die Modelldatei mit der Prüfsumme {sha256[:16]}… liegt nicht vor; ohne sie lässt sich der Lauf nicht "
            f"nachrechnen.{_others(error)}"
        )
        raise ReplayRefused(f"no file {sha256}", message_de=sentence) from error
    found = canonical.sha256_hex(data)
    if found != sha256:
        sentence = (
            f"Die Modelldatei hat die Prüfsumme {found[:16]}…, das Laufmanifest nennt {sha256[:16]}…; bitte die "
            "unveränderte Datei angeben."
        )
        raise ReplayRefused(f"file is {found}, not {sha256}", message_de=sentence)
    return data


def _others(error: KeyError) -> str:
    """Return the sentence on captures that lie in the folder instead of the wanted one, "" where there are none."""
    found = error.others if isinstance(error, NotInFolder) else ()
    listed = ", ".join(f"{name} ({digest[:16]}…)" for name, digest in found)
    return f" Im Ordner liegt mit anderer Prüfsumme: {listed}." if listed else ""


def _nothing(sha256: str) -> bytes:
    """Stands for a caller that has no files."""
    raise KeyError(sha256)


def _example(captured: Captured, inputs_sha256: str) -> Example:
    """Return the example of a capture; raises ReplayRefused unless it has the digest the manifest names."""
    found = captured.example
    if found is None:
        sentence = (
            "Die Modelldatei enthält keine Beispieleingaben; ohne sie lässt sich der Lauf nicht nachrechnen."
        )
        raise ReplayRefused("capture without example", message_de=sentence)
    if found.inputs_sha256 != inputs_sha256:
        sentence = (
            "Die Beispieleingaben der Modelldatei haben eine andere Prüfsumme als die Eingaben im Laufmanifest; beide "
            "gehören nicht zusammen."
        )
        raise ReplayRefused(f"inputs are {found.inputs_sha256}, not {inputs_sha256!r}", message_de=sentence)
    return found


def _generation(manifest: Manifest, hooks: _Hooks) -> Manifest:
    """Return the manifest of generating the tokens of a small decoder again."""
    plan = {item.name: _typed(manifest["plan"][item.name], int) for item in fields(serving.Plan)}
    return serving.generate(
        from_canonical(_typed(manifest["model"]["config"], str)),
        _machine(manifest["machine"]["id"]),
        serving.Plan(**plan),
        on_progress=hooks.on_progress,
        check_cancelled=hooks.check_cancelled,
    ).manifest


_AGAIN: Final[dict[tuple[str, str], Callable[[Manifest, _Hooks], Manifest]]] = {
    (MANIFEST_FORMAT, "mlp"): _samples,
    (MANIFEST_FORMAT, "capture"): _capture,
    (serving.MANIFEST_FORMAT, "decoder"): _generation,
}


def _kernels(manifest: Manifest) -> tuple[Kernel, ...]:
    names = _typed(manifest["kernels"], list)
    return tuple(item for item in Kernel if item.value in names)


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
