from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilots.graph.config_text import MAX_BYTES, MAX_DEPTH
from pilots.graph.errors import ConfigError, GraphError
from pilots.graph.ir import DType
from pilots.graph.known_models import KNOWN
from pilots.graph.model_config import ModelConfig, from_canonical, parse_config

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-05,
    "rope_theta": 500000.0,
    "rope_scaling": {"factor": 8.0, "rope_type": "llama3"},
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 128256,
}
MIXTRAL = LLAMA | {
    "architectures": ["MixtralForCausalLM"],
    "model_type": "mixtral",
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "vocab_size": 32000,
    "max_position_embeddings": 32768,
    "rope_theta": 1e6,
    "sliding_window": None,
}
GPT2: dict[str, Any] = {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
                        "vocab_size": 50257, "n_inner": None}  # fmt: skip
GPTJ = GPT2 | {"model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_layer": 28, "n_positions": 2048,
               "vocab_size": 50400, "rotary_dim": 64}  # fmt: skip
NEOX: dict[str, Any] = {"model_type": "gpt_neox", "hidden_size": 6144, "num_attention_heads": 64, "num_hidden_layers": 44,
                        "intermediate_size": 24576, "vocab_size": 50432, "max_position_embeddings": 2048,
                        "torch_dtype": "float16"}  # fmt: skip


def parse(base: dict[str, Any] = LLAMA, /, *without: str, **changed: Any) -> ModelConfig:
    data = {key: value for key, value in (base | changed).items() if key not in without}
    return parse_config(json.dumps(data))


def error_of(text: str) -> ConfigError | None:
    try:
        parse_config(text)
    except ConfigError as error:
        return error
    return None


def refused(text: str) -> ConfigError:
    error = error_of(text)
    assert error is not None
    assert isinstance(error, GraphError)
    assert error.message_de.endswith(".")
    assert error.message_de.count("\n") == 0
    assert len(error.message_de) < 400
    return error


def refused_with(base: dict[str, Any] = LLAMA, /, *without: str, **changed: Any) -> ConfigError:
    return refused(json.dumps({key: value for key, value in (base | changed).items() if key not in without}))


@pytest.mark.parametrize(
    ("base", "changed", "params"),
    [
        (LLAMA, {}, 8_030_261_248),
        (LLAMA, {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64},
         70_553_706_496),
        (LLAMA, {"hidden_size": 16384, "intermediate_size": 53248, "num_hidden_layers": 126,
                 "num_attention_heads": 128}, 405_853_388_800),
        (MIXTRAL, {}, 46_702_792_704),
        (GPT2, {}, 124_439_808),
        (GPTJ, {}, 6_050_882_784),
        (NEOX, {}, 20_554_567_680),
        (LLAMA, {"architectures": None, "model_type": "qwen2", "hidden_size": 8192, "intermediate_size": 29568,
                 "num_hidden_layers": 80, "num_attention_heads": 64, "vocab_size": 152064}, 72_706_203_648),
        (LLAMA, {"architectures": None, "model_type": "qwen3", "intermediate_size": 12288, "num_hidden_layers": 36,
                 "vocab_size": 151936, "head_dim": 128}, 8_190_735_360),
        (LLAMA, {"architectures": None, "model_type": "gemma", "hidden_size": 3072, "intermediate_size": 24576,
                 "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256,
                 "vocab_size": 256000, "hidden_act": "gelu", "tie_word_embeddings": None}, 8_537_680_896),
        (LLAMA, {"architectures": None, "model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240,
                 "num_key_value_heads": None, "partial_rotary_factor": 0.4, "hidden_act": "gelu_new",
                 "vocab_size": 51200}, 2_779_683_840),
    ],
)  # fmt: skip
def test_parameters_are_the_published_ones(
    base: dict[str, Any], changed: dict[str, Any], params: int
) -> None:
    assert parse(base, **changed).params == params


def test_llama_is_read_field_by_field() -> None:
    config = parse(_name_or_path="/models/meta-llama/Llama-3.1-8B/")
    assert config == ModelConfig(
        name="Llama-3.1-8B", family="LLAMA", layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336,
        vocab=128256, experts=0, experts_per_token=0, gated=True, activation="silu", norm="rms_norm", position="rope",
        rope_theta=500_000, tied_embeddings=False, attention_bias=False, mlp_bias=False, parallel_block=False,
        max_context=131_072, sliding_window=0, dtype=DType.BFLOAT16, norm_epsilon="0.00001", rotary_dim=128,
    )  # fmt: skip
    assert config.weight_bytes == 16_060_522_496
    assert config.kv_bytes_per_token == 2 * 32 * 1024 * 2
    assert config.params_active == config.params
    with pytest.raises(FrozenInstanceError):
        config.layers = 1  # type: ignore[misc]


