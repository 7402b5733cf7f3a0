from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from pilots.graph.decoder import decoder_graph
from pilots.graph.known_models import find
from pilots.graph.model_config import ModelConfig, parse_config
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.costs.uncertainty import trust_in
from pilots.wafer.errors import DoesNotFit, RequestError
from pilots.wafer.estimate import (
    CAUSES,
    COPIES,
    MAX_ROWS,
    ROUNDS,
    Estimate,
    Phase,
    Question,
    check,
    estimate,
    step_seconds,
    to_json,
)
from pilots.wafer.machine import WSE_2, WSE_3, Machine, lab_mesh
from pilots.wafer.predict import predict
from pilots.wafer.program import Mode, Program

CONFIG = """{
  "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
  "max_position_embeddings": 131072, "rope_theta": 500000.0, "rms_norm_eps": 1e-05, "hidden_act": "silu",
  "tie_word_embeddings": false, "torch_dtype": "bfloat16"
}"""
LLAMA = parse_config(CONFIG)
MACHINES = [WSE_2, WSE_3]
STREAMING = Mode.WEIGHT_STREAMING


@lru_cache(maxsize=128)
def answered(config: ModelConfig, machine: Machine, question: Question) -> Estimate:
    return estimate(config, machine, question)


def ask(
    context: int = 2048, *, machine: Machine = WSE_2, config: ModelConfig = LLAMA, **other: Any
) -> Estimate:
    return answered(config, machine, Question(context, **other))


def phases(found: Estimate) -> list[Phase]:
    return [found.decode] + ([found.prefill] if found.prefill else [])


@pytest.mark.parametrize("machine", MACHINES, ids=lambda item: item.id)
@pytest.mark.parametrize("question", [(2048, 1, 1), (4096, 8, 4), (131_072, 1, 16)])
def test_eight_billion_parameters_are_answered(machine: Machine, question: tuple[int, int, int]) -> None:
    context, batch, systems = question
    found = ask(context, machine=machine, batch=batch, systems=systems)
    assert found.capacity.weight_bytes == 8_030_261_248 * 2
    assert found.capacity.cache_bytes == 2 * 32 * 8 * 128 * 2 * context * batch
    assert found.capacity.sram_bytes == systems * machine.sram_bytes
    assert found.capacity.data_bytes == systems * machine.pes * (49_152 - 4176 - 4096)
    assert found.capacity.weight_bytes + found.capacity.cache_bytes < found.capacity.used_bytes
    assert found.capacity.used_bytes <= found.capacity.sram_bytes
    for phase in phases(found):
        assert phase.step_seconds.lower < phase.step_seconds.value < phase.step_seconds.upper
        assert phase.program.systems <= systems
        assert all(item.holds for item in phase.checks)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("machine", MACHINES, ids=lambda item: item.id)
def test_parts_sum_to_the_step(machine: Machine, mode: Mode) -> None:
    for phase in phases(ask(machine=machine, mode=mode, batch=3, systems=2)):
        assert tuple(phase.parts_seconds) == CAUSES
        assert sum(phase.parts_seconds.values()) == pytest.approx(phase.step_seconds.value)
        assert all(value >= 0 for value in phase.parts_seconds.values())
        assert phase.parts_seconds["off_wafer"] == 0 or mode is STREAMING


