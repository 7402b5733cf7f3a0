"""Screen 3 as a person fills it in: targets that a measurement can be compared with, and a further one for speed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.http import HttpResponse

from qms.web.workload_target_fields import quality_choices, service_choices
from qms.workloads.models import Workload
from tests.qms.web.workload_world import URLCONF, World, build, criteria_post

WITH_PERCENTILE = ("e2e_latency_ms", "ttft_ms", "tpot_ms")
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _addresses(settings: Any) -> None:
    settings.ROOT_URLCONF = URLCONF


@pytest.fixture
def world(db: None) -> World:
    return build()


def send(world: World, made: Workload, **answers: str) -> HttpResponse:
    return world.client("wo01").post(f"/workloads/{made.pk}/ziele/", criteria_post(**answers))


def stored(made: Workload) -> list[tuple[str, str, str, Decimal, str]]:
    names = ("metric", "percentile", "comparator", "threshold", "unit")
    return list(made.quality_targets.order_by("target_id").values_list(*names))


def test_every_time_offered_has_the_percentile_a_measurement_gives() -> None:
    offered = [value for value, _label in (*quality_choices(), *service_choices()) if value]
    assert all(" p" in value for value in offered if value.startswith(WITH_PERCENTILE))


def test_a_response_time_as_quality_target_compares_with_its_percentile(world: World) -> None:
    made = world.register()
    sent = send(world, made, metric="e2e_latency_ms p95", comparator="LE", threshold="2")
    assert sent.status_code == 302
    assert stored(made) == [("e2e_latency_ms", "p95", "LE", Decimal(2), "ms")]
    page = world.client("wo01").get(f"/workloads/{made.pk}/ziele/").content.decode()
    assert '<option value="e2e_latency_ms p95" selected>' in page


@pytest.mark.parametrize(
    ("metric", "threshold", "expected"),
    [
        ("e2e_latency_ms p99", "1,5", ("e2e_latency_ms", "p99", "LE", Decimal("1.5"), "ms")),
        ("throughput_tokens_s", "12000", ("throughput_tokens_s", "", "GE", Decimal(12000), "tokens/s")),
    ],
)
def test_a_further_target_stands_beside_the_quality_target(
    world: World, metric: str, threshold: str, expected: tuple[Any, ...]
) -> None:
    made = world.register()
    assert send(world, made, service_metric=metric, service_threshold=threshold).status_code == 302
    assert stored(made) == [("output_cosine", "", "GE", Decimal("0.999"), "ratio"), expected]
    page = world.client("wo01").get(f"/workloads/{made.pk}/ziele/").content.decode()
    assert f'<option value="{metric}" selected>' in page


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ({"service_metric": "e2e_latency_ms p95"}, "Bitte geben Sie zum weiteren Ziel auch die Schwelle an."),
        ({"service_threshold": "2"}, "Bitte wählen Sie zur Schwelle auch die Messgröße."),
        ({"service_metric": "e2e_latency_ms", "service_threshold": "2"}, "gültige Auswahl"),
    ],
)
def test_half_a_further_target_is_asked_back(world: World, answers: dict[str, str], asked: str) -> None:
    made = world.register()
    sent = send(world, made, **answers)
    assert sent.status_code == 422
    assert asked in sent.content.decode()
    assert not made.quality_targets.exists()