def test_mixtral_counts_all_experts_and_the_active_ones_apart() -> None:
    config = parse(MIXTRAL)
    assert (config.experts, config.experts_per_token) == (8, 2)
    assert config.params_active == 12_879_925_248
    assert config.layer_params == (config.params - config.embedding_params) // 32


def test_gpt_families_have_their_own_keys_and_defaults() -> None:
    gpt2, gptj, neox = parse(GPT2), parse(GPTJ), parse(NEOX)
    assert (gpt2.ffn, gpt2.position, gpt2.tied_embeddings, gpt2.dtype) == (
        3072,
        "learned",
        True,
        DType.FLOAT32,
    )
    assert (gptj.rotary_dim, gptj.head_dim, gptj.parallel_block, gptj.attention_bias) == (
        64,
        256,
        True,
        False,
    )
    assert (neox.rotary_dim, neox.parallel_block, neox.attention_bias) == (24, True, True)
    assert not parse(NEOX, use_parallel_residual=False).parallel_block
    assert parse(GPT2, n_inner=100).ffn == 100
    assert parse(GPT2, "n_positions", n_ctx=512).max_context == 512


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        ({"num_key_value_heads": None}, "kv_heads", 32),
        ({"rope_theta": None}, "rope_theta", 10_000),
        ({"rope_theta": 1}, "rope_theta", 1),
        (
            {"rope_theta": None, "rope_parameters": {"rope_theta": 7.0, "rope_type": "llama3"}},
            "rope_theta",
            7,
        ),
        ({"torch_dtype": None, "dtype": "float16"}, "dtype", DType.FLOAT16),
        ({"torch_dtype": "torch.float32"}, "dtype", DType.FLOAT32),
        ({"torch_dtype": None}, "dtype", DType.FLOAT32),
        ({"dtype": "bfloat16"}, "dtype", DType.BFLOAT16),
        ({"head_dim": 64}, "head_dim", 64),
        ({"hidden_size": 4099, "head_dim": 128}, "hidden", 4099),
        ({"attention_bias": True}, "attention_bias", True),
        ({"mlp_bias": True}, "mlp_bias", True),
        ({"rms_norm_eps": 1e-6}, "norm_epsilon", "0.000001"),
        ({"rms_norm_eps": 1}, "norm_epsilon", "1"),
        ({"sliding_window": 4096}, "sliding_window", 0),
        (
            {"quantization_config": None, "num_experts": 0, "layer_types": ["full_attention"] * 32},
            "layers",
            32,
        ),
        ({"num_hidden_layers": 1}, "layers", 1),
        ({"num_hidden_layers": 1024}, "layers", 1024),
        ({"unknown_key": {"deep": [1, [2, [3]]]}}, "layers", 32),
        ({"architectures": []}, "family", "LLAMA"),
        ({"hidden_act": "swish"}, "activation", "silu"),
    ],
)
def test_defaults_and_variants_are_read(changed: dict[str, Any], field: str, value: object) -> None:
    assert getattr(parse(**changed), field) == value


