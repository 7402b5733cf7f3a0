"""What the runs of this installation add to the emulator's word on a claim: replays, and graphs of a framework."""

from __future__ import annotations

from pilots.catalog.claims import FRONT_ENDS, about_machine
from pilots.choices import ExitState, RunRole, RunSource
from pilots.models import Replay, Run
from qms.evidence.claim_choices import EmulatorAnswer


def answers() -> dict[str, EmulatorAnswer]:
    """Return, by its key, what the emulator says about each claim now."""
    runs = Run.objects.filter(
        role=RunRole.TARGET.value, source=RunSource.EMULATOR.value, exit_state=ExitState.COMPLETED.value
    )
    replayed = runs.filter(summary__replay_equal=True).exists() or Replay.objects.filter(equal=True).exists()
    shown = tuple(key for key, name in FRONT_ENDS.items() if _gave_the_same(name))
    return about_machine(replayed=replayed, front_ends=shown)


def _gave_the_same(framework: str) -> bool:
    """Whether an emulated run of a graph of the framework gave all its outputs within the tolerance (POL-06)."""
    found = Run.objects.filter(
        source=RunSource.EMULATOR.value,
        exit_state=ExitState.COMPLETED.value,
        summary__porting__framework=framework,
    ).values_list("summary__equivalence__outputs", flat=True)
    return any(rows and all(row["within"] for row in rows) for rows in found.iterator())
