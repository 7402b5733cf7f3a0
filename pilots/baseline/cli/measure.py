"""`measure`: a graph in fresh processes, or an endpoint; the result is one file for the upload."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, Final

from pilots.baseline import endpoint_load, measure_graph
from pilots.baseline.cli.words import figure
from pilots.baseline.endpoint import Endpoint, EndpointError, address
from pilots.baseline.environment import environment
from pilots.baseline.importers import BenchmarkRefused
from pilots.baseline.importers.common import moment
from pilots.baseline.measure import ITERATIONS, REPETITIONS, MeasureError
from pilots.baseline.measure_source import BATCH, SEED, Source
from pilots.baseline.measure_statement import result, statement
from pilots.baseline.signature import SignatureError, key_id, load_key, public_text
from pilots.graph.errors import GraphError
from qms.core import canonical
from qms.core.values import Metric

HELP: Final = "Einen Workload auf diesem Rechner oder eine Schnittstelle messen und das Ergebnis signieren"
SPREAD_LIMIT: Final = 0.05  # POL-03
ALL_FAILED: Final = 1
_SEVERAL: Final = "Bitte nennen Sie genau eines von --graph, --model und --endpoint."
_MISSING: Final = "Für --endpoint fehlen Angaben: --model-name, --prompt-tokens und --output-tokens."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--graph", metavar="DATEI", help="Aufzeichnung (.wgraph) mit Beispieleingaben")
    parser.add_argument("--model", metavar="TEXT", help="Modell aus Schichtbreiten, zum Beispiel 64-256-8")
    parser.add_argument("--endpoint", metavar="URL", help="Schnittstelle nach Art von OpenAI, bis /v1")
    parser.add_argument("--out", type=Path, required=True, metavar="DATEI", help="Ergebnis, als JSON")
    parser.add_argument(
        "--key", type=Path, metavar="DATEI", help="Schlüssel von „keygen“; signiert das Ergebnis"
    )
    parser.add_argument("--repeat", type=int, default=REPETITIONS, help="Wiederholungen (POL-02)")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="Durchläufe je Wiederholung")
    parser.add_argument("--batch", type=int, default=BATCH, help="Stapelgröße, nur mit --model")
    parser.add_argument("--seed", type=int, default=SEED, help="Startwert der Eingaben, nur mit --model")
    parser.add_argument("--model-name", default="", help="Name des Modells an der Schnittstelle")
    parser.add_argument("--prompt-tokens", type=int, help="Länge der Eingabe in Wörtern")
    parser.add_argument("--output-tokens", type=int, help="Ausgabetoken je Anfrage, höchstens")
    parser.add_argument("--concurrency", type=int, default=1, help="Anfragen zugleich")
    parser.add_argument("--requests", type=int, default=ITERATIONS, help="Anfragen je Wiederholung")
    parser.add_argument("--timeout", type=float, default=120.0, help="Zeitlimit einer Anfrage in Sekunden")
    parser.add_argument(
        "--api-key-env", default="", metavar="NAME", help="Umgebungsvariable mit dem Zugangsschlüssel"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code: 1 if every request failed. Raises BenchmarkRefused."""
    if sum(map(bool, (arguments.graph, arguments.model, arguments.endpoint))) != 1:
        raise BenchmarkRefused("USAGE", _SEVERAL)
    try:
        key = load_key(arguments.key) if arguments.key else None
        began = time.time()
        part = _endpoint(arguments) if arguments.endpoint else _graph(arguments)
        found = statement(part, environment=environment(), began_at=_at(began), ended_at=_at(time.time()))
        arguments.out.write_bytes(result(found, key))
    except (MeasureError, GraphError, SignatureError, EndpointError) as error:
        raise BenchmarkRefused("NOT_MEASURED", error.message_de) from error
    except OSError as error:
        sentence = f"Die Datei {error.filename or arguments.out} lässt sich nicht lesen oder schreiben."
        raise BenchmarkRefused("NOT_A_FILE", sentence) from error
    signed = (
        f"Signiert mit dem Schlüssel {key_id(public_text(key))}." if key else "Nicht signiert (ohne --key)."
    )
    sys.stdout.write(
        "\n".join([*_lines(found), signed, f"SHA-256 der Messung: {canonical.digest(found)}"]) + "\n"
    )
    return ALL_FAILED if all_failed(found) else 0


