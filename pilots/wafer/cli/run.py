"""`run`: compute a small model or a capture with real numbers on the emulated wafer."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Final

from pilots.graph.capture import Captured, from_bytes
from pilots.graph.capture.limits import LIMITS
from pilots.graph.mlp import mlp_from_text
from pilots.wafer import emulator, serving
from pilots.wafer.cli import inputs
from pilots.wafer.equivalence import DEFAULT_RTOL, MIN_COSINE_16_BIT, OutputComparison, compare_outputs
from pilots.wafer.errors import RequestError
from pilots.wafer.facts import reference_of
from pilots.wafer.machine import Machine
from qms.core import canonical

HELP: Final = "Ein kleines Modell oder eine Aufzeichnung mit echten Zahlen auf dem emulierten Wafer rechnen"
Run = tuple[dict[str, Any], str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument(
        "--config", default="", help="config.json eines Modells mit höchstens 50 Mio. Parametern"
    )
    model.add_argument("--mlp", default="", help="Schichtbreiten eines Perzeptrons, etwa 64-256-256-8")
    model.add_argument(
        "--capture",
        default="",
        metavar="DATEI.wgraph",
        help="aufgezeichnetes Modell; gerechnet wird auf den Eingaben, die es enthält",
    )
    inputs.add_machine(parser)
    parser.add_argument("--prompt", type=int, default=16, help="Token der Eingabe")
    parser.add_argument("--tokens", type=int, default=64, help="Token der Antwort")
    parser.add_argument("--batch", type=int, default=1, help="Anfragen zugleich")
    parser.add_argument("--seed", type=int, default=1, help="Startwert der Gewichte und Eingaben")
    parser.add_argument("--state", default="", help="Datei des Zwischenstands; vorhanden, wird fortgesetzt")
    parser.add_argument("--json", action="store_true", help="Laufmanifest als JSON")
    parser.add_argument(
        "--manifest", default="", metavar="DATEI", help="Laufmanifest in diese Datei schreiben"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    machine = inputs.machine(arguments)
    state = State(Path(arguments.state)) if arguments.state else None
    hooks: dict[str, Any] = {"on_progress": inputs.progress}
    if state:
        hooks |= {"checkpoint": state.load(), "on_checkpoint": state.save}
    chosen = next(run for name, run in RUNS.items() if getattr(arguments, name))
    manifest, sentence = chosen(arguments, machine, hooks)
    if state:
        state.path.unlink(missing_ok=True)
    if arguments.manifest:
        inputs.write_file(Path(arguments.manifest), canonical.dumps(manifest))
    if arguments.json:
        inputs.write_json(manifest)
    else:
        inputs.write(f"{sentence}\n{emulator.calibration_note()}\nPrüfsumme {manifest['result_digest']}")
    return 0


class State:
    """The interim state of a run in a file; a half-written file never replaces a whole one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> dict[str, Any] | None:
        """Return the saved state, or None if there is none; raises RequestError for a file that is none."""
        if not inputs.there(self.path):
            return None
        try:
            found = canonical.loads(inputs.read_text(str(self.path)))
        except (ValueError, RecursionError) as error:
            raise self._broken(str(error)) from error
        if not isinstance(found, dict) or "format" not in found:
            raise self._broken("no interim state")
        return found

    def save(self, state: dict[str, Any]) -> None:
        """Replace the saved state; raises RequestError if the file cannot be written."""
        inputs.write_file(self.path, json.dumps(state).encode("utf-8"))

    def _broken(self, reason: str) -> RequestError:
        sentence = (
            f"Die Datei {self.path} ist kein Zwischenstand eines Laufs; löschen Sie sie, um neu zu beginnen, oder nennen "
            "Sie eine andere."
        )
        return RequestError(f"{self.path}: {reason}", message_de=sentence)


def _decoder(arguments: argparse.Namespace, machine: Machine, hooks: dict[str, Any]) -> Run:
    plan = serving.Plan(arguments.prompt, arguments.tokens, arguments.batch, arguments.seed, arguments.seed)
    done = serving.generate(inputs.model(arguments), machine, plan, **hooks)
    rate = done.tokens_per_second
    shown = " ".join(str(token) for token in done.tokens[0])
    sentence = (
        f"{done.tokens.size} Token mit Emulatornumerik berechnet: {shown}\n"
        f"Modellzeit: {rate.value:.6g} Token/s [{rate.lower:.6g} … {rate.upper:.6g}], "
        f"{done.multiply_adds} Multiplikationen mit Addition"
    )
    return done.manifest, sentence


def _mlp(arguments: argparse.Namespace, machine: Machine, hooks: dict[str, Any]) -> Run:
    graph, weights = mlp_from_text(arguments.mlp, seed=arguments.seed)
    done = emulator.run(
        graph, weights, inputs_seed=arguments.seed, batch=arguments.batch, machine=machine, **hooks
    )
    return done.manifest, f"{arguments.batch} Vorhersagen mit Emulatornumerik berechnet.\n{_time(done)}"


def _capture(arguments: argparse.Namespace, machine: Machine, hooks: dict[str, Any]) -> Run:
    """Run a capture on its example and compare with what the framework computed; raises RequestError without one."""
    if "on_checkpoint" in hooks:
        sentence = "Eine Aufzeichnung wird in einem Stück gerechnet; bitte --state weglassen."
        raise RequestError("captures have no interim state", message_de=sentence)
    data = inputs.read_bytes(arguments.capture, LIMITS["file_bytes"].most)
    captured = from_bytes(data)
    if captured.example is None:
        sentence = (
            f"Die Datei {arguments.capture} enthält keine Beispieleingaben; bitte das Modell mit Beispielen neu "
            "aufzeichnen."
        )
        raise RequestError(f"{arguments.capture}: no example", message_de=sentence)
    done = emulator.run_example(
        captured.graph,
        captured.weights,
        captured.example,
        file_sha256=canonical.sha256_hex(data),
        machine=machine,
        **hooks,
    )
    return (
        done.manifest,
        f"Beispiel mit Emulatornumerik berechnet.\n{_compared(captured, done)}\n{_time(done)}",
    )


def _compared(captured: Captured, done: emulator.EmulationResult) -> str:
    assert captured.example is not None
    rows = compare_outputs(
        captured.graph,
        done.outputs,
        captured.example.outputs,
        fp32_rtol=DEFAULT_RTOL["float32"],
        bit16_rtol=DEFAULT_RTOL["float16"],
        bit16_cosine_min=MIN_COSINE_16_BIT,
    )
    return "\n".join([f"Verglichen mit {reference_of(captured.trail)}:", *map(_row, rows)])


def _row(row: OutputComparison) -> str:
    verdict = "innerhalb der Toleranz" if row.within else "außerhalb der Toleranz"
    if row.max_abs_delta is None or row.max_abs_reference is None:
        return f"  {row.name} ({row.dtype}): {verdict}, enthält Werte, die keine endlichen Zahlen sind"
    return (
        f"  {row.name} ({row.dtype}): {verdict}, größte Abweichung {row.max_abs_delta:.3g} bei Werten bis "
        f"{row.max_abs_reference:.6g}, zulässig {row.rtol:g} davon"
    )


def _time(done: emulator.EmulationResult) -> str:
    seconds = done.prediction.request_seconds
    return f"Modellzeit: {seconds.value * 1e3:.6g} ms [{seconds.lower * 1e3:.6g} … {seconds.upper * 1e3:.6g}]"


RUNS: Final = {"mlp": _mlp, "config": _decoder, "capture": _capture}
