"""Baseline and target in one schema: ends, words of POL-23 at its boundary, and what gives no factor."""

from __future__ import annotations

from decimal import Decimal

import pytest

from pilots import pages_comparison_parts as parts
from pilots.catalog import cluster, comparison, decomposition, utilisation
from pilots.catalog.comparison import Asked, Bounds, Judgement, WhyNot
from pilots.catalog.decomposition import OF_CLUSTER, OF_WAFER, Group, Source
from pilots.catalog.explained import PlatformNames, utilisation_of
from pilots.catalog.utilisation import Finding, Peak
from pilots.graph.mlp import mlp_from_text
from pilots.wafer import emulator
from pilots.wafer.machine import MACHINES
from qms.core.values import Assurance, Axes, Better, Interval, Metric, Origin, Provenance, Unit

MEASURED = Axes(Provenance.MEASURED, Assurance.SUBMITTED, Origin.OWN)
EMULATED = Axes(Provenance.EMULATED, Assurance.REPEATED, Origin.OWN)
BOUNDS = Bounds(Decimal("0.20"), Decimal("0.05"))
BETTER = {"throughput_samples_s": Better.HIGHER, "e2e_latency_ms": Better.LOWER, "error_rate": Better.LOWER}
RATE, LATENCY, ERRORS = "throughput_samples_s", "e2e_latency_ms", "error_rate"
BAND = (Decimal("0.05"), Decimal("0.65"))


def measured(key, value, *, percentile=None, reliable=True, unit=Unit.MILLISECONDS):
    return Metric(key, Decimal(value), unit, MEASURED, percentile=percentile, reliable=reliable)


def emulated(key, lower, value, upper, *, percentile=None, unit=Unit.MILLISECONDS):
    interval = Interval(Decimal(lower), Decimal(upper))
    return Metric(key, Decimal(value), unit, EMULATED, percentile=percentile, interval=interval)


def asked(*primary, **given):
    return Asked(primary, BETTER, BOUNDS, **given)


def only(before, after, question):
    rows = comparison.compare(before, after, question)
    assert len(rows) == 1
    return rows[0]


@pytest.mark.parametrize(("lower", "judgement"), [("120", Judgement.MET), ("119.99", Judgement.NOT_MET)])
def test_the_first_primary_metric_must_gain_at_the_lower_end_of_a_rate(lower, judgement):
    row = only([measured(RATE, "100")], [emulated(RATE, lower, "150", "200")], asked(RATE))
    assert row.judgement is judgement
    assert row.first
    assert row.benefit.pessimistic == Decimal(lower) / 100 - 1
    assert row.benefit.optimistic == 1


@pytest.mark.parametrize(("upper", "judgement"), [("80", Judgement.MET), ("80.01", Judgement.NOT_MET)])
def test_a_time_is_judged_at_its_upper_end(upper, judgement):
    row = only([measured(LATENCY, "100")], [emulated(LATENCY, "40", "60", upper)], asked(LATENCY))
    assert row.judgement is judgement
    assert row.benefit.gain == 1 - Decimal(upper) / 100
    assert row.benefit.pessimistic == -row.benefit.gain


@pytest.mark.parametrize(("upper", "judgement"), [("105", Judgement.MET), ("105.01", Judgement.NOT_MET)])
def test_every_other_primary_metric_may_lose_five_per_cent(upper, judgement):
    rows = comparison.compare(
        [measured(RATE, "100"), measured(LATENCY, "100")],
        [emulated(RATE, "130", "140", "150"), emulated(LATENCY, "90", "100", upper)],
        asked(RATE, LATENCY),
    )
    assert [row.judgement for row in rows] == [Judgement.MET, judgement]


def test_a_metric_that_is_not_primary_is_compared_but_not_judged():
    row = only([measured(LATENCY, "100")], [emulated(LATENCY, "90", "100", "110")], asked(RATE))
    assert row.benefit is not None
    assert row.judgement is None


def test_primary_metrics_come_first_in_their_order():
    before = [measured(ERRORS, "0"), measured(LATENCY, "1"), measured(RATE, "1")]
    rows = comparison.compare(before, [], asked(RATE, LATENCY))
    assert [row.key for row in rows] == [RATE, LATENCY, ERRORS]


