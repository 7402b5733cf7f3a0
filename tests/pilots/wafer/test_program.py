from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from pilots.graph.ir import DType
from pilots.graph.mlp import mlp_from_text
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.emulator import coverage, pe_maps
from pilots.wafer.machine import WSE_2, lab_mesh
from pilots.wafer.memory import resident_bytes
from pilots.wafer.program import PRODUCTS, SHAPES, SQUARE, Kernel, Mode, Program, Rect, Region
from qms.core import canonical


def demo(*, batch: int = 32, **request: Any) -> Program:
    graph, _ = mlp_from_text("64-256-256-8")
    return compile_graph(graph, WSE_2, Request(batch=batch, **request))


@pytest.mark.parametrize(
    ("other", "overlaps"),
    [
        (Rect(4, 2, 3, 3), True),  # itself
        (Rect(6, 4, 1, 1), True),  # its last element
        (Rect(7, 2, 3, 3), False),  # touches on the right
        (Rect(1, 2, 3, 3), False),  # touches on the left
        (Rect(4, 5, 3, 3), False),
        (Rect(4, 0, 3, 2), False),
        (Rect(0, 0, 99, 99), True),
    ],
)
def test_rectangles_overlap_when_they_share_an_element(other: Rect, overlaps: bool) -> None:
    rect = Rect(4, 2, 3, 3)
    assert rect.overlaps(other) is other.overlaps(rect) is overlaps


def test_rectangle_knows_its_elements() -> None:
    rect = Rect(4, 2, 5, 3)
    assert (rect.pes, rect.centre, rect.to_json()) == (15, (6, 3), [4, 2, 5, 3])
    assert rect.contains(rect)
    assert rect.contains(Rect(8, 4, 1, 1))
    for outside in (Rect(9, 4, 1, 1), Rect(8, 5, 1, 1), Rect(3, 2, 2, 2), Rect(4, 1, 1, 2), Rect(4, 2, 6, 1)):
        assert not rect.contains(outside)


def test_every_kernel_says_what_its_shape_means() -> None:
    assert set(SHAPES) == set(Kernel)
    assert all(SHAPES[kernel] == ("m", "k", "n") for kernel in PRODUCTS)
    assert set(SQUARE) < set(PRODUCTS)


@pytest.mark.parametrize(("batch", "passes"), [(1, 1), (31, 1), (32, 1), (33, 2), (64, 2), (65, 3)])
def test_request_is_cut_into_micro_batches(batch: int, passes: int) -> None:
    assert replace(demo(), micro_batch=32).micro_batches(batch) == passes


def test_attribute_of_a_call_is_found_by_name() -> None:
    call = replace(demo().calls[0], attrs=(("a", 1), ("order", (1, 0))))
    assert (call.attr("a"), call.attr("order")) == (1, (1, 0))
    with pytest.raises(KeyError):
        call.attr("b")


OTHER: dict[str, Any] = {
    "machine_id": "lab-8x8",
    "machine_sha256": "0" * 64,
    "model_digest": "0" * 64,
    "dtype": DType.FLOAT16,
    "mode": Mode.WEIGHT_STREAMING,
    "micro_batch": 7,
    "systems": 2,
    "regions": (),
    "residents": (),
    "calls": (),
    "inputs": ("z",),
    "outputs": ("z",),
    "types": (("z", DType.FLOAT16),),
}


def test_digest_covers_every_field_of_a_program() -> None:
    program = demo()
    assert set(OTHER) == {item.name for item in fields(Program)}
    digests = {
        program.digest(),
        *(replace(program, **{name: value}).digest() for name, value in OTHER.items()),
    }
    assert len(digests) == len(OTHER) + 1


@pytest.mark.parametrize(
    "change",
    [
        {"kernel": Kernel.CANNON},
        {"op": "batch_matmul"},
        {"inputs": ("x", "w9")},
        {"output": "other"},
        {"region": 1},
        {"rect": Rect(1, 0, 2, 2)},
        {"shape": (1, 2, 3)},
        {"tile": (9, 9, 9)},
        {"attrs": (("transposed", 1),)},
        {"routes": ()},
    ],
    ids=lambda change: next(iter(change)),
)
def test_digest_covers_a_call(change: dict[str, Any]) -> None:
    program = demo(grid=8)
    changed = replace(program, calls=(replace(program.calls[0], **change), *program.calls[1:]))
    assert changed.digest() != program.digest()


@pytest.mark.parametrize(
    "change",
    [{"color": 9}, {"purpose": "x"}, {"towards": "N"}, {"rect": Rect(0, 0, 1, 1)}, {"waits_for": (3,)}],
    ids=lambda change: next(iter(change)),
)
def test_digest_covers_a_route(change: dict[str, Any]) -> None:
    program = demo(grid=8)
    call = program.calls[0]
    routes = (replace(call.routes[0], **change), *call.routes[1:])
    changed = replace(program, calls=(replace(call, routes=routes), *program.calls[1:]))
    assert changed.digest() != program.digest()


def test_canonical_form_reads_back_and_order_of_calls_counts() -> None:
    program = demo()
    assert canonical.loads(canonical.dumps(program.to_json())) == program.to_json()
    assert program.to_json()["format"] == "wprogram-2"
    turned = replace(program, calls=program.calls[::-1])
    assert turned.digest() != program.digest()


def test_coverage_names_every_operation_with_its_kernel() -> None:
    program = demo()
    assert [(item.op, item.position) for item in coverage(program)] == [
        (op, f"node {index}")
        for index, op in enumerate(("matmul", "add", "relu", "matmul", "add", "relu", "matmul", "add"))
    ]
    assert {item.kernel for item in coverage(program)} <= set(Kernel)


def test_maps_show_what_every_element_holds() -> None:
    program = demo()
    memory, busy = pe_maps(program, WSE_2)
    assert memory.shape == busy.shape == (994, 750)
    assert int(memory.sum(dtype=np.int64)) == resident_bytes(program, WSE_2)
    assert np.count_nonzero(busy) == sum(region.rect.pes for region in program.regions)
    assert 0 < busy.max() < 1


def test_maps_show_the_first_system_alone() -> None:
    machine = lab_mesh(4, 4)
    graph, _ = mlp_from_text("64-256-256-256-256-8")
    program = compile_graph(graph, machine, Request(batch=4, systems=4, grid=4))
    assert program.systems > 1
    memory, _ = pe_maps(program, machine)
    first = replace(program, regions=(Region(0, Rect(0, 0, 4, 4)),))
    assert memory.shape == (4, 4)
    assert int(memory.sum()) == resident_bytes(first, machine)
