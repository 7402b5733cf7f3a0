"""`predict`: what serving a model takes, from its config.json."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from pilots.wafer.cli import inputs
from pilots.wafer.costs.terms import Span
from pilots.wafer.emulator import calibration_note, pe_maps
from pilots.wafer.estimate import CAUSES, Estimate, Phase, estimate, to_json
from pilots.wafer.map_png import View, heatmap_png

HELP: Final = "Token je Sekunde, Zeit je Schritt, Speicher und Energie eines Modells"
VIEWS: Final = {view.value: view for view in View}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    inputs.add_question(parser)
    parser.add_argument("--json", action="store_true", help="Ergebnis als JSON")
    parser.add_argument("--map", default="", help="Karte des Wafers als PNG in diese Datei schreiben")
    parser.add_argument("--view", choices=sorted(VIEWS), default=View.MAXIMUM.value, help="Ansicht der Karte")


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    machine = inputs.machine(arguments)
    config = inputs.model(arguments)
    found = estimate(config, machine, inputs.question(arguments, config))
    if arguments.map:
        memory, _ = pe_maps(found.decode.program, machine)
        share = memory * (100.0 / machine.sram_bytes_per_pe.value)
        inputs.write_file(Path(arguments.map), heatmap_png(share, view=VIEWS[arguments.view]))
    if arguments.json:
        inputs.write_json(to_json(found))
    else:
        inputs.write(text(found))
    return 0


def text(found: Estimate) -> str:
    """Return the answer as a table for people."""
    asked, machine = found.question, found.machine
    lines = [
        f"{found.config.name}, {found.config.params} Parameter, {found.decode.program.dtype.value}",
        f"{machine.name}, {machine.clock_hz.value / 1e9:.2f} GHz",
        f"Kontext {asked.context}, Anfragen zugleich {asked.batch}, Systeme {asked.systems}, {asked.mode.value}",
        calibration_note(),
        "",
    ]
    lines += _phase("Antwort", found.decode)
    lines += _phase("Eingabe", found.prefill) if found.prefill else [f"Eingabe: {found.prefill_refusal_de}"]
    memory = found.capacity
    lines += [
        "",
        f"Speicher: Gewichte {memory.weight_bytes} B, KV-Cache {memory.cache_bytes} B",
        f"  belegt    {memory.used_bytes} B von {memory.sram_bytes} B SRAM",
    ]
    return "\n".join(lines)


def _phase(label: str, phase: Phase) -> list[str]:
    trust = phase.prediction.trust
    return [
        f"{label}: {_span(phase.tokens_per_second, 'Token/s')}   {trust.state}",
        f"  je Schritt  {_span(phase.step_seconds.times(1e3), 'ms')}",
        f"  je Token    {_span(phase.joules_per_token, 'J')}",
        *(f"  {cause:<11} {phase.parts_seconds[cause] * 1e3:.6g} ms" for cause in CAUSES),
        *([f"  Grund       {trust.reason}"] if trust.reason else []),
    ]


def _span(span: Span, unit: str) -> str:
    return f"{span.value:.6g} {unit} [{span.lower:.6g} … {span.upper:.6g}]"
