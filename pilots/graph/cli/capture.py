"""`capture`: runs at the user's side, imports the user's module and writes a file that holds data only."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pilots.graph.capture import Captured, CaptureError, to_bytes
from pilots.graph.capture.errors import refuse
from pilots.graph.cli import origin
from pilots.graph.frontends.errors import UnsupportedModel
from pilots.graph.ir import model_digest
from pilots.graph.porting import porting_report
from qms.core import canonical

HELP: Final = "Modell aus PyTorch, JAX oder ONNX als .wgraph aufzeichnen"
FRAMEWORKS: Final = ("pytorch", "jax")
WITH_EXAMPLE_DE: Final = (
    "Die Beispieleingaben und die Ergebnisse des Frameworks stehen mit in der Datei; die Datenklasse der Datei richtet "
    "sich auch nach ihnen (ohne sie: --no-example).\n"
)
WITHOUT_EXAMPLE_DE: Final = "Die Datei enthält kein Beispiel; so lässt sie sich ansehen, aber nicht als Modell eines Workloads rechnen.\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "model", metavar="MODUL:FUNKTION|DATEI.onnx", help="Funktion ohne Argumente, oder ONNX-Datei"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DATEI.wgraph")
    parser.add_argument("--from", dest="framework", choices=FRAMEWORKS, default="pytorch")
    parser.add_argument(
        "--open-batch", action="store_true", help="die erste Dimension der Eingänge offen lassen"
    )
    parser.add_argument(
        "--no-example",
        dest="example",
        action="store_false",
        help="keine Beispieldaten in die Datei schreiben",
    )
    origin.add_arguments(parser)
    parser.add_argument("--report", type=Path, metavar="DATEI.json", help="Bericht über alle Operationen")


def execute(arguments: argparse.Namespace) -> int:
    """Capture, write both files, and return 0; on an unsupported model the report is written all the same."""
    try:
        captured = _captured(arguments)
    except UnsupportedModel as error:
        if arguments.report:
            arguments.report.write_bytes(canonical.dumps(porting_report(error.trail, None).to_json()))
        raise
    data = to_bytes(captured)
    arguments.output.write_bytes(data)
    if arguments.report:
        report = porting_report(captured.trail, captured.graph)
        arguments.report.write_bytes(canonical.dumps(report.to_json()))
    sys.stdout.write(f"{arguments.output}: {len(data)} Byte, Modell {model_digest(captured.graph)}\n")
    sys.stdout.write(WITH_EXAMPLE_DE if captured.example else WITHOUT_EXAMPLE_DE)
    return 0


def _captured(arguments: argparse.Namespace) -> Captured:
    """Return the capture with its lineage, and without the example where none is wanted."""
    if arguments.model.endswith(".onnx"):
        source: Path | None = Path(arguments.model).absolute()
        captured: Captured = front_end("onnx").capture(Path(arguments.model), example=arguments.example)
    else:
        factory = _factory(arguments.model)
        source = _source(factory)
        captured = _made(factory(), arguments)
    if not arguments.example:
        captured = replace(captured, example=None)
    return replace(captured, lineage=origin.lineage_of(arguments, captured, source))


def _made(made: Any, arguments: argparse.Namespace) -> Captured:
    if isinstance(made, Captured):
        return made
    chosen = front_end(arguments.framework)
    parts = 2 if arguments.framework == "pytorch" else 3
    if not isinstance(made, tuple) or len(made) != parts:
        words = "(Modul, Beispiele)" if parts == 2 else "(Funktion, Gewichte, Beispiele)"
        sentence = f"Die Funktion muss {words} oder eine fertige Aufzeichnung zurückgeben."
        raise refuse("FACTORY", "factory", words, type(made).__name__, sentence)
    return chosen.capture(*made, open_batch=arguments.open_batch, example=arguments.example)  # type: ignore[no-any-return]  # front ends load lazily


def _factory(text: str) -> Callable[[], Any]:
    module, _, name = text.partition(":")
    sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module), name, None) if module and name else None
    except ImportError as error:
        raise _unknown(text, error) from error
    if not callable(found):
        raise _unknown(text, "no function")
    return found  # type: ignore[no-any-return]  # callable, as just checked


def _source(factory: Callable[[], Any]) -> Path | None:
    """Return the file of the module a function is from."""
    file = getattr(sys.modules.get(factory.__module__), "__file__", None)
    return Path(file).absolute() if file else None


def front_end(name: str) -> Any:
    """Return the module of a front end; raises CaptureError if its extra is not installed."""
    try:
        return importlib.import_module(f"pilots.graph.frontends.{name}")
    except ImportError as error:
        sentence = f"Das Paket für {name} ist nicht eingerichtet; bitte mit dem Zusatz [{name}] einrichten."
        raise refuse("EXTRA", "framework", f"the extra {name}", error, sentence) from error


def _unknown(text: str, got: object) -> CaptureError:
    sentence = f"Die Funktion {text} lässt sich nicht laden; bitte als MODUL:FUNKTION angeben."
    return refuse("FACTORY", "factory", "module:function", got, sentence)
