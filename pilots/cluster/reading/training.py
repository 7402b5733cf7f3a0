"""Reading training steps: Megatron, FSDP and MLPerf, each with one rule for what its publication leaves out."""

from __future__ import annotations

import re
from typing import Final

from pilots.cluster.device import Device
from pilots.cluster.reading.inputs import Inputs, Question, Refused, device_in, span_of
from pilots.cluster.shapes import Shape, find, gpt
from pilots.cluster.workloads import Case, Step

MEGATRON: Final = "Megatron"
FSDP: Final = "FSDP"
MLPERF: Final = "MLPerf Training"
NODE: Final = 8
_MPT: Final = re.compile(r"MPT-(\d+[bm])", re.IGNORECASE)
RULES: Final[dict[str, str]] = {
    MEGATRON: "Megatron: Tensor-Parallelität höchstens 8, Rest Pipeline; Mikrobatch 1; zwei Modellstücke je GPU, wo eine Pipeline ist",
    FSDP: "FSDP: ohne Angabe Mikrobatch 8 und ein Schritt der Sammlung",
    MLPERF: "MLPerf: Modellteilung aus Batch und Sammelschritten, davon höchstens 4 als Tensor-, Rest als Pipeline-Parallelität; Mikrobatch 1; FP8",
}
# the derived utilisation rows give no batch: model parallel ways and global batch of the runs they come from
MLPERF_PLANS: Final[dict[str, tuple[int, int, int]]] = {"gpt3": (16, 2048, 2048), "l405b": (128, 1152, 8192)}
WIDE_DOMAIN: Final[dict[str, int]] = {"gb200": 64}


def model_flops(shape: Shape, tokens: float, sequence: int) -> float:
    """Return the model operations of a step: 6 per parameter and token, attention not halved (MFU, not HFU)."""
    inner = shape.layers * shape.layer_params(shape.chosen) + shape.head_params
    return tokens * (6.0 * inner + 12.0 * shape.layers * shape.heads * shape.head_dim * sequence)


