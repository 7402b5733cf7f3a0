"""Rows of the keys that sign measurements."""

from __future__ import annotations

from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pilots.baseline import signature
from tests.access.rows import LOGIN, SIGNED_IN, Act, Row, extra_args, nothing
from tests.access.world import World


def _card(world: World) -> dict[str, Any]:
    return {"label": "Zweiter Rechner", "card": signature.card(Ed25519PrivateKey.generate())}


ROWS: Final[tuple[Row, ...]] = (
    Row("measuring_keys", LOGIN, post=Act("P12", data=_card)),
    Row(
        "measuring_key_revoke",
        LOGIN,
        extra_args("measuring_key"),
        nothing,
        get=None,
        post=Act(hidden=SIGNED_IN - {"leitung", "AD"}),
        note="the key of the lead; an administrator ends any (P39)",
    ),
)
