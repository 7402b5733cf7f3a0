from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pilots.wafer.defects import (
    MAX_FABRIC_PES,
    BadYield,
    CutApart,
    Defects,
    NoRectangle,
    OutsideFabric,
    Pe,
    TooManyElements,
    dead_map,
    random_defects,
    usable,
)
from pilots.wafer.machine import WSE_2, WSE_3, Machine, lab_mesh
from pilots.wafer.machine_file import dump, load

LAB = lab_mesh(4, 3)


def lab(*dead: Pe, links: tuple[tuple[Pe, Pe], ...] = (), rows: int = 0, columns: int = 1) -> Defects:
    return Defects(frozenset(dead), frozenset(links), rows, columns)


def whole_row(row: int, columns: int = 5) -> list[Pe]:
    return [(column, row) for column in range(columns)]


def test_a_wafer_without_defects_is_the_machine_itself() -> None:
    found = usable(LAB, lab())
    assert found.machine is LAB
    assert found.columns.tolist() == [[0, 1, 2, 3]] * 3
    assert (found.bridged_links, found.worst_extra_cycles, found.dropped_rows) == (0, 0, ())


def test_a_dead_element_is_bridged_inside_its_row_at_one_more_hop() -> None:
    found = usable(LAB, lab((1, 1)))
    assert found.machine is LAB
    assert found.columns.tolist() == [[0, 1, 2, 3], [0, 2, 3, 4], [0, 1, 2, 3]]
    assert found.east_extra_hops.tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert (found.bridged_links, found.worst_extra_cycles) == (1, LAB.hop_cycles.value)


def test_a_dead_element_at_the_edge_shifts_without_a_bridge() -> None:
    for dead in ((0, 0), (4, 0)):
        found = usable(LAB, lab(dead))
        assert found.bridged_links == 0
        assert found.columns[0].tolist() == ([1, 2, 3, 4] if dead == (0, 0) else [0, 1, 2, 3])


def test_a_row_may_have_as_many_defects_as_there_are_spare_columns() -> None:
    assert usable(LAB, lab((1, 0), (2, 0), columns=2)).machine is LAB
    shorter = usable(LAB, lab((1, 0), (2, 0), (3, 0), columns=2))
    assert shorter.rows.tolist() == [1, 2]
    assert shorter.machine.height_pes.value == 2


def test_a_spare_row_replaces_a_failed_one_and_the_bridge_costs_a_hop() -> None:
    found = usable(LAB, lab(*whole_row(1), rows=1))
    assert found.machine is LAB
    assert found.rows.tolist() == [0, 2, 3]
    assert found.dropped_rows == (1,)
    assert found.south_extra_hops.tolist() == [1, 0]
    assert (found.bridged_links, found.worst_extra_cycles) == (4, LAB.hop_cycles.value)


def test_more_failed_rows_than_spares_cost_height() -> None:
    machine = lab_mesh(4, 6)
    found = usable(machine, lab(*whole_row(1), *whole_row(3), rows=1))
    assert found.machine.height_pes.value == 5
    assert found.rows.tolist() == [0, 2, 4, 5, 6]
    assert found.machine.id.startswith("lab-4x6-d")
    assert found.machine.sha256() != machine.sha256()
    assert "defect map" in found.machine.height_pes.source


def test_failed_rows_at_the_edge_need_no_bridge() -> None:
    found = usable(LAB, lab(*whole_row(0)))
    assert found.rows.tolist() == [1, 2]
    assert found.dropped_rows == (0,)
    assert usable(LAB, lab(*whole_row(2))).rows.tolist() == [0, 1]


