from __future__ import annotations

from dataclasses import replace

import pytest

from pilots.cluster import device, shapes, topology
from pilots.cluster.constants import constants
from pilots.cluster.costs import memory
from pilots.cluster.costs.collectives import bus_factor
from pilots.cluster.costs.terms import PARTS
from pilots.cluster.errors import DoesNotFit, RequestError
from pilots.cluster.formulas import formula_of
from pilots.cluster.predict import predict
from pilots.cluster.reading.inputs import span_of
from pilots.cluster.validation.rows import least_seconds
from pilots.cluster.validity import CALIBRATED, EXTRAPOLATED, OUTSIDE
from pilots.cluster.workloads import Case, Step
from tests.pilots.cluster.cases import all_reduce, serving, with_figure


def step(**other):
    values = {
        "shape": shapes.gpt("GPT", 96, 12_288, 96, 51_200),
        "sequence": 2048,
        "micro_batch": 1,
        "micro_batches": 64,
        "tensor": 8,
        "pipeline": 8,
        "data": 1,
        "interleave": 3,
        "recompute": "full",
        "sequence_parallel": False,
        "sharded": False,
        "flash": False,
    } | other
    chosen = device.find("a100-80")
    return Case(
        chosen,
        span_of(chosen, values["tensor"] * values["pipeline"] * values["data"]),
        "Megatron",
        Step(**values),
    )


def parts_of(case):
    """The parts of a case without asking whether it fits."""
    formula = formula_of(case.key)
    terms = formula.terms(formula.columns([case]), constants()[case.key])
    return {name: float(terms.part(name)[0]) for name in PARTS}


@pytest.mark.parametrize("case", [serving(), serving(gpus=4, batch=16), all_reduce(), step()])
def test_the_parts_sum_to_the_step_and_lie_in_the_interval(case):
    found = predict(case)
    assert sum(found.parts.values()) == pytest.approx(found.seconds, rel=0.01)
    assert set(found.parts) == set(PARTS)
    assert all(value >= 0 for value in found.parts.values())
    assert 0 < found.lower < found.seconds < found.upper


@pytest.mark.parametrize("case", [serving(gpus=4, batch=16), step()])
def test_memory_bandwidth_changes_the_memory_wall_only(case):
    before, after = predict(case), predict(with_figure(case, "hbm_bytes_per_s", 0.5))
    assert after.parts["mem_wall"] > before.parts["mem_wall"]
    changed = {name for name in PARTS if after.parts[name] != pytest.approx(before.parts[name])}
    assert changed <= {"mem_wall", "bubble"}  # a bubble is waiting for a whole stage


@pytest.mark.parametrize("case", [serving(gpus=4, batch=16), all_reduce()])
def test_latency_of_links_changes_the_network_only(case):
    slow = replace(case, span=replace(case.span, latency_s=1e-3))
    before, after = predict(case), predict(slow)
    assert after.parts["net_serialisation"] > before.parts["net_serialisation"]
    assert {name for name in PARTS if after.parts[name] != before.parts[name]} == {"net_serialisation"}


def test_latency_of_links_reaches_a_training_step_through_the_network_and_its_pipeline_only():
    case = step()
    before, after = predict(case), predict(replace(case, span=replace(case.span, latency_s=1e-3)))
    assert {name for name in PARTS if after.parts[name] != before.parts[name]} == {
        "net_serialisation",
        "bubble",
    }


