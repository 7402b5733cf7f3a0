"""What a long computation reports and asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Hooks:
    """Checkpoint of the attempt before, and the functions of a job; see `qms.core.jobs.JobContext`.

    expected: gets the seconds that all the work will about take, as soon as that is known.
    """

    checkpoint: dict[str, Any] | None
    progress: Callable[[int, int], None]
    save: Callable[[dict[str, Any]], None]
    check_cancelled: Callable[[], None]
    expected: Callable[[float], None] | None = None
