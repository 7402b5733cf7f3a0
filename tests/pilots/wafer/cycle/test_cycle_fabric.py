from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pilots.wafer
from pilots.wafer.cycle import layout
from pilots.wafer.cycle.deadlock import Deadlock
from pilots.wafer.cycle.image import EVERYWHERE, Image
from pilots.wafer.cycle.instructions import (
    block,
    delay,
    fabric,
    local,
    receive,
    repeat,
    send,
    signal,
    wait,
)
from pilots.wafer.cycle.simulate import simulate
from pilots.wafer.errors import ProgramError, RequestError
from pilots.wafer.machine import lab_mesh
from pilots.wafer.machine.figure import chosen

LAB = lab_mesh(8, 8)
ROOT = Path(pilots.wafer.__file__).parents[2]


def counted(words: int) -> np.ndarray:
    return np.arange(1, words + 1, dtype=np.float32)


def pair(words: int, *, distance: int = 1, machine=LAB, **options) -> Image:
    """Element 0 sends, the one at `distance` receives."""
    image = Image(machine, distance + 1, 1, colors=1, **options)
    image.allot(words, counted(words), np.s_[:, 0])
    image.route(np.s_[:, 0], 0, ("R", "E", 0))
    image.route(np.s_[:, 1:distance], 0, ("W", "E", 0))
    image.route(np.s_[:, distance], 0, ("W", "R", 0))
    image.program(np.s_[:, 0], send(0, 1, words))
    image.program(np.s_[:, distance], receive(0, 1, words))
    return image


@pytest.mark.parametrize(("words", "distance"), [(1, 1), (1, 7), (8, 1), (9, 3), (100, 7)])
def test_a_message_takes_its_words_its_hops_and_two_ramps(words, distance):
    outcome = simulate(pair(words, distance=distance))
    assert outcome.cycles == words + distance + 2 * LAB.ramp_cycles.value + 1
    assert outcome.hops == words * distance
    assert outcome.memory[0, distance, 1:].tolist() == counted(words).tolist()


@pytest.mark.parametrize(("hop", "ramp"), [(1, 1), (2, 2), (31, 4), (3, 30)])
def test_latencies_are_those_of_the_machine(hop, ramp):
    machine = replace(LAB, hop_cycles=chosen(hop, "test"), ramp_cycles=chosen(ramp, "test"))
    assert simulate(pair(5, distance=4, machine=machine)).cycles == 5 + 4 * hop + 2 * ramp + 1


@pytest.mark.parametrize(("hop", "ramp"), [(0, 2), (32, 2), (1, 0), (1, 31)])
def test_latencies_it_cannot_run_are_refused(hop, ramp):
    machine = replace(LAB, hop_cycles=chosen(hop, "test"), ramp_cycles=chosen(ramp, "test"))
    with pytest.raises(RequestError, match=f"hop {hop}, turn 0, ramp {ramp}"):
        simulate(pair(5, distance=4, machine=machine))


def test_a_bend_costs_a_turn():
    def bent(turn: int) -> int:
        machine = replace(LAB, turn_cycles=chosen(turn, "test"))
        image = Image(machine, 2, 2, colors=1)
        image.allot(1)
        image.route((0, 0), 0, ("R", "E", 0))
        image.route((0, 1), 0, ("W", "S", 0))
        image.route((1, 1), 0, ("N", "R", 0))
        image.program((0, 0), send(0, 1, 1))
        image.program((1, 1), receive(0, 1, 1))
        return simulate(image).cycles

    assert bent(3) == bent(0) + 3


def test_two_colors_share_a_link_one_wavelet_per_cycle():
    words = 40
    image = Image(LAB, 3, 1, colors=2, threads=2)
    image.allot(words, counted(words))
    image.allot(words)
    for color, first in enumerate((0, 1)):
        image.route(np.s_[:, first], color, ("R", "E", 0))
        image.route(np.s_[:, first + 1 : 2], color, ("W", "E", 0))
        image.route(np.s_[:, 2], color, ("W", "R", 0))
        image.program(np.s_[:, first], send(color, 1, words))
        image.program(np.s_[:, 2], receive(color, 1 + words * color, words), thread=color)
    outcome = simulate(image)
    assert 2 * words <= outcome.cycles <= 2 * words + 12
    assert outcome.memory[0, 2, 1:].tolist() == [*counted(words), *counted(words)]