def test_a_larger_model_waits_more_on_the_communication_bound_profile():
    chosen = device.find("h100")
    span = replace(topology.find("DISKRET-4GPU").span(4))
    shares = []
    for layers, hidden in ((12, 768), (32, 2560), (32, 4096), (80, 8192)):
        work = Step(
            shapes.gpt("GPT", layers, hidden, max(1, hidden // 128), 50_368), 2048, 1, 1, 1, 1, 4, 1, "none",
            sequence_parallel=False, sharded=True, flash=True,
        )  # fmt: skip
        found = parts_of(Case(chosen, span, "FSDP", work))
        shares.append(1 - found["compute"] / sum(found.values()))
    assert shares == sorted(shares)


def test_mfu_of_the_published_example():
    # S012: 7 B parameters, 270 000 tokens/s, 32 x 989 TFLOP/s
    assert 6 * 7e9 * 270_000 / (32 * device.find("h100").peak("bf16")) == pytest.approx(0.358, abs=0.001)


@pytest.mark.parametrize(
    ("kind", "gpus", "factor"),
    [
        ("all_reduce", 8, 1.75),
        ("all_gather", 8, 0.875),
        ("all_to_all", 4, 0.75),
        ("broadcast", 8, 1.0),
        ("all_reduce", 1, 0.0),
    ],
)
def test_bus_factors(kind, gpus, factor):
    assert bus_factor(kind, gpus) == factor


def test_an_unknown_collective_is_a_sentence():
    with pytest.raises(RequestError) as refused:
        bus_factor("gossip", 4)
    assert "gossip" in refused.value.message_de


def test_one_gpu_needs_no_communication():
    assert predict(serving()).parts["net_serialisation"] == 0
    assert predict(all_reduce(gpus=1)).parts["net_serialisation"] == 0


def test_a_chain_gets_no_sum_in_the_switch():
    case = all_reduce(gpus=4)
    chain = replace(case, span=replace(case.span, switched=False))
    assert predict(chain).seconds > predict(case).seconds
    assert predict(chain).trust.state == EXTRAPOLATED


def test_a_plan_that_does_not_fit_names_the_exact_shortfall_and_the_smallest_plan():
    with pytest.raises(DoesNotFit) as refused:
        predict(serving("LLaMA3-70B"))
    error = refused.value
    assert error.shortfall_bytes == error.needed_bytes - error.usable_bytes > 0
    assert error.smallest_gpus == 2
    predict(serving("LLaMA3-70B", gpus=2))
    missing = f"{error.shortfall_bytes / 2**30:.1f}".replace(".", ",")
    assert f"es fehlen {missing}\u00a0GiB" in error.message_de


def test_memory_fits_up_to_the_last_block_of_the_cache():
    case = serving("LLaMA2-7B", batch=64, prompt=1024, answer=16)
    usable = memory.usable_bytes(case.device)
    free = usable - memory.weight_bytes(case.workload.shape, "bf16")
    block = memory.BLOCK_TOKENS * memory.cache_bytes_per_token(case.workload.shape)
    tokens = int(free // block) * memory.BLOCK_TOKENS
    fits = replace(case, workload=replace(case.workload, batch=1, prompt=tokens - 16, answer=16))
    memory.check(fits)
    with pytest.raises(DoesNotFit):
        memory.check(replace(fits, workload=replace(fits.workload, answer=17)))


def test_activations_follow_the_published_formula():
    whole = step(tensor=1, recompute="none", flash=False).workload
    expected = 2048 * 12_288 * (34 + 5 * 96 * 2048 / 12_288)
    assert memory.activation_bytes(whole) == pytest.approx(expected)
    assert memory.activation_bytes(replace(whole, recompute="full")) == 2 * 2048 * 12_288
    parallel = replace(whole, tensor=8, sequence_parallel=True, recompute="selective")
    assert memory.activation_bytes(parallel) == pytest.approx(2048 * 12_288 * 34 / 8)


def test_states_of_the_optimiser_are_sixteen_bytes_per_parameter_and_shared_when_sharded():
    own = step(tensor=1, pipeline=1, data=8, interleave=1, micro_batches=1, recompute="full").workload
    sharded = replace(own, sharded=True)
    saved = memory.training_bytes(own) - memory.training_bytes(sharded)
    assert saved == pytest.approx(own.shape.params * 16 * 7 / 8)


@pytest.mark.parametrize(
    ("case", "state"),
    [
        (serving(), CALIBRATED),
        (serving(gpu="h200"), EXTRAPOLATED),
        (serving("LLaMA3-70B", gpus=8), EXTRAPOLATED),
        (serving(stack="unbekannt"), OUTSIDE),
        (all_reduce(size=2**50), OUTSIDE),
    ],
)
def test_states_of_trust(case, state):
    found = predict(case)
    assert found.trust.state == state
    assert bool(found.trust.reason) == (state != CALIBRATED)


def test_more_bandwidth_flops_or_links_are_never_slower():
    case = serving(gpus=4, batch=32)
    for name in ("peak_bf16", "hbm_bytes_per_s"):
        assert predict(with_figure(case, name, 2.0)).seconds <= predict(case).seconds


def test_no_prediction_is_faster_than_memory_allows():
    for batch in (1, 16, 64):
        for model in ("LLaMA3-8B", "Mistral-7B", "Qwen2-7B"):
            case = serving(model, batch=batch, prompt=256, answer=256)
            assert predict(case).seconds > least_seconds(case)
