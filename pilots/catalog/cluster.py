"""What a model would do on GPUs: a question of a person, answered by the cluster model. Nothing is stored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pilots.catalog.figures import COUNTED, EMULATED, PUBLISHED, Figure, State, emulated, plain
from pilots.catalog.whatif import NotAnswered
from pilots.cluster import device as devices
from pilots.cluster import topology as topologies
from pilots.cluster.constants import constants, record
from pilots.cluster.costs import memory as memories
from pilots.cluster.costs import serving
from pilots.cluster.costs.terms import PARTS, Terms
from pilots.cluster.device import DEVICES, Device
from pilots.cluster.errors import ClusterError
from pilots.cluster.graphs import need_bytes, predict_graph
from pilots.cluster.predict import Prediction, predict
from pilots.cluster.reading.serving import ENGINES
from pilots.cluster.shapes import Shape, of_config
from pilots.cluster.topology import TOPOLOGIES, Edit, Kind, Link, Topology
from pilots.cluster.validity import Trust
from pilots.cluster.workloads import Case, StaticBatch
from pilots.graph.ir import Graph
from pilots.graph.model_config import ModelConfig
from pilots.wafer.costs.terms import Span
from qms.core import canonical
from qms.core.values import Metric, Unit

__all__ = [
    "DEVICES",
    "ENGINES",
    "FIRST",
    "LARGEST",
    "TOPOLOGIES",
    "ClusterAnswer",
    "ClusterAsked",
    "Device",
    "Edit",
    "Kind",
    "Link",
    "Topology",
    "answer",
    "device_named",
    "figures",
    "memory",
    "metrics",
    "note",
    "on_device",
    "parts",
    "profiles",
    "provenance",
    "state_of",
]
LARGEST: Final = 2**20  # requests at once, and tokens of a prompt or an answer
FIRST: Final = "DISKRET-4GPU"
UNCHANGED: Final = Edit()


@dataclass(frozen=True, slots=True)
class ClusterAsked:
    """The question: model, profile with the numbers a person changed, GPU ("" = that of the profile), GPUs that share
    the model, software, requests at once, tokens of prompt and answer.
    """

    config: ModelConfig
    topology_id: str
    device_id: str
    gpus: int
    engine: str
    batch: int
    prompt: int
    answer: int
    local: Edit = UNCHANGED
    remote: Edit = UNCHANGED

    @property
    def topology(self) -> Topology:
        """The profile with the changed numbers; raises NotAnswered."""
        try:
            return topologies.find(self.topology_id).edited(self.local, self.remote)
        except ClusterError as error:
            raise NotAnswered(error.message_de) from error

    @property
    def device(self) -> Device:
        """The GPU; raises NotAnswered."""
        try:
            return devices.find(self.device_id or self.topology.device)
        except ClusterError as error:
            raise NotAnswered(error.message_de) from error


@dataclass(frozen=True, slots=True)
class ClusterAnswer:
    """Times of a batch from first to last token, of its prompts and of one step, each with the parts that add up to it."""

    asked: ClusterAsked
    case: Case
    whole: Prediction
    prompt: Prediction
    step: Prediction

    @property
    def shape(self) -> Shape:
        """Sizes of the model."""
        work = self.case.workload
        assert isinstance(work, StaticBatch)
        return work.shape

    @property
    def state(self) -> State:
        """What the times are worth (EM-04)."""
        return state_of(self.whole.trust)


def answer(asked: ClusterAsked) -> ClusterAnswer:
    """Return what serving the model takes; raises NotAnswered: need, capacity and smallest plan, or what is not known."""
    shape = of_config(asked.config)
    if shape.max_context and asked.prompt + asked.answer > shape.max_context:
        sentence = f"Eingabe und Antwort sind zusammen länger als der Kontext des Modells ({shape.max_context} Token)."
        raise NotAnswered(sentence)
    work = StaticBatch(shape, asked.batch, asked.prompt, asked.answer)
    try:
        case = Case(asked.device, asked.topology.span(asked.gpus), ENGINES[asked.engine], work)
        whole = predict(case)
    except ClusterError as error:
        raise NotAnswered(error.message_de) from error
    known = constants()[case.key]
    columns = serving.columns([case])
    prompt = _part(serving.prompt_terms(columns, known), whole.trust)
    return ClusterAnswer(asked, case, whole, prompt, _part(serving.step_terms(columns, known), whole.trust))


def figures(found: ClusterAnswer) -> dict[str, Figure]:
    """Return the figures people ask for first; keys and units are those of the wafer's (S001)."""
    work, state = found.asked, found.state
    rate = _span(found.whole).inverse(work.batch * work.answer)
    milliseconds = {
        "first_token": ("ttft_ms", found.prompt),
        "step": ("tpot_ms", found.step),
        "whole": ("e2e_latency_ms", found.whole),
    }
    shown = {"tokens": emulated("throughput_tokens_s", rate, Unit.TOKENS_PER_SECOND, state)}
    shown |= {
        name: emulated(key, _span(item).times(1e3), Unit.MILLISECONDS, state)
        for name, (key, item) in milliseconds.items()
    }
    return shown | {
        "comm_share": plain_share("comm_share", found.whole.comm_share, state),
        "mem_stall_share": plain_share("mem_stall_share", found.whole.mem_stall_share, state),
    }


