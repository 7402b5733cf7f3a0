from __future__ import annotations

from dataclasses import replace

import pytest

from pilots.graph.builder import GraphBuilder
from pilots.graph.decoder import decoder_graph
from pilots.graph.ir import DType, Node
from pilots.graph.known_models import find
from pilots.graph.mlp import mlp_from_text
from pilots.graph.ops import OPS
from pilots.wafer.lowering import (
    KERNEL_OF,
    PRODUCT,
    PRODUCT_OPS,
    element_type,
    kernel_name,
    lower,
    unsupported,
)
from pilots.wafer.program import PRODUCTS, SHAPES, Kernel
from tests.pilots.graph.samples import SAMPLES, single

# op -> what SHAPES says about its sample; all others are the rows and the width of their result
EXPECTED: dict[str, tuple[int, ...]] = {
    "matmul": (3, 5, 7),
    "batch_matmul": (6, 5, 7),
    "reduce_sum": (3, 5),  # what is reduced, not what is left
    "reduce_max": (3, 5),
    "reduce_min": (3, 5),
    "reduce_mean": (3, 5),
    "argmax": (3, 5),
    "cross_entropy": (7, 3),
    "reshape": (2, 6, 3, 4),  # and what is moved
    "transpose": (8, 3),
    "slice": (3, 3, 3, 5),
    "concat": (3, 8, 3, 5),
    "pad": (4, 7, 3, 5),
    "broadcast_to": (6, 5, 3, 1),
    "gather": (16, 5, 3, 5),
    "embedding": (7, 5, 3, 5),
    "scatter_add": (3, 5, 7, 5),  # seven updates
    "one_hot": (7, 3),
    "rope": (3, 24),
    "attention": (2, 3, 3, 4, 2, 6),
    "attention_cached": (2, 1, 3, 4, 2, 6),
    "cache_append": (2, 12),  # the new rows
    "expert_ffn": (3, 4, 5, 2, 1),
    "conv2d": (2 * 3 * 4, 3 * 3 * 2, 4),
    "max_pool2d": (6, 2, 3, 9),
    "avg_pool2d": (6, 2, 3, 9),
    "stencil": (3, 4, 5, 7),
}


def test_every_operation_of_the_graph_has_one_kernel() -> None:
    assert {op for op in OPS if not kernel_name(op)} == set()
    assert not set(KERNEL_OF) & set(PRODUCT_OPS)
    assert set(KERNEL_OF) | set(PRODUCT_OPS) == set(OPS)
    assert not set(KERNEL_OF.values()) & set(PRODUCTS)
    assert {*KERNEL_OF.values(), *PRODUCTS} == set(Kernel)
    assert kernel_name("matmul") == PRODUCT
    assert kernel_name("fft") == ""


@pytest.mark.parametrize("op", sorted(SAMPLES))
def test_shape_of_an_operation_is_what_its_kernel_expects(op: str) -> None:
    inputs, attrs = SAMPLES[op]
    (work,) = lower(single(op, inputs, attrs), batch=1)
    assert (work.op, work.kernel) == (op, KERNEL_OF.get(op))
    assert work.shape == EXPECTED.get(op, (3, 5))
    assert len(work.shape) == len(SHAPES[work.kernel or Kernel.GEMV])
    assert dict(work.attrs) == attrs | ({"batch": 2} if op == "batch_matmul" else {})
    assert work.weights == ()
    assert work.caches == (((2, 3, 12),) if op == "cache_append" else ())


@pytest.mark.parametrize("batch", [1, 2, 33, 4096])
def test_batch_takes_the_place_of_the_open_dimension(batch: int) -> None:
    product, bias, relu, *_ = lower(mlp_from_text("3-5-2")[0], batch=batch)
    assert (product.shape, product.weights) == ((batch, 3, 5), ((3, 5),))
    assert (bias.shape, bias.weights) == ((batch, 5), ((5,),))
    assert (relu.shape, relu.weights) == ((batch, 5), ())


def test_a_value_of_one_dimension_is_one_row_of_that_width() -> None:
    builder = GraphBuilder()
    graph, _ = builder.build(builder.op("relu", builder.input("x", (4,), DType.FLOAT32)))
    assert lower(graph, batch=1)[0].shape == (1, 4)


def test_equal_layers_become_equal_work() -> None:
    graph = decoder_graph(find("LLaMA3-70B"), phase="decode", batch=1, context=128)
    works = lower(graph, batch=1)
    assert len(works) == len(graph.nodes) > 1000
    assert len(set(works)) < 30


def test_output_product_of_tied_embeddings_is_over_the_hidden_width() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (2, 8), DType.FLOAT32)
    table = builder.shape_only("table", (50, 8), DType.FLOAT32)
    graph, _ = builder.build(builder.op("matmul", x, table, transposed=1))
    (work,) = lower(graph, batch=1)
    assert (work.shape, work.weights) == ((2, 8, 50), ((50, 8),))


def test_only_a_cache_that_comes_from_outside_stays() -> None:
    builder = GraphBuilder()
    cache = builder.input("cache", (2, 3, 4), DType.FLOAT32)
    row = builder.input("row", (2, 4), DType.FLOAT32)
    at = builder.input("at", (2,), DType.INT32)
    once = builder.op("cache_append", cache, row, at)
    graph, _ = builder.build(builder.op("cache_append", once, row, at))
    assert [work.caches for work in lower(graph, batch=1)] == [((2, 3, 4),), ()]


@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16])
def test_element_type_is_the_first_floating_one(dtype: DType) -> None:
    assert element_type(mlp_from_text("3-2", dtype=dtype.value)[0]) is dtype
    inputs, attrs = [((2, 3), dtype), ((4,), DType.INT32)], {}
    assert element_type(single("gather", inputs, attrs)) is dtype


def test_element_type_of_a_graph_of_whole_numbers_is_the_widest() -> None:
    assert element_type(single("neg", [((2, 3), DType.INT32)], {})) is DType.FLOAT32


def test_every_operation_without_a_kernel_is_listed_with_its_place() -> None:
    graph, _ = mlp_from_text("3-5-2")
    strange = tuple(
        Node("fft" if index in {1, 3} else node.op, node.inputs, node.output, node.tensor)
        for index, node in enumerate(graph.nodes)
    )
    assert unsupported(replace(graph, nodes=strange)) == (("fft", "node 1"), ("fft", "node 3"))
    assert unsupported(graph) == ()
