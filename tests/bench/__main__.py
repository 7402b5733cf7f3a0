"""`python -m tests.bench`: what our own layers cost, as ratios measured in one run, one after the other.

Seconds differ between machines and moments, ratios hardly: nothing here is asserted about durations. What is
asserted is the number of queries of a list. Times are CPU seconds of this process, the median of several rounds.
"""

from __future__ import annotations

import logging
import os
import sys

import django


def main() -> int:
    """Build a house of its own, measure, print one table; status 1 if a list reads per row."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    from django.core.management import call_command
    from django.test.utils import setup_test_environment

    from tests.access.world import build
    from tests.bench import cycle, measures, wafer
    from tests.bench.table import Table

    logging.disable(logging.ERROR)
    setup_test_environment()
    call_command("migrate", verbosity=0)
    world, table = build(), Table()
    for part in (
        measures.canonical_form,
        wafer.measure,
        cycle.measure,
        measures.audited_write,
        measures.pages,
    ):
        part(world, table)
    same = measures.lists(world, table)
    measures.sealing(world, table)
    print(table.text())
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