@pytest.mark.parametrize(("spare", "cut"), [(0, True), (1, True), (2, False), (3, False)])
def test_a_band_of_rows_wider_than_the_spares_cuts_the_mesh(spare: int, cut: bool) -> None:
    machine = lab_mesh(4, 6)
    defects = lab(*whole_row(2), *whole_row(3), rows=spare)
    if not cut:
        assert usable(machine, defects).rows.tolist()[:3] == [0, 1, 4]
        return
    with pytest.raises(CutApart) as caught:
        usable(machine, defects)
    assert (caught.value.rows, caught.value.columns) == ((2, 3), (0, 4))
    assert "die Zeilen 2 bis 3 haben zu wenige" in caught.value.message_de
    assert f"höchstens {spare} Zeilen" in caught.value.message_de


def test_no_rectangle_names_the_best_row() -> None:
    dead = [(column, row) for row in range(3) for column in range(3 - (row == 1))]
    with pytest.raises(NoRectangle) as caught:
        usable(LAB, lab(*dead))
    assert caught.value.row == 1
    assert caught.value.message_de == (
        "Die Defektkarte lässt kein nutzbares Rechteck: selbst Zeile 1 hat nur 3 lebende Rechenelemente, "
        "nötig sind 4 (1 Ersatzspalten)."
    )


def test_a_dead_link_takes_out_its_eastern_or_southern_element() -> None:
    across = usable(LAB, lab(links=(((1, 1), (2, 1)),)))
    assert across.columns[1].tolist() == [0, 1, 3, 4]
    backwards = usable(LAB, lab(links=(((2, 1), (1, 1)),)))
    assert backwards.columns.tolist() == across.columns.tolist()
    down = usable(LAB, lab(links=(((1, 0), (1, 1)),)))
    assert down.columns.tolist() == [[0, 1, 2, 3], [0, 2, 3, 4], [0, 1, 2, 3]]


def test_a_link_at_a_dead_element_takes_nothing_more_than_its_end() -> None:
    assert usable(LAB, lab((2, 1), links=(((1, 1), (2, 1)),))).machine is LAB


def test_spares_are_the_margin_of_the_machine_unless_the_map_says_otherwise() -> None:
    assert Defects(frozenset()).extent(WSE_2) == (757, 994)
    assert Defects(frozenset(), spare_rows=2).extent(WSE_2) == (757, 996)
    assert Defects(frozenset(), spare_rows=2, spare_columns=0).extent(WSE_2) == (750, 996)
    seven, eight = ({(column, 5) for column in range(count)} for count in (7, 8))
    assert usable(WSE_2, Defects(frozenset(seven))).machine is WSE_2
    with pytest.raises(CutApart, match="rows \\(5, 5\\)"):
        usable(WSE_2, Defects(frozenset(eight)))


@pytest.mark.parametrize("pe", [(-1, 0), (0, -1), (5, 0), (0, 3), (10**9, 10**9)])
def test_an_element_outside_the_fabric_is_named(pe: Pe) -> None:
    with pytest.raises(OutsideFabric) as caught:
        usable(LAB, lab((0, 0), pe))
    assert f"({pe[0]}, {pe[1]})" in caught.value.message_de
    assert "5 Spalten und 3 Zeilen" in caught.value.message_de


@pytest.mark.parametrize(
    "link",
    [
        ((0, 0), (0, 0)),
        ((0, 0), (2, 0)),
        ((0, 0), (1, 1)),
        ((4, 0), (5, 0)),
        ((0, 2), (0, 3)),
        ((-1, 0), (0, 0)),
        ((1, 0), (0, 1)),
    ],
)
def test_a_link_that_joins_no_neighbours_is_refused(link: tuple[Pe, Pe]) -> None:
    with pytest.raises(OutsideFabric, match="outside"):
        usable(LAB, lab(links=(link,)))


def test_a_fabric_beyond_the_limit_is_refused() -> None:
    edge = MAX_FABRIC_PES // 994 - 750
    assert Defects(frozenset(), spare_columns=edge).extent(WSE_2)[0] == 750 + edge
    with pytest.raises(TooManyElements) as caught:
        Defects(frozenset(), spare_columns=edge + 1).extent(WSE_2)
    assert "erlaubt sind 8.388.608" in caught.value.message_de


