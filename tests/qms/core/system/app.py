"""Jobs whose steps wait for the test: a step goes on as soon as its file lies in the data folder."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from django.apps import AppConfig

STEPS = 4


class TestJobsConfig(AppConfig):
    name = "tests.qms.core.system"
    label = "test_jobs"

    def ready(self):
        from qms.core import jobs

        jobs.register("test.steps")(steps)
        jobs.register("test.child", isolated=True)(steps)
        jobs.register("test.crash", isolated=True)(crash)


def steps(ctx):
    from django.conf import settings
    from django.db import transaction

    from qms.core import jobs
    from tests.waiting import wait_until

    folder = Path(settings.DATA_DIR)
    for step in range(ctx.checkpoint.get("step", 0), STEPS):

        def may_go_on(step=step):
            ctx.check_cancelled()
            return (folder / f"go-{step}").exists()

        ctx.progress(step * 1000 // STEPS, f"{os.getpid()}")
        wait_until(may_go_on, what=f"step {step}")
        with (folder / "steps").open("a") as log:
            log.write(f"{ctx.attempt}:{step}:{os.getpid()}\n")
        ctx.save_checkpoint({"step": step + 1})
    with transaction.atomic():
        jobs.finish(ctx)


def crash(ctx):
    os.kill(os.getpid(), signal.SIGSEGV)