@pytest.mark.parametrize(
    ("model_type", "changed", "window"),
    [
        ("mistral", {"sliding_window": 4096}, 4096),
        ("mistral", {"sliding_window": None}, 0),
        ("qwen2", {"sliding_window": 4096}, 0),
        ("qwen2", {"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 32}, 0),
        ("qwen2", {"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 0}, 4096),
    ],
)
def test_windows_count_where_every_layer_has_one(
    model_type: str, changed: dict[str, Any], window: int
) -> None:
    assert parse(architectures=None, model_type=model_type, **changed).sliding_window == window


@pytest.mark.parametrize("key", ["text_config", "llm_config", "language_config"])
def test_the_language_part_of_a_larger_model_is_read(key: str) -> None:
    text = {item: value for item, value in LLAMA.items() if item not in {"torch_dtype", "architectures"}}
    outer = {"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "torch_dtype": "bfloat16",
             "vision_config": {"hidden_size": 1024, "model_type": "clip_vision_model"}, key: text}  # fmt: skip
    assert parse_config(json.dumps(outer)) == parse()


@pytest.mark.parametrize(
    ("outer", "code", "field"),
    [
        ({"text_config": LLAMA, "llm_config": LLAMA}, "AMBIGUOUS", "llm_config"),
        ({"text_config": LLAMA, "hidden_size": 8192}, "AMBIGUOUS", "hidden_size"),
        ({"text_config": LLAMA, "hidden_size": 4096}, None, ""),
        ({"text_config": [LLAMA]}, "VALUE", "text_config"),
        ({"text_config": {"text_config": LLAMA}}, "UNSUPPORTED", "model_type"),
        ({"text_config": {}}, "UNSUPPORTED", "model_type"),
        (
            {"text_config": LLAMA, "quantization_config": {"quant_method": "gptq"}},
            "UNSUPPORTED",
            "quantization_config",
        ),
    ],
)
def test_nesting_is_accepted_only_where_it_is_clear(
    outer: dict[str, Any], code: str | None, field: str
) -> None:
    if code is None:
        assert parse_config(json.dumps(outer)) == parse()
        return
    error = refused(json.dumps(outer))
    assert (error.code, error.field) == (code, field)


@pytest.mark.parametrize("key", [
    "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size",
    "max_position_embeddings",
])  # fmt: skip
@pytest.mark.parametrize("value", [
    0, -1, 1.5, "4096", True, False, [], {}, [4096], 10**9, 1e300, 2**63, "\u0664\u0660", 1e-300,
])  # fmt: skip
def test_sizes_that_are_none_are_refused_with_field_and_value(key: str, value: object) -> None:
    error = refused_with(**{key: value})
    assert (error.code, error.field) == ("VALUE", key)
    assert key in error.message_de


@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_sizes_that_are_missing_are_named(key: str) -> None:
    error = refused_with(LLAMA, key)
    assert (error.code, error.field) == ("MISSING", key)
    assert error.message_de == f"In der Konfiguration fehlt die Angabe {key}; bitte ergänzen."


@pytest.mark.parametrize(
    ("changed", "code", "field"),
    [
        ({"num_attention_heads": 33}, "CONTRADICTION", "num_attention_heads"),
        ({"num_key_value_heads": 5}, "CONTRADICTION", "num_key_value_heads"),
        ({"num_key_value_heads": 64}, "CONTRADICTION", "num_key_value_heads"),
        ({"num_key_value_heads": 0}, "VALUE", "num_key_value_heads"),
        ({"head_dim": 127}, "CONTRADICTION", "rotary_dim"),
        ({"head_dim": "128"}, "VALUE", "head_dim"),
        ({"num_experts": 8}, "CONTRADICTION", "num_experts"),
        ({"num_local_experts": 8, "num_experts_per_tok": 2}, "CONTRADICTION", "num_local_experts"),
        ({"dtype": "float16"}, "CONTRADICTION", "torch_dtype"),
        ({"architectures": ["MistralForCausalLM"]}, "CONTRADICTION", "architectures"),
        ({"architectures": ["LlamaForSequenceClassification"]}, "UNSUPPORTED", "architectures"),
        ({"architectures": "LlamaForCausalLM"}, "VALUE", "architectures"),
        ({"architectures": [1]}, "VALUE", "architectures"),
        ({"model_type": "falcon", "architectures": None}, "UNSUPPORTED", "model_type"),
        ({"model_type": 7}, "VALUE", "model_type"),
        ({"model_type": None, "architectures": None}, "UNSUPPORTED", "model_type"),
        ({"hidden_act": "quick_gelu"}, "UNSUPPORTED", "hidden_act"),
        ({"hidden_act": 1}, "VALUE", "hidden_act"),
        ({"torch_dtype": "float8_e4m3fn"}, "UNSUPPORTED", "torch_dtype"),
        ({"torch_dtype": "int32"}, "UNSUPPORTED", "torch_dtype"),
        ({"rms_norm_eps": 0}, "VALUE", "rms_norm_eps"),
        ({"rms_norm_eps": -1e-5}, "VALUE", "rms_norm_eps"),
        ({"rms_norm_eps": "1e-5"}, "VALUE", "rms_norm_eps"),
        ({"rms_norm_eps": True}, "VALUE", "rms_norm_eps"),
        ({"rope_theta": 0}, "VALUE", "rope_theta"),
        ({"rope_theta": 0.5}, "VALUE", "rope_theta"),
        ({"rope_parameters": [1]}, "VALUE", "rope_parameters"),
        ({"tie_word_embeddings": "false"}, "VALUE", "tie_word_embeddings"),
        ({"tie_word_embeddings": 0}, "VALUE", "tie_word_embeddings"),
        ({"attention_bias": 1}, "VALUE", "attention_bias"),
        ({"partial_rotary_factor": 2}, "VALUE", "partial_rotary_factor"),
        ({"partial_rotary_factor": 1e-9}, "CONTRADICTION", "rope_theta"),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, "UNSUPPORTED", "quantization_config"),
        ({"kv_lora_rank": 512}, "UNSUPPORTED", "kv_lora_rank"),
        ({"final_logit_softcapping": 30.0}, "UNSUPPORTED", "final_logit_softcapping"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "UNSUPPORTED", "layer_types"),
        ({"is_encoder_decoder": True}, "UNSUPPORTED", "is_encoder_decoder"),
    ],
)
def test_contradictions_and_unsupported_parts_are_refused_by_name(
    changed: dict[str, Any], code: str, field: str
) -> None:
    error = refused_with(**changed)
    assert (error.code, error.field) == (code, field)


@pytest.mark.parametrize(
    ("changed", "code", "field"),
    [
        ({"num_experts_per_tok": None}, "MISSING", "num_experts_per_tok"),
        ({"num_experts_per_tok": 9}, "VALUE", "num_experts_per_tok"),
        ({"num_experts_per_tok": 0}, "VALUE", "num_experts_per_tok"),
        ({"num_local_experts": None}, "MISSING", "num_local_experts"),
        ({"num_local_experts": 10**6}, "VALUE", "num_local_experts"),
        ({"attention_bias": True}, "CONTRADICTION", "attention_bias"),
        ({"n_shared_experts": 1}, "UNSUPPORTED", "n_shared_experts"),
    ],
)
def test_experts_without_their_numbers_are_refused(changed: dict[str, Any], code: str, field: str) -> None:
    error = refused_with(MIXTRAL, **changed)
    assert (error.code, error.field) == (code, field)


@pytest.mark.parametrize(
    "changed", [{"norm_topk_prob": False}, {"norm_topk_prob": True, "decoder_sparse_step": 2}]
)
def test_experts_in_some_layers_or_without_sum_one_are_refused(changed: dict[str, Any]) -> None:
    base = MIXTRAL | {
        "architectures": None,
        "model_type": "qwen3_moe",
        "num_experts": 8,
        "moe_intermediate_size": 768,
    }
    assert parse(base, norm_topk_prob=True, mlp_only_layers=[]).ffn == 768
    assert refused_with(base, **changed).field == "norm_topk_prob"
    assert refused_with(base, norm_topk_prob=True, mlp_only_layers=[0]).field == "mlp_only_layers"


def test_windows_in_some_layers_are_refused() -> None:
    base = LLAMA | {
        "architectures": None,
        "model_type": "qwen2",
        "use_sliding_window": True,
        "sliding_window": 4096,
    }
    assert refused_with(base, max_window_layers=28).field == "max_window_layers"
    assert refused_with(base).field == "max_window_layers"


def test_compressed_attention_is_named_before_the_model_and_its_quantisation() -> None:
    error = refused_with(model_type="deepseek_v3", architectures=["DeepseekV3ForCausalLM"], kv_lora_rank=512,
                         quantization_config={"quant_method": "fp8"})  # fmt: skip
    assert error.message_de == (
        "Das Modell verlangt die komprimierte Aufmerksamkeit (MLA) (Angabe kv_lora_rank); "
        "das wird nicht unterstützt, bitte ein anderes wählen."
    )


def test_quantised_models_are_named_with_their_method() -> None:
    assert (
        "quantization_config, Verfahren „fp8“"
        in refused_with(quantization_config={"quant_method": "fp8"}).message_de
    )
    assert refused_with(quantization_config=7).code == "VALUE"


def nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "NOT_JSON"),
        ("{", "NOT_JSON"),
        ("hidden_size: 4096", "NOT_JSON"),
        ("{'hidden_size': 1}", "NOT_JSON"),
        ('{"a": 1,}', "NOT_JSON"),
        ("\x00", "NOT_JSON"),
        ("null", "NOT_AN_OBJECT"),
        ("[1]", "NOT_AN_OBJECT"),
        ('"text"', "NOT_AN_OBJECT"),
        ("1" * 5000, "NUMBER"),
        ("\ufeff{}", "BOM"),
        ('{"a": 1, "a": 1}', "DUPLICATE_KEY"),
        ('{"text_config": {"a": 1, "a": 2}}', "DUPLICATE_KEY"),
        ('{"a": NaN}', "NUMBER"),
        ('{"a": Infinity}', "NUMBER"),
        ('{"a": -Infinity}', "NUMBER"),
        ('{"a": ' + "9" * 5000 + "}", "NUMBER"),
        ('{"a": 1e' + "9" * 40 + "}", "NUMBER"),
        (nested(MAX_DEPTH + 1), "TOO_DEEP"),
        (nested(20_000), "TOO_DEEP"),
        ("[" * 100_000, "TOO_DEEP"),
        ('{"a": "' + "x" * MAX_BYTES + '"}', "TEXT_TOO_LONG"),
        ('{"a": "' + "ä" * (MAX_BYTES // 2) + '"}', "TEXT_TOO_LONG"),
        ('{"a": "\ud800"}', "UNSUPPORTED"),
    ],
)
def test_hostile_texts_are_refused_once_and_clearly(text: str, code: str) -> None:
    assert refused(text).code == code


def test_texts_at_the_limits_are_read() -> None:
    body = json.dumps(LLAMA)[:-1]
    filled = body + ', "filler": "' + "x" * (MAX_BYTES - len(body) - 15) + '"}'
    assert len(filled) == MAX_BYTES
    assert parse_config(filled) == parse()
    assert parse_config(body + f', "a": {nested(MAX_DEPTH - 1)}' + "}") == parse()
    assert refused(body + f', "a": {nested(MAX_DEPTH)}' + "}").code == "TOO_DEEP"


@pytest.mark.parametrize("exponent", ["999999999", "-999999999", "400", "-400"])
def test_huge_exponents_are_refused_at_once(exponent: str) -> None:
    for key in ("rope_theta", "rms_norm_eps", "sliding_window"):
        error = refused(json.dumps(LLAMA | {key: "@", "model_type": "mistral", "architectures": None})
                        .replace('"@"', f"1e{exponent}"))  # fmt: skip
        assert error.field == key


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)),
       st.sampled_from(sorted(LLAMA)))  # fmt: skip
