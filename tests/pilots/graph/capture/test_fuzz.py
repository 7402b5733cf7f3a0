"""Mutated files: one clear error or the same capture, nothing else. `make fuzz` reads 10 000 of them, and looks longer."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilots.graph.capture import CaptureError, from_bytes, to_bytes
from tests.pilots.graph.capture.files import SMALL, WHOLE, joined, parts
from tests.pilots.graph.capture.mutations import MUTATIONS, mutated, places
from tests.pilots.graph.captures import CAPTURES

ROOT = Path(__file__).parents[4]
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "fuzz"  # set by `make fuzz`
ROUND = 10_000 if LONG else 600
MEMORY_BYTES = 1024 * 1024 * 1024  # of address space: NumPy alone takes a third
FILES = {"small": SMALL, "whole": WHOLE} | {name: to_bytes(make()) for name, make in CAPTURES.items()}
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


def check(data: bytes) -> bool:
    """Say whether a file is read; what is read is written as it was, and what is not is one sentence."""
    try:
        found = from_bytes(data)
    except CaptureError as error:
        sentence = error.message_de
        assert sentence.endswith(".")
        assert sentence.isprintable()
        assert len(sentence) < 600
        return False
    assert to_bytes(found) == data
    return True


def check_round(first: int, count: int) -> None:
    """Read the mutations of a range of seeds, of every file in turn."""
    files = list(FILES.values())
    for seed in range(first, first + count):
        check(mutated(seed, files[seed // len(MUTATIONS) % len(files)]))


@pytest.mark.parametrize("name", FILES)
def test_files_as_they_are(name):
    assert check(FILES[name])


def test_mutations_of_a_seed_are_always_the_same():
    assert [mutated(seed, WHOLE) for seed in range(20)] == [mutated(seed, WHOLE) for seed in range(20)]


@pytest.mark.hypothesis
def test_mutated_files_are_refused_within_a_limit_of_memory():
    code = f"from tests.pilots.graph.capture.test_fuzz import limit, check_round; limit(); check_round(0, {ROUND})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def limit() -> None:
    """Bound the address space of this process; called in a child process only."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes(changes):
    data = bytearray(WHOLE)
    for place, value in changes:
        data[place] = value
    check(bytes(data))


@given(st.integers(0, len(WHOLE)), st.integers(0, len(WHOLE)), st.binary(max_size=16))
def test_spliced_bytes(first, last, middle):
    check(WHOLE[:first] + middle + WHOLE[last:])


GRAPH, HEADER, BODY = parts(WHOLE)


@pytest.mark.parametrize("part", ["graph", "header"])
@given(data=st.data())
def test_changed_values(part, data):
    graph, header, body = parts(WHOLE)
    target = graph if part == "graph" else header
    path = data.draw(st.sampled_from(places(GRAPH if part == "graph" else HEADER)))
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = data.draw(ODD)
    check(joined(graph, header, body))