@pytest.mark.parametrize("batch", [1, 5])
def test_tokens_and_joules_follow_from_the_step(batch: int) -> None:
    found = ask(batch=batch, systems=2)
    step, rate = found.decode.step_seconds, found.decode.tokens_per_second
    assert rate.value == pytest.approx(batch / step.value)
    assert (rate.lower, rate.upper) == (
        pytest.approx(batch / step.upper),
        pytest.approx(batch / step.lower),
    )
    assert found.decode.tokens_per_second_per_sequence.value == pytest.approx(1 / step.value)
    copies = -(-batch // found.decode.prediction.batch)
    used = found.decode.program.systems * copies
    assert used <= 2
    joules = found.decode.joules_per_token
    assert joules.value == pytest.approx(step.value * 20_000 * used / batch)
    assert joules.lower == pytest.approx(step.lower * 15_000 * used / batch)
    assert found.prefill is not None
    assert found.prefill.tokens_per_second.value == pytest.approx(2048 / found.prefill.step_seconds.value)


@pytest.mark.parametrize("systems", [1, 2, 4, 16])
def test_copies_on_further_systems_share_the_requests(systems: int) -> None:
    """Weights from outside take one system, so each further one carries a copy."""
    one = ask(batch=16, mode=STREAMING)
    found = ask(batch=16, mode=STREAMING, systems=systems)
    assert found.decode.program.systems == 1
    assert found.decode.prediction.batch == 16 // systems
    step = found.decode.step_seconds
    assert found.decode.tokens_per_second.value == pytest.approx(16 / step.value)
    assert found.decode.joules_per_token.value == pytest.approx(step.value * 20_000 * systems / 16)
    assert step.value <= one.decode.step_seconds.value


def on_fewest(batch: int, rounds: int, most: int) -> Program:
    graph = decoder_graph(LLAMA, phase="decode", batch=batch, context=2048, dtype=LLAMA.dtype)
    for systems in range(1, most + 1):
        with suppress(DoesNotFit):
            return compile_graph(graph, WSE_2, Request(batch=batch, rounds=rounds, systems=systems))
    raise AssertionError(f"{batch} x {rounds} requests fit on none of {most} systems")


@pytest.mark.parametrize(("batch", "systems"), [(1, 16), (3, 3), (8, 4), (17, 16), (32, 4)])
def test_copies_and_rounds_are_those_of_the_shortest_step(batch: int, systems: int) -> None:
    """Every copy runs on the fewest systems that hold it, whatever it could have."""
    counts = (1, 2, 4, 8, 16)
    steps: list[float] = []
    for copies in (count for count in counts if count <= min(batch, systems)):
        share = -(-batch // copies)
        for rounds in (count for count in counts if count <= share):
            program = on_fewest(-(-share // rounds), rounds, systems // copies)
            steps.append(predict(program, WSE_2, batch=share).step_seconds.value)
    found = ask(batch=batch, systems=systems).decode
    assert COPIES == ROUNDS == counts
    assert found.step_seconds.value == pytest.approx(min(steps))
    running = -(-batch // found.prediction.batch)
    assert found.program.systems * running <= systems


@pytest.mark.parametrize(("batch", "share"), [(1, 1), (2, 1), (3, 2), (5, 3)])
def test_requests_that_do_not_divide_are_rounded_up(batch: int, share: int) -> None:
    assert ask(batch=batch, mode=STREAMING, systems=2).decode.prediction.batch == share


def test_copies_are_never_calibrated() -> None:
    shallow = replace(LLAMA, layers=4)
    one, two = ask(config=shallow), ask(config=shallow, batch=2, systems=2)
    assert one.decode.program == two.decode.program
    assert one.decode.prediction.trust.state == "KALIBRIERT"
    assert two.decode.prediction.trust.state == "EXTRAPOLIERT"
    assert two.decode.prediction.trust.reason == "mehrere Systeme"


@pytest.mark.parametrize("machine", MACHINES, ids=lambda item: item.id)
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("question", [(1, 1, 1), (2048, 1, 1), (4096, 1, 1), (4096, 65, 16)])
def test_calibrated_only_inside_the_declared_range(
    machine: Machine, mode: Mode, question: tuple[int, int, int]
) -> None:
    context, batch, systems = question
    found = ask(context, machine=machine, mode=mode, batch=batch, systems=systems)
    for phase in phases(found):
        trust = phase.prediction.trust
        assert (trust.state == "KALIBRIERT") is (trust.reason == "")
        alone = (batch == 1 or phase is found.prefill) and phase.program.systems == 1  # one prompt at a time
        inside = mode is Mode.RESIDENT and machine is WSE_2 and alone and context in {2048, 4096}
        assert trust.state != "KALIBRIERT" or inside
        if phase.program.systems == 1 and batch == 1:
            assert trust == trust_in(phase.program, machine)
    if batch > 64 or mode is STREAMING:
        assert ask(
            context, machine=machine, mode=mode, batch=batch, systems=systems
        ).decode.prediction.trust.state in {
            "AUSSERHALB_KALIBRIERUNG",
            "EXTRAPOLIERT",
        }


@pytest.mark.parametrize(
    ("name", "systems", "words"),
    [
        ("Llama-3.1-70B", 1, "mindestens 5 Systeme"),
        ("Llama-3.1-405B", 16, "mindestens 27 Systeme"),
        ("Llama-3.1-70B", 4, "mindestens 5 Systeme"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_way_out(name: str, systems: int, words: str) -> None:
    with pytest.raises(DoesNotFit) as caught:
        ask(config=find(name), systems=systems)
    assert caught.value.shortfall_bytes > 0
    assert words in caught.value.message_de
    assert "WEIGHT_STREAMING" in caught.value.message_de
    assert caught.value.message_de.endswith(".")
    assert ask(config=find(name), systems=systems, mode=STREAMING).decode.program.systems == 1


def test_a_model_whose_weights_just_fit_needs_no_more_systems_than_they_do() -> None:
    assert ask(config=find("Llama-3.1-70B"), systems=5).decode.program.systems == 5


def test_caches_that_do_not_fit_beside_the_weights_have_a_hint_of_their_own() -> None:
    with pytest.raises(DoesNotFit) as caught:
        ask(65_536, batch=8)
    assert "Die Gewichte allein hätten Platz." in caught.value.message_de
    assert "WEIGHT_STREAMING" in caught.value.message_de


def test_caches_that_do_not_fit_beside_streamed_weights_have_a_hint_of_their_own() -> None:
    with pytest.raises(DoesNotFit) as caught:
        ask(65_536, batch=64, mode=STREAMING)
    assert "Kleinerer Kontext" in caught.value.message_de


def test_a_prompt_too_long_for_the_elements_leaves_the_answer_phase_standing() -> None:
    found = ask(131_072, systems=16)
    assert found.prefill is None
    assert "passt nicht" in found.prefill_refusal_de
    assert found.decode.step_seconds.value > 0
    assert to_json(found)["prefill"] == {"refused": found.prefill_refusal_de}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"context": 0}, "Der Kontext"),
        ({"context": -1}, "Der Kontext"),
        ({"context": 131_073}, "zwischen 1 und 131072"),
        ({"batch": 0}, "Die Zahl der Anfragen zugleich"),
        ({"batch": 4097}, "zwischen 1 und 4096"),
        ({"systems": 0}, "Die Zahl der Systeme"),
        ({"systems": 17}, "zwischen 1 und 16"),
        ({"context": 65_536, "batch": 65}, "4194304 Token"),
    ],
)
def test_sizes_outside_their_range_are_refused(change: dict[str, int], words: str) -> None:
    asked = replace(Question(2048), **change)
    with pytest.raises(RequestError) as caught:
        estimate(LLAMA, WSE_2, asked)
    assert words in caught.value.message_de
    assert caught.value.message_de.endswith(".")


@pytest.mark.parametrize(
    "asked",
    [
        Question(1),
        Question(131_072),
        Question(1, batch=4096),
        Question(1, systems=16),
        Question(65_536, batch=64),
    ],
)
def test_sizes_at_their_limits_pass(asked: Question) -> None:
    assert asked.context * asked.batch <= MAX_ROWS
    check(LLAMA, asked)


def test_context_ends_at_the_limit_of_the_model() -> None:
    short = find("GPT-2")
    check(short, Question(short.max_context))
    with pytest.raises(RequestError, match="1025"):
        check(short, Question(short.max_context + 1))


def test_a_tiny_model_runs_on_a_small_mesh() -> None:
    tiny = replace(
        LLAMA, layers=1, hidden=64, heads=4, kv_heads=2, head_dim=16, rotary_dim=16, ffn=128, vocab=256
    )
    found = ask(16, machine=lab_mesh(8, 8), config=tiny)
    assert found.prefill is not None
    assert {phase.prediction.trust.state for phase in phases(found)} == {"EXTRAPOLIERT"}


def test_float32_models_are_computed_in_float32() -> None:
    wide = find("GPT-2")
    assert ask(128, config=wide).decode.program.dtype.value == "float32"
    assert ask(128).decode.program.dtype.value == "bfloat16"


def test_more_systems_never_slow_the_answer_down() -> None:
    times = [step_seconds(LLAMA, WSE_2, Question(2048, batch=8), count) for count in (2, 4, 8, 16)]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("mode", Mode)
def test_json_form_holds_every_figure(mode: Mode) -> None:
    found = ask(mode=mode)
    data = json.loads(json.dumps(to_json(found)))
    assert data["model"] == LLAMA.name
    assert (data["machine"], data["clock_hz"], data["mode"]) == ("wse-2", 850_000_000, mode.value)
    assert (data["context"], data["batch"], data["systems"]) == (2048, 1, 1)
    assert data["capacity"]["weight_bytes"] == found.capacity.weight_bytes
    for name in ("decode", "prefill"):
        part, phase = data[name], getattr(found, name)
        assert part["program_digest"] == phase.program.digest()
        assert part["step_seconds"]["value"] == phase.step_seconds.value
        assert part["state"] == phase.prediction.trust.state
        assert part["regions"] == len(phase.program.regions)
        assert set(part["parts_seconds"]) == set(CAUSES)
        assert [item["holds"] for item in part["checks"]] == [True] * 4
