"""Forecast against reality: each figure of a measured target run beside the last emulated one (S019, S073, POL-54)."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from pilots import catalog
from pilots.models import Run
from qms.core import clock
from qms.core.values import Axes, Interval, Metric, Unit
from qms.evidence.models import EvidenceItem
from qms.workloads.choices import PlatformKind
from qms.workloads.services import platforms
from qms.workloads.services.platforms import PlatformData
from tests.walk import World, address, recorded, screen, world

__all__ = ["world"]
STAGE: Final = "emulated"
pytestmark = pytest.mark.django_db
FILE: Final = Path(__file__).parent / "baseline" / "files" / "aiperf-0.13.0_ok_profile_export_aiperf.json"
MEASURED: Final = Axes.from_json({"provenance": "GEMESSEN", "assurance": "GEGENGEPRUEFT", "origin": "EIGEN"})
EMULATED: Final = Axes.from_json({"provenance": "EMULIERT", "assurance": "EINGEREICHT", "origin": "EIGEN"})


def metric(
    value: str, axes: Axes = MEASURED, span: tuple[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    interval = Interval(*map(Decimal, span)) if span else None
    values = {"key": "e2e_latency_ms", "unit": Unit.MILLISECONDS, "percentile": "p50"} | more
    return Metric(value=Decimal(value), axes=axes, interval=interval, **values).to_json()


def forecast(emulated: list[dict[str, Any]], measured: list[dict[str, Any]]) -> catalog.Forecast:
    return catalog.compare_forecast(emulated, measured, Decimal("0.1"))


@pytest.mark.parametrize(
    ("value", "holds"), [("110", True), ("110.1", False), ("90", True), ("89.9", False), ("100", True)]
)
def test_the_error_is_judged_against_the_policy_at_its_boundary(value: str, holds: bool):
    found = forecast([metric(value, EMULATED, ("0", "1000"))], [metric("100")])
    assert found.rows[0].error == (Decimal(value) - 100) / 100
    assert found.holds is holds
    assert found.rows[0].within(found.limit) is holds


@pytest.mark.parametrize(
    ("value", "inside"), [("89.9", False), ("90", True), ("110", True), ("110.1", False)]
)
def test_the_interval_is_closed(value: str, inside: bool):
    assert forecast([metric("100", EMULATED, ("90", "110"))], [metric(value)]).rows[0].inside is inside


def test_a_figure_measured_as_zero_has_no_error():
    found = forecast([metric("0.1", EMULATED)], [metric("0")])
    assert (found.rows[0].error, found.rows[0].inside, found.holds) == (None, None, None)


def test_figures_nobody_forecast_are_named_once():
    other = [metric("5", key="ttft_ms", percentile=name) for name in ("p50", "p95")]
    found = forecast([metric("1", EMULATED)], [metric("1"), metric("2", percentile="p90"), *other])
    assert len(found.rows) == 1
    assert found.alone == ("ttft_ms",)


def test_a_figure_in_another_unit_is_not_compared():
    assert not forecast([metric("1", EMULATED, unit=Unit.SECONDS)], [metric("1")]).rows


def test_the_error_is_derived_and_as_sure_as_its_weakest_part():
    axes = catalog.forecast_axes(forecast([metric("1", EMULATED)], [metric("1")]))
    assert (axes.provenance.value, axes.assurance.value) == ("ABGELEITET", "EINGEREICHT")


def measure(world: World) -> Any:
    data = PlatformData(
        "CS-3 beim Anbieter",
        PlatformKind.WAFER_SCALE,
        False,
        "Anbieter",
        "WSE-3",
        "CS-3 2.5",
        "SDK 2.5",
        "Cloud",
    )
    profile = platforms.register_platform(actor=world.user("ad01"), data=data)
    browser = world.browser("pl01")
    browser.post(address("pilot_announce", world.workload_id), {"platform": str(profile.pk)})
    run = Run.objects.get(announced_at__isnull=False)
    found = json.loads(FILE.read_bytes()) | {"start_time": clock.now().isoformat()}
    sent = {"file": [SimpleUploadedFile("lauf.json", json.dumps(found).encode())]}
    return browser.post(address("run_hand_in", run.pk), sent)


def test_the_page_is_absent_until_both_runs_exist(world: World):
    assert world.browser("pl01").get(address("pilot_forecast", world.workload_id)).status_code == 404


def test_the_page_sets_each_figure_beside_its_forecast(world: World):
    answer = measure(world)
    page = screen(world.browser("pl01").get(answer["Location"]))
    assert "Prognose gegen Wirklichkeit" in page
    page = screen(world.browser("pl01").get(address("pilot_forecast", world.workload_id)))
    for text in (
        "Die Prognose hält nicht",
        "zulässig 10 %",
        "Durchsatz",
        "Antwortzeit p50",
        "Im Intervall",
        "überschritten",
    ):
        assert text in page, text
    assert "Ohne Prognose: Durchsatz, Token je Sekunde, Zeit bis zum ersten Token" in page
    assert "trägt keinen Fingerabdruck; verglichen wird mit der letzten Emulation desselben Modells" in page


def test_the_page_is_absent_for_who_does_not_see_the_workload(world: World):
    measure(world)
    assert world.browser("ad01").get(address("pilot_forecast", world.workload_id)).status_code == 404


def test_the_comparison_becomes_evidence_that_a_reviewer_can_read(world: World):
    with recorded(
        "PLATTFORMPROFIL_ANGELEGT",
        "LAUF_ANGEKUENDIGT",
        "NACHWEIS_EINGEREICHT",
        "NACHWEIS_EINGEREICHT",
        "LAUF_BEENDET",
    ):
        measure(world)
    item = EvidenceItem.objects.get(type="EV-30")
    assert (item.provenance, item.assurance) == ("ABGELEITET", "EINGEREICHT")
    facts = item.facts()
    assert facts["schema"] == "qms.forecast/1"
    assert facts["limit"] == "0.1"
    assert facts["matched_by"] == "MODELL"
    assert facts["emulated_run_id"] == str(Run.objects.get(source="EMULATOR").pk)
    row = next(row for row in facts["rows"] if row["measured"]["key"] == "throughput_samples_s")
    emulated, measured = (Decimal(row[name]["value"]) for name in ("emulated", "measured"))
    assert Decimal(row["error"]) == pytest.approx((emulated - measured) / measured, rel=Decimal("0.001"))
    assert world.browser("pr01").get(address("evidence", item.pk)).status_code == 200
