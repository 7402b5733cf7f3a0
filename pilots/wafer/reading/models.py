"""Entries of language models: prefill, decode, end to end, and training."""

from __future__ import annotations

import re
from typing import Final

from pilots.graph import known_models
from pilots.graph.model_config import ModelConfig
from pilots.wafer.reading import gaps
from pilots.wafer.reading.inputs import Inputs, NotReadable, rectangle, size
from pilots.wafer.reading.systems import Setting
from pilots.wafer.workloads import Decode, EndToEnd, Prefill, Training

MAX_TOKENS: Final = 2**27
MAX_BATCH: Final = 2**20
MAX_SIDE: Final = 2**16
_LENGTH: Final = (
    re.compile(
        r"\b(?:seq(?:uence)?|ctx|context|prompt|len(?:gth)?|msl|input)\.?\s*(?:len(?:gth)?)?\s*[=: ]\s*(\d+\s*[kK]?)\b",
        re.IGNORECASE,
    ),
    re.compile(r"\b(\d+\s*[kK]?)[\s-]*(?:ctx|context|seq|tok(?:en)?s?\b|prompt)", re.IGNORECASE),
    re.compile(r"\bmsl\s*(\d+)\b", re.IGNORECASE),
)
_BATCH: Final = re.compile(r"\b(?:batch|bs)(?:\s*size)?\s*[=:]?\s*(\d+)\b", re.IGNORECASE)
_IN_OUT: Final = re.compile(
    r"(?:\bin\s*/\s*out\b|\binput\s*/\s*output\b)?\D*?\b(\d+\s*[kK]?)\s*(?:/|\+|->|→)\s*(\d+\s*[kK]?)\b",
    re.IGNORECASE,
)
_KIND: Final = re.compile(
    r"\b(?:prefill|decod\w*|end-?to-?end|e2e|train\w*|eval\w*|fine-?tun\w*|pre-?train\w*|generation|ttft|seq|ctx|batch"
    r"|msl\s*\d+|in/out)\b|[,(]",
    re.IGNORECASE,
)
_SQUARED: Final = r"(\d{1,4}(?:\s*[x×]\s*\d{1,4}|\^2)?)"


def llm(inputs: Inputs, filled: list[str], where: Setting) -> Prefill | Decode | EndToEnd:
    """Return prefill, decode or end to end of an entry, by the words of its workload and metric."""
    text = inputs.text.casefold()
    if re.search(r"end-?to-?end|\be2e\b|\btpr\b|in\s*/\s*out", text) and "prefill" not in text:
        return _end_to_end(inputs)
    config = model(inputs)
    if re.search(r"prefill|ttft|time to first", text):
        return Prefill(config, _length(inputs), _batch(inputs, filled), _grid(inputs, filled))
    return Decode(config, _length(inputs), _batch(inputs, filled), _grid(inputs, filled))


def training(inputs: Inputs, filled: list[str], where: Setting) -> Training:
    """Return a training or evaluation step of an entry."""
    config = model(inputs)
    batch = _given_batch(inputs)
    sequence = _given_length(inputs)
    if batch is None:
        filled.append("training_batch")
    if sequence is None:
        filled.append("training_sequence")
    forward_only = bool(re.search(r"\beval", inputs.text, re.IGNORECASE))
    return Training(
        config,
        _limited(gaps.TRAINING_BATCH if batch is None else batch, MAX_BATCH),
        _limited(gaps.TRAINING_SEQUENCE if sequence is None else sequence, MAX_TOKENS),
        forward_only,
    )


def model(inputs: Inputs) -> ModelConfig:
    """Return the sizes of the model an entry names; raises NotReadable if they are not known."""
    name = inputs.word("model") or _KIND.split(inputs.workload, maxsplit=1)[0]
    name = name.strip(" ,;:-")
    if not name:
        raise NotReadable("Das Modell ist nicht angegeben.")
    found = known_models.find(name)
    if found is None:
        raise NotReadable(
            f"Die Größen des Modells {name[:60]} sind nicht bekannt oder keine eines Sprachmodells."
        )
    return found


def _end_to_end(inputs: Inputs) -> EndToEnd:
    prompt, generated = inputs.number("in"), inputs.number("out")
    if prompt is None or generated is None:
        match = _IN_OUT.search(_after_model(inputs.workload))
        if match is None:
            raise NotReadable("Die Längen von Eingabe und Ausgabe sind nicht angegeben.")
        prompt, generated = size(match[1]), size(match[2])
    cores = inputs.word("cores", "grid", "PEs", "P")
    both = rectangle(cores)
    grids = [_square(both) if both else 0] * 2
    for index, word in enumerate(("prefill", "decode")):
        match = re.search(
            rf"{_SQUARED}\s*(?:cores\s*)?(?:for\s+)?{word}|{word}\s*[:=]?\s*{_SQUARED}", cores, re.IGNORECASE
        )
        own = rectangle(match[1] or match[2]) if match else None
        grids[index] = _square(own) if own else grids[index]
    return EndToEnd(model(inputs), _limited(prompt, MAX_TOKENS), _limited(generated, MAX_TOKENS), *grids)


def _after_model(text: str) -> str:
    """Return what follows the model's name: names hold numbers and dashes of their own."""
    parts = _KIND.split(text, maxsplit=1)
    return parts[1] if len(parts) > 1 else text


def _length(inputs: Inputs) -> int:
    given = _given_length(inputs)
    if given is None:
        raise NotReadable("Die Länge der Sequenz ist nicht angegeben.")
    return _limited(given, MAX_TOKENS)


def _given_length(inputs: Inputs) -> int | None:
    given = inputs.number("seq", "ctx", "context", "MSL")
    found = (pattern.search(inputs.workload) for pattern in _LENGTH)
    return next((size(match[1]) for match in found if match), None) if given is None else given


def _given_batch(inputs: Inputs) -> int | None:
    match = _BATCH.search(inputs.workload)
    given = inputs.number("batch")
    return int(match[1]) if given is None and match else given


def _batch(inputs: Inputs, filled: list[str]) -> int:
    given = _given_batch(inputs)
    if given is None:
        filled.append("batch")
        return 1
    return _limited(given, MAX_BATCH)


def _grid(inputs: Inputs, filled: list[str]) -> int:
    found = rectangle(inputs.word("cores", "grid", "PEs", "P"))
    side = inputs.number("P")
    if found is None and side is not None:
        return _limited(side, MAX_SIDE)
    if found is None:
        filled.append("grid")
        return 0
    return _square(found)


def _square(found: tuple[int, int]) -> int:
    if found[0] != found[1]:
        raise NotReadable("Das Netz ist nicht quadratisch; Sprachmodelle laufen auf quadratischen Bereichen.")
    return found[0]


def _limited(value: int | None, highest: int) -> int:
    if value is None or not 1 <= value <= highest:
        raise NotReadable(f"Eine Länge oder ein Batch liegt nicht zwischen 1 und {highest}.")
    return value
