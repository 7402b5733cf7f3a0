"""The platform tuple as evidence names it (G4-7, G3-9)."""

from __future__ import annotations

from typing import Any, Final

from pilots.catalog.explained import PlatformNames
from qms.workloads.choices import PlatformKind
from qms.workloads.models import PlatformProfile

ONE_DEVICE: Final = (
    PlatformKind.CPU_SERVER,
    PlatformKind.DEVELOPMENT_MACHINE,
    PlatformKind.WAFER_SCALE,
)
"""Kinds that are one device unless their profile says otherwise; of any other the number is not known."""


def names_of(profile: PlatformProfile) -> PlatformNames:
    """Return what a platform says of its hardware, for what is computed with it (M-13, EM-11)."""
    said = platform_tuple(profile)
    parameters = {str(row["name"]): row for row in profile.parameters}
    texts = (said["hardware_gen"], said["topology"], profile.name)
    return PlatformNames(texts, said["devices"], parameters)


def platform_tuple(profile: PlatformProfile) -> dict[str, Any]:
    """Return the platform of a run in the form of the evidence facts; canonical JSON values only."""
    values = {row["name"]: row["value"] for row in profile.parameters}
    single = profile.kind in ONE_DEVICE
    return {
        "profile_id": str(profile.pk),
        "profile": profile.key,
        "profile_version": profile.version,
        "kind": profile.kind,
        "bestand": profile.is_existing,
        "development_machine": profile.kind == PlatformKind.DEVELOPMENT_MACHINE,
        "hardware_gen": profile.hardware_gen,
        "system_release": profile.system_release,
        "framework_release": profile.framework_release,
        "operating_model": profile.operating_model,
        "devices": int(values.get("devices", "1" if single else "0")),
        "topology": values.get("topology", "ein Gerät" if single else profile.hardware_gen),
        "memory_bytes": int(values.get("memory_bytes") or values.get("sram_bytes", "0")),
        "sharding": "keine",
        "software": {"framework": profile.framework_release},
    }
