"""How far a graph and the framework are apart, at the limits of POL-06."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pilots.graph.agreement import agreements
from pilots.graph.builder import GraphBuilder
from pilots.graph.capture import Captured, Example
from pilots.graph.ir import DType
from tests.pilots.graph.captures import CAPTURES


def doubled(result, dtype=DType.FLOAT32) -> Captured:
    """Return a graph that adds x to itself, with what a framework is said to make of 0, 1, 8."""
    builder = GraphBuilder()
    x = builder.input("x", (3,), dtype)
    graph, weights = builder.build(builder.op("add", x, x, name="y"))
    kind = dtype.little_endian
    example = Example({"x": np.array([0, 1, 8], kind)}, {"y": np.array(result, kind)})
    return Captured(graph, weights, example=example)


@pytest.mark.parametrize(
    ("dtype", "most"), [(DType.FLOAT32, 1e-5), (DType.FLOAT16, 1e-2), (DType.BFLOAT16, 1e-2)]
)
@pytest.mark.parametrize(("share", "within"), [(0.9, True), (1.1, False)])
def test_limit_is_that_of_the_type_by_the_largest_number(dtype, most, share, within):
    (row,) = agreements(doubled([0, 2 + 16 * most * share, 16], dtype))
    assert (row.name, row.limit, row.within) == ("y", most, within)
    assert row.deviation == pytest.approx(most * share, rel=0.05)


def test_whole_numbers_are_equal():
    (row,) = agreements(doubled([0, 2, 16], DType.INT32))
    assert (row.deviation, row.limit, row.within) == (0, 0, True)
    (row,) = agreements(doubled([0, 2, 17], DType.INT32))
    assert not row.within


def test_framework_that_gives_only_zeros_leaves_no_room():
    found = doubled([0, 0, 0])
    assert not agreements(found)[0].within
    still = replace(found, example=replace(found.example, inputs={"x": np.zeros(3, np.float32)}))
    assert agreements(still)[0].within


def test_graph_that_gives_no_number_is_not_within():
    builder = GraphBuilder()
    x = builder.input("x", (1,), DType.FLOAT32)
    graph, _ = builder.build(builder.op("log", x, name="y"))
    one = {"x": np.array([-1], np.float32)}, {"y": np.array([1], np.float32)}
    assert not agreements(Captured(graph, {}, example=Example(*one)))[0].within


def test_nothing_is_compared_without_an_example():
    assert agreements(replace(doubled([0, 2, 16]), example=None)) == ()
    assert all(row.within for make in CAPTURES.values() for row in agreements(make()))
