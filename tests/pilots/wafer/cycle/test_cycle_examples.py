"""The example of a deadlock: it stands still exactly when a message is longer than the queues on its way."""

from __future__ import annotations

import pytest

from pilots.wafer.cycle.examples import ROOM, all_send_first, around
from pilots.wafer.cycle.simulate import simulate
from pilots.wafer.cycle.tracing import trace
from pilots.wafer.machine import lab_mesh

LAB = lab_mesh(8, 8)
GRIDS = ((2, 2), (3, 2), (2, 5), (4, 4), (8, 8))


@pytest.mark.parametrize("grid", GRIDS)
def test_what_fits_into_the_queues_arrives(grid):
    wavelets, want = all_send_first(LAB, *grid, ROOM)
    assert wavelets.collect(simulate(wavelets.image).memory).tobytes() == want.tobytes()


@pytest.mark.parametrize("grid", GRIDS)
def test_one_word_more_stands_still(grid):
    wavelets, _ = all_send_first(LAB, *grid, ROOM + 1)
    found = trace(wavelets.image)
    assert found.outcome is None
    assert set(found.frames[-1].doing) <= {"x", "n"}
    blamed = {link.blamed for link in found.deadlock.links}
    assert blamed <= set(around(*grid))
    assert "kann Farbe 0 nicht senden, weil Element (1, 0) sie nicht abnimmt" in found.deadlock.message_de
    assert ("schließt sich der Kreis" in found.deadlock.message_de) == (len(around(*grid)) <= 8)


@pytest.mark.parametrize("grid", GRIDS)
def test_the_ring_goes_once_around(grid):
    ring = around(*grid)
    assert len(ring) == len(set(ring)) == 2 * sum(grid) - 4
    for (x, y), (u, v) in zip(ring, [*ring[1:], ring[0]], strict=True):
        assert abs(x - u) + abs(y - v) == 1
