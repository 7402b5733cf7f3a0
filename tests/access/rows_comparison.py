"""Access: the comparison of a workload, and the page of the cluster model."""

from __future__ import annotations

from typing import Any, Final

from tests.access.rows import LOGIN, WORKLOAD, Act, Row, nothing, workload_args
from tests.access.world import World

_CONFIG: Final = (
    '{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, '
    '"vocab_size": 256, "max_position_embeddings": 256, "torch_dtype": "bfloat16"}'
)


def _asked(world: World) -> dict[str, Any]:
    return {
        "config": _CONFIG,
        "topology": "DISKRET-4GPU",
        "device": "",
        "gpus": 1,
        "engine": "vllm",
        "batch": 1,
        "prompt": 16,
        "answer": 16,
    }


ROWS: Final[tuple[Row, ...]] = (
    Row("cluster", LOGIN, post=Act(data=_asked, status=200, json=200), note="an answer stores nothing"),
    Row("pilot_comparison", WORKLOAD, workload_args("entwurf"), nothing),
)