def _graph(arguments: argparse.Namespace) -> dict[str, Any]:
    source = Source(
        text=arguments.model or "", path=arguments.graph or "", batch=arguments.batch, seed=arguments.seed
    )
    counts = measure_graph.Counts(arguments.repeat, arguments.iterations)
    return measure_graph.statement_part(*measure_graph.measure_in_processes(source, counts, _told))


def _endpoint(arguments: argparse.Namespace) -> dict[str, Any]:
    if not arguments.model_name or arguments.prompt_tokens is None or arguments.output_tokens is None:
        raise EndpointError(_MISSING)
    secure, host, port, path = address(arguments.endpoint)
    endpoint = Endpoint(
        secure,
        host,
        port,
        path,
        model=arguments.model_name,
        prompt_tokens=arguments.prompt_tokens,
        output_tokens=arguments.output_tokens,
        timeout_s=arguments.timeout,
        api_key=_api_key(arguments.api_key_env),
    )
    load = endpoint_load.Load(arguments.requests, arguments.concurrency, arguments.repeat)
    found = endpoint_load.measure(endpoint, load, clock_ns=time.perf_counter_ns, on_progress=_told)
    return endpoint_load.statement_part(endpoint, load, found)


def _api_key(name: str) -> str:
    """Return the key in the named variable; raises EndpointError. A key on the command line would stand in the history."""
    if not name:
        return ""
    value = os.environ.get(name, "")  # noqa: TID251 - the user names the variable of this one call
    if not value:
        raise EndpointError(f"Die Umgebungsvariable {name} ist leer.")
    if not value.isascii() or not value.isprintable():
        raise EndpointError(
            f"Die Umgebungsvariable {name} enthält Zeichen, die in keinem Zugangsschlüssel stehen."
        )
    return value


def _lines(found: dict[str, Any]) -> list[str]:
    """Return the result as text: every figure, how it was measured, and whether the spread is small enough."""
    lines = ["Gemessen:", *(f"  {_line(Metric.from_json(row))}" for row in found["metrics"])]
    if all_failed(found):
        return [*lines, "Keine Anfrage war erfolgreich; es gibt weder Antwortzeit noch Durchsatz."]
    spread, method = float(found["throughput_cv"]), found["method"]
    verdict = "eingehalten" if spread <= SPREAD_LIMIT else "überschritten, G3-3 wird damit nicht erfüllt"
    percent = f"{spread * 100:.1f}".replace(".", ",")
    lines.append(f"Streuung des Durchsatzes: {percent} % (Grenze 5 %, POL-03): {verdict}.")
    count = method["iterations"] if found["kind"] == "GRAPH" else method["requests"]
    if method["repetitions"] < REPETITIONS or count < ITERATIONS:
        lines.append(f"Weniger als {REPETITIONS} × {ITERATIONS} (POL-02): G3-3 wird damit nicht erfüllt.")
    return lines


def all_failed(found: dict[str, Any]) -> bool:
    """Say whether no request of a measurement was good: then it has no figure but the error rate."""
    return all(row["key"] == "error_rate" for row in found["metrics"])


def _line(item: Metric) -> str:
    doubt = "" if item.reliable else "; nicht belastbar"
    return f"{figure(item)} (n = {item.n}{doubt})"


def _told(done: int, total: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{done} von {total} gemessen" + ("\n" if done == total else ""))
        sys.stderr.flush()


def _at(seconds: float) -> str:
    """Return a time of this machine's clock as ISO 8601 in UTC, to the second."""
    return moment(seconds) or "1970-01-01T00:00:00Z"
