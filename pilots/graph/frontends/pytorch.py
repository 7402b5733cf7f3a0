"""Front end for PyTorch: exported modules, and training steps whose gradients torch traces. Needs the extra `pytorch`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch.export.graph_signature import OutputKind
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils import _pytree as pytree

from pilots.graph.capture import Captured
from pilots.graph.frontends import pytorch_given as given
from pilots.graph.frontends import pytorch_steps as steps
from pilots.graph.frontends.errors import Refused, refuse
from pilots.graph.frontends.examples import with_example
from pilots.graph.frontends.optimisers import (
    Optimiser,
    first_step_inputs,
    moments,
    result_labels,
    update,
)
from pilots.graph.frontends.outputs import path_label
from pilots.graph.frontends.pytorch_context import Context, Result
from pilots.graph.frontends.pytorch_ops import HANDLERS
from pilots.graph.frontends.values import Value, dtype_of, known, known_as
from pilots.graph.frontends.walk import FRAME, NARROWED_DE, Walk, place_of
from pilots.graph.ir import DType, Shape

FRAMEWORK: Final = "pytorch"
NAME: Final = "PyTorch"
KEPT: Final = ("scaled_dot_product_attention", "nll_loss", "_fused_rms_norm")  # not taken apart by torch
EVALUATED_DE: Final = (
    "Das Modul stand im Trainingsmodus; aufgezeichnet ist der Auswertungsmodus (eval), also ohne Dropout und mit den "
    "gespeicherten Kennwerten von BatchNorm."
)
CHECKS: Final = (
    "aten._assert_tensor_metadata",
    "aten._assert_scalar",
)  # shapes and types are fixed in a graph


def capture(
    module: torch.nn.Module,
    examples: Sequence[torch.Tensor],
    *,
    open_batch: bool = False,
    example: bool = True,
) -> Captured:
    """Return the graph of one forward pass in evaluation mode; raises UnsupportedModel or FrontEndError.

    open_batch: leave the first dimension of all inputs open; the examples then need at least two samples.
    example: keep the examples with what the module itself computes from them.
    """
    given.check(module, examples)
    walk = Walk(FRAMEWORK, torch.__version__)
    if any(item.training for item in module.modules()):
        walk.adapt(type(module).__name__, EVALUATED_DE)
    shapes = None
    if open_batch:
        batch = torch.export.Dim("batch")
        shapes = torch.export.ShapesCollection()
        for item in examples:
            shapes[item] = {0: batch}
    try:
        with steps.undisturbed():
            program = torch.export.export(module.eval(), tuple(examples), dynamic_shapes=shapes)
            program = program.run_decompositions(_kept_whole(torch.export.default_decompositions()))
    except Exception as error:  # torch raises dozens of classes here
        _computable(module, examples)
        raise walk.untraceable("torch.export", error) from error
    kinds = {item.kind for item in program.graph_signature.output_specs}
    if kinds != {OutputKind.USER_OUTPUT}:
        sentence = "Das Modell verändert eigene Werte beim Rechnen; bitte eine reine Funktion angeben."
        raise refuse("MUTATION", "module", "a pure function", kinds, sentence)
    outputs = _walked(walk, program.graph, _placeholders(walk, program))
    found = walk.finish(outputs, _labels(program))
    return (
        with_example(found, NAME, steps.arrays(examples), lambda: steps.forward(module, examples))
        if example
        else found
    )


def _computable(module: torch.nn.Module, examples: Sequence[torch.Tensor]) -> None:
    """Raise FrontEndError if the module cannot be computed on the examples even without being traced."""
    try:
        steps.forward(module, examples)
    except Exception as error:  # the module is the user's
        raise given.not_computed(error, examples) from error


def capture_training_step(
    module: torch.nn.Module,
    loss: Callable[..., torch.Tensor],
    examples: Sequence[torch.Tensor],
    optimiser: Optimiser,
    *,
    example: bool = True,
) -> Captured:
    """Return one training step: `loss(module, *examples)` is one number; raises as `capture`.

    Inputs: parameters by name, then moments and step for AdamW, then the examples as x0, x1, ...
    Outputs: the loss, new parameters, and for AdamW new first and second moments.
    """
    params = {name: item.detach() for name, item in module.named_parameters()}

    step = steps.of_loss(module, loss, list(params))
    walk = Walk(FRAMEWORK, torch.__version__)
    graph = _traced(walk, step, [*params.values(), *examples])
    inputs = {name: _input(walk, name, item) for name, item in params.items()}
    walk.refuse_unsupported()
    state = moments(walk.emit, inputs, optimiser)
    data = [_input(walk, f"x{index}", item) for index, item in enumerate(examples)]
    results = _results(walk, graph, [*inputs.values(), *data])
    gradients = results[1:]
    changed = walk.step(
        "optimiser",
        type(optimiser).__name__,
        gradients,
        lambda: update(walk.emit, inputs, [item for item in gradients if item is not None], optimiser, state),
    )
    found = walk.finish([results[0], *(changed or [])], result_labels(list(inputs), optimiser))
    if not example:
        return found
    start = first_step_inputs(steps.arrays(params.values()), optimiser, steps.arrays(examples))
    return with_example(found, NAME, start, lambda: steps.first(step, params.values(), examples, optimiser))


def _placeholders(walk: Walk, program: torch.export.ExportedProgram) -> dict[str, Value | None]:
    """Return inputs of the graph and weights by the names torch gives them."""
    signature = program.graph_signature
    labels = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    labels |= signature.inputs_to_lifted_tensor_constants
    held = {**program.state_dict, **program.constants}
    seen: dict[str, Value | None] = {}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            label = labels.get(node.name)
            if label is None:
                seen[node.name] = _input(walk, node.name, node.meta["val"])
            else:
                seen[node.name] = _weight(walk, held[label], label)
    return seen


def _labels(program: torch.export.ExportedProgram) -> list[str]:
    """Return the names of the outputs that are tensors, by the keys of the structure the module returns."""
    (output,) = (node for node in program.graph.nodes if node.op == "output")
    leaves = pytree.tree_unflatten(list(output.args[0]), program.call_spec.out_spec)
    paths, _ = pytree.tree_flatten_with_path(leaves)
    return [path_label(path) for path, leaf in paths if isinstance(leaf, torch.fx.Node)]


def _kept_whole(table: dict[Any, Any]) -> dict[Any, Any]:
    return {op: rule for op, rule in table.items() if not any(name in str(op) for name in KEPT[:2])}


def _traced(
    walk: Walk, function: Callable[..., Any], examples: Sequence[torch.Tensor]
) -> torch.fx.GraphModule:
    table = _kept_whole(dict(torch.export.default_decompositions()))
    try:
        with steps.undisturbed():
            found = make_fx(function, decomposition_table=table, record_stack_traces=True)(*examples)
    except Exception as error:  # as above
        raise walk.untraceable("torch.fx.make_fx", error) from error
    found.graph.eliminate_dead_code()
    return found


def _results(walk: Walk, traced: torch.fx.GraphModule, inputs: Sequence[Value | None]) -> list[Value | None]:
    placeholders = [node.name for node in traced.graph.nodes if node.op == "placeholder"]
    seen: dict[str, Value | None] = dict(zip(placeholders, inputs, strict=True))
    for node in traced.graph.nodes:
        if node.op == "get_attr":
            seen[node.name] = _weight(walk, getattr(traced, str(node.target)), str(node.target))
    return _walked(walk, traced.graph, seen)


def _walked(walk: Walk, graph: torch.fx.Graph, seen: dict[str, Any]) -> list[Value | None]:
    """Translate every operation; returns the outputs."""
    for node in graph.nodes:
        if node.op == "call_function" and not str(node.target).startswith(CHECKS):
            seen[node.name] = _size(node) if _is_size(node) else _call(walk, node, seen)
    (output,) = (node for node in graph.nodes if node.op == "output")
    outputs: list[Value | None] = []
    torch.fx.node.map_arg(output.args, lambda item: outputs.append(seen[item.name]))
    for index, item in enumerate(output.all_input_nodes):
        if _is_wide(item):
            walk.adapt(f"output_{index}", NARROWED_DE)
    return outputs


def _call(walk: Walk, node: torch.fx.Node, seen: Mapping[str, Any]) -> Any:
    name, custom = _op_name(node)
    handler = None if custom else HANDLERS.get(name, HANDLERS.get(name.split(".")[0]))
    before = [seen[item.name] for item in node.all_input_nodes]
    args, kwargs = (
        torch.fx.node.map_arg(item, lambda item: seen[item.name]) for item in (node.args, node.kwargs)
    )
    if name == "getitem" and any(item is None for item in before):
        return None

    dynamic = bool(free_unbacked_symbols(node.meta.get("val")))

    def action() -> Any:
        if dynamic:
            raise Refused("die Form des Ergebnisses hängt von Daten ab (dynamischer Graph)")
        context = Context(walk.emit, _result(node))
        assert handler is not None
        return handler(context, *args, **_options(kwargs))

    if name == "getitem":
        return walk.taken(name, _place(node), action)
    full = name if custom else f"aten.{name}"
    if _is_wide(node) and not any(_is_wide(item) for item in node.all_input_nodes):
        walk.adapt(f"{full} ({_place(node)})", NARROWED_DE)
    return walk.step(full, _place(node), before, action if handler or dynamic else None, custom=custom)


def _is_size(node: torch.fx.Node) -> bool:
    """Say whether a node only reckons with sizes."""
    return isinstance(node.meta.get("val"), torch.SymInt | torch.SymBool | torch.SymFloat)


def _size(node: torch.fx.Node) -> Any:
    """Return a size that follows from the open batch; None if it depends on data: the operation it is of is refused itself."""
    found = node.meta["val"]
    return None if free_unbacked_symbols(found) else found


def _is_wide(node: torch.fx.Node) -> bool:
    found = node.meta.get("val")
    return isinstance(found, torch.Tensor) and found.dtype is torch.int64


def _options(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: item
        for name, item in kwargs.items()
        if name not in {"device", "layout", "pin_memory", "memory_format", "dtype"}
    }


def _op_name(node: torch.fx.Node) -> tuple[str, bool]:
    if node.target is operator.getitem:
        return "getitem", False
    text = str(node.target)
    space, _, rest = text.partition(".")
    return (rest, False) if space in {"aten", "prims"} else (text, space not in {"aten", "prims"})


def _result(node: torch.fx.Node) -> Result | None:
    found = node.meta.get("val")
    if not isinstance(found, torch.Tensor):
        return None
    wide = found.dtype is torch.int64
    return Result(_sizes(found.shape), _dtype(found.dtype), wide)


def _sizes(shape: Sequence[Any]) -> Shape:
    return tuple(size if type(size) is int else None for size in shape)


def _dtype(dtype: torch.dtype) -> DType:
    return dtype_of(str(dtype).removeprefix("torch."))


def _input(walk: Walk, name: str, tensor: torch.Tensor) -> Any:
    """Add a graph input like a tensor of torch; None if the graph has no such type."""
    if tensor.dtype is torch.int64:
        walk.adapt(name, NARROWED_DE)
    return walk.taken(
        "input", name, lambda: walk.emit.input(name, _sizes(tensor.shape), _dtype(tensor.dtype))
    )


def _weight(walk: Walk, tensor: torch.Tensor, label: str) -> Any:
    """Return the numbers of a weight; None if the graph has no such type or its indices do not fit."""

    def action() -> Value:
        dtype = _dtype(tensor.dtype)
        plain = tensor.detach().cpu()
        if dtype is DType.INT32:
            return known(plain.numpy())
        return known_as((plain.float() if dtype is DType.BFLOAT16 else plain).numpy(), dtype, label)

    if tensor.dtype is torch.int64 and tensor.ndim:
        walk.adapt(label, NARROWED_DE)
    return walk.taken("weight", label, action)


def _place(node: torch.fx.Node) -> str:
    """Return file and line of the user's code, else the innermost line."""
    return place_of(FRAME.findall(node.meta.get("stack_trace") or ""))
