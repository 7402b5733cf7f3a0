"""Platforms, the organisation, and what is recorded there once: for everybody who holds a role (decision 0155)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from django.utils import timezone

from qms.core import clock
from qms.evidence.holder_choices import CRITERIA_OF, CapabilityArea, EnvironmentItem, PlatformLevel
from qms.workloads.models import PlatformProfile
from tests.access.rows import LOGIN, Act, Row, nothing
from tests.access.world import World

C, X = frozenset("C"), frozenset("X")
NO_ROLE: Final = frozenset({"ohne", "super", "dienst"})


def _platform(key: str) -> Callable[[World], list[Any]]:
    return lambda world: [PlatformProfile.objects.get(key=key).pk]


def _valid() -> dict[str, str]:
    return {"valid_until": (timezone.localdate(clock.now()) + timedelta(days=30)).isoformat()}


def _levels(world: World) -> dict[str, Any]:
    found: dict[str, Any] = _valid()
    for level in PlatformLevel:
        found[f"score_{CRITERIA_OF[level][0].value}"] = "3"
        found |= {f"assessor_{level.value}": f"Person {level}", f"evidence_{level.value}": f"Bericht {level}"}
    return found


def _offer(world: World) -> dict[str, Any]:
    texts = dict.fromkeys(("reference", "transition", "data_return", "export_format"), "Anlage 1")
    amounts = {"exit_cost_eur": "100", "switching_charges_eur": "100"}
    months = {"term_months": "12", "notice_months": "2"}
    day = {"offered_at": timezone.localdate(clock.now()).isoformat()}
    return texts | amounts | months | day | {"commercial_model": "PROVIDER"}


def _environment(world: World) -> dict[str, Any]:
    rows = {f"status_{item.value}": "OFFEN" for item in EnvironmentItem}
    return _valid() | rows | {f"responsible_{item.value}": "Betrieb" for item in EnvironmentItem}


def _capability(world: World) -> dict[str, Any]:
    rows = {f"responsible_{area.value}": "Betrieb" for area in CapabilityArea}
    return _valid() | rows | {f"evidence_{area.value}": "Handbuch" for area in CapabilityArea}


def _profile(world: World) -> dict[str, Any]:
    return {"name": "Cluster der Zugriffsprüfung", "kind": "GPU_CLUSTER", "hardware_gen": "8 GPUs"}


def _form(name: str, permission: str, data: Callable[[World], dict[str, Any]], **given: Any) -> Row:
    letters = given.pop("letters", C)
    act = Act(permission, data=data, letters=letters, hidden=NO_ROLE)
    return Row(name, LOGIN, reading=permission, read_letters=letters, post=act, hidden=NO_ROLE, **given)


_WAFER: Final = {"args": _platform("WSE-2"), "unknown": nothing}

ROWS: Final[tuple[Row, ...]] = (
    Row("platforms", LOGIN, hidden=NO_ROLE),
    Row("platform", LOGIN, _platform("WSE-2"), nothing, hidden=NO_ROLE),
    _form("platform_levels", "P16", _levels, **_WAFER),
    _form("platform_offer", "P17", _offer, **_WAFER),
    _form("platform_environment", "P14", _environment, **_WAFER),
    _form("platform_new", "P39", _profile, letters=X),
    _form("platform_edit", "P39", _profile, letters=X, args=_platform("DISKRET-4GPU"), unknown=nothing),
    Row("organisation", LOGIN, hidden=NO_ROLE),
    _form("organisation_capability", "P14", _capability),
)
