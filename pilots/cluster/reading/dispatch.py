"""Which reader an entry goes to: the first row whose words its workload, metric or parameters match."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pilots.cluster.errors import ClusterError
from pilots.cluster.reading import operators, serving, training
from pilots.cluster.reading.inputs import Inputs, Missing, Question, Refused

Reader = Callable[[Inputs], Question | Refused]


def _has(*words: str) -> Callable[[Inputs], bool]:
    return lambda given: any(word in f"{given.workload} {given.metric}".casefold() for word in words)


def _with(*names: str) -> Callable[[Inputs], bool]:
    return lambda given: all(name in given.params for name in names)


def _mlperf_inference(given: Inputs) -> bool:
    scenario = given.text("scenario") or given.workload.rpartition(" ")[2]
    return scenario.casefold() in {"offline", "server", "interactive", "singlestream", "multistream"}


READERS: Final[tuple[tuple[Callable[[Inputs], bool], Reader], ...]] = (
    (_has("mlperf training"), training.mlperf),
    (_mlperf_inference, serving.mlperf),
    (_has("isl/osl"), serving.maximum),
    (_has("in=out="), serving.static),
    (_with("engine", "input_tokens"), serving.static),
    (_has("fsdp"), training.fsdp),
    (_has("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"), operators.collective),
    (_has("gpt-3 layer", " layer "), operators.layer),
    (_with("m", "n", "k"), operators.gemm),
    (_with("hidden", "layers", "gpus", "batch"), training.megatron),
)


def question_of(given: Inputs) -> Question | Refused:
    """Return the case of an entry, or why it is not predicted."""
    for matches, reader in READERS:
        if matches(given):
            try:
                return reader(given)
            except Missing as missing:
                return Refused(f"die Angabe {missing} fehlt")
            except ClusterError as error:
                return Refused(error.message_de)
    return Refused("für diese Art von Messung gibt es kein Modell")
