"""Layers of PyTorch as they are by default: exact GELU, BatchNorm, attention with masks, nn.TransformerEncoder."""

from __future__ import annotations

import logging
import warnings
from collections import Counter

import pytest

from pilots.graph.agreement import agreements
from pilots.graph.capture import from_bytes, to_bytes
from pilots.wafer import functional
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.equivalence import DEFAULT_RTOL, compare
from pilots.wafer.machine import lab_mesh
from tests.pilots.graph.frontends.extras import need

(torch,) = need("torch")

import torch.nn.functional as F  # noqa: E402, N812 - after the skip
from torch import nn  # noqa: E402

from pilots.graph.frontends import pytorch as from_torch  # noqa: E402
from pilots.graph.frontends.errors import UnsupportedModel  # noqa: E402
from tests.pilots.graph.frontends.models_pytorch import seeded  # noqa: E402

pytestmark = pytest.mark.frontends


def numbers(*shape, scale=1.0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3)) * scale


class _Of(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *items):
        return self.function(*items)


def agrees(model, *examples, **options):
    """Capture, compare with what PyTorch itself computes, and return the capture with its operations counted."""
    model = model if isinstance(model, nn.Module) else _Of(model)
    found = from_bytes(to_bytes(from_torch.capture(model, examples, **options)))
    for row in agreements(found):
        assert row.within, row
    return found, Counter(node.op for node in found.graph.nodes)


def emulated(found):
    """The emulator agrees with PyTorch, too."""
    program = compile_graph(found.graph, lab_mesh(64, 64), Request(batch=1))
    own = functional.run(program, found.weights, found.example.inputs)
    (name,) = found.example.outputs
    expected = found.example.outputs[name]
    assert compare(name, own.outputs.reshape(expected.shape), expected, rtol=DEFAULT_RTOL["float32"]).within


@pytest.mark.parametrize("function", [F.gelu, torch.erf, torch.erfc])
@pytest.mark.parametrize("scale", [0.01, 1.0, 5.0])
def test_error_function_is_exact_enough(function, scale):
    found, ops = agrees(function, numbers(20, 30, scale=scale))
    assert "gelu" not in ops
    assert function is not F.gelu or max(row.deviation for row in agreements(found)) < 1e-6
    emulated(found)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gelu_of_16_bit_is_computed_in_single_precision(dtype):
    _, ops = agrees(F.gelu, numbers(8, 16, scale=3).to(dtype))
    assert ops["cast"] == 2


def test_gelu_in_the_tanh_form_stays_one_operation():
    assert agrees(lambda x: F.gelu(x, approximate="tanh"), numbers(3, 4))[1] == {"gelu": 1}


class _Padded(nn.Module):
    def __init__(self, activation="gelu"):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation=activation)
        self.inner = nn.TransformerEncoder(layer, 2)
        self.register_buffer("causal", nn.Transformer.generate_square_subsequent_mask(5))

    def forward(self, x, padding=None):
        return self.inner(x, src_key_padding_mask=padding)


class _Causal(_Padded):
    def forward(self, x):
        return self.inner(x, mask=self.causal, is_causal=True)


PADDING = torch.tensor([[0, 0, 0, 0, 1], [0, 0, 0, 1, 1]]).bool()


def test_encoder_of_pytorch_agrees_whatever_the_fast_path_does():
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(True)
    try:
        found, ops = agrees(seeded(_Padded()), numbers(2, 5, 16))
        assert torch.backends.mha.get_fastpath_enabled()
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
    assert (ops["attention"], ops["layer_norm"]) == (2, 4)
    assert found.trail.adaptations == ()
    emulated(found)


def test_encoder_with_masks():
    _, ops = agrees(seeded(_Padded("relu")), numbers(2, 5, 16), PADDING)
    assert (ops["softmax"], ops["where"]) == (2, 2)
    assert agrees(seeded(_Causal("relu")), numbers(2, 5, 16))[1]["attention"] == 2


def test_decoder_looks_at_another_number_of_rows():
    layer = nn.TransformerDecoderLayer(16, 2, 32, batch_first=True)
    agrees(seeded(nn.TransformerDecoder(layer, 1)), numbers(2, 5, 16), numbers(2, 7, 16))


Q, KV = numbers(2, 4, 5, 6), numbers(2, 2, 5, 6)
LOWER = torch.ones(5, 5).tril().bool()
attend = F.scaled_dot_product_attention


