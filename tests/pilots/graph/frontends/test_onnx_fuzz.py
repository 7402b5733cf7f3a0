"""Mutated ONNX files: one clear error or a whole capture, nothing else. `make fuzz` looks longer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilots.graph.capture import from_bytes, to_bytes
from pilots.graph.frontends.errors import FrontEndError
from pilots.graph.rng import uniform
from tests.pilots.graph.frontends.extras import need

need("onnx")

from pilots.graph.frontends import onnx as from_onnx  # noqa: E402 - after the skip
from tests.pilots.graph.frontends import models_onnx  # noqa: E402

pytestmark = pytest.mark.frontends
LAYERS = {"first": (16, 8), "second": (4, 16)}
WEIGHTS = {f"{name}.weight": uniform(1, name, shape) for name, shape in LAYERS.items()}
WEIGHTS |= {f"{name}.bias": uniform(2, name, shape[:1]) for name, shape in LAYERS.items()}
SHAPES = {"norm1": (16,), "norm2": (16,), "q": (16, 16), "k": (8, 16), "v": (8, 16), "o": (16, 16)}
SHAPES |= {"gate": (24, 16), "up": (24, 16), "down": (16, 24)}
BLOCK = {f"{name}.weight": uniform(1, name, shape) for name, shape in SHAPES.items()}
BLOCK |= {name: uniform(3, name, (5, 4)) for name in ("cos", "sin")}
MODELS = {
    "perceptron": models_onnx.perceptron(WEIGHTS, (3, 8)),
    "decoder": models_onnx.decoder(BLOCK, (2, 5, 16)),
}


def check(data: bytes) -> None:
    try:
        found = from_onnx.capture_bytes(data)
    except FrontEndError:
        return
    assert from_bytes(to_bytes(found)).graph == found.graph


@pytest.mark.parametrize("name", MODELS)
def test_models_as_they_are(name):
    from_onnx.capture_bytes(MODELS[name])


@pytest.mark.parametrize("name", MODELS)
@given(
    changes=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4
    )
)
@settings(deadline=None)
def test_changed_bytes(name, changes):
    data = MODELS[name]
    made = bytearray(data)
    for place, value in changes:
        made[int(place * len(data))] = value
    check(bytes(made))


@pytest.mark.parametrize("name", MODELS)
@given(first=st.floats(0, 1), last=st.floats(0, 1), middle=st.binary(max_size=16))
@settings(deadline=None)
def test_spliced_bytes(name, first, last, middle):
    data = MODELS[name]
    check(data[: int(first * len(data))] + middle + data[int(last * len(data)) :])
