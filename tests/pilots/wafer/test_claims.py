from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from pilots.wafer.claims import CLAIMS, Assessment, ClaimStatus, Given, Kind, assess_all
from pilots.wafer.machine import MACHINES, WSE_2, WSE_3, find, lab_mesh
from pilots.wafer.machine.figure import chosen
from pilots.wafer.scaling import scaling_table
from qms.core.values import Provenance

BY_ID = {claim.id: claim for claim in CLAIMS}
EVERY_GIVEN = [
    Given(machine, telemetry=said, replayed=said, front_ends=("pytorch", "jax") * said, model_bytes=size)
    for machine in (*MACHINES.values(), find("wse-3@unconstrained"), lab_mesh(1, 1), lab_mesh(1, 2))
    for said in (False, True)
    for size in (None, 0, 14 * 10**9, 140 * 10**9)
]


def says(claim_id: str, given: Given) -> Assessment:
    return BY_ID[claim_id].assess(given)


def test_ids_are_those_of_the_seed_catalogue_in_the_order_of_the_text() -> None:
    assert [claim.id for claim in CLAIMS] == sorted(BY_ID)
    assert [claim.seed_line for claim in CLAIMS] == sorted(claim.seed_line for claim in CLAIMS)
    lines = {claim.id: claim.seed_line for claim in CLAIMS}
    assert (lines["S009"], lines["S011"], lines["S016"], lines["S018"], lines["S031"]) == (22, 23, 33, 34, 46)


@pytest.mark.parametrize("given", EVERY_GIVEN)
def test_a_model_never_claims_a_measurement(given: Given) -> None:
    for claim, found in assess_all(given):
        assert found.status not in {ClaimStatus.CONFIRMED, ClaimStatus.REFUTED}
        assert found.sentence_de.endswith(".")
        assert (found.status is ClaimStatus.OPINION) == (claim.kind is Kind.OPINION)
        assert all(item.provenance is not Provenance.MEASURED for item in found.figures)
        assert all(item.source and item.label_de and item.value_de for item in found.figures)


def test_cores_are_partly_there_and_not_claimed_for_other_machines() -> None:
    found = says("S009", Given(WSE_3))
    assert found.status is ClaimStatus.PARTLY
    assert "893.064" in found.sentence_de
    assert "883.350" in found.sentence_de
    assert says("S009", Given(WSE_2)).status is ClaimStatus.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("cores", "width", "status"),
    [
        (899_999, 755, ClaimStatus.NOT_APPLICABLE),
        (900_000, 755, ClaimStatus.PARTLY),
        (900_000, 769, ClaimStatus.PARTLY),
        (900_900, 770, ClaimStatus.REPRODUCED),
    ],
)
def test_the_claim_of_900_000_cores_turns_at_900_000(cores: int, width: int, status: ClaimStatus) -> None:
    machine = replace(WSE_3, cores_total=chosen(cores, "test"), width_pes=chosen(width, "test"))
    assert says("S009", Given(machine)).status is status


def test_capacity_names_what_is_left_for_data() -> None:
    found = says("S010", Given(WSE_3))
    assert found.status is ClaimStatus.PARTLY
    assert "44,2\u00a0GB" in found.sentence_de
    assert "36,1\u00a0GB" in found.sentence_de
    assert says("S010", Given(WSE_2)).status is ClaimStatus.NOT_APPLICABLE


def test_bandwidth_is_an_upper_bound_never_reached() -> None:
    found = says("S011", Given(WSE_3))
    assert found.status is ClaimStatus.PARTLY
    assert "Obergrenze, kein erreichter Wert" in found.sentence_de
    assert "18,4\u00a0PB/s" in found.sentence_de
    assert "23,8\u00a0PB/s" in found.sentence_de
    assert says("S011", Given(WSE_2)).status is ClaimStatus.NOT_APPLICABLE
    assert says("S011", Given(lab_mesh())).status is ClaimStatus.NOT_APPLICABLE


def test_a_bus_is_never_bypassed_completely() -> None:
    room = WSE_3.pes * WSE_3.data_bytes_per_pe
    assert says("S015", Given(WSE_3)).status is ClaimStatus.PARTLY
    assert says("S015", Given(WSE_3, model_bytes=room)).status is ClaimStatus.PARTLY
    assert says("S015", Given(WSE_3, model_bytes=room + 1)).status is ClaimStatus.NOT_APPLICABLE
    moved = says("S015", Given(WSE_3, off_wafer_bytes=4096)).figures[-1]
    assert (moved.value_de, moved.provenance) == ("4.096\u00a0B", Provenance.EMULATED)