@pytest.mark.parametrize("spares", [(-1, 0), (0, -1)])
def test_negative_spares_are_a_mistake(spares: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="spares of"):
        Defects(frozenset(), frozenset(), *spares)


def test_the_order_of_a_map_does_not_change_its_digest() -> None:
    one = lab((0, 1), (1, 0), links=(((0, 0), (1, 0)), ((0, 0), (0, 1))))
    two = lab((1, 0), (0, 1), links=(((0, 1), (0, 0)), ((1, 0), (0, 0))))
    assert one.digest() == two.digest()
    assert one.digest() != lab((0, 1)).digest()


@pytest.mark.parametrize("machine", [WSE_2, WSE_3, lab_mesh(8, 8), lab_mesh(1, 1)], ids=lambda item: item.id)
def test_the_published_yield_still_gives_the_whole_machine(machine: Machine) -> None:
    defects = random_defects(machine, seed=1)
    assert usable(machine, defects).machine is machine


def test_random_defects_hit_their_share_and_repeat() -> None:
    defects = random_defects(WSE_2, seed=7)
    columns, rows = defects.extent(WSE_2)
    assert abs(len(defects.dead_pes) / (columns * rows) - 0.07) < 0.002
    assert defects == random_defects(WSE_2, seed=7)
    assert defects != random_defects(WSE_2, seed=8)
    assert int(dead_map(WSE_2, defects).sum()) == len(defects.dead_pes)


def test_random_defects_are_the_same_on_every_machine_that_computes_them() -> None:
    defects = random_defects(lab_mesh(8, 8), seed=3)
    assert defects.digest() == "a58b4cbf75426ce30e6bb7713a95a3f0b3cd5d4fdd082efc0621553d1fb71005"


@pytest.mark.parametrize(
    ("permille", "fine"), [(1000, True), (999, True), (500, True), (1, False), (0, None), (1001, None)]
)
def test_yield_is_bounded(permille: int, fine: bool | None) -> None:
    if fine:
        assert (permille == 1000) == (
            not random_defects(lab_mesh(64, 64), seed=1, yield_permille=permille).dead_pes
        )
    elif fine is None:
        with pytest.raises(BadYield) as caught:
            random_defects(LAB, seed=1, yield_permille=permille)
        assert "1 bis 1.000 Promille" in caught.value.message_de
    else:
        with pytest.raises(TooManyElements):
            random_defects(WSE_2, seed=1, yield_permille=permille)


@pytest.mark.parametrize("seed", [-1, 2**53])
def test_a_seed_outside_its_range_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="seed"):
        random_defects(LAB, seed=seed)


def test_too_few_spares_for_the_yield_are_refused_with_the_row() -> None:
    with pytest.raises(NoRectangle) as caught:
        usable(WSE_2, random_defects(WSE_2, seed=1, spare_columns=7))
    assert "7 Ersatzspalten" in caught.value.message_de


def test_rows_and_columns_of_a_remap_point_to_living_elements_only() -> None:
    machine = lab_mesh(64, 64)
    defects = random_defects(machine, seed=5, yield_permille=900)
    found = usable(machine, defects)
    dead = dead_map(machine, defects)
    assert not dead[found.rows[:, None], found.columns].any()
    assert (np.diff(found.columns, axis=1) >= 1).all()
    assert (np.diff(found.rows) >= 1).all()


def test_a_shrunk_machine_keeps_its_clock_profile_and_survives_its_file() -> None:
    machine = WSE_2.with_clock("research")
    found = usable(machine, Defects(frozenset((column, 0) for column in range(8))))
    assert found.machine.height_pes.value == 993
    assert found.machine.id.partition("@")[2] == "research"
    assert not found.machine.calibrated
    assert load(dump(found.machine)) == found.machine
    assert found.machine.with_clock("sdk").clock_hz.value == 850_000_000
    assert replace(found.machine, height_pes=machine.height_pes, id=machine.id, calibrated=True) == machine
