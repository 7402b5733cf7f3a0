from __future__ import annotations

import pytest

from pilots.cluster.errors import DoesNotFit


@pytest.mark.parametrize(
    ("needed", "usable", "told"),
    [
        (
            13_494_507_274_240,
            72_000_000_000,
            "12,3\u00a0TiB gebraucht, nutzbar sind 67,1\u00a0GiB, es fehlen 12,2\u00a0TiB",
        ),
        (1025, 1024, "1,0\u00a0KiB gebraucht, nutzbar sind 1,0\u00a0KiB, es fehlen 1\u00a0Byte"),
    ],
)
def test_sizes_are_told_in_units_people_compare(needed: int, usable: int, told: str) -> None:
    error = DoesNotFit(needed_bytes=needed, usable_bytes=usable, smallest_gpus=None)
    assert told in error.message_de
    assert error.shortfall_bytes == needed - usable
