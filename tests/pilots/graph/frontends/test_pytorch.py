"""What the PyTorch front end takes, and what it refuses by name."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from pilots.graph.capture import Captured, to_bytes
from pilots.graph.errors import GraphError
from pilots.graph.evaluate import evaluate
from pilots.graph.porting import porting_report
from tests.pilots.graph.frontends.extras import need

(torch,) = need("torch")

import torch.nn.functional as F  # noqa: E402, N812 - after the skip

from pilots.graph.frontends import pytorch as from_torch  # noqa: E402
from pilots.graph.frontends.errors import FrontEndError, UnsupportedModel  # noqa: E402

pytestmark = pytest.mark.frontends
X = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4) / 7 - 1.5
IDS = torch.tensor([[1, 0, 2], [2, 2, 1]])


def module_of(function):
    class Module(torch.nn.Module):
        def forward(self, *items):
            return function(*items)

    return Module()


def agrees(function, *examples) -> Captured:
    """Capture a function, compare its results with those of torch, and return the capture."""
    found = from_torch.capture(module_of(function), examples)
    given = {name: item.numpy() for (name, _), item in zip(found.graph.inputs, examples, strict=True)}
    results = evaluate(found.graph, given | found.weights)
    expected = function(*examples)
    for name, item in zip(
        found.graph.outputs, expected if isinstance(expected, tuple) else (expected,), strict=True
    ):
        own = item.detach().numpy()
        assert np.allclose(results[name].reshape(own.shape), own, rtol=1e-5, atol=1e-6)
    to_bytes(found)
    return found


FUNCTIONS = {
    "arithmetic": lambda x: (x + 1) * 2 - x / 3 + (1 - x) + 2 * (-x),
    "alpha": lambda x: torch.add(x, x * 2, alpha=3),
    "unary": lambda x: x.abs().sqrt() + x.exp() + (x.abs() + 1).log() + x.sin() + x.cos() + x.tanh() + x.sigmoid(),
    "activations": lambda x: F.relu(x) + F.silu(x) + F.gelu(x, approximate="tanh"),
    "roots": lambda x: (x.abs() + 1).rsqrt() + (x.abs() + 1).reciprocal() + x.square() + x.pow(3),
    "limits": lambda x: x.clamp(-1, 1) + x.clamp(min=0.5) + torch.maximum(x, -x) + torch.minimum(x, x * 2),
    "choice": lambda x: torch.where(x > 0, x, -x) + torch.where((x >= 0.5) & ~(x <= 1) | (x != 0), x, x * 0.1),
    "filled": lambda x: x.masked_fill(x < 0, -2.0) + torch.zeros_like(x) + torch.ones(4) + torch.full((3, 4), 0.5),
    "moves": lambda x: x.permute(2, 0, 1).reshape(8, 3).t().unsqueeze(1).squeeze(1).contiguous().clone(),
    "parts": lambda x: torch.cat([x[:, 1:], x[:, :1] * 2, x[:, -1:, :]], 1)[0] + x[1, 2],
    "split": lambda x: sum(x.split(2, dim=2)) + x.chunk(2, dim=-1)[0],
    "wider": lambda x: F.pad(x, (1, 2, 0, 1)).sum(0) + x[:1, :1, :1].expand(1, 4, 7)[0],
    "reduced": lambda x: x.sum() + x.mean(1).sum(0).max() + x.amax((0, 2)).sum() + x.amin(-1, keepdim=True).sum(),
    "argmax": lambda x: x.argmax(-1),
    "rows": lambda x: F.softmax(x, 1) + F.log_softmax(x, -1),
    "norms": lambda x: F.layer_norm(x, (4,)) + F.layer_norm(x, (4,), torch.arange(4.0), torch.ones(4)),
    "rms": lambda x: F.rms_norm(x, (4,), torch.arange(4.0), 1e-5),
    "products": lambda x: x @ x.transpose(1, 2) + x[0] @ x[1].T,
    "einsum": lambda x: torch.einsum("bij,bkj->bik", x, x),
    "types": lambda x: x.half().float() + (x > 0).float() + x.bfloat16().float(),
    "several": lambda x: (x + 1, x * 2, x),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_tensors(name):
    agrees(FUNCTIONS[name], X)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [None, 0.7])
@pytest.mark.parametrize("groups", [1, 2])
def test_attention_is_one_operation(causal, scale, groups):
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(2, heads, 5, 6, generator=generator) for heads in (4, 4 // groups, 4 // groups))
    found = agrees(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=groups > 1),
        q, k, v,
    )  # fmt: skip
    assert "attention" in {node.op for node in found.graph.nodes}


def test_tables_and_pictures():
    table = torch.arange(12.0).reshape(3, 4)
    agrees(lambda ids: F.embedding(ids, table) + table[ids], IDS)
    pictures = torch.arange(2 * 3 * 6 * 6, dtype=torch.float32).reshape(2, 3, 6, 6) / 100
    kernel = torch.arange(4 * 3 * 3 * 3, dtype=torch.float32).reshape(4, 3, 3, 3) / 100
    agrees(lambda x: F.avg_pool2d(F.max_pool2d(F.conv2d(x, kernel, torch.ones(4), 1, 1), 2), 3), pictures)
    agrees(lambda x: F.conv2d(x, kernel, stride=2), pictures)


def test_weights_keep_names_types_and_ties():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(3, 4)
            self.head = torch.nn.Linear(4, 3, bias=False)
            self.head.weight = self.table.weight

        def forward(self, ids):
            return self.head(self.table(ids))

    found = from_torch.capture(Tied(), (IDS,))
    (constant,) = found.graph.constants
    assert constant.tensor.shape == (3, 4)
    half = from_torch.capture(torch.nn.Linear(4, 3).half(), (X.half(),))
    assert {item.tensor.dtype.value for item in half.graph.constants} == {"float16"}
    assert {item.name for item in half.graph.constants} == {"weight", "bias"}
    brain = from_torch.capture(torch.nn.Linear(4, 3).bfloat16(), (X.bfloat16(),))
    assert brain.graph.dtype.value == "bfloat16"
    to_bytes(brain)


def refused(function, *examples) -> GraphError:
    with pytest.raises(GraphError) as caught:
        from_torch.capture(module_of(function), examples or (X,))
    assert caught.value.message_de.endswith(".")
    return caught.value


@pytest.mark.parametrize(
    ("function", "op", "words"),
    [
        (lambda x: x.cumsum(1), "aten.cumsum", "keine Entsprechung"),
        (lambda x: x.pow(1.7), "aten.pow", "Potenz"),
        (lambda x: x[:, ::2], "aten.slice", "Schrittweite"),
        (lambda x: torch.div(x, 2, rounding_mode="floor"), "aten.div", "Rundung"),
        (lambda x: F.layer_norm(x, (3, 4)), "aten.native_layer_norm", "letzte Dimension"),
        (lambda x: torch.where(x > 0, x, float("-inf")) * 2, "aten.mul", "endliche"),
        (lambda x: F.pad(x, (-1, 0)) + F.pad(x, (0, -1)), "aten.", "nach außen"),
        (lambda x: F.conv2d(x[None], torch.ones(2, 1, 1, 1), groups=2), "aten.convolution", "Gruppen"),
        (lambda x: F.max_pool2d(x, 2, padding=1), "aten.max_pool2d", "Pooling"),
    ],
)  # fmt: skip
def test_operation_that_is_not_there_is_named(function, op, words):
    error = refused(function)
    assert isinstance(error, UnsupportedModel)
    row = error.trail.unsupported[0]
    assert row.op.startswith(op)
    assert row.place.startswith("test_pytorch.py:") or "functional" in row.place
    assert words in error.message_de


def test_place_is_the_line_of_the_model():
    class Late(torch.nn.Module):
        def forward(self, x):
            y = x + 1
            return y.cumsum(0)

    line = inspect.getsourcelines(Late)[1] + 3
    with pytest.raises(UnsupportedModel) as caught:
        from_torch.capture(Late(), (X,))
    (row,) = caught.value.trail.unsupported
    assert row.place == f"test_pytorch.py:{line}"


def test_indices_are_no_numbers_to_compute_with():
    error = refused(lambda ids: ids * 3 + ids, IDS)
    assert "int64" in error.message_de
    agrees(lambda ids: torch.where(ids > 1, 1.0, 0.0), IDS)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64, torch.int8])
def test_types_the_graph_does_not_have_are_refused(dtype):
    assert str(dtype).removeprefix("torch.") in refused(lambda x: x + 1, X.to(dtype)).message_de


def report_of(error):
    return porting_report(error.trail, None).to_json()


def test_type_in_the_middle_is_a_row_with_its_line():
    class Wide(torch.nn.Module):
        def forward(self, x):
            return x.double() + 1

    with pytest.raises(UnsupportedModel) as caught:
        from_torch.capture(Wide(), (X,))
    report = report_of(caught.value)
    row = next(item for item in report["operations"] if item["reason"])
    assert "float64" in row["reason"]
    assert row["places"] == [f"test_pytorch.py:{inspect.getsourcelines(Wide)[1] + 2}"]


def test_type_of_an_input_and_of_a_weight_are_both_rows():
    class Wide(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(4, dtype=torch.complex64))

        def forward(self, x):
            return x * self.scale

    with pytest.raises(UnsupportedModel) as caught:
        from_torch.capture(Wide(), (X.double(),))
    rows = {item["op"]: item for item in report_of(caught.value)["operations"]}
    assert rows["input"]["places"] == ["x"]
    assert "float64" in rows["input"]["reason"]
    assert rows["weight"]["places"] == ["scale"]
    assert "complex64" in rows["weight"]["reason"]


def test_fixed_index_beyond_int32_is_refused():
    table = torch.tensor([2**40])
    assert isinstance(refused(lambda x: torch.where(table > 1, x, x * 2)), FrontEndError)


class _Branch(torch.nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1


class _Ragged(torch.nn.Module):
    def forward(self, x):
        return x[x > 0]


class _Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        self.seen.add_(1)
        return x + self.seen


@pytest.mark.parametrize("module", [_Branch, _Ragged, _Counting])
def test_what_depends_on_data_or_changes_itself_is_refused(module):
    with pytest.raises(FrontEndError) as caught:
        from_torch.capture(module(), (X,))
    assert caught.value.message_de.endswith(".")


@pytest.mark.parametrize(("module", "words"), [(_Branch, "Kontrollfluss"), (_Ragged, "dynamischer Graph")])
def test_what_depends_on_data_is_a_row_with_its_line(module, words):
    with pytest.raises(UnsupportedModel) as caught:
        from_torch.capture(module(), (X,))
    report = report_of(caught.value)
    (row,) = (item for item in report["operations"] if item["reason"])
    assert words in row["reason"]
    assert report["custom_ops"] == 0
    line = inspect.getsourcelines(module.forward)[1] + 1
    assert row["places"] == [f"test_pytorch.py:{line}"]


def test_custom_operation_is_named_as_such():
    @torch.library.custom_op("example::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    twice.register_fake(torch.empty_like)

    class Own(torch.nn.Module):
        def forward(self, x):
            return twice(x) + 1

    with pytest.raises(UnsupportedModel) as caught:
        from_torch.capture(Own(), (X,))
    (row,) = caught.value.trail.unsupported
    assert (row.op, row.custom) == ("example.twice.default", True)


def test_weights_are_read_by_the_public_package_too():
    (safetensors,) = need("safetensors.numpy")
    found = from_torch.capture(torch.nn.Linear(4, 3), (X,))
    data = to_bytes(found)
    rest = data[48 + int.from_bytes(data[8:16], "little") :]
    public = safetensors.load(rest)
    assert set(public) == set(found.weights)
    assert all(np.array_equal(public[name], found.weights[name]) for name in public)
