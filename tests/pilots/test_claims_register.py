"""What the claims register says once runs were replayed, or graphs of a framework were computed."""

from __future__ import annotations

import pytest
from django.urls import reverse

from pilots import claims_register
from qms.evidence.claim_choices import ClaimStatus
from tests.pilots.capture_house import run_of, world
from tests.walk import World, screen

__all__ = ["world"]
pytestmark = pytest.mark.django_db
NOT_YET = "Noch kein Lauf wurde nachgerechnet"


def test_a_replayed_run_ends_the_sentence_that_there_is_none(world: World) -> None:
    assert run_of("ZIEL").summary["replay_equal"]
    said = claims_register.answers()
    assert said["S019"].status is ClaimStatus.PARTLY
    assert NOT_YET not in screen(world.browser("wo01").get(reverse("claims")))


def test_a_graph_of_a_framework_that_gave_the_same_outputs_is_no_longer_missing(world: World) -> None:
    framework = run_of("ZIEL").summary["porting"]["framework"]
    key, other = ("S023", "S024") if framework == "PyTorch" else ("S024", "S023")
    said = claims_register.answers()
    assert said[key].status is ClaimStatus.REPRODUCED
    assert said[other].status is ClaimStatus.OPEN


def test_an_opinion_is_said_of_no_machine(world: World) -> None:
    said = claims_register.answers()
    assert said["S030"].machine == ""
    assert said["S016"].machine
    shown = screen(world.browser("wo01").get(reverse("claims")))
    opinion = shown[shown.index("S030") :].split("S031")[0]
    assert "Emulator," not in opinion
