"""`predict`: what a prompt, an answer, a product, an all-reduce or a queue takes on GPUs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

from pilots.cluster import device, shapes, topology
from pilots.cluster.cli import inputs
from pilots.cluster.costs import memory
from pilots.cluster.errors import RequestError
from pilots.cluster.german import amount, percent
from pilots.cluster.graphs import predict_graph
from pilots.cluster.predict import Prediction, predict
from pilots.cluster.queue import Limits, Load, Outcome, simulate
from pilots.cluster.reading.inputs import span_of
from pilots.cluster.reading.operators import NCCL, STACK
from pilots.cluster.reading.serving import ENGINES
from pilots.cluster.step_times import step_times
from pilots.cluster.workloads import Case, Collective, Gemm, StaticBatch, Workload
from pilots.graph.capture import read
from pilots.graph.model_config import parse_config

HELP: Final = "Zeit, Anteile und Intervall einer Aufgabe auf GPUs"
KINDS: Final = ("serving", "gemm", "allreduce", "graph")
MOST: Final = 2**40
SEQUENCES: Final = 256
BATCHED_TOKENS: Final = 8192


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--kind", choices=KINDS, default="serving", help="was vorhergesagt wird")
    parser.add_argument("--config", default="", help="config.json des Modells (Hugging Face)")
    parser.add_argument("--graph", default="", help="Aufzeichnung des Modells (.wgraph), für --kind graph")
    parser.add_argument("--model", default="", help="statt dessen der Name eines bekannten Modells")
    parser.add_argument("--device", default="h100", help=f"GPU: {', '.join(device.DEVICES)}")
    parser.add_argument(
        "--topology", default="", help=f"statt dessen ein Profil: {', '.join(topology.TOPOLOGIES)}"
    )
    parser.add_argument("--gpus", type=int, default=1, help="GPUs, die sich das Modell teilen")
    parser.add_argument(
        "--engine", choices=sorted(ENGINES), default="vllm", help="Software, deren Konstanten gelten"
    )
    for name, default, text in (
        ("batch", 1, "Anfragen zugleich"),
        ("prompt", 1024, "Token der Eingabe"),
        ("answer", 1024, "Token der Antwort"),
        ("m", 4096, "Zeilen des Produkts"),
        ("n", 4096, "Spalten des Produkts"),
        ("k", 4096, "Tiefe des Produkts"),
        ("size", 2**30, "Byte je GPU eines All-reduce"),
        ("requests", 10_000, "Anfragen der Warteschlange"),
        ("seed", 1, "Startwert der Ankünfte"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=text)
    parser.add_argument(
        "--rate", type=float, default=0.0, help="Anfragen je Sekunde; über null mit Warteschlange"
    )
    parser.add_argument("--json", action="store_true", help="Ergebnis als JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code; raises ClusterError and GraphError."""
    if arguments.kind == "graph":
        return _graph(arguments)
    case = _case(arguments)
    found = predict(case)
    queue = _queue(arguments, case) if arguments.rate else None
    if arguments.json:
        answer = found.to_json() | {"device": case.device.id, "gpus": case.span.gpus, "stack": case.stack}
        inputs.write_json(answer | ({"queue": _queue_json(queue)} if queue else {}))
    else:
        head = f"{case.device.name}, {case.span.gpus} GPU(s), {case.stack}"
        inputs.write("\n".join([head, *_text(found), *(_queue_text(queue) if queue else [])]))
    return 0


def _graph(arguments: argparse.Namespace) -> int:
    """Predict one pass of a captured graph on one GPU."""
    _check(arguments, ("batch",))
    if not arguments.graph:
        raise RequestError("no graph", message_de="Bitte mit --graph eine Aufzeichnung (.wgraph) angeben.")
    chosen = device.find(arguments.device)
    try:
        captured = read(Path(arguments.graph))
    except (OSError, ValueError) as error:
        sentence = f"Die Datei {arguments.graph} lässt sich nicht lesen."
        raise RequestError(f"{arguments.graph}: {error}", message_de=sentence) from error
    found = predict_graph(captured.graph, chosen, batch=arguments.batch)
    if arguments.json:
        inputs.write_json(found.to_json() | {"device": chosen.id, "gpus": 1, "stack": STACK})
    else:
        inputs.write("\n".join([f"{chosen.name}, 1 GPU(s), {STACK}", *_text(found)]))
    return 0


