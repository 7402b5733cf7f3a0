"""Entry point of an isolated job: `python -m qms.core.jobs_child JOB ATTEMPT`. Started by the worker only."""

from __future__ import annotations

import sys
from uuid import UUID

import django


def main(arguments: list[str]) -> int:
    """Run the claimed job; 0 when it ended in whatever way, 1 when an unexpected error is to be tried again."""
    django.setup()
    from qms.core import jobs  # noqa: PLC0415 - models exist only after setup

    job_id, attempt = arguments
    jobs.run_claimed(UUID(job_id), int(attempt))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
