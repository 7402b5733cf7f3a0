"""Mutated files: one clear error or a whole capture, nothing else. `make fuzz` looks longer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilots.graph.capture import CaptureError, from_bytes, to_bytes
from tests.pilots.graph.capture.files import SMALL, joined, parts

ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.sampled_from(["", "x", "float32", "a" * 300]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["op", "in", "x"]), inner, max_size=3)
    ),
    max_leaves=5,
)


def check(data: bytes) -> None:
    try:
        found = from_bytes(data)
    except CaptureError:
        return
    assert to_bytes(found) == data


@given(st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes(changes):
    data = bytearray(SMALL)
    for place, value in changes:
        data[place] = value
    check(bytes(data))


@given(st.integers(0, len(SMALL)), st.integers(0, len(SMALL)), st.binary(max_size=16))
def test_spliced_bytes(first, last, middle):
    check(SMALL[:first] + middle + SMALL[last:])


def places(value, path=()):
    found = [path]
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        found += places(item, (*path, key))
    return found


GRAPH, HEADER, BODY = parts(SMALL)


@pytest.mark.parametrize("part", ["graph", "header"])
@given(data=st.data())
def test_changed_values(part, data):
    graph, header, body = parts(SMALL)
    target = graph if part == "graph" else header
    path = data.draw(st.sampled_from([path for path in places(GRAPH if part == "graph" else HEADER) if path]))
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = data.draw(ODD)
    check(joined(graph, header, body))
