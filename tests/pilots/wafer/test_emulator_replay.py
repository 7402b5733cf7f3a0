from __future__ import annotations

import json
from typing import Any

import pytest

from pilots import replay as replays
from pilots.graph.mlp import mlp_from_text
from pilots.wafer import emulator
from pilots.wafer.machine import MACHINES, WSE_2, lab_mesh
from qms.core import canonical


def run(text: str, *, batch: int, machine: Any = WSE_2, model: Any = None) -> emulator.EmulationResult:
    graph, weights = mlp_from_text(text, **(model or {}))
    return emulator.run(graph, weights, inputs_seed=7, batch=batch, machine=machine)


@pytest.mark.parametrize("machine", [*MACHINES.values(), lab_mesh(20, 10)], ids=lambda item: item.id)
def test_replay_gives_the_same_digest(machine: Any) -> None:
    result = run("16-24-4", batch=4, machine=machine, model={"seed": 9, "activation": "tanh"})
    verdict = replays.replay(json.loads(canonical.dumps(result.manifest)))
    assert verdict == replays.ReplayVerdict(True, result.result_digest, result.result_digest)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("result_digest",), "0" * 64),
        (("inputs", "seed"), 8),
        (("machine", "sha256"), "0" * 64),
        (("program_digest",), "0" * 64),
        (("emulator_version",), "9.9"),
        (("calibration_sha256",), "0" * 64),
        (("model", "seed"), 2),
        (("prediction", "device_cycles"), 1),
    ],
)
def test_replay_is_unequal_when_the_manifest_was_changed(path: tuple[str, ...], value: Any) -> None:
    manifest = json.loads(canonical.dumps(run("16-24-4", batch=4).manifest))
    target = manifest
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    verdict = replays.replay(manifest)
    assert not verdict.equal
    assert verdict.differs


@pytest.mark.parametrize(
    "change",
    [
        {"model": {}},
        {"model": None},
        {"model": {"kind": "onnx"}},
        {"format": "other"},
        {"machine": {"id": "lab-0x9"}},
        {"machine": {"id": "lab-99999x99999"}},
        {"machine": {"id": ["wse-2"]}},
        {"inputs": {"seed": 1.5, "batch": 4}},
        {"inputs": {"seed": 1, "batch": 10**9}},
        {"inputs": {"seed": True, "batch": 4}},
        {"kernels": []},
        {"kernels": None},
        {"result_digest": None},
    ],
)
def test_replay_refuses_a_hostile_manifest_in_one_sentence(change: dict[str, Any]) -> None:
    with pytest.raises(replays.ReplayRefused) as caught:
        replays.replay(run("16-24-4", batch=4).manifest | change)
    assert caught.value.message_de.endswith(".")
