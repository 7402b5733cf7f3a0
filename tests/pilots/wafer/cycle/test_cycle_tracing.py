"""A trace runs the functions of the compiled loop as plain Python: the same result bit for bit, and every move of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pilots.graph.ir import DType
from pilots.wafer.cycle.agreement import Case, prepare, same_bits
from pilots.wafer.cycle.image import EVERYWHERE, Image
from pilots.wafer.cycle.instructions import delay, receive, send, signal, wait
from pilots.wafer.cycle.kernels.collectives import LINES
from pilots.wafer.cycle.simulate import simulate
from pilots.wafer.cycle.tracing import Doing, to_json, trace
from pilots.wafer.errors import RequestError
from pilots.wafer.machine import lab_mesh

LAB = lab_mesh(16, 16)
STAR = (("coefficients", "-6 1 1 1 1 1 1"), ("points", 7))
CASES = (
    *(Case(name, "", (5,), (7, 1), machine=LAB) for name in LINES),
    *(
        Case(kernel, "matmul", (6, 8, 10), (4, 4), dtype, LAB)
        for kernel in ("STATIONARY", "SUMMA", "CANNON", "MESH_GEMM")
        for dtype in (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)
    ),
    Case("GEMV", "matmul", (1, 12, 12), (4, 4), DType.FLOAT16, LAB),
    Case("SOFTMAX", "softmax", (3, 12), (4, 3), machine=LAB),
    Case("NORM", "rms_norm", (3, 12), (4, 3), DType.BFLOAT16, LAB, (("epsilon", "1e-5"),)),
    Case("REDUCE", "reduce_min", (3, 12), (4, 3), machine=LAB),
    Case("STENCIL", "stencil", (4, 4, 3, 7), (4, 4), DType.FLOAT16, LAB, STAR),
)


def pair(words: int, taken: int) -> Image:
    """One element sends, the other takes some of it."""
    image = Image(LAB, 2, 1, colors=1)
    image.allot(words, np.arange(1, words + 1, dtype=np.float32), np.s_[:, 0])
    image.route(np.s_[:, 0], 0, ("R", "E", 0))
    image.route(np.s_[:, 1], 0, ("W", "R", 0))
    image.program(np.s_[:, 0], send(0, 1, words))
    image.program(np.s_[:, 1], receive(0, 1, taken) + wait(0))
    return image


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kernel}-{case.op}-{case.dtype}")
def test_plain_python_and_the_compiler_do_the_same(case):
    plain = trace(prepare(case).wavelets.image)
    compiled = simulate(prepare(case).wavelets.image)
    assert plain.deadlock is None
    assert plain.outcome.memory.tobytes() == compiled.memory.tobytes()
    assert (plain.outcome.cycles, plain.outcome.hops) == (compiled.cycles, compiled.hops)
    assert plain.outcome.visits == compiled.visits
    assert same_bits(case, prepare(case), plain.outcome.memory)


def test_a_trace_holds_every_move_in_order():
    made = prepare(Case("MESH_GEMM", "matmul", (8, 8, 8), (4, 4), machine=LAB))
    found = trace(made.wavelets.image)
    moves = [move for frame in found.frames for move in frame.moves]
    assert sum(move.side != "R" for move in moves) == found.outcome.hops
    assert [frame.cycle for frame in found.frames] == sorted({frame.cycle for frame in found.frames})
    for frame in found.frames:  # one wavelet per link and cycle
        assert len({move[:2] for move in frame.moves}) == len(frame.moves)
        assert len(frame.doing) == len(frame.held) == 16
    shown = to_json(found.frames, 4)
    assert json.loads(json.dumps(shown)) == shown
    assert [move[:4] for frame in shown for move in frame["moves"]] == [
        [move.p % 4, move.p // 4, move.side, move.color] for move in moves
    ]


def test_frames_say_what_elements_do():
    found = trace(pair(3, 3))
    assert found.outcome is None  # the second thread-less wait never ends
    assert [frame.doing for frame in found.frames][:2] == ["sw", "sw"]
    assert found.frames[-1].doing == "fw"
    assert [(move.side, move.value) for frame in found.frames for move in frame.moves if not move.p] == [
        ("E", 1.0),
        ("E", 2.0),
        ("E", 3.0),
    ]


def test_who_cannot_send_is_blocked_and_what_is_stuck_is_counted():
    found = trace(pair(40, 1))
    assert found.frames[-1].doing == "xw"
    assert sum(found.frames[-1].held) == 24  # three queues of eight: router, router, ramp
    assert found.deadlock.links


def test_times_of_the_model_and_missing_programs_have_their_letters():
    image = Image(LAB, 2, 1, colors=1, threads=2)
    image.program(np.s_[:, 0], delay(5_000) + signal(0))
    image.program(np.s_[:, 0], wait(0), thread=1)
    found = trace(image)
    assert [frame.doing for frame in found.frames] == ["dn", "fn"]
    assert found.frames[1].cycle == 5
    assert Doing("n") is Doing.NOTHING


@pytest.mark.parametrize(("frames", "moves"), [(5, 1000), (1000, 6)])
def test_the_first_frames_are_kept_and_the_rest_counted(frames, moves):
    whole = trace(pair(20, 20))
    cut = trace(pair(20, 20), max_frames=frames, max_moves=moves)
    assert cut.frames == whole.frames[: len(cut.frames)]
    assert cut.left_out == len(whole.frames) - len(cut.frames) > 0
    assert len(cut.frames) <= frames
    assert sum(len(frame.moves) for frame in cut.frames) <= moves


def test_a_trace_is_for_small_meshes():
    trace(Image(lab_mesh(16, 1), 16, 1, colors=1))
    with pytest.raises(RequestError) as caught:
        trace(Image(lab_mesh(17, 1), 17, 1, colors=1))
    assert "16 × 16" in caught.value.message_de


def test_the_limit_of_cycles_holds():
    image = Image(LAB, 1, 1, colors=1)
    image.program(EVERYWHERE, delay(50_000))
    assert trace(image, max_cycles=50).outcome.cycles == 50
    with pytest.raises(RequestError, match="not finished"):
        trace(image, max_cycles=49)
