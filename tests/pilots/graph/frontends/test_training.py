"""One training step from PyTorch and JAX against the optimisers of PyTorch, on the twin and on the emulator."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from pilots.graph.evaluate import evaluate
from pilots.graph.rng import uniform
from pilots.wafer import functional
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.equivalence import compare
from pilots.wafer.machine import lab_mesh
from tests.pilots.graph.frontends.extras import need

torch, jax = need("torch", "jax")

from pilots.graph.frontends import jax as from_jax  # noqa: E402 - after the skip
from pilots.graph.frontends import pytorch as from_torch  # noqa: E402
from pilots.graph.frontends.errors import UnsupportedModel  # noqa: E402
from pilots.graph.frontends.optimisers import AdamW, Sgd  # noqa: E402
from tests.pilots.graph.frontends import models_jax, models_pytorch  # noqa: E402

pytestmark = pytest.mark.frontends
X = uniform(1, "x", (6, 8))
TARGETS = {"squares": uniform(2, "y", (6, 4)), "classes": np.array([0, 1, 2, 3, 0, 1], np.int32)}
OPTIMISERS = {
    "adamw": (AdamW("0.01"), lambda params: torch.optim.AdamW(params, lr=0.01)),
    "sgd": (Sgd("0.1"), lambda params: torch.optim.SGD(params, lr=0.1)),
}


def torch_loss(kind):
    if kind == "squares":
        return lambda module, x, y: torch.nn.functional.mse_loss(module(x), y)
    return lambda module, x, y: torch.nn.functional.cross_entropy(module(x), y)


def jax_loss(kind):
    if kind == "squares":
        return lambda p, x, y: jax.numpy.mean((models_jax.perceptron(p, x) - y) ** 2)

    def loss(p, x, y):
        scores = jax.nn.log_softmax(models_jax.perceptron(p, x))
        return -jax.numpy.mean(jax.numpy.sum(scores * jax.nn.one_hot(y, 4), -1))

    return loss


def module():
    return models_pytorch.seeded(models_pytorch.Perceptron())


def target(kind):
    found = torch.from_numpy(TARGETS[kind])
    return found.long() if kind == "classes" else found


def expected(kind, optimiser, steps):
    """Return losses and parameters after `steps` steps of PyTorch's own optimiser."""
    net = copy.deepcopy(module())
    own = OPTIMISERS[optimiser][1](net.parameters())
    losses = []
    for _ in range(steps):
        own.zero_grad()
        loss = torch_loss(kind)(net, torch.from_numpy(X), target(kind))
        loss.backward()
        own.step()
        losses.append(loss.item())
    return losses, {name: item.detach().numpy() for name, item in net.named_parameters()}


def captured(framework, kind, optimiser):
    chosen = OPTIMISERS[optimiser][0]
    if framework == "pytorch":
        examples = (torch.from_numpy(X), target(kind))
        return from_torch.capture_training_step(module(), torch_loss(kind), examples, chosen)
    weights = {name: item.detach().numpy() for name, item in module().named_parameters()}
    return from_jax.capture_training_step(jax_loss(kind), weights, (X, TARGETS[kind]), chosen)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("framework", ["pytorch", "jax"])
@pytest.mark.parametrize("emulated", [False, True])
def test_two_steps_are_those_of_the_optimiser(framework, kind, optimiser, emulated):
    found = captured(framework, kind, optimiser)
    losses, params = expected(kind, optimiser, steps=2)
    names = [name for name, _ in found.graph.inputs if name in params]
    state = {name: np.zeros(tensor.shape, np.float32) for name, tensor in found.graph.inputs}
    state |= {name: item.detach().numpy() for name, item in module().named_parameters()}
    state |= {"x0": X, "x1": TARGETS[kind]}
    loaded = None
    if emulated:
        program = compile_graph(found.graph, lab_mesh(64, 64), Request(batch=1))
        loaded = functional.load(program, found.weights)
    for step in (1, 2):
        state["step"] = np.array([step], np.int32)
        outputs = (
            functional.execute(loaded, state) if loaded else evaluate(found.graph, state | found.weights)
        )
        loss, *rest = (outputs[name] for name in found.graph.outputs)
        assert abs(float(loss.reshape(-1)[0]) - losses[step - 1]) < 1e-6
        kinds = [names, [f"m.{name}" for name in names], [f"v.{name}" for name in names]]
        state |= dict(zip([name for part in kinds for name in part], rest, strict=False))
    for name in names:
        assert compare(name, state[name], params[name], rtol=1e-5).within


def test_step_of_an_unsupported_model_is_refused():
    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(4))

        def forward(self, x):
            return torch.special.bessel_j0(x * self.scale)

    with pytest.raises(UnsupportedModel) as caught:
        from_torch.capture_training_step(
            Odd(),
            lambda net, x: (net(x.detach()).detach() + net.scale).sum(),
            (torch.ones(2, 4),),
            Sgd("0.1"),
        )
    assert any("bessel" in row.op for row in caught.value.trail.unsupported)