def plain_share(key: str, value: float, state: State) -> Figure:
    """Return a share of the model; its interval is not published, so it carries none."""
    metric = plain(key, value, Unit.RATIO, EMULATED)
    return Figure(replace(metric, note="Anteil am Mittelwert der Vorhersage, ohne eigenes Intervall"), state)


def parts(found: Prediction) -> dict[str, Figure]:
    """Return the milliseconds of a prediction by cause; they add up to it."""
    factor, state = found.trust.factor, state_of(found.trust)
    return {
        name: emulated(
            f"{name}_ms",
            Span(found.parts[name], found.parts[name] / factor, found.parts[name] * factor).times(1e3),
            Unit.MILLISECONDS,
            state,
        )
        for name in PARTS
    }


def memory(found: ClusterAnswer) -> dict[str, Metric]:
    """Return the balance of one GPU in bytes: capacity, what a plan may use, weights, cache, what is left."""
    case, work = found.case, found.case.workload
    assert isinstance(work, StaticBatch)
    usable = memories.usable_bytes(case.device)
    need = memories.serving_bytes(work, case.span.gpus)
    weights = memories.weight_bytes(work.shape, work.weights) / case.span.gpus
    return {
        "capacity": plain("hbm_bytes", case.device.hbm_bytes, Unit.BYTES, PUBLISHED),
        "usable": plain("usable_bytes", usable, Unit.BYTES, COUNTED),
        "weights": plain("weight_bytes", weights, Unit.BYTES, COUNTED),
        "cache": plain("cache_bytes", need - weights, Unit.BYTES, COUNTED),
        "need": plain("need_bytes", need, Unit.BYTES, COUNTED),
        "free": plain("free_bytes", usable - need, Unit.BYTES, COUNTED),
    }


def on_device(graph: Graph, device_id: str, *, batch: int) -> Prediction:
    """Return one pass of a workload's graph on one GPU; raises NotAnswered where it does not fit or is not known."""
    try:
        return predict_graph(graph, devices.find(device_id), batch=batch)
    except ClusterError as error:
        raise NotAnswered(error.message_de) from error


def metrics(graph: Graph, found: Prediction, *, batch: int) -> tuple[Metric, ...]:
    """Return a pass on a GPU under the keys the wafer's target run has (S001)."""
    state, whole = state_of(found.trust), _span(found)
    latency = emulated("e2e_latency_ms", whole.times(1e3), Unit.MILLISECONDS, state).metric
    return (
        emulated("throughput_samples_s", whole.inverse(batch), Unit.SAMPLES_PER_SECOND, state).metric,
        *(replace(latency, percentile=name) for name in ("p50", "p95", "p99")),
        plain("peak_memory_bytes", need_bytes(graph, batch), Unit.BYTES, COUNTED),
    )


def device_named(texts: Sequence[str]) -> Device | None:
    """Return the GPU of the catalogue that one of these texts names, the longest name first; or None."""
    given = _plain(" | ".join(texts))
    return next((item for name, item in _NAMES if re.search(rf"\b{re.escape(name)}\b", given)), None)


def _plain(text: str) -> str:
    return re.sub(r"[-_\s]+", " ", text.casefold())


_NAMES: Final = sorted(
    ((_plain(name), item) for item in DEVICES.values() for name in (item.id, item.name, *item.aliases)),
    key=lambda pair: -len(pair[0]),
)


def state_of(trust: Trust) -> State:
    """Return what a prediction is worth."""
    return State(trust.state, trust.reason)


def provenance() -> dict[str, str]:
    """Return what the figures rest on (EM-02): digest of the calibration and how many keys it has."""
    return {"calibration_sha256": canonical.digest(record()), "keys": str(len(record()["keys"]))}


def note() -> str:
    """Return what every answer says about itself."""
    return (
        "Rechenmodell eines GPU-Clusters, kalibriert an veröffentlichten Messungen anderer; "
        "es ersetzt keine Messung Ihrer Plattform."
    )


def profiles() -> tuple[Topology, ...]:
    """Return the profiles that may be asked for."""
    return tuple(TOPOLOGIES.values())


def _part(terms: Terms, trust: Trust) -> Prediction:
    found = {name: float(terms.part(name)[0]) for name in PARTS}
    return Prediction(sum(found.values()), found, trust)


def _span(found: Prediction) -> Span:
    return Span(found.seconds, found.lower, found.upper)