def test_any_value_in_any_field_gives_a_config_or_one_clear_error(value: object, key: str) -> None:
    data = json.dumps(LLAMA | {key: value})
    error = error_of(data)
    assert error is None or (error.message_de.endswith(".") and len(error.message_de) < 400)


@given(st.text(max_size=200))
def test_any_text_is_refused_clearly(text: str) -> None:
    assert refused(text).code


@pytest.mark.parametrize("path", [None, 7, "", "/", "a/b\\c", "x" * 500, "\ud800\u0301e", "Modell\n\x1b[31m"])
def test_names_are_short_printable_and_canonical(path: object) -> None:
    config = parse(_name_or_path=path)
    assert 1 <= len(config.name) <= 120
    assert config.name.isprintable()
    assert from_canonical(config.canonical_text()) == config


@pytest.mark.parametrize("config", KNOWN, ids=lambda item: item.name)
def test_canonical_text_round_trips(config: ModelConfig) -> None:
    assert from_canonical(config.canonical_text()) == config


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "float64"}, {"dtype": None}, {"layers": "32"}, {"layers": True}, {"layers": 0}, {"heads": 10**9},
        {"gated": 1}, {"name": 5}, {"norm_epsilon": "1e-5"}, {"norm_epsilon": "0.0"}, {"norm_epsilon": "nan"},
        {"family": "OTHER"}, {"activation": "tanh"}, {"norm": "none"}, {"position": "alibi"}, {"rotary_dim": 256},
        {"rotary_dim": 0}, {"rope_theta": 0}, {"kv_heads": 7}, {"experts": 8}, {"experts_per_token": 2},
        {"experts": 8, "experts_per_token": 2, "mlp_bias": True}, {"surplus": 1},
    ],
)  # fmt: skip
def test_a_changed_canonical_text_is_refused(change: dict[str, Any]) -> None:
    text = json.dumps(parse().to_json() | change)
    with pytest.raises(ConfigError) as caught:
        from_canonical(text)
    assert caught.value.message_de.endswith(".")
    with pytest.raises(ConfigError):
        from_canonical(
            json.dumps({key: value for key, value in parse().to_json().items() if key != "layers"})
        )
