from __future__ import annotations

from dataclasses import replace

import pytest

from pilots.graph.known_models import KNOWN, find


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("LLaMA3-8B", 8_030_261_248),
        ("llama 3 8b", 8_030_261_248),
        ("LLaMA2-13B", 13_015_864_320),
        ("CodeLLaMA-34B(layers scaled)", 33_743_970_304),
        ("QWen2-72B (layers scaled)", 72_706_203_648),
        ("Llama3.1-405B", 405_853_388_800),
        ("Meta-Llama-3.1-70B", 70_553_706_496),
        ("Llama_3.3_70B", 70_553_706_496),
        ("mixtral 8x7b", 46_702_792_704),
        ("Mistral-7B", 7_241_732_096),
        ("GPT-J 6B", 6_050_882_784),
        ("GPT-3 111M", 111_050_496),
        ("GPT2", 124_439_808),
    ],
)
def test_known_models_are_found_by_any_usual_spelling(name: str, params: int) -> None:
    config = find(name)
    assert config is not None
    assert config.params == params


@pytest.mark.parametrize(
    "name", ["", "()", "gpt-oss-120B", "BERT-large", "Llama3.2-8B", "LLaMA3-8Bx", "x" * 10**6]
)
def test_unknown_models_are_not_guessed(name: str) -> None:
    assert find(name) is None


def test_known_names_are_distinct_and_a_known_model_can_be_scaled() -> None:
    assert len({item.name for item in KNOWN}) == len(KNOWN)
    scaled = replace(KNOWN[0], layers=8)
    assert scaled.params == KNOWN[0].params - 24 * KNOWN[0].layer_params
