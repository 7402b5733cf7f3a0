"""Front end for PyTorch: exported modules, and training steps whose gradients torch traces. Needs the extra `pytorch`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch.export.graph_signature import OutputKind
from torch.fx.experimental.proxy_tensor import make_fx

from pilots.graph.capture import Captured
from pilots.graph.frontends.errors import FrontEndError, Refused, refuse
from pilots.graph.frontends.optimisers import Optimiser, moments, update
from pilots.graph.frontends.pytorch_context import Context, Result
from pilots.graph.frontends.pytorch_ops import HANDLERS
from pilots.graph.frontends.values import DTYPES, Value, known, known_as
from pilots.graph.frontends.walk import Walk
from pilots.graph.ir import DType, Shape

FRAMEWORK: Final = "pytorch"
KEPT: Final = ("scaled_dot_product_attention", "nll_loss", "_fused_rms_norm")  # not taken apart by torch
CHECKED_WHEN_TRACED: Final = "aten._assert_tensor_metadata"  # shapes and types are fixed in a graph
_FRAME: Final = re.compile(r'File "([^"]+)", line (\d+), in')
_LIBRARY: Final = ("site-packages", "dist-packages", "<frozen")


def capture(
    module: torch.nn.Module, examples: Sequence[torch.Tensor], *, open_batch: bool = False
) -> Captured:
    """Return the graph of one forward pass in evaluation mode; raises UnsupportedModel or FrontEndError.

    open_batch: leave the first dimension of all inputs open; the examples then need at least two samples.
    """
    shapes = None
    if open_batch:
        batch = torch.export.Dim("batch")
        shapes = tuple({0: batch} for _ in examples)
    try:
        program = torch.export.export(module.eval(), tuple(examples), dynamic_shapes=shapes)
        program = program.run_decompositions(_kept_whole(torch.export.default_decompositions()))
    except Exception as error:  # torch raises dozens of classes here
        raise _not_traced(error) from error
    kinds = {item.kind for item in program.graph_signature.output_specs}
    if kinds != {OutputKind.USER_OUTPUT}:
        sentence = "Das Modell verändert eigene Werte beim Rechnen; bitte eine reine Funktion angeben."
        raise refuse("MUTATION", "module", "a pure function", kinds, sentence)
    walk = Walk(FRAMEWORK, torch.__version__)
    return walk.finish(_walked(walk, program.graph, _placeholders(walk, program)))


def capture_training_step(
    module: torch.nn.Module,
    loss: Callable[..., torch.Tensor],
    examples: Sequence[torch.Tensor],
    optimiser: Optimiser,
) -> Captured:
    """Return one training step: `loss(module, *examples)` is one number; raises as `capture`.

    Inputs: parameters by name, then moments and step for AdamW, then the examples as x0, x1, ...
    Outputs: the loss, new parameters, and for AdamW new first and second moments.
    """
    params = {name: item.detach() for name, item in module.named_parameters()}

    class _Whole(torch.nn.Module):  # type: ignore[misc]  # torch is an extra
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, *items: torch.Tensor) -> torch.Tensor:
            return loss(self.inner, *items)

    whole = _Whole()

    def of_params(given: Mapping[str, torch.Tensor], *items: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(
            whole, {f"inner.{name}": item for name, item in given.items()}, items
        )

    def step(*flat: torch.Tensor) -> list[torch.Tensor]:
        given = dict(zip(params, flat, strict=False))
        gradients, value = torch.func.grad_and_value(of_params)(given, *flat[len(params) :])
        return [value, *(gradients[name] for name in params)]

    graph = _traced(step, [*params.values(), *examples])
    walk = Walk(FRAMEWORK, torch.__version__)
    inputs = {
        name: walk.emit.input(name, tuple(item.shape), _dtype(item.dtype)) for name, item in params.items()
    }
    state = moments(walk.emit, inputs, optimiser)
    data = [
        walk.emit.input(f"x{index}", tuple(item.shape), _dtype(item.dtype))
        for index, item in enumerate(examples)
    ]
    results = _results(walk, graph, [*inputs.values(), *data])
    gradients = results[1:]
    changed = walk.step(
        "optimiser",
        type(optimiser).__name__,
        gradients,
        lambda: update(walk.emit, inputs, [item for item in gradients if item is not None], optimiser, state),
    )
    return walk.finish([results[0], *(changed or [])])


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
            seen[node.name] = _input(walk, node) if label is None else _weight(held[label], label)
    return seen


def _kept_whole(table: dict[Any, Any]) -> dict[Any, Any]:
    return {op: rule for op, rule in table.items() if not any(name in str(op) for name in KEPT[:2])}


def _traced(function: Callable[..., Any], examples: Sequence[torch.Tensor]) -> torch.fx.GraphModule:
    table = _kept_whole(dict(torch.export.default_decompositions()))
    try:
        found = make_fx(function, decomposition_table=table, record_stack_traces=True)(*examples)
    except Exception as error:  # as above
        raise _not_traced(error) from error
    found.graph.eliminate_dead_code()
    return found


def _results(walk: Walk, traced: torch.fx.GraphModule, inputs: Sequence[Value]) -> list[Value | None]:
    placeholders = [node.name for node in traced.graph.nodes if node.op == "placeholder"]
    seen: dict[str, Value | None] = dict(zip(placeholders, inputs, strict=True))
    for node in traced.graph.nodes:
        if node.op == "get_attr":
            seen[node.name] = _weight(getattr(traced, str(node.target)), str(node.target))
    return _walked(walk, traced.graph, seen)


def _walked(walk: Walk, graph: torch.fx.Graph, seen: dict[str, Any]) -> list[Value | None]:
    """Translate every operation; returns the outputs."""
    for node in graph.nodes:
        if node.op == "call_function" and not str(node.target).startswith(CHECKED_WHEN_TRACED):
            seen[node.name] = _call(walk, node, seen)
    (output,) = (node for node in graph.nodes if node.op == "output")
    outputs: list[Value | None] = []
    torch.fx.node.map_arg(output.args, lambda item: outputs.append(seen[item.name]))
    return outputs


def _call(walk: Walk, node: torch.fx.Node, seen: Mapping[str, Any]) -> Any:
    name, custom = _op_name(node)
    handler = None if custom else HANDLERS.get(name, HANDLERS.get(name.split(".")[0]))
    given = [seen[item.name] for item in node.all_input_nodes]
    args, kwargs = (
        torch.fx.node.map_arg(item, lambda item: seen[item.name]) for item in (node.args, node.kwargs)
    )
    if name == "getitem" and any(item is None for item in given):
        return None

    def action() -> Any:
        context = Context(walk.emit, _result(node))
        assert handler is not None
        return handler(context, *args, **_options(kwargs))

    if name == "getitem":
        return action()
    full = name if custom else f"aten.{name}"
    return walk.step(full, _place(node), given, action if handler else None, custom=custom)


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
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        sentence = f"Den Zahlentyp {name} gibt es im Graphen nicht; möglich sind: {', '.join(DTYPES)}."
        raise refuse("DTYPE", "tensor", ", ".join(DTYPES), name, sentence)
    return DTYPES[name]


def _input(walk: Walk, node: torch.fx.Node) -> Value:
    found = node.meta["val"]
    return walk.emit.input(node.name, _sizes(found.shape), _dtype(found.dtype))


def _weight(tensor: torch.Tensor, label: str) -> Value:
    dtype = _dtype(tensor.dtype)
    plain = tensor.detach().cpu()
    if dtype is DType.INT32:
        try:
            return known(plain.numpy())
        except Refused as error:
            sentence = f"Das Gewicht {label} passt nicht in den Graphen: {error.reason_de}."
            raise refuse("WEIGHTS", label, "numbers of int32", error, sentence) from error
    return known_as((plain.float() if dtype is DType.BFLOAT16 else plain).numpy(), dtype, label)


def _place(node: torch.fx.Node) -> str:
    """Return file and line of the user's code, else the innermost line."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if not any(part in frame[0] for part in _LIBRARY)]
    path, line = (own or frames or [("", "")])[-1]
    return f"{path.replace(chr(92), '/').rsplit('/', 1)[-1]}:{line}" if path else ""


def _not_traced(error: Exception) -> FrontEndError:
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    sentence = (
        "PyTorch kann das Modell nicht als festen Graphen ausgeben; Kontrollfluss und Formen dürfen nicht von Daten "
        f"abhängen ({first[:160]})."
    )
    return refuse("NOT_TRACEABLE", "module", "a static graph", first, sentence)
