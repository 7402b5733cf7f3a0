"""Holds up the first attempt of a job behind its first checkpoint, as long as the file `hold` lies in the folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.apps import AppConfig

HELD_FOR_S = 120.0  # the test kills the process long before


class HeldConfig(AppConfig):
    name = "tests.faults.system"
    label = "held_jobs"

    def ready(self) -> None:
        from django.conf import settings

        from qms.core.jobs import JobContext
        from tests.waiting import wait_until

        save = JobContext.save_checkpoint

        def held(ctx: JobContext, checkpoint: dict[str, Any]) -> None:
            save(ctx, checkpoint)
            folder = Path(settings.DATA_DIR)
            if ctx.attempt == 1 and (folder / "hold").exists():
                (folder / "held").write_text(str(os.getpid()))
                wait_until(lambda: False, within_s=HELD_FOR_S, what="the kill")

        JobContext.save_checkpoint = held  # type: ignore[method-assign]
