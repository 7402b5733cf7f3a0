from __future__ import annotations

from dataclasses import replace

import pytest

from pilots.cluster.constants import constants
from pilots.cluster.costs import serving as formula
from pilots.cluster.errors import RequestError
from pilots.cluster.queue import Limits, Load, simulate
from pilots.cluster.step_times import StepTimes, step_times
from tests.pilots.cluster.cases import all_reduce, serving

TIMES = StepTimes(tuple(0.01 for _ in range(65)), 0.0, (0.0, 0.0, 0.0))
LIMITS = Limits(64, 8192, 1_000_000)


def test_a_lonely_request_takes_its_prompt_and_its_steps():
    found = simulate(Load(0.001, 10, 100, 11, 1, 0.0), LIMITS, TIMES)
    assert found.ttft == pytest.approx([0.01] * 9)
    assert found.tpot == pytest.approx([0.01] * 9)
    assert found.e2e == pytest.approx([0.11] * 9)
    assert found.wait == pytest.approx([0.0] * 9)


def test_the_same_seed_gives_the_same_outcome_and_another_seed_another():
    load = Load(20.0, 300, 100, 50, 7)
    assert simulate(load, LIMITS, TIMES) == simulate(load, LIMITS, TIMES)
    assert simulate(load, LIMITS, TIMES) != simulate(replace(load, seed=8), LIMITS, TIMES)


def test_one_place_serves_one_after_the_other():
    times = StepTimes((0.01, 0.01), 0.0, (0.0, 0.0, 0.0))
    found = simulate(Load(1000.0, 20, 10, 10, 1, 0.0), Limits(1, 8192, 1_000_000), times)
    ends = [found.e2e[i] - found.e2e[i - 1] for i in range(1, len(found.e2e))]
    assert ends == pytest.approx([0.099] * len(ends))  # ten steps each, one arrival a millisecond


def test_a_request_that_never_fits_in_the_cache_is_rejected_at_its_boundary():
    load = Load(1.0, 10, 60, 40, 1)
    assert simulate(load, replace(LIMITS, cache_tokens=100), TIMES).rejected == 0
    found = simulate(load, replace(LIMITS, cache_tokens=99), TIMES)
    assert found.rejected == 10
    with pytest.raises(RequestError) as refused:
        found.percentile(found.ttft, 0.99)
    assert "Keine Anfrage" in refused.value.message_de


def test_a_full_queue_rejects():
    found = simulate(Load(1000.0, 100, 10, 100, 1), Limits(1, 8192, 1_000_000, waiting=5), TIMES)
    assert found.rejected > 50


def test_the_cache_is_never_overbooked():
    assert simulate(Load(500.0, 500, 60, 40, 1), replace(LIMITS, cache_tokens=1000), TIMES).cache_share <= 1


def test_a_long_prompt_takes_several_steps():
    found = simulate(Load(0.001, 10, 1000, 2, 1, 0.0), replace(LIMITS, batched_tokens=250), TIMES)
    assert found.ttft == pytest.approx([0.04] * 9)


def test_more_load_waits_longer_and_bursts_wait_longer_still():
    tails = []
    for rate, shape in ((50.0, 1.0), (120.0, 1.0), (120.0, 0.1)):
        found = simulate(Load(rate, 2000, 100, 50, 3, shape), LIMITS, TIMES)
        tails.append(found.percentile(found.ttft, 0.99))
    assert tails[0] < tails[1] < tails[2]


def test_p99_is_reliable_only_with_a_long_window_and_enough_requests():
    assert simulate(Load(1.0, 1200, 10, 5, 1), LIMITS, TIMES).reliable_p99
    assert not simulate(Load(1.0, 1000, 10, 5, 1), LIMITS, TIMES).reliable_p99
    assert not simulate(Load(100.0, 1200, 10, 5, 1), LIMITS, TIMES).reliable_p99


@pytest.mark.parametrize(
    "load",
    [
        Load(0.0, 1, 1, 1, 1),
        Load(1.0, 0, 1, 1, 1),
        Load(1.0, 1, 0, 1, 1),
        Load(1.0, 1, 1, 0, 1),
        Load(1.0, 1, 1, 1, 1, -1.0),
    ],
)
def test_a_load_that_cannot_be_is_a_sentence(load):
    with pytest.raises(RequestError):
        simulate(load, LIMITS, TIMES)


def test_step_times_agree_with_the_formula():
    case = serving(gpus=4, batch=16, prompt=512, answer=512)
    times = step_times(case, 32)
    known = constants()[case.key]
    exact = float(formula.step_terms(formula.columns([case]), known).seconds[0])
    assert times.steps[16] + 16 * times.per_context * 768 == pytest.approx(exact, rel=1e-6)
    first = float(
        formula.prompt_terms(
            formula.columns([replace(case, workload=replace(case.workload, batch=1))]), known
        ).seconds[0]
    )
    assert times.prompt_seconds(512) == pytest.approx(first, rel=1e-6)


def test_a_queue_stands_only_before_a_language_model():
    with pytest.raises(RequestError):
        step_times(all_reduce(), 4)


def test_ten_thousand_requests_are_simulated():
    found = simulate(Load(5.0, 10_000, 512, 128, 1), LIMITS, step_times(serving(gpus=4), 64))
    assert len(found.ttft) == 9000
    assert found.reliable_p99
