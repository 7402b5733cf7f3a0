"""The geometry of a language model: sizes and building plan, and what follows from them."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Final

from pilots.graph.config_text import read_object, refuse, shown
from pilots.graph.errors import ConfigError
from pilots.graph.families import ACTIVATIONS, FAMILIES, Family
from pilots.graph.ir import DType
from qms.core import canonical

# field -> smallest and largest value
LIMITS: Final[dict[str, tuple[int, int]]] = {
    "layers": (1, 1024),
    "hidden": (1, 2**17),
    "heads": (1, 4096),
    "kv_heads": (1, 4096),
    "head_dim": (1, 4096),
    "ffn": (1, 2**20),
    "vocab": (1, 2**22),
    "experts": (0, 1024),
    "experts_per_token": (0, 1024),
    "rope_theta": (0, 10**12),
    "max_context": (1, 2**27),
    "sliding_window": (0, 2**27),
    "rotary_dim": (0, 4096),
}
_TEXTS: Final = ("name", "family", "activation", "norm", "position", "norm_epsilon")
_FLAGS: Final = ("gated", "tied_embeddings", "attention_bias", "mlp_bias", "parallel_block")
_DECIMAL: Final = re.compile(r"(?=.*[1-9])[0-9]{1,2}(\.[0-9]{1,40})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Sizes and building plan of a decoder-only language model; creating one that cannot be raises ConfigError.

    experts, experts_per_token: 0 if dense. ffn: width between the products of one expert. rotary_dim: features of a
    head that turn with the position, 0 for learned positions. sliding_window: 0 = none. norm_epsilon: decimal text.
    Scaling of rope for long contexts changes angles, no size: it is not kept.
    """

    name: str
    family: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    experts: int
    experts_per_token: int
    gated: bool
    activation: str
    norm: str
    position: str
    rope_theta: int
    tied_embeddings: bool
    attention_bias: bool
    mlp_bias: bool
    parallel_block: bool
    max_context: int
    sliding_window: int
    dtype: DType
    norm_epsilon: str
    rotary_dim: int = 0

    def __post_init__(self) -> None:
        _check_kinds(self)
        _check_limits(self)
        _check_together(self)

    @property
    def traits(self) -> Family:
        """What the family adds to the fields."""
        return FAMILIES[self.family]

    @property
    def query_width(self) -> int:
        """Features of all query heads."""
        return self.heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Features of all key heads, and of all value heads."""
        return self.kv_heads * self.head_dim

    @property
    def norm_params(self) -> int:
        """Parameters of one norm over the hidden features."""
        return self.hidden * (2 if self.norm == "layer_norm" else 1)

    @property
    def attention_params(self) -> int:
        """Parameters of the attention of one layer."""
        weights = self.hidden * (2 * self.query_width + 2 * self.kv_width)
        first = self.query_width + 2 * self.kv_width
        last = self.hidden if self.traits.output_bias else 0
        biases = first + last if self.attention_bias else 0
        return weights + biases + (2 * self.head_dim if self.traits.query_key_norm else 0)

    @property
    def expert_params(self) -> int:
        """Parameters of one expert, or of the only feed-forward part."""
        first = 2 if self.gated else 1
        biases = first * self.ffn + self.hidden if self.mlp_bias else 0
        return (first + 1) * self.hidden * self.ffn + biases

    @property
    def layer_params(self) -> int:
        """Parameters of one layer, all experts included."""
        return self._layer(self.experts)

    @property
    def embedding_params(self) -> int:
        """Parameters outside the layers: tables, last norm, output."""
        positions = self.max_context * self.hidden if self.position == "learned" else 0
        head = 0 if self.tied_embeddings else self.vocab * self.hidden
        bias = self.vocab if self.traits.head_bias else 0
        return self.vocab * self.hidden + positions + self.norm_params + head + bias

    @property
    def params(self) -> int:
        """All parameters."""
        return self.embedding_params + self.layers * self.layer_params

    @property
    def params_active(self) -> int:
        """Parameters one token meets: of the experts only the chosen ones; the tables count in full."""
        return self.embedding_params + self.layers * self._layer(self.experts_per_token)

    @property
    def weight_bytes(self) -> int:
        """Bytes of all parameters in the type of the model."""
        return self.params * self.dtype.item_bytes

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes one token of context takes in the caches of all layers."""
        return 2 * self.layers * self.kv_width * self.dtype.item_bytes

    def _layer(self, experts: int) -> int:
        router = self.hidden * self.experts
        norms = self.traits.norms * self.norm_params
        return self.attention_params + max(experts, 1) * self.expert_params + router + norms

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form; `from_canonical` reads it back."""
        return asdict(self) | {"dtype": self.dtype.value}

    def canonical_text(self) -> str:
        """Return the canonical form as text."""
        return canonical.dumps(self.to_json()).decode("utf-8")


def from_canonical(text: str) -> ModelConfig:
    """Return the configuration of a text made by `canonical_text`; raises ConfigError."""
    data = read_object(text)
    try:
        return ModelConfig(**data | {"dtype": DType(data["dtype"])})
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        sentence = "Die gespeicherte Modellbeschreibung ist beschädigt; bitte das Modell erneut einlesen."
        raise refuse("VALUE", "text", "the form of canonical_text", str(error), sentence) from error


def _check_kinds(config: ModelConfig) -> None:
    for names, kind, word in ((_TEXTS, str, "ein Text"), (_FLAGS, bool, "true oder false")):
        for name in names:
            if not isinstance(getattr(config, name), kind):
                sentence = f"Die Angabe {name} muss {word} sein, nicht {shown(getattr(config, name))}."
                raise refuse("VALUE", name, kind.__name__, getattr(config, name), sentence)
    if not _DECIMAL.fullmatch(config.norm_epsilon):
        sentence = f"Die Angabe norm_epsilon muss eine Dezimalzahl sein, nicht {shown(config.norm_epsilon)}."
        raise refuse("VALUE", "norm_epsilon", "a decimal such as 0.00001", config.norm_epsilon, sentence)


def _check_limits(config: ModelConfig) -> None:
    for name, (low, high) in LIMITS.items():
        value = getattr(config, name)
        if type(value) is not int or not low <= value <= high:
            sentence = (
                f"Die Angabe {name} muss eine ganze Zahl von {low} bis {high} sein, nicht {shown(value)}."
            )
            raise refuse("VALUE", name, f"an integer {low}..{high}", value, sentence)
    allowed: dict[str, tuple[object, ...]] = {
        "family": tuple(FAMILIES),
        "activation": tuple(dict.fromkeys(ACTIVATIONS.values())),
        "norm": ("rms_norm", "layer_norm"),
        "position": ("rope", "learned"),
    }
    for name, choices in allowed.items():
        value = getattr(config, name)
        if value not in choices:
            known = ", ".join(map(str, choices))
            sentence = f"Die Angabe {name} ist mit {shown(value)} unbekannt; möglich sind: {known}."
            raise refuse("VALUE", name, f"one of {known}", value, sentence)


def _check_together(config: ModelConfig) -> None:
    experts, chosen = config.experts, config.experts_per_token
    rules = (
        (
            config.heads % config.kv_heads == 0,
            "num_key_value_heads",
            "die Zahl der Anfrageköpfe muss ein Vielfaches davon sein",
            f"{config.heads} : {config.kv_heads}",
        ),
        (
            (experts == 0) == (chosen == 0) and chosen <= experts,
            "num_experts_per_tok",
            "sie muss von 1 bis zur Zahl der Experten reichen und ohne Experten fehlen",
            f"{chosen} von {experts}",
        ),
        (
            (config.position == "rope") == (config.rotary_dim > 0) == (config.rope_theta > 0),
            "rope_theta",
            "gedrehte Positionen brauchen Basis und Breite, gelernte haben keine",
            f"{config.rope_theta}, Breite {config.rotary_dim}",
        ),
        (
            config.rotary_dim % 2 == 0 and config.rotary_dim <= config.head_dim,
            "rotary_dim",
            "sie muss gerade und höchstens so breit wie ein Kopf sein",
            f"{config.rotary_dim} von {config.head_dim}",
        ),
        (
            not experts or (config.gated and not config.mlp_bias),
            "num_experts",
            "Experten ohne Torprodukt oder mit Achsenabschnitt werden nicht unterstützt",
            str(experts),
        ),
        (config.dtype.is_float, "dtype", "Gewichte müssen Gleitkommazahlen sein", config.dtype.value),
    )
    for holds, field, reason, got in rules:
        if not holds:
            sentence = f"Die Angabe {field} passt nicht zu den übrigen: {reason} (gefunden: {got})."
            raise refuse("CONTRADICTION", field, "a value that fits the others", got, sentence)