def test_one_wavelet_goes_up_the_ramp_per_cycle():
    words = 40
    image = Image(LAB, 3, 1, colors=2, threads=2)
    image.allot(words, counted(words))
    for color, side, place in ((0, "W", 0), (1, "E", 2)):
        image.route(np.s_[:, 1], color, ("R", side, 0))
        image.route(np.s_[:, place], color, ("E" if side == "W" else "W", "R", 0))
        image.program(np.s_[:, 1], send(color, 1, words), thread=color)
        image.program(np.s_[:, place], receive(color, 1, words))
    assert simulate(image).cycles >= 2 * words


def test_a_slow_receiver_pushes_back_and_nothing_is_lost():
    words = 200
    image = pair(words, distance=3)
    image.program(np.s_[:, 3], delay(500_000) + fabric(words, color_in=0, address=1, milli=2500))
    outcome = simulate(image)
    assert outcome.cycles == 500 + words * 2.5
    assert outcome.memory[0, 3, 1:].tolist() == counted(words).tolist()


def test_fractions_of_cycles_add_up():
    image = Image(LAB, 1, 1, colors=1)
    image.program(EVERYWHERE, repeat(10, delay(1300)))
    assert simulate(image).cycles == 13


@pytest.mark.parametrize("cycles", [1, 15, 16, 17, 4095, 4096, 4097, 20_000])
def test_a_sleeper_wakes_in_time(cycles):
    image = Image(LAB, 2, 1, colors=1)
    image.program(np.s_[:, 0], delay(1000 * cycles))
    image.program(np.s_[:, 1], delay(1000) + delay(3000))
    assert simulate(image).cycles == max(cycles, 4)


def test_threads_overlap_and_meet():
    words = 64
    image = pair(words, threads=2)
    image.program(np.s_[:, 1], signal(0) + delay(100_000) + wait(1))
    image.program(np.s_[:, 1], wait(0) + receive(0, 1, words) + signal(1), thread=1)
    assert simulate(image).cycles == 100


def test_a_block_multiplies_in_ascending_order():
    image = Image(LAB, 1, 1, colors=1)
    left, right = np.float32([[1e8, 1, -1e8]]), np.float32([[1], [1], [1]])
    places = (image.allot(3, left.reshape(-1)), image.allot(3, right.reshape(-1)), image.allot(1))
    image.program(EVERYWHERE, block(*places, (1, 3, 1), 7000))
    outcome = simulate(image)
    assert outcome.cycles == 7
    assert outcome.memory[0, 0, places[2]] == 0  # the one is lost in 1e8


@pytest.mark.parametrize(
    ("combine", "expected"),
    [
        (layout.COPY, 5.0),
        (layout.ADD, 7.0),
        (layout.MAX, 5.0),
        (layout.MIN, 2.0),
        (layout.MULTIPLY_ADD, 17.0),
    ],
)
def test_an_incoming_number_meets_the_one_in_memory(combine, expected):
    image = pair(1)
    image.load(1, np.float32([5]), np.s_[:, 0])
    image.load(1, np.float32([2]), np.s_[:, 1])
    factor = image.factor(3.0)
    image.program(np.s_[:, 1], fabric(1, color_in=0, address=1, combine=combine, factor=factor))
    assert simulate(image).memory[0, 1, 1] == expected


@pytest.mark.parametrize("combine", [layout.MAX, layout.MIN, layout.ADD])
@pytest.mark.parametrize("numbers", [(np.nan, 1), (1, np.nan)])
def test_not_a_number_is_never_lost(combine, numbers):
    image = pair(1)
    image.load(1, np.float32([numbers[0]]), np.s_[:, 0])
    image.load(1, np.float32([numbers[1]]), np.s_[:, 1])
    image.program(np.s_[:, 1], receive(0, 1, 1, combine=combine))
    assert np.isnan(simulate(image).memory[0, 1, 1])


def test_a_local_function_sees_the_memory_of_its_moment():
    image = pair(2)

    def double(memory: np.ndarray) -> None:
        memory[:, 1:3] *= 2

    image.program(np.s_[:, 1], receive(0, 1, 2) + local(image.function(double), 0) + delay(1000))
    assert simulate(image).memory[0, 1, 1:3].tolist() == [2, 4]