@pytest.mark.parametrize(
    ("before", "after", "given", "why_not"),
    [
        (
            measured(RATE, "1"),
            emulated(RATE, "1", "2", "3"),
            {"development_machine": True},
            WhyNot.DEVELOPMENT_MACHINE,
        ),
        (measured(RATE, "1"), None, {}, WhyNot.ONLY_BASELINE),
        (None, emulated(RATE, "1", "2", "3"), {}, WhyNot.ONLY_TARGET),
        (measured(RATE, "1", reliable=False), emulated(RATE, "1", "2", "3"), {}, WhyNot.UNRELIABLE),
        (measured(RATE, "1"), emulated(RATE, "1", "2", "3", unit=Unit.SECONDS), {}, WhyNot.OTHER_UNIT),
        (
            measured(RATE, "1"),
            emulated(RATE, "1", "2", "3"),
            {"other_memory": frozenset({RATE})},
            WhyNot.OTHER_MEMORY,
        ),
        (measured(RATE, "0"), emulated(RATE, "1", "2", "3"), {}, WhyNot.ZERO_BASELINE),
        (measured("anders", "1"), emulated("anders", "1", "2", "3"), {}, WhyNot.NO_DIRECTION),
    ],
)
def test_where_no_factor_is_given_the_reason_is(before, after, given, why_not):
    row = only([before] if before else [], [after] if after else [], asked(RATE, "anders", **given))
    assert row.benefit is None
    assert row.why_not is why_not
    assert row.judgement in {Judgement.OPEN, Judgement.MET}
    assert (row.judgement is Judgement.MET) == (why_not is WhyNot.ZERO_BASELINE)


def test_errors_where_there_were_none_are_worse_and_none_stay_none():
    worse = only([measured(ERRORS, "0")], [emulated(ERRORS, "0", "0", "0.1")], asked(RATE, ERRORS))
    assert worse.why_not is WhyNot.ZERO_BASELINE
    assert worse.judgement is Judgement.NOT_MET
    same = only([measured(ERRORS, "0")], [emulated(ERRORS, "0", "0", "0")], asked(RATE, ERRORS))
    assert same.benefit.gain == 0
    assert same.judgement is Judgement.MET


def test_a_target_outside_its_calibration_or_without_an_interval_stays_open():
    outside = only([measured(RATE, "1")], [emulated(RATE, "2", "3", "4")], asked(RATE, outside=True))
    assert outside.judgement is Judgement.OPEN
    bare = only([measured(RATE, "1")], [measured(RATE, "2")], asked(RATE))
    assert bare.judgement is Judgement.OPEN
    assert bare.benefit.gain == 1


def test_percentiles_pair_with_their_own_and_none_is_lost():
    before = [
        measured(LATENCY, "1", percentile="p50"),
        measured(LATENCY, "2", percentile="p99"),
        measured(LATENCY, "3", percentile="p99"),
    ]
    after = [emulated(LATENCY, "1", "1", "1", percentile="p99")]
    rows = comparison.compare(before, after, asked())
    assert [(row.percentile, row.why_not) for row in rows] == [
        ("p50", WhyNot.ONLY_BASELINE),
        ("p99", None),
        ("p99", WhyNot.ONLY_BASELINE),
    ]


# where a step goes


def test_causes_of_the_wafer_become_the_common_groups_and_add_up():
    causes = {
        name: emulated(f"step_{name}_ms", "1", "2", "3")
        for name in ("compute", "memory", "fabric", "launch", "off_wafer", "host")
    }
    found = decomposition.of_causes(emulated(LATENCY, "6", "12", "18"), causes, OF_WAFER, Source.EMULATOR)
    assert {part.group: part.metric.value for part in found.parts} == {
        Group.COMPUTE: 2,
        Group.MEM_WALL: 2,
        Group.NETWORK: 4,
        Group.OTHER: 4,
    }
    assert found.total == 1
    network = next(part.metric for part in found.parts if part.group is Group.NETWORK)
    assert (network.interval.lower, network.interval.upper) == (2, 6)


@pytest.mark.parametrize(("step", "unassigned"), [("100", 0), ("101", 0), ("101.02", 1), ("99.01", 0)])
def test_what_is_missing_beyond_one_per_cent_is_a_part_of_its_own(step, unassigned):
    causes = {"compute": measured("compute_ms", "60"), "mem_wall": measured("mem_wall_ms", "40")}
    found = decomposition.of_causes(measured(LATENCY, step), causes, OF_CLUSTER, Source.CLUSTER)
    assert sum(part.group is Group.UNASSIGNED for part in found.parts) == unassigned
    assert not found.exceeds
    assert abs(found.total - 1) <= decomposition.TOLERANCE


def test_parts_beyond_the_step_are_said_and_not_hidden():
    causes = {"compute": measured("compute_ms", "60"), "host": measured("host_ms", "50")}
    found = decomposition.of_causes(measured(LATENCY, "100"), causes, OF_CLUSTER, Source.CLUSTER)
    assert found.exceeds
    assert found.total == Decimal("1.1")


def test_measured_shares_leave_what_was_not_measured_unassigned():
    shares = {
        "comm_share": measured("comm_share", "0.31", unit=Unit.RATIO),
        "mem_stall_share": measured("mem_stall_share", "0.12", unit=Unit.RATIO),
    }
    found = decomposition.of_shares(measured("step_time_ms", "200"), shares)
    assert [(part.group, part.metric.value) for part in found.parts] == [
        (Group.MEM_WALL, 24),
        (Group.NETWORK, 62),
        (Group.UNASSIGNED, 114),
    ]
    bare = decomposition.of_shares(None, shares)
    assert [part.metric for part in bare.parts] == [None, None, None]
    assert decomposition.of_shares(measured("step_time_ms", "200"), {}) is None


