"""Where a gate stands, in one sentence. Pure; German whatever language is active, like the reasons it is made of."""

from __future__ import annotations

from typing import Final

from qms.gates.choices import CriterionKind, GateState
from qms.gates.engine import GateReport

_MET: Final = {"G0": "Pflichtangaben vollständig (G0)."}


def met_sentences(report: GateReport) -> list[str]:
    """Return the sentences of the green gates that have one of their own."""
    return [_MET[gate] for gate in report.gates if gate in _MET and report.state(gate) is GateState.MET]


def open_sentence(report: GateReport, gate: str) -> str:
    """Return why a gate is not green: its first criterion that is not met, and whether it can be waived; "" if green."""
    blocking = [item for item in report.of_gate(gate) if item.blocks]
    refused = [item for item in blocking if item.kind is CriterionKind.NON_WAIVABLE] or blocking
    if report.state(gate) is not GateState.NOT_MET or not refused:
        return ""
    first = refused[0]
    reason = first.reason_de.removesuffix(".").removesuffix(f" ({first.row.id})")
    waivable = "" if first.kind is CriterionKind.WAIVABLE else ", keine Ausnahme möglich"
    return f"Gate {gate} nicht erfüllt: {reason} ({first.row.id}{waivable})."
