"""Collectives by the way the library takes, and what published tables of a known system add to them."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import pytest

from pilots.cluster import device, measured
from pilots.cluster.constants import constants, record, tables
from pilots.cluster.costs import collectives
from pilots.cluster.costs.collectives import ALONE_AT_PORT, SLOW_NODE_PORT
from pilots.cluster.formulas import seconds
from pilots.cluster.predict import predict
from pilots.cluster.reading.inputs import span_of
from pilots.cluster.reading.operators import DGX_NETWORK, NCCL
from pilots.cluster.topology import ring_seconds
from pilots.cluster.validation.splits import size_range_of
from pilots.cluster.validation.statistics import conformal, percentile
from pilots.cluster.validity import CALIBRATED, LEAST_OUTSIDE, trust
from pilots.cluster.workloads import Case, Collective
from tests.pilots.cluster.cases import all_reduce, serving

MIB = 2**20
IDEAL = dict.fromkeys(collectives.PRIOR, 0.0) | {"link_share": 1.0, "network_share": 1.0, "nvls_gain": 1.0}


def several(port, *, gpus=16, nodes=2, size=2**30, algorithm="", stack=NCCL):
    chosen = device.find("a100-80")
    span = span_of(chosen, gpus, nodes, gpus // nodes, port)
    return Case(chosen, span, stack, Collective("all_reduce", size, algorithm))


def between(case):
    return float(collectives.columns([case])["between"][0])


def ideal(case):
    """Seconds with links at their full bandwidth and no software."""
    return float(collectives.terms(collectives.columns([case]), IDEAL).seconds[0])


def test_trees_over_many_ports_share_the_bytes_of_a_node():
    assert between(several(SLOW_NODE_PORT + 1)) == 2**30


def test_one_slow_port_or_the_ring_by_name_carries_a_ring_over_all_gpus():
    assert between(several(SLOW_NODE_PORT)) == pytest.approx(2**30 * 2 * 15 / 16)
    assert between(several(50e9, algorithm="ring")) == pytest.approx(2**30 * 2 * 15 / 16)


def test_a_gpu_alone_at_its_port_gets_less_of_it():
    assert between(several(SLOW_NODE_PORT, gpus=2)) == pytest.approx(2**30 / ALONE_AT_PORT)
    assert between(several(50e9, gpus=2)) == 2**30


def test_a_ring_over_nodes_without_software_is_the_reference_ring_and_the_links_inside():
    case = several(SLOW_NODE_PORT)
    inside = 2 * 7 / 8 * 2**30 / case.span.local_bytes_per_s
    expected = ring_seconds(2**30, 16, SLOW_NODE_PORT, case.span.latency_s) + inside
    assert ideal(case) == pytest.approx(expected)


def test_the_sum_in_the_switch_has_no_ramp():
    ramps = [
        float(collectives.columns([all_reduce(algorithm=name)])["ramped"][0]) for name in ("nvls", "ring")
    ]
    assert ramps == [0.0, 2**30 * 2 * 7 / 8]


@pytest.mark.parametrize("port", [5e9, SLOW_NODE_PORT, 13e9, 50e9, 400e9])
def test_a_faster_port_is_never_slower(port):
    assert ideal(several(1.1 * port)) < ideal(several(port))


def test_a_table_belongs_to_one_kind_and_span():
    case = all_reduce()
    others = (
        all_reduce(gpus=4),
        all_reduce(gpu="a100-80"),
        all_reduce(algorithm="ring"),
        replace(case, span=replace(case.span, local_bytes_per_s=1e9)),
        replace(case, workload=Collective("all_gather", 2**30)),
    )
    assert measured.table_of(case) not in {measured.table_of(item) for item in others}
    assert measured.table_of(all_reduce(size=1)) == measured.table_of(case)
    networks = [measured.table_of(several(port)) for port in (10e9, 20e9)]
    assert networks[0] != networks[1]


def test_what_is_no_switched_collective_has_no_table():
    chain = replace(all_reduce(), span=replace(all_reduce().span, switched=False))
    assert [measured.table_of(item) for item in (serving(), chain, all_reduce(gpus=1))] == ["", "", ""]


def test_knots_are_middles_per_doubling_and_lie_on_lines_between():
    cases = [all_reduce(size=2**power) for power in range(20, 24) for _ in range(3)]
    found = measured.tables_of(cases, [-0.1, -0.3, -9.0] * 4)
    assert [value for _, value in found[measured.table_of(cases[0])]] == pytest.approx([0.3] * 4)
    sizes = [all_reduce(size=2**power) for power in range(20, 24)]
    slope = measured.tables_of(sizes, [-0.0, -1.0, -2.0, -3.0])
    assert measured.corrections([all_reduce(size=int(2**21.5))], slope)[0] == pytest.approx(1.5, abs=1e-5)


def test_three_doublings_are_no_table():
    sizes = [all_reduce(size=2**power) for power in range(20, 24)]
    assert measured.tables_of(sizes[:3], [0.0] * 3) == {}
    assert len(measured.tables_of(sizes, [0.0] * 4)) == 1


@pytest.mark.parametrize(("size", "speaks"), [(MIB // 2, True), (MIB // 2 - 1, False), (16 * MIB, True), (16 * MIB + 1, False)])  # fmt: skip
def test_a_table_speaks_up_to_half_and_twice_its_sizes(size, speaks):
    sizes = [all_reduce(size=2**power) for power in range(20, 24)]
    found = measured.tables_of(sizes, [-0.5] * 4)
    assert measured.covers(all_reduce(size=size), found) is speaks
    assert measured.corrections([all_reduce(size=size)], found)[0] == (0.5 if speaks else 0.0)


def test_tables_come_back_from_the_record_as_they_are_stored():
    for item in record()["keys"].values():
        stored = item.get("tables", {})
        assert measured.to_json(measured.from_json(stored)) == stored
    assert {key for key, found in tables().items() if found} == {
        f"collectives/{NCCL}",
        f"collectives/{DGX_NETWORK}",
    }


def test_a_known_system_is_the_formula_times_its_table_with_the_interval_of_tables():
    case = all_reduce(size=3 * MIB)
    alone = float(seconds([case], constants())[0])
    added = measured.corrections([case], tables()[case.key])[0]
    found = predict(case)
    assert added != 0.0
    assert found.seconds == pytest.approx(alone * exp(added))
    assert found.seconds == pytest.approx(float(seconds([case], constants(), tables())[0]))
    assert found.parts["net_serialisation"] == pytest.approx(found.seconds)
    known = record()["keys"][case.key]
    assert found.trust.state == CALIBRATED
    assert found.trust.log_width == float(known["table_log_width"]) < float(known["log_width"])


def test_a_size_its_table_does_not_reach_keeps_the_interval_of_the_formula():
    case = all_reduce(size=2**30)
    found = predict(case)
    assert found.trust.log_width == float(record()["keys"][case.key]["log_width"])
    assert found.seconds == pytest.approx(float(seconds([case], constants())[0]))


def test_outside_the_range_an_interval_is_at_least_forty_percent():
    case = serving(gpu="h200")
    assert float(record()["keys"][case.key]["log_width"]) < LEAST_OUTSIDE
    assert trust(case, record()).log_width == LEAST_OUTSIDE


def test_ranges_of_sizes_end_at_powers_of_four():
    parts = [size_range_of(all_reduce(size=size)) for size in (MIB - 1, MIB, 4 * MIB - 1, 4 * MIB)]
    assert parts[1] == parts[2]
    assert len(set(parts)) == 3
    assert size_range_of(serving()) == ""


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (9, 9), (10, 10), (19, 18), (20, 19), (100, 91)])
def test_the_conformal_rank_counts_one_more(n, rank):
    values = list(range(1, n + 1))
    assert conformal(values, 0.9) == rank
    assert conformal(values, 0.9) >= percentile(values, 0.9)
