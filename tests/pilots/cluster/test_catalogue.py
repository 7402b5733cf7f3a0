from __future__ import annotations

import pytest

from pilots.cluster import device, topology
from pilots.cluster.errors import RequestError
from pilots.cluster.figure import Figure
from pilots.cluster.topology import TOPOLOGIES, ring_seconds
from qms.core.values import Provenance


def figures():
    for item in device.DEVICES.values():
        yield from item.figures.values()
    for profile in TOPOLOGIES.values():
        for link in profile.links:
            yield from (link.bytes_per_s, link.latency_s)


def test_every_figure_has_unit_source_and_date():
    found = list(figures())
    assert len(found) > 100
    assert all(figure.unit and figure.source and figure.date for figure in found)
    assert {figure.provenance for figure in found} <= {Provenance.VENDOR_STATED, Provenance.ESTIMATED}


def test_a_figure_without_source_is_refused():
    data = {"value": 1, "unit": "B", "provenance": "GESCHAETZT", "source": "", "date": "2025"}
    with pytest.raises(RequestError) as refused:
        Figure.from_json(data)
    assert "keine Quelle" in refused.value.message_de


def test_the_best_product_never_exceeds_the_dense_peak():
    for item in device.DEVICES.values():
        for precision in device.PRECISIONS:
            if f"peak_{precision}" in item.figures:
                assert item.best(precision) <= item.peak(precision)


def test_an_unknown_device_and_an_unknown_number_type_are_a_sentence():
    with pytest.raises(RequestError, match="unknown device"):
        device.find("h9000")
    with pytest.raises(RequestError) as refused:
        device.find("a100-80").peak("fp8")
    assert "andere Genauigkeit oder GPU" in refused.value.message_de


def test_the_path_from_gpu_0_to_gpu_3_crosses_three_links():
    profile = topology.find("DISKRET-4GPU")
    assert len(profile.path(0, 3)) == 3
    assert [(link.a, link.b) for link in profile.path(3, 1)] == [(1, 2), (2, 3)]
    assert profile.path(2, 2) == ()
    assert len(topology.find("DGX-H100").path(0, 7)) == 1


def test_the_wrap_edge_of_a_chain_is_as_slow_as_the_slowest_link_and_as_late_as_all():
    profile = topology.find("DISKRET-4GPU-NVLINK")
    span = profile.span(4)
    assert span.local_bytes_per_s == 50e9
    assert span.latency_s == pytest.approx(3e-6)
    assert not span.switched


def test_a_group_larger_than_the_topology_or_a_gpu_outside_is_a_sentence():
    profile = topology.find("DISKRET-4GPU")
    for call in (lambda: profile.span(5), lambda: profile.span(0), lambda: profile.path(0, 4)):
        with pytest.raises(RequestError):
            call()
    with pytest.raises(RequestError):
        topology.find("unbekannt")


def test_a_group_within_one_node_needs_no_network():
    assert topology.find("GPU-BESTAND-32").span(8).nodes == 1
    assert topology.find("GPU-BESTAND-32").span(32).nodes == 4


@pytest.mark.parametrize(
    ("gpus", "size", "speed", "delay", "seconds"),
    [
        (4, 14e9, 50e9, 5e-6, 0.420),  # S006
        (2, 1e9, 100e9, 1e-6, 0.010),
        (8, 8e9, 400e9, 2e-6, 0.035),
        (1, 1e9, 50e9, 5e-6, 0.0),
    ],
)
def test_the_reference_ring_gives_the_known_times(gpus, size, speed, delay, seconds):
    assert ring_seconds(size, gpus, speed, delay) == pytest.approx(seconds, rel=0.05)


def test_own_numbers_replace_those_of_links_inside_or_between_nodes_and_are_estimates():
    profile = topology.find("DISKRET-4GPU")
    changed = profile.edited(topology.Edit(450e9, None), topology.Edit(None, 2e-6))
    assert [link.bytes_per_s.value for link in changed.links] == [450e9, 50e9, 450e9]
    assert [link.latency_s.value for link in changed.links] == [1.5e-6, 2e-6, 1.5e-6]
    assert changed.links[0].bytes_per_s.provenance is Provenance.ESTIMATED
    assert changed.links[0].latency_s == profile.links[0].latency_s
    assert profile.edited(topology.Edit(), topology.Edit()) == profile


def test_every_link_has_a_name():
    assert all(link.name for profile in TOPOLOGIES.values() for link in profile.links)