def test_idle_elements_cost_nothing():
    def visits(width: int, height: int) -> int:
        image = Image(lab_mesh(width, height), width, height, colors=1)
        image.allot(4)
        image.route((0, 0), 0, ("R", "E", 0))
        image.route((0, 1), 0, ("W", "R", 0))
        image.program((0, 0), send(0, 1, 4))
        image.program((0, 1), receive(0, 1, 4))
        return simulate(image).visits

    assert visits(2, 1) == visits(200, 200)


def test_waiting_costs_nothing():
    image = pair(1)
    image.program(np.s_[:, 0], delay(1_000_000_000) + send(0, 1, 1))
    assert simulate(image).visits < 20


def test_a_receiver_without_a_sender_is_explained():
    image = pair(3)
    image.program(np.s_[:, 0], send(0, 1, 2))
    with pytest.raises(Deadlock) as caught:
        simulate(image)
    assert [link.element for link in caught.value.links] == [(1, 0), (0, 0)]
    sentence = caught.value.message_de
    assert "Element (1, 0) wartet auf Farbe 0 von Element (0, 0)" in sentence
    assert "Element (0, 0) ist fertig" in sentence


def test_a_circle_is_explained():
    image = Image(LAB, 2, 1, colors=2)
    image.allot(1)
    for color, (source, target, side) in enumerate(((0, 1, "E"), (1, 0, "W"))):
        image.route(np.s_[:, source], color, ("R", side, 0))
        image.route(np.s_[:, target], color, ("W" if side == "E" else "E", "R", 0))
        image.program(np.s_[:, source], receive(1 - color, 1, 1) + send(color, 1, 1))
    with pytest.raises(Deadlock, match="deadlock at cycle") as caught:
        simulate(image)
    assert "damit schließt sich der Kreis" in caught.value.message_de


@pytest.mark.parametrize("words", [17, 18, 19, 40])
def test_a_sender_whose_wavelets_nobody_takes_is_explained(words):
    image = pair(words)
    image.program(np.s_[:, 1], wait(0))
    with pytest.raises(Deadlock) as caught:
        simulate(image)
    assert caught.value.links


@pytest.mark.parametrize(
    ("routes", "words"),
    [
        ((("R", "W", 0), ("W", "R", 0)), "aus dem Netz"),
        ((("R", "E", 0), ("E", "R", 0)), "von einer anderen Seite"),
        (((), ("W", "R", 0)), "keinen Weg"),
    ],
)
def test_a_broken_route_is_explained(routes, words):
    image = Image(LAB, 2, 1, colors=1)
    image.allot(20)
    for place, position in enumerate(routes):
        if position:
            image.route(np.s_[:, place], 0, position)
    image.program(np.s_[:, 0], send(0, 1, 20))
    with pytest.raises(Deadlock) as caught:
        simulate(image)
    assert words in caught.value.message_de


def test_a_signal_nobody_gives_is_explained():
    image = Image(LAB, 1, 1, colors=1)
    image.program(EVERYWHERE, wait(3))
    with pytest.raises(Deadlock, match="deadlock") as caught:
        simulate(image)
    assert "Signal" in caught.value.message_de


def test_the_limit_of_cycles_is_the_last_allowed_one():
    image = Image(LAB, 1, 1, colors=1)
    image.program(EVERYWHERE, delay(50_000))
    assert simulate(image, max_cycles=50).cycles == 50
    with pytest.raises(RequestError) as caught:
        simulate(image, max_cycles=49)
    assert "nach 49 Takten nicht fertig" in caught.value.message_de


def test_a_run_can_be_repeated():
    first, second = (simulate(pair(50, distance=6)) for _ in range(2))
    assert (first.cycles, first.hops, first.visits) == (second.cycles, second.hops, second.visits)
    assert first.memory.tobytes() == second.memory.tobytes()


def test_colors_and_threads_of_the_machine_are_the_limit():
    usable = LAB.colors.value - LAB.reserved_colors.value
    Image(LAB, 1, 1, colors=usable, threads=9)
    for colors, threads in ((usable + 1, 1), (1, 10)):
        with pytest.raises(ProgramError, match=f"got {colors} colors and {threads} threads"):
            Image(LAB, 1, 1, colors=colors, threads=threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_empty_image_ends_at_once(threads):
    assert simulate(Image(LAB, 3, 3, colors=1, threads=threads)).cycles == 0


def test_importing_loads_no_compiler():
    code = "import sys, pilots.wafer.__main__, pilots.wafer.cycle.agreement; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
