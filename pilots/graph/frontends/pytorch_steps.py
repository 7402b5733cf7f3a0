"""What PyTorch itself computes for an example: a forward pass, and the first training step with its own optimisers."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import TypeAlias

import torch
from torch.utils._pytree import tree_leaves

from pilots.graph.frontends.optimisers import Optimiser, Sgd
from pilots.graph.ir import Array

Step: TypeAlias = Callable[..., list[torch.Tensor]]


@contextmanager
def undisturbed() -> Iterator[None]:
    """Compute as the code of the module says, without fused shortcuts, and without what torch says besides errors."""
    fast = torch.backends.mha.get_fastpath_enabled()
    logger = logging.getLogger("torch")
    level = logger.level
    torch.backends.mha.set_fastpath_enabled(False)  # the shortcut of nn.TransformerEncoder rounds otherwise
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        logger.setLevel(level)


def of_loss(module: torch.nn.Module, loss: Callable[..., torch.Tensor], names: Sequence[str]) -> Step:
    """Return the function of parameters (in the order of `names`) and examples that gives the loss and all gradients."""

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
        given = dict(zip(names, flat, strict=False))
        gradients, value = torch.func.grad_and_value(of_params)(given, *flat[len(names) :])
        return [value, *(gradients[name] for name in names)]

    return step


def forward(module: torch.nn.Module, examples: Sequence[torch.Tensor]) -> list[Array]:
    """Return the outputs of a module in evaluation mode."""
    with torch.no_grad(), undisturbed():
        result = module.eval()(*(item.clone() for item in examples))
    return arrays(item for item in tree_leaves(result) if isinstance(item, torch.Tensor))


def first(
    step: Step, params: Iterable[torch.Tensor], examples: Sequence[torch.Tensor], optimiser: Optimiser
) -> list[Array]:
    """Return the loss, new parameters and new moments after the first step."""
    copies = [torch.nn.Parameter(item.clone()) for item in params]
    value, *gradients = step(*(item.detach() for item in copies), *examples)
    for item, gradient in zip(copies, gradients, strict=True):
        item.grad = gradient.detach()
    if isinstance(optimiser, Sgd):
        torch.optim.SGD(copies, lr=float(optimiser.rate)).step()
        return arrays([value, *copies])
    own = torch.optim.AdamW(
        copies,
        lr=float(optimiser.rate),
        betas=(float(optimiser.beta1), float(optimiser.beta2)),
        eps=float(optimiser.epsilon),
        weight_decay=float(optimiser.weight_decay),
    )
    own.step()
    state = [[own.state[item][name] for item in copies] for name in ("exp_avg", "exp_avg_sq")]
    return arrays([value, *copies, *state[0], *state[1]])


def arrays(tensors: Iterable[torch.Tensor]) -> list[Array]:
    """Return tensors as arrays of NumPy; bfloat16 as float32."""
    plain = (item.detach().cpu() for item in tensors)
    return [(item.float() if item.dtype is torch.bfloat16 else item).numpy() for item in plain]
