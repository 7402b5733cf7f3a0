"""The example in a capture: inputs, and what the framework itself computes from them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from pilots.graph.__main__ import main
from pilots.graph.capture import from_bytes, to_bytes
from pilots.graph.evaluate import evaluate
from pilots.graph.rng import uniform
from pilots.wafer.equivalence import compare
from tests.pilots.graph.frontends.extras import need

torch, jax, onnx = need("torch", "jax", "onnx")

from pilots.graph.frontends import jax as from_jax  # noqa: E402 - after the skip
from pilots.graph.frontends import onnx as from_onnx  # noqa: E402
from pilots.graph.frontends import pytorch as from_torch  # noqa: E402
from pilots.graph.frontends.errors import FrontEndError  # noqa: E402
from pilots.graph.frontends.optimisers import AdamW, Sgd  # noqa: E402
from tests.pilots.graph.frontends import models_jax, models_onnx, models_pytorch  # noqa: E402
from tests.pilots.graph.frontends.test_reference_models import (  # noqa: E402
    EVERY,
    MODELS,
    captured,
    inputs,
    module,
    own_result,
    tensor,
    weights,
)
from tests.pilots.graph.frontends.test_training import jax_loss, torch_loss  # noqa: E402

pytestmark = pytest.mark.frontends
X = uniform(1, "x", (6, 8))
Y = uniform(2, "y", (6, 4))
OPTIMISERS = {"adamw": AdamW("0.01", weight_decay="0.1"), "sgd": Sgd("0.1")}


def onnx_model(name, shape=None) -> bytes:
    return getattr(models_onnx, name)(weights(name), shape or MODELS[name][1])


@pytest.mark.parametrize(("name", "framework"), EVERY)
def test_example_is_the_result_of_the_framework_itself(name, framework):
    found = captured(name, framework)
    if framework == "onnx":
        found = from_onnx.capture_bytes(onnx_model(name), inputs={"x": inputs(name)})
    (given,), (result,) = found.example.inputs.values(), found.example.outputs.values()
    assert np.array_equal(given, inputs(name))
    expected = own_result(name, framework)
    if framework == "jax":  # called with arrays of NumPy, the function would compute in NumPy
        held = jax.tree_util.tree_map(jax.numpy.asarray, weights(name))
        expected = np.asarray(getattr(models_jax, name)(held, jax.numpy.asarray(inputs(name))))
    assert np.array_equal(result, expected.reshape(result.shape))
    again = from_bytes(to_bytes(found))
    assert again.example.inputs_sha256 == found.example.inputs_sha256


@pytest.mark.parametrize("name", MODELS)
def test_onnx_model_without_inputs_gets_seeded_ones_that_fit(name):
    found = from_onnx.capture_bytes(onnx_model(name))
    (twin,) = evaluate(found.graph, {**found.example.inputs, **found.weights}).values()
    (result,) = found.example.outputs.values()
    assert compare(name, twin, result, rtol=1e-6).within
    assert from_onnx.capture_bytes(onnx_model(name)).example.inputs_sha256 == found.example.inputs_sha256


def test_open_batch_keeps_the_samples_of_the_example():
    found = from_torch.capture(module("perceptron"), (tensor("perceptron"),), open_batch=True)
    assert [item.shape for item in found.example.outputs.values()] == [(3, 4)]
    found = from_onnx.capture_bytes(onnx_model("perceptron", ("batch", 8)))
    assert [item.shape for item in found.example.outputs.values()] == [(2, 4)]


def test_nothing_of_an_example_is_kept_where_none_is_wanted():
    assert from_torch.capture(module("perceptron"), (tensor("perceptron"),), example=False).example is None
    found = from_jax.capture(
        models_jax.perceptron, weights("perceptron"), (inputs("perceptron"),), example=False
    )
    assert found.example is None
    assert from_onnx.capture_bytes(onnx_model("perceptron"), example=False).example is None


def step(framework, optimiser, **options):
    if framework == "pytorch":
        examples = (torch.from_numpy(X), torch.from_numpy(Y))
        net = models_pytorch.seeded(models_pytorch.Perceptron())
        return from_torch.capture_training_step(net, torch_loss("squares"), examples, optimiser, **options)
    return from_jax.capture_training_step(
        jax_loss("squares"), weights("perceptron"), (X, Y), optimiser, **options
    )


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("framework", ["pytorch", "jax"])
def test_training_step_keeps_the_first_step_of_the_framework(framework, optimiser):
    found = step(framework, OPTIMISERS[optimiser])
    results = evaluate(found.graph, {**found.example.inputs, **found.weights})
    for name, own in found.example.outputs.items():
        assert compare(name, results[name], own, rtol=1e-5).within
    assert np.array_equal(found.example.inputs["x0"], X)
    to_bytes(found)
    assert step(framework, OPTIMISERS[optimiser], example=False).example is None


def test_brain_floats_and_whole_numbers_are_kept_in_the_types_of_the_graph():
    net = torch.nn.Linear(4, 3).bfloat16()
    found = from_bytes(to_bytes(from_torch.capture(net, (torch.ones(2, 4).bfloat16(),))))
    assert next(iter(found.example.outputs.values())).dtype == np.float32
    found = from_jax.capture(lambda _, x: jax.numpy.argmax(x, -1), {}, (X,))
    assert next(iter(found.example.outputs.values())).dtype == np.int32


def refused(action) -> FrontEndError:
    with pytest.raises(FrontEndError) as caught:
        action()
    assert "--no-example" in caught.value.message_de
    return caught.value


class _Log(torch.nn.Module):
    def forward(self, x):
        return x.log()


def test_results_that_are_no_numbers_are_refused_with_a_way_out():
    assert refused(lambda: from_torch.capture(_Log(), (torch.zeros(2, 3),))).code == "NOT_FINITE"
    assert from_torch.capture(_Log(), (torch.zeros(2, 3),), example=False).graph.nodes


def test_index_outside_its_table_is_refused():
    ids = np.array([[1, 2, 11], [0, 3, 3]], np.int32)
    assert (
        refused(lambda: from_onnx.capture_bytes(onnx_model("embedder"), inputs={"x": ids})).code == "EXAMPLE"
    )
    error = refused(
        lambda: from_jax.capture(rows_of_jax, weights("embedder"), (ids[0],))
    )  # JAX takes the last row
    assert error.code == "EXAMPLE_INDEX"
    assert "0 bis 10" in error.message_de
    assert from_jax.capture(rows_of_jax, weights("embedder"), (ids[1],)).example is not None


def rows_of_jax(p, ids):
    return jax.lax.gather(
        p["table.weight"],
        ids[:, None],
        jax.lax.GatherDimensionNumbers((1,), (0,), (0,)),
        (1, 8),
        mode="clip",
    )


def test_inputs_of_an_onnx_model_are_all_given_or_none():
    error = refused(lambda: from_onnx.capture_bytes(onnx_model("perceptron"), inputs={"y": X}))
    assert "Eingang x" in error.message_de
    assert (
        refused(lambda: from_onnx.capture_bytes(onnx_model("perceptron"), inputs={"x": X[:, :3]})).code
        == "EXAMPLE"
    )


def test_example_larger_than_a_capture_is_refused_before_it_is_made():
    error = refused(lambda: from_onnx.capture_bytes(onnx_model("perceptron", (2**24, 8))))
    assert error.code == "LIMIT"


def bare_tensor():
    return module("perceptron"), tensor("perceptron")


def by_name():
    return module("perceptron"), {"x": tensor("perceptron")}


def of_numpy():
    return module("perceptron"), (inputs("perceptron"),)


def two_inputs():
    return module("perceptron"), (tensor("perceptron"),) * 2


def other_shape():
    return module("perceptron"), (torch.ones(3, 7),)


def no_module():
    return torch.relu, (tensor("perceptron"),)


def bare_array():
    return models_jax.perceptron, weights("perceptron"), inputs("perceptron")


def other_width():
    return models_jax.perceptron, weights("perceptron"), (inputs("perceptron")[:, :7],)


class _Branching(torch.nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1


def branching():
    return _Branching(), (torch.ones(3),)


def pooled():
    return module("embedder"), (tensor("embedder"),)


def noisy():
    class Noisy(torch.nn.Module):
        def forward(self, x):
            return x if torch.compiler.is_exporting() else x + 1

    return Noisy(), (torch.ones(3),)


REFUSALS = {
    "bare_tensor": "Die Beispiele sind kein Tupel, sondern Tensor; die Funktion muss (Modul, Beispiele) zurückgeben",
    "by_name": "Die Beispiele sind kein Tupel, sondern dict; die Funktion muss (Modul, Beispiele) zurückgeben",
    "of_numpy": "Ein Beispiel ist kein Tensor, sondern ndarray; die Funktion muss",
    "two_inputs": "Das Modell nimmt 2 Beispiele nicht an (too many positional arguments); die Funktion muss",
    "other_shape": "PyTorch kann das Modell mit den Beispielen (3, 7) float32 nicht rechnen (models_pytorch.py:",
    "no_module": "Das Modul ist kein torch.nn.Module",
    "bare_array": "Die Beispiele sind kein Tupel, sondern ndarray; die Funktion muss (Funktion, Gewichte, Beispiele)",
    "other_width": "JAX kann die Funktion mit den Beispielen nicht rechnen (models_jax.py:",
    "branching": "Kontrollfluss und Formen dürfen nicht von Daten abhängen",
    "noisy": "Der Ausgang x des Graphen weicht um 0,5 vom Ergebnis des Frameworks ab, erlaubt ist 1e-05",
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_captured_is_told_in_one_line_and_nothing_else(name, tmp_path, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "model.wgraph"
    framework = "jax" if name in {"bare_array", "other_width"} else "pytorch"
    assert main(["capture", f"{__name__}:{name}", "--from", framework, "-o", str(path)]) == 2
    said = capfd.readouterr()
    assert REFUSALS[name] in said.err
    assert said.err.count("\n") == 1
    assert not said.out
    assert not path.exists()


def test_open_batch_that_the_graph_does_not_have_says_to_leave_it_out(tmp_path, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setattr(sys, "path", list(sys.path))
    words = ["capture", f"{__name__}:pooled", "-o", str(tmp_path / "model.wgraph")]
    assert main([*words, "--open-batch"]) == 2
    assert "bitte ohne --open-batch aufzeichnen." in capfd.readouterr().err
    assert main(words) == 0
    said = capfd.readouterr().out
    assert "Abweichung     output_0: " in said
    assert "Angepasst      ids: int64 wird als int32 geführt" in said


def perceptron_of_torch():
    return module("perceptron"), (tensor("perceptron"),)


def perceptron_of_jax():
    return models_jax.perceptron, weights("perceptron"), (inputs("perceptron"),)


@pytest.mark.parametrize("framework", ["pytorch", "jax", "onnx"])
def test_command_captures_with_example_and_origin(framework, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setattr(sys, "path", list(sys.path))
    path, model = tmp_path / "model.wgraph", tmp_path / "model.onnx"
    model.write_bytes(onnx_model("perceptron"))
    source = {"pytorch": "perceptron_of_torch", "jax": "perceptron_of_jax", "onnx": ""}[framework]
    words = [str(model)] if framework == "onnx" else [f"{__name__}:{source}", "--from", framework]
    assert main(["capture", *words, "-o", str(path), "--seed", "7"]) == 0
    assert "--no-example" in capsys.readouterr().out
    found = from_bytes(path.read_bytes())
    assert found.example is not None
    assert found.lineage.seed == "7"
    assert {framework, "python", "platform"} <= set(dict(found.lineage.environment))
    assert main(["capture", *words, "-o", str(path), "--no-example"]) == 0
    assert "kein Beispiel" in capsys.readouterr().out
    assert from_bytes(path.read_bytes()).example is None
