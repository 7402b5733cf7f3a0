"""A workload graph on one GPU: parts add up, bandwidth moves the memory wall alone, weights beyond the memory are refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pilots.cluster import __main__ as main
from pilots.cluster import device
from pilots.cluster.errors import DoesNotFit
from pilots.cluster.graphs import need_bytes, operations, predict_graph
from pilots.graph.capture import to_bytes
from pilots.graph.decoder import decoder_graph
from pilots.graph.ir import DType
from pilots.graph.known_models import KNOWN
from pilots.graph.mlp import mlp_from_text
from tests.pilots.graph.captures import perceptron as captured

LLAMA_8B = next(item for item in KNOWN if item.name == "LLaMA3-8B")
LLAMA_70B = next(item for item in KNOWN if item.name == "LLaMA3-70B")


def perceptron():
    return mlp_from_text("64-256-256-8")[0]


def faster(gpu, name, factor):
    known = gpu.figures[name]
    return replace(gpu, figures=dict(gpu.figures) | {name: replace(known, value=known.value * factor)})


def test_the_parts_of_a_graph_add_up_to_its_time():
    found = predict_graph(perceptron(), device.find("a100"), batch=32)
    assert sum(found.parts.values()) == pytest.approx(found.seconds)
    assert found.lower < found.seconds < found.upper


def test_memory_bandwidth_changes_the_memory_wall_alone():
    graph = decoder_graph(LLAMA_8B, phase="decode", batch=1, context=1024)
    gpu = device.find("a100")
    before, after = (
        predict_graph(graph, item, batch=1) for item in (gpu, faster(gpu, "hbm_bytes_per_s", 0.5))
    )
    changed = {name for name in before.parts if before.parts[name] != after.parts[name]}
    assert changed == {"mem_wall"}
    assert after.parts["mem_wall"] > before.parts["mem_wall"]


def test_a_step_of_answers_waits_for_memory_and_a_prompt_computes():
    decode, prefill = (
        predict_graph(
            decoder_graph(LLAMA_8B, phase=phase, batch=1, context=1024), device.find("a100"), batch=1
        )
        for phase in ("decode", "prefill")
    )
    assert decode.parts["mem_wall"] > decode.parts["compute"]
    assert prefill.parts["compute"] > prefill.parts["mem_wall"]


def test_a_batch_multiplies_arithmetic_but_not_weights():
    one, many = operations(perceptron(), 1), operations(perceptron(), 100)
    assert [item.flops * 100 for item in one] == [item.flops for item in many]
    first_one, first_many = one[0], many[0]
    assert first_many.moved_bytes < 100 * first_one.moved_bytes
    assert first_one.product
    assert first_one.depth == 64


def test_32_bit_is_computed_as_16_and_says_so():
    found = predict_graph(perceptron(), device.find("a100"), batch=32)
    assert found.trust.state in {"EXTRAPOLIERT", "AUSSERHALB_KALIBRIERUNG"}
    assert "nicht in 16 Bit" in found.trust.reason
    half = decoder_graph(LLAMA_8B, phase="decode", batch=1, context=64, dtype=DType.BFLOAT16)
    assert "16 Bit" not in predict_graph(half, device.find("a100"), batch=1).trust.reason


def test_weights_beyond_the_memory_are_refused_with_the_smallest_number_of_gpus():
    graph = decoder_graph(LLAMA_70B, phase="decode", batch=1, context=1024)
    with pytest.raises(DoesNotFit) as refused:
        predict_graph(graph, device.find("h100"), batch=1)
    assert refused.value.needed_bytes == need_bytes(graph, 1)
    assert refused.value.smallest_gpus == 2
    assert "kleinste Aufteilung" in refused.value.message_de


@pytest.mark.parametrize(("usable_share", "fits"), [(1.0, True), (0.999, False)])
def test_the_memory_is_full_only_beyond_its_last_byte(usable_share, fits):
    graph = perceptron()
    gpu = device.find("a100")
    known = gpu.figures["hbm_bytes"]
    capacity = (need_bytes(graph, 32) + 0.5) / 0.9 * usable_share
    small = replace(gpu, figures=dict(gpu.figures) | {"hbm_bytes": replace(known, value=capacity)})
    if fits:
        assert predict_graph(graph, small, batch=32).seconds > 0
    else:
        with pytest.raises(DoesNotFit) as refused:
            predict_graph(graph, small, batch=32)
        assert refused.value.smallest_gpus == 2


def test_the_command_predicts_a_capture(tmp_path, capsys):
    path = tmp_path / "modell.wgraph"
    path.write_bytes(to_bytes(captured()))
    given = ["predict", "--kind", "graph", "--graph", str(path), "--device", "a100", "--batch", "4"]
    assert main.main([*given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["seconds"] == predict_graph(captured().graph, device.find("a100"), batch=4).seconds
    assert sum(found["parts_ms"].values()) == pytest.approx(1e3 * found["seconds"])
    assert main.main(given) == 0
    assert "A100 SXM 80 GB" in capsys.readouterr().out


@pytest.mark.parametrize("graph", ["", "fehlt.wgraph"])
def test_without_a_capture_the_command_says_one_sentence(tmp_path, capsys, monkeypatch, graph):
    monkeypatch.chdir(tmp_path)
    assert main.main(["predict", "--kind", "graph", "--graph", graph]) == 2
    assert capsys.readouterr().err.count("\n") == 1