def _case(arguments: argparse.Namespace) -> Case:
    _check(arguments, ("gpus", "batch", "prompt", "answer", "m", "n", "k", "size", "requests"))
    profile = topology.find(arguments.topology) if arguments.topology else None
    chosen = device.find(profile.device if profile else arguments.device)
    span = profile.span(arguments.gpus) if profile else span_of(chosen, arguments.gpus)
    stack = {"gemm": STACK, "allreduce": NCCL}.get(arguments.kind, ENGINES[arguments.engine])
    return Case(chosen, span, stack, _workload(arguments))


def _check(arguments: argparse.Namespace, names: tuple[str, ...]) -> None:
    for name in names:
        if not 1 <= getattr(arguments, name) <= MOST:
            sentence = f"Die Angabe --{name} muss zwischen 1 und 2^40 liegen."
            raise RequestError(f"{name} out of range", message_de=sentence)


def _workload(arguments: argparse.Namespace) -> Workload:
    if arguments.kind == "gemm":
        return Gemm(arguments.m, arguments.n, arguments.k)
    if arguments.kind == "allreduce":
        return Collective("all_reduce", arguments.size)
    if arguments.config:
        shape = shapes.of_config(parse_config(inputs.read_text(arguments.config)))
    else:
        known = shapes.find(arguments.model)
        if known is None:
            sentence = "Bitte mit --config eine config.json oder mit --model ein bekanntes Modell angeben."
            raise RequestError("no model", message_de=sentence)
        shape = known
    if shape.max_context and arguments.prompt + arguments.answer > shape.max_context:
        sentence = f"Eingabe und Antwort sind zusammen länger als der Kontext des Modells ({shape.max_context} Token)."
        raise RequestError("context too long", message_de=sentence)
    return StaticBatch(shape, arguments.batch, arguments.prompt, arguments.answer)


def _queue(arguments: argparse.Namespace, case: Case) -> Outcome:
    work = case.workload
    if not isinstance(work, StaticBatch):
        raise RequestError("queue", message_de="Eine Warteschlange gibt es nur vor einem Sprachmodell.")
    free = memory.usable_bytes(case.device) * case.span.gpus - memory.weight_bytes(work.shape, work.weights)
    limits = Limits(SEQUENCES, BATCHED_TOKENS, int(free / memory.cache_bytes_per_token(work.shape)))
    load = Load(arguments.rate, arguments.requests, work.prompt, work.answer, arguments.seed)
    return simulate(load, limits, step_times(case, SEQUENCES))


def _queue_json(found: Outcome) -> dict[str, Any]:
    series = {"ttft": found.ttft, "tpot": found.tpot, "e2e": found.e2e, "queue_wait": found.wait}
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    return {
        **{
            f"{name}_{label}_s": found.percentile(values, share)
            for name, values in series.items()
            for label, share in shares.items()
        },
        "tokens_per_s": found.tokens_per_s,
        "rejected": found.rejected,
        "reliable_p99": found.reliable_p99,
    }


def _text(found: Prediction) -> list[str]:
    lines = [
        (
            f"Zeit: {amount(found.seconds * 1e3)} ms [{amount(found.lower * 1e3)} … {amount(found.upper * 1e3)}]  "
            f"{found.trust.state}"
        ),
        *(f"  {name:<18} {amount(value * 1e3)} ms" for name, value in found.parts.items()),
        f"  Anteil Kommunikation {percent(found.comm_share)}, Speicher {percent(found.mem_stall_share)}",
    ]
    return [*lines, f"  Grund: {found.trust.reason}"] if found.trust.reason else lines


def _queue_text(found: Outcome) -> list[str]:
    note = "" if found.reliable_p99 else " (p99 nicht belastbar)"
    return [
        f"Warteschlange: {amount(found.tokens_per_s)} Token/s, abgewiesen {found.rejected}{note}",
        *(
            f"  {name:<10} p50 {amount(found.percentile(values, 0.5))} s, p99 {amount(found.percentile(values, 0.99))} s"
            for name, values in (("TTFT", found.ttft), ("TPOT", found.tpot), ("Wartezeit", found.wait))
        ),
    ]
