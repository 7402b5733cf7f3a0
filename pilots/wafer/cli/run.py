"""`run`: compute a small model with real numbers on the emulated wafer, resumable."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Final

from pilots.graph.mlp import mlp_from_text
from pilots.wafer import emulator, serving
from pilots.wafer.cli import inputs
from pilots.wafer.errors import RequestError
from pilots.wafer.machine import Machine
from qms.core import canonical

HELP: Final = "Ein kleines Modell mit echten Zahlen auf dem emulierten Wafer rechnen"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument(
        "--config", default="", help="config.json eines Modells mit höchstens 50 Mio. Parametern"
    )
    model.add_argument("--mlp", default="", help="Schichtbreiten eines Perzeptrons, etwa 64-256-256-8")
    inputs.add_machine(parser)
    parser.add_argument("--prompt", type=int, default=16, help="Token der Eingabe")
    parser.add_argument("--tokens", type=int, default=64, help="Token der Antwort")
    parser.add_argument("--batch", type=int, default=1, help="Anfragen zugleich")
    parser.add_argument("--seed", type=int, default=1, help="Startwert der Gewichte und Eingaben")
    parser.add_argument("--state", default="", help="Datei des Zwischenstands; vorhanden, wird fortgesetzt")
    parser.add_argument("--json", action="store_true", help="Laufmanifest als JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    machine = inputs.machine(arguments)
    state = State(Path(arguments.state)) if arguments.state else None
    hooks: dict[str, Any] = {"on_progress": inputs.progress}
    if state:
        hooks |= {"checkpoint": state.load(), "on_checkpoint": state.save}
    manifest, sentence = (_mlp if arguments.mlp else _decoder)(arguments, machine, hooks)
    if state:
        state.path.unlink(missing_ok=True)
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


def _decoder(
    arguments: argparse.Namespace, machine: Machine, hooks: dict[str, Any]
) -> tuple[dict[str, Any], str]:
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


def _mlp(
    arguments: argparse.Namespace, machine: Machine, hooks: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    graph, weights = mlp_from_text(arguments.mlp, seed=arguments.seed)
    done = emulator.run(
        graph, weights, inputs_seed=arguments.seed, batch=arguments.batch, machine=machine, **hooks
    )
    seconds = done.prediction.request_seconds
    sentence = (
        f"{arguments.batch} Vorhersagen mit Emulatornumerik berechnet.\n"
        f"Modellzeit: {seconds.value * 1e3:.6g} ms [{seconds.lower * 1e3:.6g} … {seconds.upper * 1e3:.6g}]"
    )
    return done.manifest, sentence
