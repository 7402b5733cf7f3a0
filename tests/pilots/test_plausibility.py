"""What no machine can have done becomes no evidence (EM-11): in the rule, and through both doors for files."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from pilots.catalog.explained import PlatformNames
from pilots.catalog.plausibility import impossible
from pilots.models import Run
from pilots.platforms import names_of, platform_tuple
from qms.core.values import Assurance, Axes, Metric, Origin, Provenance, Unit
from qms.workloads.choices import PlatformKind
from qms.workloads.models import PlatformProfile, Workload
from qms.workloads.services import platforms
from qms.workloads.services.platforms import PlatformData
from tests.walk import World, address, nothing_but, screen, world

__all__ = ["world"]
STAGE: Final = "measured"
pytestmark = pytest.mark.django_db
MEASURED: Final = Axes(Provenance.MEASURED, Assurance.SUBMITTED, Origin.OWN)
FILES: Final = Path(__file__).parent / "baseline" / "files"
LOAD: Final = "vllm-0.33.0_serve_ok_20req.json"
MODEL: Final = {"params": 7_000_000_000}


def tokens(value: str) -> list[Metric]:
    return [Metric("throughput_tokens_s", Decimal(value), Unit.TOKENS_PER_SECOND, MEASURED, n=1000)]


def memory(value: str) -> list[Metric]:
    return [Metric("peak_memory_bytes", Decimal(value), Unit.BYTES, MEASURED, n=1)]


def declared(devices: int, *texts: str, **values: str) -> PlatformNames:
    rows = {
        name: {"value": value, "provenance": "HERSTELLERANGABE", "source": "Datenblatt"}
        for name, value in values.items()
    }
    return PlatformNames(texts, devices, rows)


# 7e9 parameters: 42e9 FLOPs a token in training, 14e9 in inference; 32 devices of 989e12 do 31648e12
PEAK: Final = declared(32, peak_flops_16bit="989000000000000")


@pytest.mark.parametrize(
    ("rate", "training", "possible"),
    [("753523", True, True), ("753524", True, False), ("753524", False, True), ("2260572", False, False)],
)
def test_more_arithmetic_than_the_declared_peak_is_impossible(rate: str, training: bool, possible: bool):
    found = impossible(tokens(rate), MODEL, PEAK, training=training)
    assert (not found) is possible
    if found:
        assert found.startswith("Unplausibel (EM-11): Der Durchsatz bräuchte 31650 TFLOP/s")


def test_a_gpu_of_the_catalogue_is_judged_at_its_highest_precision():
    named = declared(32, "H100 SXM")
    assert not impossible(tokens("1000000"), MODEL, named, training=True)  # above bfloat16, below FP8
    assert "(FP8, dicht)" in impossible(tokens("1510000"), MODEL, named, training=True)


@pytest.mark.parametrize("platform", [declared(0, "H100"), declared(32), declared(1, "GPU-Cluster")])
def test_what_is_not_declared_is_not_judged(platform: PlatformNames):
    assert not impossible(tokens("1e12") + memory("1e15"), MODEL, platform, training=True)


@pytest.mark.parametrize(("used", "possible"), [("160000000000", True), ("160000000001", False)])
def test_more_memory_than_all_devices_have_is_impossible(used: str, possible: bool):
    found = impossible(memory(used), {}, declared(2, memory_bytes="80000000000"), training=False)
    assert (not found) is possible


def described(world: World, **changes: Any) -> PlatformProfile:
    values: dict[str, Any] = {
        "name": "Cluster",
        "kind": PlatformKind.GPU_CLUSTER,
        "is_existing": True,
        "provider": "eigenes Haus",
        "hardware_gen": "unbenannte GPU",
        "system_release": "Linux",
        "framework_release": "vLLM",
        "operating_model": "Eigenbetrieb",
        "figures_source": "Datenblatt",
    } | changes
    return platforms.register_platform(actor=world.user("ad01"), data=PlatformData(**values))


def hand_in(world: World, platform: PlatformProfile) -> Any:
    data = {"file": [SimpleUploadedFile(LOAD, (FILES / LOAD).read_bytes())], "platform": str(platform.pk)}
    return world.browser("pl01").post(address("pilot_baseline", world.workload_id), data | {"only_file": "1"})


def test_an_impossible_baseline_is_refused_and_becomes_no_evidence(world: World):
    facts = Workload.objects.get(pk=world.workload_id).model_facts
    assert facts["params"]
    weak = described(world, devices=Decimal(1), peak_tflops=Decimal("0.000001"))
    before = Run.objects.count()
    with nothing_but("NACHWEIS_VERWEIGERT", id="EV-02"):
        answer = hand_in(world, weak)
    assert answer.status_code == 422
    assert "Unplausibel (EM-11)" in screen(answer)
    assert Run.objects.count() == before
    strong = described(world, name="Anderer Cluster", devices=Decimal(1), peak_tflops=Decimal(989))
    assert hand_in(world, strong).status_code == 302


def test_an_impossible_target_run_stays_announced_and_brings_nothing(world: World):
    wafer = described(
        world,
        kind=PlatformKind.WAFER_SCALE,
        is_existing=False,
        devices=Decimal(1),
        peak_tflops=Decimal("0.000001"),
    )
    browser = world.browser("pl01")
    browser.post(address("pilot_announce", world.workload_id), {"platform": str(wafer.pk)})
    run = Run.objects.get(announced_at__isnull=False)
    data = json.loads((FILES / "aiperf-0.13.0_ok_profile_export_aiperf.json").read_bytes())
    data["start_time"] = run.announced_at.isoformat()  # type: ignore[union-attr]
    sent = {"file": [SimpleUploadedFile("lauf.json", json.dumps(data).encode())]}
    with nothing_but("NACHWEIS_VERWEIGERT", id="EV-02"):
        answer = browser.post(address("run_hand_in", run.pk), sent)
    assert answer.status_code == 422
    assert "Unplausibel (EM-11)" in screen(answer)
    run.refresh_from_db()
    assert run.is_announced


def test_a_cluster_whose_size_nobody_named_has_no_number_of_devices(world: World):
    said = platform_tuple(described(world))
    assert (said["devices"], said["memory_bytes"], said["topology"]) == (0, 0, "unbenannte GPU")
    full = described(world, name="Zwei", devices=Decimal(2), memory_gb=Decimal(80), peak_tflops=Decimal(1))
    said = platform_tuple(full)
    assert (said["devices"], said["memory_bytes"]) == (2, 80_000_000_000)
    assert names_of(full).peak.flops_per_s == 10**12  # type: ignore[union-attr]
