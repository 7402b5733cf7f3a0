"""The page "GPU-Cluster" through HTTP: the answer, the chain of the source text, refusals with the smallest plan."""

from __future__ import annotations

import html
import json
import re
from typing import Any, Final

import pytest
from django.urls import reverse

from pilots.catalog import cluster, read_config
from pilots.cluster.topology import Edit
from qms.core import formats
from tests.pilots.test_emulator_pages import LLAMA_8B, LLAMA_70B, errors, nothing_stored, text_of
from tests.walk import JSON, World, world

__all__ = ["world"]
STAGE = "house"
pytestmark = pytest.mark.django_db

ASKED: Final = {
    "topology": "DISKRET-4GPU",
    "device": "",
    "gpus": "4",
    "engine": "vllm",
    "batch": "8",
    "prompt": "1024",
    "answer": "512",
}


def ask(world: World, config: Any = LLAMA_8B, *, status: int = 200, **changes: Any) -> str:
    with nothing_stored():
        sent = ASKED | {"config": text_of(config)} | changes
        answer = world.browser("wo01").post(reverse("cluster"), sent)
    assert answer.status_code == status
    return html.unescape(answer.content.decode().replace("\u00ad", "")).replace("\u00a0", " ")


def expected(**changes: Any) -> cluster.ClusterAnswer:
    given = {"gpus": 4, "batch": 8, "prompt": 1024, "answer": 512} | changes
    config = read_config(text_of(LLAMA_8B))
    return cluster.answer(cluster.ClusterAsked(config, "DISKRET-4GPU", "", engine="vllm", **given))


def test_the_answer_says_tempo_interval_state_and_causes(world: World) -> None:
    page = ask(world)
    tokens = cluster.figures(expected())["tokens"]
    shown = f"{round(tokens.metric.value):,}".replace(",", ".")
    assert f"Llama-3.1-8B auf 4 × H100 SXM: {shown} Token/s" in page
    assert tokens.state.reason_de in page
    assert "EMULIERT" in page
    for text in ("Warten auf Speicher (HBM)", "Netz zwischen GPUs", "KV-Cache bei voller Länge, je GPU"):
        assert text in page


def test_the_parts_add_up_to_the_whole(world: World) -> None:
    found = expected()
    total = sum(item.metric.value for item in cluster.parts(found.whole).values())
    assert float(total) == pytest.approx(1e3 * found.whole.seconds, rel=1e-4)


def test_the_chain_of_the_source_text_is_drawn_link_by_link(world: World) -> None:
    page = html.unescape(world.browser("wo01").get(reverse("cluster")).content.decode()).replace(
        "\u00a0", " "
    )
    assert "führt über 3 Verbindungen (PCIe 5 x16, InfiniBand NDR, PCIe 5 x16)" in page
    assert "höchstens 50 GB/s in einer Richtung, zusammen 4 µs Latenz" in page
    wide = re.search(r'<svg class="chart__wide".*?</svg>', page, re.DOTALL).group(0)
    words = re.findall(r"<text[^>]*>([^<]+)</text>", wide)
    assert [word for word in words if word.startswith("GPU")] == ["GPU 0", "GPU 1", "GPU 2", "GPU 3"]
    assert [word for word in words if word.startswith(("PCIe", "Infini"))] == [
        "PCIe 5 x16",
        "InfiniBand NDR",
        "PCIe 5 x16",
    ]
    assert len(re.findall(r"M[\d.]+ [\d.]+h", wide)) == 3


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ("DISKRET-4GPU-NVLINK", "NVLink 4, InfiniBand NDR, NVLink 4"),
        ("GPU-BESTAND-32", "Knoten 3"),
        ("GB200-NVL72", "GPU 71"),
        ("GPU-MIKRO-2", "GPU 1"),
    ],
)
def test_every_profile_is_drawn(world: World, profile: str, words: str) -> None:
    assert words in ask(world, topology=profile, gpus="2")


def test_own_numbers_of_a_link_change_the_answer_and_are_estimates(world: World) -> None:
    page = ask(world, local_gbytes_s="450", local_us="1", remote_gbytes_s="0,5")
    assert "0,5 GB/s" in page
    assert "GESCHÄTZT" in page
    slow = expected(local=Edit(450e9, 1e-6), remote=Edit(0.5e9))
    assert slow.whole.parts["net_serialisation"] > expected().whole.parts["net_serialisation"]
    assert slow.whole.parts["mem_wall"] == expected().whole.parts["mem_wall"]
    shown = formats.metric_value(cluster.figures(slow)["tokens"].metric).replace("\u00a0", " ")
    assert shown in page


def test_a_plan_beyond_the_memory_is_refused_with_the_smallest_that_fits(world: World) -> None:
    said = errors(ask(world, LLAMA_70B, gpus="1", status=422))
    assert len(said) == 1
    assert "passt nicht in den Speicher" in said[0]
    assert "braucht 4 GPUs" in said[0]
    assert "Llama" in ask(world, LLAMA_70B, gpus="4")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"gpus": "5"}, "Die Topologie DISKRET-4GPU hat 4 GPUs, der Plan verlangt 5."),
        ({"prompt": "131072"}, "länger als der Kontext des Modells"),
        ({"config": ""}, "Bitte fügen Sie die config.json ein"),
        ({"config": "{"}, "config.json"),
        ({"topology": "ANDERE"}, "ANDERE"),
        ({"batch": "0"}, "Anfragen zugleich"),
        ({"local_us": "0"}, "Latenz im Knoten"),
        ({"remote_gbytes_s": "nan"}, "Bandbreite zwischen den Knoten"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(
    world: World, changes: dict[str, str], sentence: str
) -> None:
    said = errors(ask(world, status=422, **changes))
    assert any(sentence in text for text in said)


def test_machines_get_figures_with_axes_and_state(world: World) -> None:
    sent = ASKED | {"config": text_of(LLAMA_8B)}
    answer = world.browser("wo01").post(reverse("cluster"), sent, headers=JSON)
    found = json.loads(answer.content)
    keys = [row["key"] for row in found["figures"]]
    assert keys[:4] == ["throughput_tokens_s", "ttft_ms", "tpot_ms", "e2e_latency_ms"]
    assert {row["axes"]["provenance"] for row in found["figures"]} == {"EMULIERT"}
    assert {row["state"] for row in found["figures"]} == {"EXTRAPOLIERT"}


def test_the_emulator_leads_to_the_cluster_and_back(world: World) -> None:
    browser = world.browser("wo01")
    assert reverse("cluster") in browser.get(reverse("emulator")).content.decode()
    assert reverse("emulator") in browser.get(reverse("cluster")).content.decode()
