"""Handing in measurements: a table of one's own, and target runs on a real system."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any, Final

from qms.workloads.choices import PlatformKind
from qms.workloads.models import PlatformProfile
from qms.workloads.services import platforms
from tests.access.rows import WORKLOAD, Act, Row, extra_args, nothing, workload_args
from tests.access.world import World

FILE: Final = Path(__file__).parents[1] / "pilots/baseline/files/aiperf-0.13.0_ok_profile_export_aiperf.json"


def _table(world: World) -> dict[str, Any]:
    return {
        "content": base64.b64encode(b"a\n0.1\n0.3\n").decode(),
        "name": "messung.csv",
        "platform": str(PlatformProfile.objects.get(key="DISKRET-4GPU").pk),
        "separator": "KOMMA",
        "decimal": "PUNKT",
        "headed": "True",
        "key_1": "e2e_latency_ms",
        "unit_1": "s",
    }


def _real_system(world: World) -> dict[str, Any]:
    real = PlatformProfile.objects.filter(kind=PlatformKind.WAFER_SCALE, is_emulated=False)
    if not real.exists():
        data = platforms.PlatformData(
            "CS-3 beim Anbieter", PlatformKind.WAFER_SCALE, False, "", "WSE-3", "CS-3 2.5", "SDK 2.5", "Cloud"
        )
        platforms.register_platform(actor=world.accounts["AD"], data=data)
    return {"platform": str(real.get().pk)}


def _files(world: World) -> dict[str, Any]:
    sent = io.BytesIO(FILE.read_bytes())
    sent.name = "lauf.json"
    return {"file": sent}


ROWS: Final[tuple[Row, ...]] = (
    Row("pilot_table", WORKLOAD, workload_args("frei"), nothing, post=Act("P12", "run", _table)),
    Row("pilot_announce", WORKLOAD, workload_args("frei"), nothing, post=Act("P13", "run", _real_system)),
    Row(
        "pilot_forecast",
        WORKLOAD,
        workload_args("frei"),
        get=404,
        note="no run on a real system yet, so the page exists for nobody",
    ),
    Row(
        "run_hand_in",
        WORKLOAD,
        extra_args("target"),
        nothing,
        post=Act("P13", "run", _files, status=409),
        note="the run was emulated, so nothing is announced",
    ),
    Row(
        "run_withdraw",
        WORKLOAD,
        extra_args("target"),
        nothing,
        get=None,
        post=Act("P13", "run", status=409),
        note="the run was emulated, so nothing is announced",
    ),
)
