"""`capture`: runs at the user's side, imports the user's module and writes a file that holds data only."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pilots.graph.agreement import agreements
from pilots.graph.capture import Captured, to_bytes
from pilots.graph.capture.errors import refuse
from pilots.graph.cli import factory, origin
from pilots.graph.cli.factory import front_end
from pilots.graph.errors import GraphError
from pilots.graph.frontends.errors import UnsupportedModel
from pilots.graph.ir import model_digest
from pilots.graph.porting import byte_text, porting_report
from qms.core import canonical

HELP: Final = "Modell aus PyTorch, JAX oder ONNX als .wgraph aufzeichnen"
FRAMEWORKS: Final = ("pytorch", "jax")
WITH_EXAMPLE_DE: Final = (
    "Die Beispieleingaben und die Ergebnisse des Frameworks stehen mit in der Datei; die Datenklasse der Datei richtet "
    "sich auch nach ihnen (ohne sie: --no-example).\n"
)
WITHOUT_EXAMPLE_DE: Final = "Die Datei enthält kein Beispiel; so lässt sie sich ansehen, aber nicht als Modell eines Workloads rechnen.\n"
OLDER_DE: Final = " Die Datei {path} ist die ältere; sie wurde nicht geändert."
CLOSED_DE: Final = " Mit fester Stapelgröße geht es; bitte ohne --open-batch aufzeichnen."
DIFFERS_DE: Final = (
    "Der Ausgang {name} des Graphen weicht um {found} vom Ergebnis des Frameworks ab, erlaubt ist {most} (gemessen am größten "
    "Wert des Frameworks); bitte schalten Sie Zufall und verringerte Genauigkeit (autocast, TF32) beim Rechnen des "
    "Modells aus und zeichnen Sie es neu auf."
)


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
    """Capture, compare with the framework, write both files, and return 0; on an unsupported model the report is written all
    the same. Raises GraphError or OSError.
    """
    try:
        captured = _captured(arguments)
        compared = _agreeing(captured)
        data = to_bytes(captured)
    except GraphError as error:
        if isinstance(error, UnsupportedModel) and arguments.report:
            arguments.report.write_bytes(canonical.dumps(porting_report(error.trail, None).to_json()))
        if arguments.output.exists():
            error.message_de += OLDER_DE.format(path=arguments.output)
        raise
    arguments.output.write_bytes(data)
    report = porting_report(captured.trail, captured.graph)
    if arguments.report:
        arguments.report.write_bytes(canonical.dumps(report.to_json()))
    size = byte_text(len(data))
    sys.stdout.write(f"{arguments.output}: {size}, Modell {model_digest(captured.graph)}\n")
    sys.stdout.writelines(f"{line}\n" for line in [*compared, *adapted(report.to_json()["adaptations"])])
    sys.stdout.write(WITH_EXAMPLE_DE if captured.example else WITHOUT_EXAMPLE_DE)
    return 0


def adapted(adaptations: list[dict[str, str]]) -> list[str]:
    """Return a line for everything the capture holds in another form than the model."""
    return [f"Angepasst      {item['what']}: {item['reason']}" for item in adaptations]


def _agreeing(captured: Captured) -> list[str]:
    """Return a line per output about how far graph and framework are apart; raises CaptureError if that is too far."""
    lines = []
    for row in agreements(captured):
        found, most = _number(row.deviation), _number(row.limit)
        if not row.within:
            sentence = DIFFERS_DE.format(name=row.name, found=found, most=most)
            raise refuse("DEVIATION", f"output {row.name}", f"at most {row.limit:g}", row.deviation, sentence)
        lines.append(
            f"Abweichung     {row.name}: {found}, erlaubt {most} (gemessen am größten Wert des Frameworks)"
        )
    return lines


def _number(value: float) -> str:
    return f"{value:.2g}".replace(".", ",")


def _captured(arguments: argparse.Namespace) -> Captured:
    """Return the capture with its lineage, and without the example where none is wanted."""
    if arguments.model.endswith(".onnx"):
        source: Path | None = Path(arguments.model).absolute()
        captured: Captured = front_end("onnx").capture(Path(arguments.model), example=arguments.example)
    else:
        function = factory.load(arguments.model)
        source = factory.source_of(function)
        captured = _made(factory.call(arguments.model, function), arguments)
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
        sentence = f"Die Funktion {arguments.model} muss {words} oder eine fertige Aufzeichnung zurückgeben."
        raise refuse("FACTORY", "factory", words, type(made).__name__, sentence)
    try:
        return chosen.capture(*made, open_batch=arguments.open_batch, example=arguments.example)  # type: ignore[no-any-return]  # front ends load lazily
    except UnsupportedModel as error:
        if arguments.open_batch:
            chosen.capture(*made, example=False)  # it may be unsupported either way: then that is what counts
            error.message_de += CLOSED_DE
        raise