# MFU and EM-11


def peak(value):
    return Peak(Decimal(value), "16 Bit, dicht", "Datenblatt", MEASURED)


def test_mfu_of_the_published_example_is_35_8_per_cent():
    found = utilisation.mfu(
        rate_per_s=Decimal(270_000),
        flops_each=utilisation.flops_per_token(7_000_000_000, training=True),
        devices=32,
        peak=peak("989e12"),
        band=BAND,
    )
    assert round(found.value, 3) == Decimal("0.358")
    assert found.finding is Finding.PLAUSIBLE


@pytest.mark.parametrize(
    ("rate", "finding"),
    [
        ("4.99", Finding.QUESTION),
        ("5", Finding.PLAUSIBLE),
        ("65", Finding.PLAUSIBLE),
        ("65.01", Finding.QUESTION),
        ("100", Finding.QUESTION),
        ("100.01", Finding.IMPOSSIBLE),
    ],
)
def test_outside_the_band_is_a_question_and_above_the_peak_impossible(rate, finding):
    found = utilisation.mfu(
        rate_per_s=Decimal(rate), flops_each=Decimal(2), devices=2, peak=peak("100"), band=BAND
    )
    assert found.finding is finding


def platform(*texts, **parameters):
    return PlatformNames(texts, 32, parameters)


def test_mfu_is_never_assumed():
    tokens = [measured("throughput_tokens_s", "270000", unit=Unit.TOKENS_PER_SECOND)]
    sizes = {"params": 7_000_000_000}
    named = platform("4 Knoten, H100 SXM")
    full = utilisation_of(tokens, sizes, named, training=True, band=BAND)
    assert round(full.mfu.value, 3) == Decimal("0.358")
    assert utilisation_of(tokens, {}, named, training=True, band=BAND) is None
    assert utilisation_of([], sizes, named, training=True, band=BAND) is None
    assert utilisation_of(tokens, sizes, platform("GPUs"), training=True, band=BAND) is None


def test_the_peak_a_profile_declares_comes_before_the_catalogue():
    row = {
        "name": "peak_flops_16bit",
        "value": "500000000000000",
        "provenance": "HERSTELLERANGABE",
        "source": "Datenblatt",
    }
    assert platform("H100", peak_flops_16bit=row).peak.flops_per_s == 500 * 10**12
    assert platform("H100").peak.flops_per_s == 989 * 10**12


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("8x NVIDIA H100-SXM 80GB", "h100"),
        ("NVIDIA A100-SXM-40GB", "a100-40"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("GB200 NVL72", "gb200"),
        ("4 GPUs in zwei Knoten", None),
        ("XH100Y", None),
    ],
)
def test_a_gpu_is_recognised_by_its_whole_name(text, device):
    found = platform(text).device
    assert (found.id if found else None) == device


# the whole cycle (M-05)


def hours(**changed):
    given = {
        "queue_h": "2",
        "transfer_h": "0.5",
        "compile_h": "1",
        "run_h": "6",
        "evaluation_h": "0.5",
        "total_h": "10",
    }
    return {"cycle": given | changed}


def test_the_cycle_of_both_sides_stands_part_by_part():
    found = parts.cycle({"baseline": hours(run_h="48", total_h="52"), "target": hours()}, MEASURED)
    assert not found["incomplete"]
    rows = [[cell["text"] for cell in row["cells"]] for row in found["table"]["rows"]]
    assert [row[1] for row in rows] == [f"{value}\u00a0h" for value in ("2", "0,5", "1", "48", "0,5", "52")]
    assert rows[-1][2] == "10\u00a0h"


def test_a_cycle_with_a_gap_is_not_added_up():
    one = parts.cycle({"baseline": hours(), "target": {"cycle": None}}, MEASURED)
    assert one["incomplete"]
    assert [row["cells"][2]["text"] for row in one["table"]["rows"]] == ["nicht erfasst"] * 6
    assert parts.cycle({"baseline": hours(queue_h=None, total_h=None), "target": hours()}, MEASURED)[
        "incomplete"
    ]
    assert parts.cycle({"baseline": {"cycle": None}, "target": {}}, MEASURED) is None


# one schema (S001)


def test_the_same_graph_gives_the_same_metrics_on_both_models():
    graph, weights = mlp_from_text("64-256-256-8")
    wafer = emulator.run(graph, weights, inputs_seed=1, batch=32, machine=MACHINES["wse-2"]).metrics
    gpus = cluster.metrics(graph, cluster.on_device(graph, "h100", batch=32), batch=32)
    schema = [{(item.key, item.percentile, item.unit) for item in metrics} for metrics in (wafer, gpus)]
    assert schema[1] <= schema[0]
    assert {key for key, _, _ in schema[1]} == {RATE, LATENCY, "peak_memory_bytes"}
