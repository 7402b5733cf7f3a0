"""Reading serving: static batches, offline maxima, and server scenarios with limits on latency."""

from __future__ import annotations

import re
from typing import Final

from pilots.cluster.device import ITEM_BYTES, Device
from pilots.cluster.reading.inputs import Inputs, Question, Refused, device_in, span_of
from pilots.cluster.shapes import Shape, find
from pilots.cluster.workloads import Case, Offline, StaticBatch

ENGINES: Final[dict[str, str]] = {"vllm": "vLLM 2024", "tensorrt-llm": "TensorRT-LLM 2024"}
_ENGINE: Final = re.compile(r"vllm|tensorrt-llm", re.IGNORECASE)
_LENGTH: Final = re.compile(r"in=out=(\d+)")
_ISL: Final = re.compile(r"ISL/OSL\s+(\d+)/(\d+)")
MAXIMUM: Final = "TensorRT-LLM 1.0"
# MLPerf: mean tokens of prompt and answer, and the limits of a scenario (p99 of the first token, of each further one).
# The entries give neither; answers follow the benchmark's own tokens per sample, prompts are estimates from its data.
MLPERF: Final[dict[str, tuple[str, float, float]]] = {
    "gptj": ("GPT-J-6B", 850.0, 69.0),
    "llama2-70b": ("Llama2-70B", 295.0, 294.0),
    "mixtral-8x7b": ("Mixtral-8x7B", 400.0, 145.0),
    "llama3.1-405b": ("Llama3.1-405B", 9400.0, 684.0),
    "llama3_1-8b": ("Llama3.1-8B", 780.0, 128.0),
    "deepseek-r1": ("DeepSeek-R1", 800.0, 3886.0),
}
LIMITS: Final[dict[tuple[str, str], tuple[float, float]]] = {
    ("llama2-70b", "server"): (2.0, 0.2),
    ("mixtral-8x7b", "server"): (2.0, 0.2),
    ("llama3.1-405b", "server"): (6.0, 0.175),
    ("llama3_1-8b", "server"): (2.0, 0.1),
    ("deepseek-r1", "server"): (2.0, 0.08),
}
# number type of the weights by generation, as the submissions use it; one copy per this many GPUs
TYPES: Final[dict[str, str]] = {
    "blackwell": "fp4",
    "hopper": "fp8",
    "cdna3": "fp8",
    "ada": "fp8",
    "ampere": "bf16",
}
RULE: Final = "MLPerf: Längen aus dem Datensatz, Zahlentyp FP4 ab Blackwell, sonst FP8; so wenige GPUs je Kopie, dass die Gewichte höchstens 60 % belegen"
WEIGHTS_UP_TO: Final = 0.6


def static(given: Inputs) -> Question | Refused:
    """Return a static batch with its latency."""
    device = device_in(given.system)
    shape = find(given.text("model") or given.workload.split(" ", maxsplit=1)[0])
    engine = _ENGINE.search(given.text("engine") or given.workload)
    if device is None or shape is None or engine is None:
        return Refused("GPU, Modell oder Software nicht bekannt")
    length = _LENGTH.search(given.workload)
    prompt = given.whole("input_tokens", "isl", default=int(length[1]) if length else None)
    answer = given.whole("output_tokens", "osl", default=prompt)
    if shape.max_context and prompt + answer > shape.max_context:
        return Refused(f"{prompt + answer} Token sind mehr, als {shape.name} kann ({shape.max_context})")
    work = StaticBatch(shape, given.whole("batch", default=1), prompt, answer)
    gpus = given.whole("tensor_parallel", "gpus", default=1)
    case = Case(device, span_of(device, gpus), ENGINES[engine[0].casefold()], work)
    if given.unit == "s":
        return Question(case, 1.0, rate=False)
    if given.unit == "ms":
        return Question(case, 1e3, rate=False)
    if given.unit == "tokens/s":
        return Question(case, float(work.batch * (prompt + answer)), rate=True)
    return Refused(f"unbekannte Einheit {given.unit[:20]}")


def maximum(given: Inputs) -> Question | Refused:
    """Return the largest output rate of an engine without limits on latency."""
    device = device_in(given.text("gpu") or given.system)
    shape = find(given.workload.split(" offline", maxsplit=1)[0])
    lengths = _ISL.search(given.workload)
    if device is None or shape is None:
        return Refused("GPU oder Modell nicht bekannt")
    prompt = given.whole("isl", default=int(lengths[1]) if lengths else None)
    answer = given.whole("osl", default=int(lengths[2]) if lengths else None)
    weights = given.text("weights").casefold() or TYPES[device.generation]
    if weights not in ITEM_BYTES:
        return Refused(f"unbekannter Zahlentyp {weights[:20]}")
    gpus = given.whole("tensor_parallel", "gpus", default=1)
    case = Case(device, span_of(device, gpus), MAXIMUM, Offline(shape, prompt, answer, weights))
    return Question(case, 1.0, rate=True)


def mlperf(given: Inputs) -> Question | Refused:
    """Return an MLPerf inference result: offline, or a scenario with limits."""
    name, _, scenario = (given.text("model") + " " + given.text("scenario")).casefold().partition(" ")
    if not given.text("model"):
        name, _, scenario = given.workload.casefold().partition(" ")
    device = device_in(given.text("accelerator") or given.system)
    if "GH200" in given.system and "144" in given.system:
        device = device_in(given.system)
    key = next((key for key in MLPERF if name.startswith(key)), None)
    if device is None or key is None:
        return Refused(
            "unbekannte GPU" if device is None else "kein Sprachmodell, dessen Bauplan bekannt ist"
        )
    shape_name, prompt, answer = MLPERF[key]
    shape = find(shape_name)
    assert shape is not None
    if scenario == "interactive":
        return Refused(
            "Interactive: wie viele GPUs eine Kopie teilen, steht nicht im Eintrag, und davon hängt alles ab"
        )
    limit = (0.0, 0.0) if scenario == "offline" else LIMITS.get((key, scenario))
    if limit is None:
        return Refused(f"für {key} {scenario[:20]} ist keine Grenze je Token erklärt")
    gpus, weights = given.whole("accelerators", default=1), TYPES[device.generation]
    copy = _gpus_per_copy(shape, device, weights, gpus)
    scale = {"tokens/s": 1.0, "samples/s": 1.0 / answer}.get(given.unit)
    if copy is None or scale is None:
        return Refused("die Gewichte passen nicht in die GPUs des Eintrags, oder seine Einheit ist unbekannt")
    work = Offline(shape, prompt, answer, weights, max(1, gpus // copy), *limit)
    return Question(Case(device, span_of(device, copy), "MLPerf", work), scale, rate=True, rule_de=RULE)


def _gpus_per_copy(shape: Shape, device: Device, weights: str, gpus: int) -> int | None:
    needed = shape.params * ITEM_BYTES[weights] / (device.hbm_bytes * WEIGHTS_UP_TO)
    return next((count for count in (1, 2, 4, 8, 16, 32, 64) if count >= needed and count <= gpus), None)