def megatron(given: Inputs) -> Question | Refused:
    """Return a Megatron step: time of it, or operations per second and GPU."""
    device = device_in(given.system)
    if device is None:
        return Refused("unbekannte GPU")
    hidden, sequence = given.whole("hidden"), given.whole("seq", default=_sequence(given.workload))
    vocab = given.whole("vocab", default=_vocab(given.workload))
    shape = gpt(
        "GPT", given.whole("layers"), hidden, given.whole("heads", default=max(1, hidden // 128)), vocab
    )
    gpus, batch = given.whole("gpus"), given.whole("batch")
    tensor, pipeline = _split(given)
    data = given.whole("data_parallel", default=max(1, gpus // (tensor * pipeline)))
    micro = given.whole("micro_batch", default=1)
    recompute = given.text("recompute").casefold()
    modern = device.generation != "ampere"
    whole = "full" in recompute or (not recompute and not modern)
    selective = "selective" in recompute
    work = Step(
        shape,
        sequence,
        micro,
        batch / data / micro,
        tensor,
        pipeline,
        data,
        given.whole("interleave", default=1 if pipeline == 1 else 2),
        "full" if whole else ("selective" if selective else "none"),
        sequence_parallel="sequence" in recompute or modern,
        sharded=False,
        flash=modern,
    )
    case = Case(device, span_of(device, gpus), MEGATRON, work)
    return _figure(given, case, work, batch, hardware="achieved" in given.metric and whole)


def _split(given: Inputs) -> tuple[int, int]:
    ways = given.whole("model_parallel", default=1)
    tensor = given.whole("tensor_parallel", "tp", default=min(NODE, ways))
    return tensor, given.whole("pipeline_parallel", "pp", default=max(1, ways // tensor))


def _figure(given: Inputs, case: Case, work: Step, batch: float, *, hardware: bool) -> Question | Refused:
    rule = RULES.get(case.stack, "")
    tokens = batch * work.sequence
    gpus = case.span.gpus
    flops = model_flops(work.shape, tokens, work.sequence)
    kind = "HFU" if hardware else "MFU"
    if hardware:  # HFU counts the forward pass that is computed again: 4 passes for 3
        flops *= 4 / 3
    scales: dict[str, tuple[float, bool]] = {
        "s": (1.0, False),
        "ms": (1e3, False),
        "TFLOP/s": (flops / gpus / 1e12, True),
        "tokens/s": (tokens, True),
        "tokens/s/GPU": (tokens / gpus, True),
        "samples/s": (batch, True),
    }
    if given.unit in scales:
        scale, rate = scales[given.unit]
        counts = kind if given.unit == "TFLOP/s" else ""
        return Question(case, scale, rate=rate, rule_de=rule, counts=counts)
    if given.unit == "%" and given.metric.startswith("mfu"):
        precision = "fp8" if "fp8" in given.metric else "bf16"
        return Question(
            case, 100 * flops / gpus / case.device.peak(precision), rate=True, rule_de=rule, counts=kind
        )
    return Refused(f"unbekannte Einheit {given.unit[:20]}")


def fsdp(given: Inputs) -> Question | Refused:
    """Return a step with fully sharded weights."""
    device = device_in(given.system)
    named = _MPT.search(given.text("model") or given.workload)
    shape = find(f"MPT-{named[1]}") if named else None
    if device is None or shape is None:
        return Refused("GPU oder Modell nicht bekannt")
    gpus, micro = given.whole("gpus"), given.whole("micro_batch", default=8)
    rounds = given.whole("grad_accum", default=1)
    again = given.params.get("activation_recompute") in (True, "True", "true")
    work = Step(
        shape,
        given.whole("seq", default=_sequence(given.workload)),
        micro,
        rounds,
        1,
        1,
        gpus,
        1,
        "full" if again else "none",
        sequence_parallel=False,
        sharded=True,
        flash=True,
        precision="fp8" if "fp8" in given.text("precision") else "bf16",
    )
    case = Case(device, span_of(device, gpus), FSDP, work)
    return _figure(given, case, work, float(gpus * micro * rounds), hardware=False)


def mlperf(given: Inputs) -> Question | Refused:
    """Return an MLPerf training step; the time to a quality depends on convergence and is refused."""
    if given.metric == "time_to_train":
        return Refused("die Zeit bis zur Zielqualität hängt von der Konvergenz ab")
    device = device_in(given.system)
    name = given.workload.split(" ", maxsplit=1)[0]
    shape = find(name)
    if device is None or shape is None or "lora" in name:
        return Refused("GPU oder Modell nicht bekannt")
    gpus = given.whole("accelerators", "gpus")
    ways, batch, sequence = MLPERF_PLANS["gpt3" if shape.name == "gpt3" else "l405b"]
    ways = WIDE_DOMAIN.get(device.id, ways) if shape.name != "gpt3" else ways
    batch = given.whole("global_batch_size", default=batch)
    rounds = given.whole("gradient_accumulation_steps", default=max(1, batch * ways // gpus))
    ways = max(1, round(gpus * rounds / batch))
    return _mlperf_step(given, device, shape, (gpus, batch, rounds, ways, sequence))


def _mlperf_step(
    given: Inputs, device: Device, shape: Shape, plan: tuple[int, int, int, int, int]
) -> Question | Refused:
    gpus, batch, rounds, ways, sequence = plan
    tensor = min(4, ways)
    work = Step(
        shape,
        given.whole("max_sequence_length", default=sequence),
        1,
        rounds,
        tensor,
        max(1, ways // tensor),
        max(1, gpus // ways),
        8,
        "none",
        sequence_parallel=True,
        sharded=False,
        flash=True,
        precision="fp8",
    )
    return _figure(given, Case(device, span_of(device, gpus), MLPERF, work), work, batch, hardware=False)


def _sequence(text: str) -> int:
    found = re.search(r"seq(?:uence)?\s+(\d+)", text)
    return int(found[1]) if found else 2048


def _vocab(text: str) -> int:
    found = re.search(r"vocab\s+(\d+)", text)
    return int(found[1]) if found else 51_200
