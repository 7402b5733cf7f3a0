"""The door to the replay of an emulated run, also by its dotted name. Needs no Django and no database."""

from __future__ import annotations

from pilots.wafer.evidence_folder import folder
from pilots.wafer.replay_words import PARTS_DE
from pilots.wafer.replaying import Fetch, ReplayRefused, ReplayVerdict, replay

__all__ = ["PARTS_DE", "Fetch", "ReplayRefused", "ReplayVerdict", "folder", "replay"]
