"""From operations to kernels: what each node of a graph becomes, before anything has a place.

Nodes that differ only in the names of their values become the same work, so that a model of eighty equal
layers is judged as fast as one layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Final

from pilots.graph.ir import Attrs, DType, Graph, Node, Tensor
from pilots.wafer.program import Kernel

PRODUCT: Final = "PRODUCT"  # any kernel of a matrix product: the compiler chooses
_OPS: Final[dict[Kernel, str]] = {
    Kernel.ELEMENTWISE: (
        "add sub mul div maximum minimum neg abs exp log sqrt rsqrt reciprocal square relu gelu silu sigmoid tanh "
        "sin cos scale cast where greater less equal rope top_k_gate one_hot"
    ),
    Kernel.REDUCE: "reduce_sum reduce_max reduce_min reduce_mean argmax cross_entropy",
    Kernel.SOFTMAX: "softmax log_softmax",
    Kernel.NORM: "layer_norm rms_norm",
    Kernel.GATHER: "gather embedding scatter_add",
    Kernel.MOVE: "reshape slice concat pad broadcast_to",
    Kernel.STENCIL: "stencil max_pool2d avg_pool2d",
    Kernel.OPTIMISER: "sgd_update adam_m adam_v adamw_update",
    Kernel.TRANSPOSE: "transpose",
    Kernel.ATTENTION: "attention",
    Kernel.ATTENTION_CACHED: "attention_cached",
    Kernel.CACHE_APPEND: "cache_append",
    Kernel.EXPERTS: "expert_ffn",
    Kernel.CONVOLUTION: "conv2d",
}
KERNEL_OF: Final[dict[str, Kernel]] = {op: kernel for kernel, ops in _OPS.items() for op in ops.split()}
BATCHED: Final = "batch_matmul"  # its calls say of how many products they are
PRODUCT_OPS: Final = ("matmul", BATCHED)
Size = tuple[int, ...]
Operands = list[Size]


@dataclass(frozen=True, slots=True)
class Work:
    """One operation without names: kernel (None for a product), op, shape as SHAPES says, attributes.

    weights: shapes of the constants it needs in SRAM; caches: shapes of the graph inputs it appends to.
    """

    kernel: Kernel | None
    op: str
    shape: tuple[int, ...]
    attrs: Attrs
    weights: tuple[tuple[int, ...], ...]
    caches: tuple[tuple[int, ...], ...]


def kernel_name(op: str) -> str:
    """Return the kernel of an operation, PRODUCT where the compiler chooses, or an empty text."""
    if op in PRODUCT_OPS:
        return PRODUCT
    kernel = KERNEL_OF.get(op)
    return kernel.value if kernel else ""


def unsupported(graph: Graph) -> tuple[tuple[str, str], ...]:
    """Return (op, position) of every operation without a kernel."""
    return tuple(
        (node.op, f"node {index}") for index, node in enumerate(graph.nodes) if not kernel_name(node.op)
    )


def lower(graph: Graph, *, batch: int) -> tuple[Work, ...]:
    """Return the work of every node, in order; `batch` stands for a dimension of None."""
    types = graph.tensors()
    constants = {item.name for item in graph.constants}
    inputs = {name for name, _ in graph.inputs}
    return tuple(_work(node, types, constants, inputs, batch) for node in graph.nodes)


def element_type(graph: Graph) -> DType:
    """Return the floating point type most numbers of constants and inputs have; of equally many, that of the first."""
    tensors = [item.tensor for item in graph.constants] + [tensor for _, tensor in graph.inputs]
    sizes: dict[DType, int] = {}
    for tensor in tensors:
        if tensor.dtype.is_float:
            sizes[tensor.dtype] = sizes.get(tensor.dtype, 0) + prod(size or 1 for size in tensor.shape)
    return max(sizes, key=lambda dtype: sizes[dtype], default=DType.FLOAT32)


def other_types(graph: Graph, dtype: DType) -> tuple[tuple[str, DType], ...]:
    """Return every value of another floating point type, by name."""
    return tuple(
        (name, tensor.dtype)
        for name, tensor in graph.tensors().items()
        if tensor.dtype.is_float and tensor.dtype is not dtype
    )


def _work(node: Node, types: dict[str, Tensor], constants: set[str], inputs: set[str], batch: int) -> Work:
    def concrete(name: str) -> tuple[int, ...]:
        return tuple(batch if size is None else size for size in types[name].shape)

    kernel = KERNEL_OF.get(node.op)
    operands = [concrete(name) for name in node.inputs]
    result = tuple(batch if size is None else size for size in node.tensor.shape)
    weights = tuple(concrete(name) for name in node.inputs if name in constants)
    caches = (operands[0],) if kernel is Kernel.CACHE_APPEND and node.inputs[0] in inputs else ()
    shape = _shape(node, kernel, operands, result)
    attrs = node.attrs if node.op != BATCHED else (*node.attrs, ("batch", max(1, operands[0][0])))
    return Work(kernel, node.op, tuple(max(1, size) for size in shape), attrs, weights, caches)


def _shape(node: Node, kernel: Kernel | None, operands: Operands, result: Size) -> Size:
    if kernel is None:
        return (prod(result[:-1]), operands[0][-1], result[-1])
    return SHAPE_RULES.get(kernel, _of_result)(node, operands, result)


def _of_result(node: Node, operands: Operands, result: Size) -> Size:
    return _rows(result)


def _of_input(node: Node, operands: Operands, result: Size) -> Size:
    return _rows(operands[0])


def _appended(node: Node, operands: Operands, result: Size) -> Size:
    return _rows(operands[1])


def _gathered(node: Node, operands: Operands, result: Size) -> Size:
    """A table of single numbers has entries of one; of updates it counts how many there are."""
    table = operands[-1] if node.op == "scatter_add" else operands[0]
    return (*_rows(result), table[0], table[-1] if len(table) > 1 else 1)


def _moved(node: Node, operands: Operands, result: Size) -> Size:
    return (*_rows(result), *_rows(operands[0]))


def _stencil(node: Node, operands: Operands, result: Size) -> Size:
    numbers = _numbers(node)
    points = numbers["points"] if node.op == "stencil" else numbers["size"] ** 2
    return (prod(result[:-2]), *result[-2:], points)


def _experts(node: Node, operands: Operands, result: Size) -> Size:
    experts, _, hidden = operands[2]
    return (*_rows(result), hidden, experts, _numbers(node)["k"])


def _convolution(node: Node, operands: Operands, result: Size) -> Size:
    channels_out, *patch = operands[1]
    return (prod(result) // channels_out, prod(patch), channels_out)


def _attention(node: Node, operands: Operands, result: Size) -> Size:
    numbers = _numbers(node)
    heads = (numbers["heads"], numbers["kv_heads"], numbers["head_dim"])
    batch = numbers["batch"]
    return (batch, operands[0][0] // batch, operands[1][0] // batch, *heads)


def _attention_cached(node: Node, operands: Operands, result: Size) -> Size:
    numbers = _numbers(node)
    batch, context = operands[1][0], operands[1][1]
    return (batch, 1, context, numbers["heads"], numbers["kv_heads"], numbers["head_dim"])


SHAPE_RULES: Final[dict[Kernel, Callable[[Node, Operands, Size], Size]]] = {
    Kernel.REDUCE: _of_input,
    Kernel.CACHE_APPEND: _appended,
    Kernel.GATHER: _gathered,
    Kernel.MOVE: _moved,
    Kernel.STENCIL: _stencil,
    Kernel.EXPERTS: _experts,
    Kernel.CONVOLUTION: _convolution,
    Kernel.ATTENTION: _attention,
    Kernel.ATTENTION_CACHED: _attention_cached,
}


def _numbers(node: Node) -> dict[str, int]:
    return {name: value for name, value in node.attrs if isinstance(value, int)}


def _rows(shape: tuple[int, ...]) -> tuple[int, int]:
    return (prod(shape[:-1]), shape[-1]) if shape else (1, 1)