@pytest.mark.parametrize(
    ("machine_id", "status", "beyond"),
    [
        ("wse-2", ClaimStatus.PARTLY, "Längster Weg"),
        ("wse-2@research", ClaimStatus.PARTLY, "Längster Weg"),
        ("wse-3", ClaimStatus.PARTLY, "Mittel aller Paare, Längster Weg, Längster Weg nach Westen"),
        ("lab-8x8", ClaimStatus.REPRODUCED, ""),
        ("lab-1x1", ClaimStatus.NOT_APPLICABLE, ""),
    ],
)
def test_latency_is_told_unvarnished(machine_id: str, status: ClaimStatus, beyond: str) -> None:
    found = says("S016", Given(find(machine_id)))
    assert found.status is status
    if beyond:
        assert found.sentence_de.endswith(f"nicht unter 1\u00a0µs: {beyond}.")


def test_latency_of_exactly_a_microsecond_is_not_below_it() -> None:
    slow = replace(lab_mesh(1, 2), clock_hz=chosen(12_000_000, "test"))  # 12 cycles are 1000 ns
    assert says("S016", Given(slow)).status is ClaimStatus.OPEN
    assert (
        says("S016", Given(replace(slow, clock_hz=chosen(12_000_001, "test")))).status
        is ClaimStatus.REPRODUCED
    )


@pytest.mark.parametrize(
    ("seconds", "status", "words"),
    [
        ({1: 1.9, 2: 1.0, 4: 0.5}, ClaimStatus.REPRODUCED, "linear (0,95)"),
        ({1: 1.9, 2: 1.0, 4: 0.51}, ClaimStatus.PARTLY, "sublinear (0,93)"),
        ({1: 1.76, 2: 1.0, 4: 0.5}, ClaimStatus.OPEN, "sublinear (0,88)"),
        ({1: 1.9, 2: 1.000001, 4: 0.500001}, ClaimStatus.OPEN, "sublinear (0,94)"),
    ],
)
def test_linear_is_said_from_0_95_and_stays_extrapolated(
    seconds: dict[int, float], status: ClaimStatus, words: str
) -> None:
    found = says("S018", Given(WSE_3, scaling=scaling_table(seconds.__getitem__, (1, 2, 4))))
    assert found.status is status
    assert words in found.sentence_de
    assert "EXTRAPOLIERT" in found.sentence_de
    assert all("EXTRAPOLIERT" in item.value_de for item in found.figures)
    assert ("erst ab einer Effizienz von 0,95" in found.sentence_de) == (status is not ClaimStatus.REPRODUCED)


def test_one_system_says_nothing_about_scaling() -> None:
    for rows in ((), scaling_table(lambda n: 1.0, (1,))):
        assert says("S018", Given(WSE_3, scaling=rows)).status is ClaimStatus.OPEN


def test_determinism_is_a_property_of_the_emulator() -> None:
    assert says("S019", Given(WSE_3)).status is ClaimStatus.OPEN
    found = says("S019", Given(WSE_3, replayed=True))
    assert found.status is ClaimStatus.PARTLY
    assert "Eigenschaft des Emulators" in found.sentence_de


def test_partitioning_turns_at_the_capacity_for_data() -> None:
    room = WSE_3.pes * WSE_3.data_bytes_per_pe
    assert says("S020", Given(WSE_3)).status is ClaimStatus.OPEN
    assert says("S020", Given(WSE_3, model_bytes=room)).status is ClaimStatus.REPRODUCED
    assert says("S020", Given(WSE_3, model_bytes=room + 1)).status is ClaimStatus.NOT_APPLICABLE


def test_front_ends_are_our_own_bridge() -> None:
    given = Given(WSE_3, front_ends=("pytorch",))
    assert says("S024", given).status is ClaimStatus.OPEN
    found = says("S023", given)
    assert found.status is ClaimStatus.REPRODUCED
    assert "eigener Brücke (Emulator)" in found.sentence_de
    assert "Software des Herstellers" in found.sentence_de


@pytest.mark.parametrize("claim_id", ["S027", "S028", "S029"])
def test_telemetry_is_synthetic(claim_id: str) -> None:
    assert says(claim_id, Given(WSE_3)).status is ClaimStatus.OPEN
    found = says(claim_id, Given(WSE_3, telemetry=True))
    assert found.status is ClaimStatus.PARTLY
    assert "synthetischen" in found.sentence_de


@pytest.mark.parametrize("claim_id", ["S012", "S031", "S032"])
def test_what_cannot_be_checked_here_stays_open(claim_id: str) -> None:
    assert says(claim_id, EVERY_GIVEN[-1]).status is ClaimStatus.OPEN


@pytest.mark.parametrize(
    ("on", "outdated"),
    [
        (date(2026, 10, 20), False),
        (date(2027, 10, 20), False),
        (date(2027, 10, 21), True),
        (date(2027, 9, 30), False),
        (date(2027, 11, 1), True),
        (date(2030, 1, 1), True),
    ],
)
def test_a_claim_ages_after_twelve_months(on: date, outdated: bool) -> None:
    assert CLAIMS[0].outdated(on) is outdated
