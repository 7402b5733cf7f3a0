"""How GPUs are connected: links with one-way bandwidth and latency, and the span a group of GPUs covers.

A chain lists its links one by one, so that a path crosses each of them; a switched fabric has one local and one remote
link per GPU. Profiles are data (`catalogue/topologies.json`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil
from pathlib import Path
from typing import Any, Final

from pilots.cluster.errors import RequestError
from pilots.cluster.figure import Figure
from qms.core.values import Provenance

FILE: Final = Path(__file__).parent / "catalogue" / "topologies.json"
ENTERED: Final = "own figure, entered with the question"


class Kind(StrEnum):
    """How the links of a fabric hang together."""

    CHAIN = "CHAIN"
    SWITCHED = "SWITCHED"


@dataclass(frozen=True, slots=True)
class Link:
    """A connection of two GPUs, or of each GPU with its switch (a = b = -1); name: what it is called."""

    a: int
    b: int
    bytes_per_s: Figure
    latency_s: Figure
    name: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """Numbers a person puts in place of those of a profile; None keeps the profile's."""

    bytes_per_s: float | None = None
    latency_s: float | None = None

    def of(self, link: Link) -> Link:
        """Return the link with these numbers, which are estimates of whoever entered them."""
        speed, delay = link.bytes_per_s, link.latency_s
        return replace(
            link,
            bytes_per_s=speed if self.bytes_per_s is None else _entered(self.bytes_per_s, speed),
            latency_s=delay if self.latency_s is None else _entered(self.latency_s, delay),
        )


@dataclass(frozen=True, slots=True)
class Span:
    """What a collective sees of a fabric.

    gpus in the group, of which per_node share a node; local_bytes_per_s: one way per GPU inside a node;
    remote_bytes_per_s: one way of a whole node; latency_s: of one step of a ring, the wrap edge included;
    switched: a switch joins the GPUs of a node, so it may add up inside.
    """

    gpus: int
    per_node: int
    local_bytes_per_s: float
    remote_bytes_per_s: float
    latency_s: float
    switched: bool = True

    @property
    def nodes(self) -> int:
        """Nodes the group covers."""
        return ceil(self.gpus / self.per_node)


@dataclass(frozen=True, slots=True)
class Topology:
    """A profile; links of a chain in order, of a switched fabric the local and the remote one."""

    id: str
    name: str
    device: str
    gpus: int
    gpus_per_node: int
    kind: Kind
    links: tuple[Link, ...]

    def path(self, a: int, b: int) -> tuple[Link, ...]:
        """Return the links between two GPUs; raises RequestError for a GPU that is not there."""
        if not (0 <= a < self.gpus and 0 <= b < self.gpus):
            sentence = f"Die Topologie {self.id} hat die GPUs 0 bis {self.gpus - 1}."
            raise RequestError(f"no path {a} {b} in {self.id}", message_de=sentence)
        if self.kind is Kind.CHAIN:
            low, high = sorted((a, b))
            return self.links[low:high]
        local, remote = self.links
        if a == b:
            return ()
        return (local,) if a // self.gpus_per_node == b // self.gpus_per_node else (remote,)

    def is_local(self, index: int) -> bool:
        """Say whether the link at a place of `links` lies inside a node."""
        if self.kind is Kind.SWITCHED:
            return index == 0
        link = self.links[index]
        return link.a // self.gpus_per_node == link.b // self.gpus_per_node

    def edited(self, local: Edit, remote: Edit) -> Topology:
        """Return the profile with other numbers inside the nodes and between them; what is None stays."""
        edits = [local if self.is_local(index) else remote for index in range(len(self.links))]
        links = tuple(edit.of(link) for edit, link in zip(edits, self.links, strict=True))
        return replace(self, links=links)

    def span(self, gpus: int) -> Span:
        """Return what a group of the first `gpus` GPUs sees; raises RequestError if there are fewer."""
        if not 1 <= gpus <= self.gpus:
            sentence = f"Die Topologie {self.id} hat {self.gpus} GPUs, der Plan verlangt {gpus}."
            raise RequestError(f"{gpus} GPUs in {self.id}", message_de=sentence)
        per_node = min(gpus, self.gpus_per_node)
        if self.kind is Kind.CHAIN:
            path = self.path(0, gpus - 1)
            slowest = min((link.bytes_per_s.value for link in path), default=self.links[0].bytes_per_s.value)
            # the wrap edge crosses every link, so a step of the ring takes the sum of their latencies
            return Span(
                gpus, gpus, slowest, slowest, sum(link.latency_s.value for link in path), switched=False
            )
        local, remote = self.links
        latency = remote.latency_s.value if gpus > per_node else local.latency_s.value
        return Span(gpus, per_node, local.bytes_per_s.value, remote.bytes_per_s.value * per_node, latency)


def ring_seconds(size_bytes: float, gpus: int, bytes_per_s: float, latency_s: float) -> float:
    """Return the reference time of a ring all-reduce: 2(N-1)/N * bytes/bandwidth + 2(N-1) * latency (S006)."""
    return 2 * (gpus - 1) / gpus * size_bytes / bytes_per_s + 2 * (gpus - 1) * latency_s


def _entered(value: float, instead: Figure) -> Figure:
    return replace(instead, value=value, provenance=Provenance.ESTIMATED, source=ENTERED)


def _link(row: dict[str, Any]) -> Link:
    speed, delay = Figure.from_json(row["bytes_per_s"]), Figure.from_json(row["latency_s"])
    return Link(row.get("a", -1), row.get("b", -1), speed, delay, row["name"])


def _topology(row: dict[str, Any]) -> Topology:
    rows = row["links"] if row["kind"] == Kind.CHAIN else [row["local"], row["remote"]]
    links = tuple(_link(item) for item in rows)
    return Topology(
        row["id"], row["name"], row["device"], row["gpus"], row["gpus_per_node"], Kind(row["kind"]), links
    )


TOPOLOGIES: Final = {
    row["id"]: _topology(row) for row in json.loads(FILE.read_text(encoding="utf-8"))["topologies"]
}


def find(name: str) -> Topology:
    """Return a profile; raises RequestError naming the known ones."""
    if name not in TOPOLOGIES:
        sentence = f"Die Topologie „{name[:40]}“ ist nicht bekannt; bekannt sind: {', '.join(TOPOLOGIES)}."
        raise RequestError(f"unknown topology {name[:40]}", message_de=sentence)
    return TOPOLOGIES[name]
