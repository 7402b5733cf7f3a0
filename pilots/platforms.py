"""The platform tuple as evidence names it (G4-7, G3-9)."""

from __future__ import annotations

from typing import Any

from qms.workloads.choices import PlatformKind
from qms.workloads.models import PlatformProfile


def platform_tuple(profile: PlatformProfile) -> dict[str, Any]:
    """Return the platform of a run in the form of the evidence facts; canonical JSON values only."""
    values = {row["name"]: row["value"] for row in profile.parameters}
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
        "devices": int(values.get("devices", "1")),
        "topology": values.get("topology", "ein Gerät"),
        "memory_bytes": int(values.get("memory_bytes") or values.get("sram_bytes", "0")),
        "sharding": "keine",
        "software": {"framework": profile.framework_release},
    }
