"""GPUs as data: dense peaks per number type, best measured matrix product, memory, links and power, with sources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pilots.cluster.errors import RequestError
from pilots.cluster.figure import Figure

FILE: Final = Path(__file__).parent / "catalogue" / "devices.json"
PRECISIONS: Final = ("bf16", "fp8", "fp4")
ITEM_BYTES: Final[dict[str, float]] = {"bf16": 2.0, "fp8": 1.0, "fp4": 0.5}


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU; peaks are dense (EM-03). figures: name -> number with its source; aliases: names publications use."""

    id: str
    name: str
    generation: str
    aliases: tuple[str, ...]
    figures: Mapping[str, Figure] = field(hash=False)

    def figure(self, name: str) -> float:
        """Return one number; raises RequestError if the device has none of this name."""
        if name not in self.figures:
            sentence = f"Die GPU {self.name} kennt keinen Wert für {name}; bitte eine andere Genauigkeit oder GPU wählen."
            raise RequestError(f"{self.id} has no {name}", message_de=sentence)
        return self.figures[name].value

    def peak(self, precision: str) -> float:
        """Return the dense peak in FLOP/s for bf16, fp8 or fp4."""
        return self.figure(f"peak_{precision}")

    def best(self, precision: str) -> float:
        """Return the rate of the best measured matrix product in FLOP/s."""
        return self.figure(f"best_{precision}")

    @property
    def hbm_bytes(self) -> float:
        """Memory of one GPU."""
        return self.figure("hbm_bytes")

    @property
    def hbm_bytes_per_s(self) -> float:
        """Peak bandwidth of the memory."""
        return self.figure("hbm_bytes_per_s")

    @property
    def link_bytes_per_s(self) -> float:
        """One-way bandwidth of all local links of one GPU."""
        return self.figure("link_bytes_per_s")


def _load() -> dict[str, Device]:
    rows = json.loads(FILE.read_text(encoding="utf-8"))["devices"]
    return {row["id"]: _device(row) for row in rows}


def _device(row: dict[str, Any]) -> Device:
    figures = {name: Figure.from_json(item) for name, item in row["figures"].items()}
    return Device(row["id"], row["name"], row["generation"], tuple(row["aliases"]), figures)


DEVICES: Final = _load()
_BY_NAME: Final = {
    name.casefold(): device for device in DEVICES.values() for name in (device.id, *device.aliases)
}


def find(name: str) -> Device:
    """Return a device by id or alias; raises RequestError naming the known ones."""
    device = named(name)
    if device is None:
        sentence = f"Die GPU „{name[:40]}“ ist nicht bekannt; bekannt sind: {', '.join(DEVICES)}."
        raise RequestError(f"unknown device {name[:40]}", message_de=sentence)
    return device


def named(name: str) -> Device | None:
    """Return a device by id or alias, or None."""
    return _BY_NAME.get(name.strip().casefold())
