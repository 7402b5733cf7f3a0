"""Front end for the `config.json` of a Hugging Face repository: sizes only, never model code.

What a configuration leaves out has the default of its family (`families.py`); a missing type means float32, as there.
What we cannot express is refused by name. Of a model with images or sound the language part alone is read.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any, Final

from pilots.graph.config_text import Fields, read_object, refuse, shown
from pilots.graph.errors import ConfigError
from pilots.graph.families import ACTIVATIONS, FAMILIES, UNSUPPORTED, Family
from pilots.graph.geometry import LIMITS, ModelConfig, from_canonical
from pilots.graph.ir import FLOATS, DType

__all__ = ["ConfigError", "ModelConfig", "from_canonical", "parse_config"]

NESTED: Final = ("text_config", "llm_config", "language_config")
MAX_NAME: Final = 120
_INHERITED: Final = ("dtype", "torch_dtype", "tie_word_embeddings", "_name_or_path")
_SIZES: Final = ("model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
_WINDOWED: Final = ("MISTRAL", "MIXTRAL", "PHI3")
_CAUSAL: Final = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_DTYPES: Final = {f"{prefix}{item.value}": item for item in FLOATS for prefix in ("", "torch.")}


def parse_config(text: str) -> ModelConfig:
    """Return the geometry a configuration describes; raises ConfigError naming the field at fault."""
    outer = Fields(read_object(text))
    fields = _language_part(outer)
    for part in (outer, fields):
        _check_supported(part)
    code, family = _family(fields)
    sizes = _sizes(fields, family)
    moe = _experts(fields, family)
    position = _position(fields, family, sizes["head_dim"])
    attention_bias, mlp_bias = (_bias(fields, family, name) for name in ("attention_bias", "mlp_bias"))
    parallel = fields.flag("use_parallel_residual", default=True) if code == "GPT_NEOX" else family.parallel
    return ModelConfig(
        name=_name(fields, code),
        family=code,
        **sizes,
        **moe,
        **position,
        gated=family.gated,
        activation=_activation(fields, family),
        norm=family.norm,
        position=family.position,
        tied_embeddings=fields.flag("tie_word_embeddings", default=family.tied),
        attention_bias=attention_bias,
        mlp_bias=mlp_bias,
        parallel_block=parallel,
        sliding_window=_window(fields, code, sizes["layers"]),
        dtype=_dtype(fields),
        norm_epsilon=format(
            fields.fraction(family.keys["norm_epsilon"], family.norm_epsilon).normalize(), "f"
        ),
    )


def _language_part(outer: Fields) -> Fields:
    inside = [key for key in NESTED if outer.data.get(key) is not None]
    if not inside:
        return outer
    if len(inside) > 1:
        sentence = f"Die Konfiguration beschreibt mehrere Sprachteile ({', '.join(inside)}); bitte nur einen angeben."
        raise refuse("AMBIGUOUS", inside[1], "one language part", ", ".join(inside), sentence)
    fields = outer.inner(inside[0])
    for key in _SIZES[1:]:
        above, below = outer.data.get(key), fields.data.get(key)
        if above is not None and below is not None and above != below:
            sentence = (
                f"Die Angabe {key} steht außen mit {shown(above)} und in {inside[0]} mit {shown(below)}; "
                "bitte nur den Sprachteil angeben."
            )
            raise refuse("AMBIGUOUS", key, "one value", above, sentence)
    inherited = {key: outer.data[key] for key in _INHERITED if outer.data.get(key) is not None}
    return Fields(inherited | {key: item for key, item in fields.data.items() if item is not None})


def _check_supported(fields: Fields) -> None:
    for key, meaning in UNSUPPORTED:
        value = fields.data.get(key)
        if value:  # null, false, 0 and an empty list say that it is not there
            sentence = f"Das Modell verlangt {meaning} (Angabe {key}); das wird nicht unterstützt, bitte ein anderes wählen."
            method = fields.inner(key).data.get("quant_method") if key.endswith("ion_config") else None
            if method is not None:
                sentence = sentence.replace(f"Angabe {key}", f"Angabe {key}, Verfahren {shown(method)}")
            raise refuse("UNSUPPORTED", key, "absent", value, sentence)
    kinds = fields.data.get("layer_types")
    if isinstance(kinds, list) and any(kind != kinds[0] for kind in kinds):
        sentence = "Das Modell mischt verschiedene Arten von Schichten (Angabe layer_types); das wird nicht unterstützt."
        raise refuse("UNSUPPORTED", "layer_types", "one kind of layer", kinds, sentence)


def _family(fields: Fields) -> tuple[str, Family]:
    names = fields.data.get("architectures") or []
    if not isinstance(names, list) or not all(isinstance(item, str) for item in names):
        sentence = f"Die Angabe architectures muss eine Liste von Texten sein, nicht {shown(names)}."
        raise refuse("VALUE", "architectures", "a list of texts", names, sentence)
    headless = next((item for item in names if not item.endswith(_CAUSAL)), None)
    if headless is not None:
        sentence = f"Die Architektur {shown(headless)} erzeugt keinen Text; unterstützt werden nur Sprachmodelle (CausalLM)."
        raise refuse("UNSUPPORTED", "architectures", "a causal language model", headless, sentence)
    by_class = next((code for code, item in FAMILIES.items() if item.architecture in names), None)
    kind = fields.word(("model_type",), FAMILIES[by_class].model_type if by_class else "")
    code = next((code for code, item in FAMILIES.items() if item.model_type == kind), None)
    known = ", ".join(sorted(item.model_type for item in FAMILIES.values()))
    if code is None:
        sentence = f"Die Modellart {shown(kind)} in model_type ist nicht bekannt; bitte eine von diesen angeben, falls das Modell so gebaut ist: {known}."
        raise refuse("UNSUPPORTED", "model_type", f"one of {known}", kind, sentence)
    if by_class not in (None, code):
        sentence = f"Die Angaben model_type ({shown(kind)}) und architectures ({shown(names[0])}) widersprechen sich."
        raise refuse("CONTRADICTION", "architectures", FAMILIES[code].architecture, names[0], sentence)
    return code, FAMILIES[code]


def _sizes(fields: Fields, family: Family) -> dict[str, int]:
    def size(name: str, default: int | None = None) -> int:
        return fields.whole(family.keys[name], *LIMITS[name], default)

    hidden, heads = size("hidden"), size("heads")
    if heads and hidden % heads and fields.first(family.keys["head_dim"]) is None:
        sentence = f"Die Angabe {family.keys['heads'][0]} ({heads}) teilt {family.keys['hidden'][0]} ({hidden}) nicht und head_dim fehlt."
        raise refuse("CONTRADICTION", family.keys["heads"][0], f"a divisor of {hidden}", heads, sentence)
    optional_ffn = 4 * hidden if family.keys["ffn"] == ("n_inner",) else None
    return {
        "layers": size("layers"),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": size("kv_heads", heads),
        "head_dim": size("head_dim", hidden // heads),
        "ffn": size("ffn", optional_ffn),
        "vocab": size("vocab"),
        "max_context": size("max_context"),
    }


def _experts(fields: Fields, family: Family) -> dict[str, int]:
    stray = next(
        (key for key in ("num_local_experts", "num_experts", "n_routed_experts") if fields.data.get(key)),
        None,
    )
    if family.expert_keys is None:
        if stray is not None:
            sentence = f"Die Angabe {stray} verlangt Experten, die Modellart {family.model_type} hat keine; bitte model_type prüfen."
            raise refuse("CONTRADICTION", stray, "absent", fields.data[stray], sentence)
        return {"experts": 0, "experts_per_token": 0}
    if family.model_type == "qwen3_moe":
        _check_every_layer_has_experts(fields)
    count, chosen = family.expert_keys
    experts = fields.whole((count,), 1, LIMITS["experts"][1])
    return {"experts": experts, "experts_per_token": fields.whole((chosen,), 1, experts)}


def _check_every_layer_has_experts(fields: Fields) -> None:
    if fields.whole(("decoder_sparse_step",), 1, 1024, 1) != 1 or not fields.flag(
        "norm_topk_prob", default=False
    ):
        sentence = (
            "Unterstützt werden nur Modelle mit Experten in jeder Schicht (decoder_sparse_step 1) und Gewichten, "
            "die sich zu eins ergänzen (norm_topk_prob true)."
        )
        raise refuse("UNSUPPORTED", "norm_topk_prob", "true, decoder_sparse_step 1", "otherwise", sentence)


def _position(fields: Fields, family: Family, head_dim: int) -> dict[str, int]:
    if family.position == "learned":
        return {"rope_theta": 0, "rotary_dim": 0}
    scaled = fields.inner("rope_parameters")
    plain: Callable[..., int] = scaled.whole if scaled.data.get("rope_theta") is not None else fields.whole
    theta = plain(("rope_theta", "rotary_emb_base"), 1, LIMITS["rope_theta"][1], family.rope_theta)
    if family.model_type == "gptj":
        return {
            "rope_theta": theta,
            "rotary_dim": fields.whole(("rotary_dim",), 2, head_dim, min(64, head_dim)),
        }
    share = fields.fraction(
        ("partial_rotary_factor", "rotary_pct"),
        f"0.{family.partial_rotary:02d}" if family.partial_rotary < 100 else "1",
    )
    return {"rope_theta": theta, "rotary_dim": int(head_dim * share)}


def _bias(fields: Fields, family: Family, name: str) -> bool:
    default: bool = getattr(family, name)
    value = fields.flag(name, default=default)
    if name in family.fixed and value is not default:
        sentence = f"Die Angabe {name} ist bei der Modellart {family.model_type} immer {shown(default)}; bitte berichtigen."
        raise refuse("CONTRADICTION", name, shown(default), value, sentence)
    return value


def _activation(fields: Fields, family: Family) -> str:
    name = fields.word(family.keys["activation"], family.activation)
    if name not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        sentence = f"Die Aktivierung {shown(name)} in {family.keys['activation'][0]} ist nicht bekannt; möglich sind: {known}."
        raise refuse("UNSUPPORTED", family.keys["activation"][0], f"one of {known}", name, sentence)
    return ACTIVATIONS[name]


def _window(fields: Fields, code: str, layers: int) -> int:
    """Return the window every layer has; of the other families the key has no effect."""
    low, high = LIMITS["sliding_window"]
    if code in _WINDOWED:
        return fields.whole(("sliding_window",), low, high, 0)
    if not code.startswith("QWEN") or not fields.flag("use_sliding_window", default=False):
        return 0
    full = fields.whole(("max_window_layers",), 0, 2**20, 28)
    if 0 < full < layers:
        sentence = "Das Modell mischt Schichten mit und ohne Fenster (max_window_layers); das wird nicht unterstützt."
        raise refuse("UNSUPPORTED", "max_window_layers", f"0 or at least {layers}", full, sentence)
    return 0 if full else fields.whole(("sliding_window",), low, high, 4096)


def _dtype(fields: Fields) -> DType:
    name = fields.word(("dtype", "torch_dtype"), DType.FLOAT32.value)
    if name not in _DTYPES:
        known = ", ".join(item.value for item in FLOATS)
        sentence = f"Der Zahlentyp {shown(name)} wird nicht unterstützt; möglich sind: {known}."
        raise refuse("UNSUPPORTED", "torch_dtype", f"one of {known}", name, sentence)
    return _DTYPES[name]


def _name(fields: Fields, code: str) -> str:
    given: Any = fields.data.get("_name_or_path")
    last = given.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] if isinstance(given, str) else ""
    clean = "".join(item for item in unicodedata.normalize("NFC", last) if item.isprintable())
    return clean[:MAX_NAME].strip() or code