@pytest.mark.parametrize(
    "mask",
    [LOWER, LOWER[None, None], torch.where(LOWER, 0.0, -torch.inf), torch.where(LOWER, 0.5, -3.0),
     torch.ones(2, 1, 1, 5).bool()],
)  # fmt: skip
@pytest.mark.parametrize("scale", [None, 0.7])
def test_attention_takes_fixed_masks(mask, scale):
    _, ops = agrees(lambda q, kv: attend(q, kv, kv, attn_mask=mask, scale=scale, enable_gqa=True), Q, KV)
    assert ops["softmax"] == 1


def test_attention_takes_masks_that_are_inputs():
    found, _ = agrees(lambda q, mask: attend(q, q, q, attn_mask=mask[:, None, None]), Q, ~PADDING)
    emulated(found)
    agrees(lambda q, mask: attend(q, q, q, attn_mask=mask), Q, numbers(5, 5))
    agrees(lambda q: attend(q, q, q), Q[0])


def test_scores_may_be_filled_with_minus_infinity_before_a_softmax():
    def written_out(q):
        scores = (q @ q.transpose(-1, -2)).masked_fill(~LOWER, -torch.inf)
        return F.softmax(scores, -1) @ q

    def written_twice(q):
        kept = torch.where(q < q.amax(2, keepdim=True), q, -torch.inf)
        return F.softmax(kept.masked_fill(q == q.amin(2, keepdim=True), -torch.inf), 2)

    agrees(written_out, Q)
    agrees(written_twice, Q)
    agrees(lambda q: F.softmax(q.sum(-1)[..., None] + torch.where(LOWER, 0.0, -torch.inf), -1), Q)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(
    ("norm", "shape"), [(nn.BatchNorm1d, (3, 6)), (nn.BatchNorm1d, (3, 6, 5)), (nn.BatchNorm2d, (2, 6, 4, 4))]
)
def test_trained_batch_norm_is_a_scale_and_a_shift(norm, shape, affine):
    model = seeded(norm(6, affine=affine))
    model.running_mean.copy_(numbers(6))
    model.running_var.copy_(numbers(6).abs() + 0.5)
    found, ops = agrees(model, numbers(*shape))
    assert ops == {"mul": 1, "add": 1}
    assert {"mul", "add"} == {op for row in found.trail.rows for op in row.became}


def test_batch_norm_in_a_network_and_with_an_open_batch():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 3))
    emulated(agrees(seeded(net), numbers(1, 1, 8, 8))[0])
    agrees(nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6)), numbers(3, 4), open_batch=True)


def test_batch_norm_by_the_batch_is_refused_with_a_way_out():
    with pytest.raises(UnsupportedModel) as caught:
        from_torch.capture(nn.BatchNorm2d(2, track_running_stats=False), (numbers(2, 2, 3, 3),))
    assert "track_running_stats=True" in caught.value.message_de


class _Named(nn.Module):
    def forward(self, ids, x):
        return {"logits": x * 2, "hidden": (x, x + 1), "best": x.argmax(-1), "ids": ids}


def test_outputs_are_named_by_keys_and_what_was_adapted_is_listed():
    found, _ = agrees(_Named(), torch.tensor([1, 2]), numbers(2, 3))
    assert found.graph.outputs == ("logits", "x", "hidden.1", "best", "ids")
    adapted = {item.what.partition(" ")[0]: item.reason for item in found.trail.adaptations}
    assert list(adapted) == ["_Named", "ids", "aten.argmax.default", "output_3", "output_4"]
    assert "Auswertungsmodus" in adapted["_Named"]
    assert "int32" in adapted["ids"]
    found, _ = agrees(nn.Linear(3, 2).eval(), numbers(2, 3))
    assert (found.graph.outputs, found.trail.adaptations) == (("output_0",), ())


def test_number_array_of_indices_in_a_buffer_is_listed():
    class Places(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("places", torch.tensor([1, 0]))

        def forward(self, x):
            return x[self.places]

    found, _ = agrees(Places().eval(), numbers(2, 3))
    assert [item.what for item in found.trail.adaptations] == ["places"]


def test_layer_norm_says_what_it_became():
    found, _ = agrees(seeded(_Padded()), numbers(2, 5, 16))
    rows = [row for row in found.trail.rows if "layer_norm" in row.op]
    assert [row.became for row in rows] == [("layer_norm",)] * 4
    written = found.trail.rows
    assert all(row.became for row in written if row.op.startswith(("aten.gelu", "aten.add", "aten.scaled")))


def test_silence_of_torch_does_not_last():
    agrees(nn.Linear(3, 2), numbers(2, 3))
    assert logging.getLogger("torch").level != logging.CRITICAL
    with pytest.warns(UserWarning, match="noch da"):
        warnings.warn("noch da", UserWarning, stacklevel=1)
