"""The example of a deadlock: it stands still exactly when a message is longer than the queues on its way."""

from __future__ import annotations

import pytest

from pilots.wafer.cycle.deadlock import Deadlock, Link
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
    length = len(around(*grid))
    assert len(found.deadlock.links) == length
    assert found.deadlock.parts_de[-1] == "damit schließt sich der Kreis"
    assert len(found.deadlock.parts_de) == min(length, 9) + 1
    hidden = f"dazwischen warten {length - 8} weitere Elemente ebenso"
    assert (hidden in found.deadlock.message_de) == (length > 9)


@pytest.mark.parametrize(("length", "shown"), [(1, 1), (8, 8), (9, 9), (10, 9), (30, 9)])
def test_a_long_chain_shows_its_cause_and_closes_only_where_it_does(length, shown):
    chain = [Link((x, 0), f"wartet auf {x + 1}", (x + 1, 0)) for x in range(length - 1)]
    ended = Deadlock(5, (*chain, Link((length - 1, 0), "ist fertig", None)))
    assert len(ended.parts_de) == shown
    assert ended.parts_de[-1] == f"Element ({length - 1}, 0) ist fertig"
    assert "Kreis" not in ended.message_de
    assert "bemerkt nach 5 Takten" in ended.message_de
    closed = Deadlock(5, (*chain, Link((length - 1, 0), "wartet", (0, 0))))
    assert len(closed.parts_de) == shown + 1
    assert closed.message_de.endswith(
        "damit schließt sich der Kreis. Bitte prüfen Sie Farben, Wege und Reihenfolge."
    )


@pytest.mark.parametrize("grid", GRIDS)
def test_the_ring_goes_once_around(grid):
    ring = around(*grid)
    assert len(ring) == len(set(ring)) == 2 * sum(grid) - 4
    for (x, y), (u, v) in zip(ring, [*ring[1:], ring[0]], strict=True):
        assert abs(x - u) + abs(y - v) == 1
