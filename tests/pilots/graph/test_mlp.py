from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pilots.graph import rng
from pilots.graph.errors import GraphError
from pilots.graph.fingerprint import fingerprint, seeded_dataset_hash
from pilots.graph.ir import DType, rounded
from pilots.graph.mlp import describe, input_samples, mlp_from_text, parse_widths

PROFILE = {
    "dataset_manifest_hash": "0" * 64,
    "precision_policy": "float32",
    "seed_policy": "fixed",
    "request_profile": "closed",
}


def splitmix64(state: int, count: int) -> list[int]:
    mask = 2**64 - 1
    found = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        found.append(z ^ (z >> 31))
    return found


def test_generator_matches_published_splitmix64_when_keyed_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rng.canonical, "digest", lambda value: f"{1234567:016x}")
    assert rng.words(1, "any", 5).tolist() == splitmix64(1234567, 5)
    assert splitmix64(1234567, 1) == [6457827717110365317]  # published first value for this seed


def test_uniform_is_inside_its_range_and_a_prefix_of_a_longer_stream() -> None:
    values = rng.uniform(3, "s", (1000,), 0.5)
    assert values.dtype == np.float32
    assert values.min() >= -0.5
    assert values.max() < 0.5
    assert np.array_equal(values[:10], rng.uniform(3, "s", (10,), 0.5))
    assert not np.array_equal(values[:10], rng.uniform(4, "s", (10,), 0.5))


def test_summary_counts_are_exact_for_the_demo_model() -> None:
    graph, weights = mlp_from_text("64-256-256-8")
    summary = describe(graph)
    assert (
        summary.params
        == 64 * 256 + 256 + 256 * 256 + 256 + 256 * 8 + 8
        == sum(w.size for w in weights.values())
    )
    assert summary.flops_per_sample == 2 * (64 * 256 + 256 * 256 + 256 * 8) + (256 + 256 + 8) + (256 + 256)
    assert summary.widths == (64, 256, 256, 8)
    assert dict(summary.ops) == {"add": 3, "matmul": 3, "relu": 2}


def test_model_digest_is_the_golden_one() -> None:
    graph, _ = mlp_from_text("64-256-256-8")
    assert describe(graph).model_digest == "60040324c991cb89d435dfdb073aa9a996fa421e4630a65ddf96e3c17cd128e7"


def test_seed_changes_the_model_but_not_the_signature() -> None:
    first, second = describe(mlp_from_text("4-4", seed=1)[0]), describe(mlp_from_text("4-4", seed=2)[0])
    assert first.model_digest != second.model_digest
    assert first.graph_signature == second.graph_signature


@pytest.mark.parametrize("text", ["64-256-256-8", " 64-8 ", "-".join(["1"] * 32), "8192-1", "1-1"])
def test_text_is_accepted_at_the_limits(text: str) -> None:
    assert parse_widths(text)


@pytest.mark.parametrize(
    ("text", "code", "position"),
    [
        ("64", "LAYER_COUNT", "text"),
        ("", "LAYER_COUNT", "text"),
        ("-".join(["1"] * 33), "LAYER_COUNT", "text"),
        ("64-0-8", "WIDTH", "width 2"),
        ("64-8193", "WIDTH", "width 2"),
        ("64--8", "WIDTH", "width 2"),
        ("64-1e3", "WIDTH", "width 2"),
        ("64-٣", "WIDTH", "width 2"),
        ("x" * 201, "TEXT_TOO_LONG", "text"),
        ("8192-8192", "PARAM_COUNT", "text"),
    ],
)
def test_text_is_refused_with_code_and_position(text: str, code: str, position: str) -> None:
    with pytest.raises(GraphError) as caught:
        parse_widths(text)
    assert (caught.value.code, caught.value.position) == (code, position)
    assert caught.value.message_de.endswith(".")


@pytest.mark.parametrize(
    "options",
    [
        {"activation": "swish"},
        {"dtype": "float64"},
        {"dtype": "int32"},
        {"seed": -1},
        {"output_activation": "relu6"},
    ],
)
def test_options_are_refused_when_unknown(options: dict[str, object]) -> None:
    with pytest.raises(GraphError):
        mlp_from_text("4-4", **options)  # type: ignore[arg-type]


def test_inputs_of_a_smaller_batch_are_the_first_of_a_larger_one() -> None:
    graph, _ = mlp_from_text("4-4")
    many = input_samples(graph, inputs_seed=5, batch=16)
    assert np.array_equal(many[:3], input_samples(graph, inputs_seed=5, batch=3))


def test_fingerprint_ignores_order_of_batches_and_changes_with_content() -> None:
    graph, _ = mlp_from_text("4-4")
    mark = fingerprint(graph, batch_set=(32, 1), **PROFILE)
    assert mark == fingerprint(graph, batch_set=(1, 32, 32), **PROFILE)
    assert mark != fingerprint(graph, batch_set=(1,), **PROFILE)
    assert mark != fingerprint(mlp_from_text("4-4", seed=2)[0], batch_set=(1, 32), **PROFILE)
    assert seeded_dataset_hash(graph, inputs_seed=1) != seeded_dataset_hash(graph, inputs_seed=2)


def test_bfloat16_model_holds_the_rounded_weights_of_the_float32_one() -> None:
    graph, weights = mlp_from_text("4-4", dtype="bfloat16")
    wide = mlp_from_text("4-4")[1]["w0"]
    assert graph.dtype is DType.BFLOAT16
    assert np.array_equal(weights["w0"], rounded(wide, DType.BFLOAT16))
    assert np.abs(weights["w0"] - wide).max() <= np.abs(wide).max() / 2**8
    assert describe(graph).weight_bytes == 2 * (16 + 4)
    assert input_samples(graph, inputs_seed=1, batch=2).dtype == np.float32


def test_dataset_hash_of_several_inputs_depends_on_each() -> None:
    graph, _ = mlp_from_text("4-4")
    more = replace(graph, inputs=(*graph.inputs, ("y", graph.inputs[0][1])))
    assert len({seeded_dataset_hash(item, inputs_seed=1) for item in (graph, more)}) == 2
