"""A target run computed again from its manifest alone, with the files of the store."""

from __future__ import annotations

from typing import Any

from pilots import replay as replays
from pilots.catalog.hooks import Hooks
from pilots.catalog.model import stored_file
from qms.core.jobs import JobFailed


def replay(manifest: dict[str, Any], hooks: Hooks) -> replays.ReplayVerdict:
    """Compute again and compare; raises JobFailed, or CriterionNotMet (G0-5) for a missing or changed model file."""
    try:
        return replays.replay(
            manifest, fetch=stored_file, on_progress=hooks.progress, check_cancelled=hooks.check_cancelled
        )
    except replays.ReplayRefused as error:
        raise JobFailed(error.message_de) from error
