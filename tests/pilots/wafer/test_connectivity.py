from __future__ import annotations

from collections import deque
from itertools import product

import pytest

from pilots.wafer.connectivity import connectivity, require_connected
from pilots.wafer.defects import CutApart, Defects, Link, OutsideFabric, Pe, random_defects
from pilots.wafer.machine import WSE_3, Machine, lab_mesh


def parts_by_search(machine: Machine, defects: Defects) -> list[set[Pe]]:
    """The plain twin: breadth-first search from every element not seen yet."""
    columns, rows = defects.extent(machine)
    todo = {pe for pe in product(range(columns), range(rows)) if pe not in defects.dead_pes}
    cut = defects.dead_links | {(b, a) for a, b in defects.dead_links}
    found = []
    while todo:
        seen = {min(todo)}
        queue = deque(seen)
        while queue:
            x, y = queue.popleft()
            for near in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                if near in todo and near not in seen and ((x, y), near) not in cut:
                    seen.add(near)
                    queue.append(near)
        todo -= seen
        found.append(seen)
    return found


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("permille", [400, 593, 700, 930])
def test_parts_are_those_of_a_plain_search(seed: int, permille: int) -> None:
    machine = lab_mesh(9, 12)
    drawn = random_defects(machine, seed=seed, yield_permille=permille, spare_columns=0, spare_rows=0)
    links: set[Link] = {
        ((x, y), (x + 1, y)) for x, y in product(range(8), range(12)) if (x * 7 + y * 3 + seed) % 5 == 0
    }
    links |= {
        ((x, y + 1), (x, y)) for x, y in product(range(9), range(11)) if (x * 5 + y * 11 + seed) % 7 == 0
    }
    defects = Defects(drawn.dead_pes, frozenset(links), spare_columns=0)
    parts = parts_by_search(machine, defects)
    found = connectivity(machine, defects)
    assert found.alive == sum(map(len, parts))
    assert found.parts == len(parts)
    assert found.reached == max(map(len, parts))


def test_a_whole_mesh_is_one_part() -> None:
    found = require_connected(WSE_3, Defects(frozenset(), spare_rows=2))
    assert (found.alive, found.parts, found.reached) == (762 * 1172, 1, 762 * 1172)
    assert found.cut_off_rows is None


def test_a_snake_through_the_whole_wafer_is_one_part() -> None:
    wall = {(x, y) for y in range(1, 1170, 2) for x in range(755) if x != (754 if y % 4 == 1 else 0)}
    found = connectivity(WSE_3, Defects(frozenset(wall), spare_columns=0))
    assert (found.parts, found.reached) == (1, found.alive)


def test_a_dead_row_cuts_off_what_lies_above_it() -> None:
    machine = lab_mesh(5, 9)
    with pytest.raises(CutApart) as caught:
        require_connected(machine, Defects(frozenset((x, 3) for x in range(5)), spare_columns=0))
    assert (caught.value.rows, caught.value.columns) == ((0, 2), (0, 4))
    assert caught.value.message_de == (
        "Die Ausfälle teilen das Netz in 2 Teile: 15 von 40 lebenden Rechenelementen sind vom größten Teil getrennt "
        "(Zeilen 0 bis 2, Spalten 0 bis 4)."
    )


def test_a_column_of_dead_links_cuts_as_well() -> None:
    machine = lab_mesh(5, 4)
    links = frozenset(((3, y), (4, y)) for y in range(4))
    with pytest.raises(CutApart) as caught:
        require_connected(machine, Defects(frozenset(), links, spare_columns=0))
    assert caught.value.columns == (4, 4)
    one_left = Defects(frozenset(), frozenset(sorted(links)[1:]), spare_columns=0)
    assert require_connected(machine, one_left).parts == 1


def test_diagonal_neighbours_do_not_touch() -> None:
    machine = lab_mesh(2, 2)
    found = connectivity(machine, Defects(frozenset({(0, 1), (1, 0)}), spare_columns=0))
    assert (found.alive, found.parts, found.reached) == (2, 2, 1)
    assert (found.cut_off_rows, found.cut_off_columns) == ((1, 1), (1, 1))


def test_a_wholly_dead_wafer_has_no_part() -> None:
    machine = lab_mesh(3, 2)
    found = connectivity(machine, Defects(frozenset(product(range(3), range(2))), spare_columns=0))
    assert (found.alive, found.parts, found.reached, found.cut_off_rows) == (0, 0, 0, None)


def test_a_mesh_of_one_element_is_connected() -> None:
    assert require_connected(lab_mesh(1, 1), Defects(frozenset(), spare_columns=0)).parts == 1


def test_defects_outside_are_refused_here_too() -> None:
    with pytest.raises(OutsideFabric):
        connectivity(lab_mesh(2, 2), Defects(frozenset({(9, 9)}), spare_columns=0))
