"""Conditions of a conditional approval, their fulfilment, and the addendum."""

from __future__ import annotations

from typing import Any, Final

from tests.access.rows import (
    INVOLVED_JUDGES,
    SEES_WORKLOAD,
    UNKNOWN,
    WORKLOAD,
    Act,
    Row,
    approval_args,
    nothing,
)
from tests.access.world import World

HANDS_IN: Final = frozenset("X")
CONFIRMS: Final = frozenset("D")


def _condition(name: str) -> Any:
    return lambda world: [world.approvals["bedingt"].pk, world.extras[name].pk]


def _unknown(world: World) -> list[Any]:
    return [world.approvals["bedingt"].pk, UNKNOWN]


def _seen(world: World) -> dict[str, Any]:
    return _text(world) | {"proof_sha256": world.extras["condition_proven"].proof_sha256}


def _text(world: World) -> dict[str, Any]:
    return {"text": "Liegt vor."}


PRODUCER_JUDGES: Final = INVOLVED_JUDGES | {"leitung": "SoD-03"}
ROWS: Final[tuple[Row, ...]] = (
    Row(
        "condition_proof",
        WORKLOAD,
        _condition("condition_open"),
        _unknown,
        get=None,
        post=Act("P24", "own", _text, letters=HANDS_IN),
    ),
    Row(
        "condition_confirm",
        WORKLOAD,
        _condition("condition_proven"),
        _unknown,
        get=None,
        post=Act("P24", "review", _seen, letters=CONFIRMS, sod=PRODUCER_JUDGES),
    ),
    Row(
        "condition_return",
        WORKLOAD,
        _condition("condition_proven"),
        _unknown,
        get=None,
        post=Act("P24", "review", _seen, letters=CONFIRMS, sod=PRODUCER_JUDGES),
    ),
    Row(
        "approval_addendum",
        WORKLOAD,
        approval_args("bedingt"),
        nothing,
        post=Act(
            "P24",
            "review",
            lambda world: {"meaning": "GEPRUEFT"},
            status=422,
            letters=CONFIRMS,
            sod=PRODUCER_JUDGES,
        ),
        note="a condition is still open",
    ),
    Row(
        "approval_addendum_document",
        WORKLOAD,
        approval_args("bedingt"),
        nothing,
        get=409,
        note="the addendum comes with the last condition",
    ),
    Row(
        "approval_addendum_sign",
        WORKLOAD,
        lambda world: [world.approvals["bedingt"].pk, UNKNOWN],
        _unknown,
        hidden=SEES_WORKLOAD,
        post=Act(data=lambda world: {"challenge": str(UNKNOWN), "response": "{}"}, hidden=SEES_WORKLOAD),
        note="a frozen addendum exists for the person who has to sign it; here there is none",
    ),
)
