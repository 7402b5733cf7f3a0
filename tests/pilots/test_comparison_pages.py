"""The page "Vergleich" through HTTP: a development machine, an imported baseline of the platform in use, the verdict."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from pilots import pages_comparison, selectors
from qms.core.values import Metric, Unit
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from qms.gates.business_facts import SuitabilityFacts
from qms.gates.facts import Facts
from qms.workloads.choices import PlatformKind
from tests.walk import World, platform, world

__all__ = ["world"]
STAGE = "emulated"
pytestmark = pytest.mark.django_db
FILES: Final = Path(__file__).parent / "baseline" / "files"
LOAD, TRACE = "vllm-0.33.0_serve_ok_20req.json", "nccl_world128_sampled_rank0.json.gz"
Change = Callable[[Facts], Facts]


def page(world: World, who: str = "wo01") -> str:
    answer = world.browser(who).get(reverse("pilot_comparison", args=[world.workload_id]))
    assert answer.status_code == 200
    return html.unescape(answer.content.decode().replace("\u00ad", "")).replace("\u00a0", " ")


def row(shown: str, name: str) -> str:
    """Return the words of one row of the table of metrics."""
    table = shown[shown.index("<h2>Messgrößen") :]
    found = re.search(rf'<th role="rowheader" scope="row">{name}.*?</tr>', table, re.DOTALL).group(0)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found))


def hand_in(world: World, *names: str) -> None:
    files = [SimpleUploadedFile(name, (FILES / name).read_bytes()) for name in names]
    data = {"file": files, "platform": platform("DISKRET-4GPU"), "only_file": "1"}
    answer = world.browser("pl01").post(reverse("pilot_baseline", args=[world.workload_id]), data)
    assert answer.status_code == 302


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> Callable[[Change], None]:
    """Let the page see the facts of the gates with something changed."""
    real = gates.facts_for

    def change(how: Change) -> None:
        def changed(*names: Any, **values: Any) -> Facts:
            return how(real(*names, **values))

        monkeypatch.setattr(pages_comparison.gates, "facts_for", changed)

    return change


def on_gpu(found: Facts, **metrics: str) -> Facts:
    """The baseline as if one H100 in use had measured it, with other values by key."""
    kind = PlatformKind.GPU_CLUSTER
    gpu = replace(
        found.baseline.platform,
        kind=kind,
        is_existing=True,
        development_machine=False,
        hardware_gen="H100 SXM",
    )
    changed = tuple(
        replace(item, value=Decimal(metrics[item.key])) if item.key in metrics else item
        for item in found.baseline.metrics
    )
    return replace(found, baseline=replace(found.baseline, platform=gpu, metrics=changed))


def choosing(*keys: str, **metrics: str) -> Change:
    return lambda found: replace(on_gpu(found, **metrics), suitability=SuitabilityFacts(primary_metrics=keys))


def test_a_development_machine_gives_no_factor_and_no_model_beside_it(world: World) -> None:
    shown = page(world)
    assert "Kein Vergleichsfaktor: Vergleichsbasis stammt von einem Entwicklungsrechner." in shown
    assert "kein Vergleichsfaktor (EM-12)" in row(shown, "Durchsatz")
    assert "% besser" not in shown
    assert "% schlechter" not in shown
    assert "Messung neben dem Clustermodell" not in shown
    assert "<h2>Empfehlung" not in shown


def test_both_sides_stand_with_axes_and_the_interval_of_the_target(world: World) -> None:
    shown = row(page(world), "Antwortzeit p95")
    assert "GEMESSEN" in shown
    assert "EMULIERT" in shown
    assert re.search(r"[\d,]+ ms bis [\d,]+ ms", shown)


def test_the_target_is_judged_at_the_lower_end_of_its_rate(
    world: World, facts: Callable[[Change], None]
) -> None:
    facts(choosing("throughput_samples_s", throughput_samples_s="10000"))
    shown = page(world)
    target = gates.facts_for(
        world.workload, gates.ApprovalType.PRELIMINARY, at=world.workload.created_at
    ).target
    rate = next(item for item in target.metrics if item.key == "throughput_samples_s")
    gain = (rate.interval.lower - 10_000) / 10_000
    words = f"{gain * 100:.1f}".replace(".", ",")
    said = row(shown, "Durchsatz")
    assert "erste Hauptmessgröße" in said
    assert f"um {words} % besser" in said
    assert "erfüllt" in said
    assert "mindestens 20 % besser" in said


def test_a_slower_target_is_a_plain_no_with_the_verdict_on_top(
    world: World, facts: Callable[[Change], None]
) -> None:
    facts(choosing("throughput_samples_s", throughput_samples_s="1000000"))
    shown = page(world)
    assert re.search(r"um [\d,]+ % schlechter", row(shown, "Durchsatz"))
    assert "nicht erfüllt" in row(shown, "Durchsatz")
    assert "G6-8" in shown
    assert shown.index("<h2>Empfehlung") < shown.index("<h2>Messgrößen")


def test_a_percentile_of_too_few_requests_gives_no_factor(
    world: World, facts: Callable[[Change], None]
) -> None:
    def few(found: Facts) -> Facts:
        found = choosing("e2e_latency_ms")(found)
        metrics = tuple(replace(item, reliable=item.percentile != "p99") for item in found.baseline.metrics)
        return replace(found, baseline=replace(found.baseline, metrics=metrics))

    facts(few)
    said = row(page(world), "Antwortzeit p99")
    assert "nicht belastbar" in said
    assert "besser" not in said.replace("mindestens 20 % besser", "")
    assert "offen" in said


def test_where_nothing_was_measured_the_cluster_model_explains_the_step_and_says_so(
    world: World, facts: Callable[[Change], None]
) -> None:
    facts(choosing("throughput_samples_s"))
    shown = page(world)
    assert "Nicht gemessen, sondern vom Clustermodell gerechnet" in shown
    assert "Messung neben dem Clustermodell" in shown
    assert "auf einer GPU H100 SXM" in shown


def test_measured_shares_come_before_the_model_and_the_rest_is_not_assigned(
    world: World, facts: Callable[[Change], None]
) -> None:
    def shares(found: Facts) -> Facts:
        found = choosing("throughput_samples_s")(found)
        first = found.baseline.metrics[0]
        share = Metric("comm_share", Decimal("0.31"), Unit.RATIO, first.axes)
        return replace(found, baseline=replace(found.baseline, metrics=(*found.baseline.metrics, share)))

    facts(shares)
    shown = page(world)
    assert "Gemessene Anteile aus Messung oder Profiler-Spur." in shown
    assert "nicht zugeordnet" in shown
    assert "69,0 %" in shown


@pytest.mark.parametrize(
    ("rate", "words"),
    [("10000", "bitte prüfen"), ("99999999999999", "Diese Messung ist unplausibel (EM-11)")],
)
def test_the_mfu_is_computed_and_questioned(
    world: World, facts: Callable[[Change], None], rate: str, words: str
) -> None:
    facts(choosing("throughput_samples_s", throughput_samples_s=rate))
    shown = page(world)
    assert words in shown
    assert "989,0 TFLOP/s" in shown
    assert "nennt für tiefe Netze „oft“ 30 % bis 40 %" in shown


def test_an_imported_baseline_of_the_platform_in_use_is_compared(world: World) -> None:
    hand_in(world, LOAD, TRACE)
    shown = page(world)
    assert "Kein Vergleichsfaktor" not in shown
    assert "nur in der Vergleichsbasis" in row(shown, "Zeit bis zum ersten Token p50")
    assert "Gemessene Anteile aus Messung oder Profiler-Spur." in shown
    assert "kein gleicher Workload-Fingerabdruck" in shown
    assert EvidenceItem.objects.get(type="EV-02", replaced_by=None).facts()["platform"]["devices"] == 4
    assert reverse("pilot_costs", args=[world.workload_id]) in shown


def test_the_page_is_linked_from_workload_and_run_and_leads_on(world: World) -> None:
    address = reverse("pilot_comparison", args=[world.workload_id])
    browser = world.browser("wo01")
    assert address in browser.get(reverse("workload", args=[world.workload_id])).content.decode()
    run = world.workload.runs.first()
    assert address in browser.get(reverse("run", args=[run.pk])).content.decode()
    shown = page(world)
    for name in ("workload_suitability", "pilot_costs"):
        assert reverse(name, args=[world.workload_id]) in shown
    assert reverse("cluster") in shown


def test_memory_of_a_process_and_sram_of_a_wafer_give_no_factor(
    world: World, facts: Callable[[Change], None]
) -> None:
    facts(choosing("throughput_samples_s"))
    said = row(page(world), "Speicher")
    assert "verschiedene Arten von Speicher" in said
    assert "schlechter" not in said


@pytest.mark.parametrize(("threads", "said"), [("1", True), ("0", False)])
def test_a_baseline_of_one_thread_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch, threads: str, *, said: bool
) -> None:
    real = selectors.latest

    def latest(*names: Any) -> Any:
        run = real(*names)
        run.summary["method"] = [["evaluator", "NumPy 2"], ["blas_threads", threads]]
        return run

    monkeypatch.setattr(pages_comparison.selectors, "latest", latest)
    assert ("in einem Thread gerechnet (ein Thread, NumPy)" in page(world)) is said
