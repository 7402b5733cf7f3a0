"""The picture of a topology: GPUs, nodes and links, as places in drawing units. Pure geometry; a template draws it.

Two drawings of the same links, 640 and 340 wide. A chain shows every link; behind a switch all links are alike, so the
first units and the last stand for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _

from pilots.catalog.cluster import Kind, Link, Topology
from qms.core import formats

WIDE, NARROW = "wide", "narrow"
WIDTHS: Final = {WIDE: 640, NARROW: 340}
FONTS: Final = {WIDE: 14, NARROW: 16}
SHOWN: Final = 4  # units behind a switch that are drawn


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text: place, anchor ("start", "middle") and words; soft: muted."""

    x: float
    y: float
    anchor: str
    words: str
    soft: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with its middle and words; used: a GPU the plan uses; frame: a node around others."""

    x: float
    y: float
    width: float
    height: float
    words: str
    used: bool = False

    @property
    def text(self) -> Text:
        """The words in the middle."""
        return Text(self.x + self.width / 2, self.y + self.height / 2 + 5, "middle", self.words)


@dataclass(frozen=True, slots=True)
class Drawing:
    """One variant of the picture; wires: an SVG path of all links."""

    name: str
    width: int
    height: int
    font: int
    frames: tuple[Box, ...]
    boxes: tuple[Box, ...]
    wires: str
    texts: tuple[Text, ...]


def drawings(topology: Topology, used: int) -> list[Drawing]:
    """Return both drawings of a profile of whose GPUs a plan uses the first `used`."""
    draw = {
        (Kind.CHAIN, WIDE): _chain_across,
        (Kind.CHAIN, NARROW): _chain_down,
        (Kind.SWITCHED, WIDE): _switched,
        (Kind.SWITCHED, NARROW): _switched,
    }
    return [draw[topology.kind, name](topology, used, name) for name in WIDTHS]


def link_words(link: Link) -> list[str]:
    """Return name, bandwidth and latency of a link as people read them."""
    return [link.name, speed(link.bytes_per_s.value), delay(link.latency_s.value)]


def speed(bytes_per_s: float) -> str:
    """Return a bandwidth: "63 GB/s"."""
    return f"{formats.number(bytes_per_s / 1e9)}{formats.NBSP}GB/s"


def delay(seconds: float) -> str:
    """Return a latency: "1,5 µs"."""
    return f"{formats.number(seconds * 1e6)}{formats.NBSP}µs"


def _gpu(index: int) -> str:
    return _("GPU %(n)d") % {"n": index}


def _node(index: int) -> str:
    return _("Knoten %(n)d") % {"n": index}


def _chain_across(topology: Topology, used: int, name: str) -> Drawing:
    width, height, top, margin = 66.0, 52.0, 64.0, 14.0
    gap = (WIDTHS[name] - 2 * margin - topology.gpus * width) / max(1, topology.gpus - 1)
    boxes = [
        Box(margin + i * (width + gap), top, width, height, _gpu(i), i < used) for i in range(topology.gpus)
    ]
    middle, texts, wires = top + height / 2, [], []
    for link in topology.links:
        start = boxes[link.a].x + width
        wires.append(f"M{start:.1f} {middle:.1f}h{gap:.1f}")
        x = start + gap / 2
        lines = zip(link_words(link), (middle - 10, middle + 20, middle + 38), strict=True)
        texts += [Text(x, y, "middle", words, soft=index > 0) for index, (words, y) in enumerate(lines)]
    each = topology.gpus_per_node
    frames = [
        Box(
            boxes[i].x - 8,
            top - 44,
            boxes[min(i + each, topology.gpus) - 1].x + width - boxes[i].x + 16,
            height + 74,
            _node(i // each),
        )
        for i in range(0, topology.gpus, each)
    ]
    texts += [Text(frame.x + 10, frame.y + 18, "start", frame.words, soft=True) for frame in frames]
    return Drawing(
        name,
        WIDTHS[name],
        round(top + height + 40),
        FONTS[name],
        tuple(frames),
        tuple(boxes),
        "".join(wires),
        tuple(texts),
    )


def _chain_down(topology: Topology, used: int, name: str) -> Drawing:
    width, height, gap, top, left = 92.0, 46.0, 84.0, 34.0, 20.0
    boxes = [
        Box(left, top + i * (height + gap), width, height, _gpu(i), i < used) for i in range(topology.gpus)
    ]
    x, texts, wires = left + width / 2, [], []
    for link in topology.links:
        start = boxes[link.a].y + height
        wires.append(f"M{x:.1f} {start:.1f}v{gap:.1f}")
        texts += [
            Text(x + 18, start + 24 + 22 * index, "start", words, soft=index > 0)
            for index, words in enumerate(link_words(link))
        ]
    each = topology.gpus_per_node
    frames = [
        Box(
            left - 12,
            boxes[i].y - 26,
            WIDTHS[name] - 2 * (left - 12),
            boxes[min(i + each, topology.gpus) - 1].y + height - boxes[i].y + 38,
            _node(i // each),
        )
        for i in range(0, topology.gpus, each)
    ]
    texts += [Text(left + width + 16, frame.y + 22, "start", frame.words, soft=True) for frame in frames]
    return Drawing(
        name,
        WIDTHS[name],
        round(boxes[-1].y + height + 20),
        FONTS[name],
        tuple(frames),
        tuple(boxes),
        "".join(wires),
        tuple(texts),
    )


def _switched(topology: Topology, used: int, name: str) -> Drawing:
    local, remote = topology.links
    nodes = topology.gpus // topology.gpus_per_node
    link = remote if nodes > 1 else local
    indices = _units(nodes if nodes > 1 else topology.gpus)
    label, each = (_node, topology.gpus_per_node) if nodes > 1 else (_gpu, 1)
    room, margin, top = WIDTHS[name], 10.0, 78.0
    gap = 12.0
    width = min(110.0, (room - 2 * margin - gap * (len(indices) - 1)) / len(indices))
    whole = len(indices) * width + (len(indices) - 1) * gap
    left = (room - whole) / 2
    height = 52.0
    boxes, wires = [], []
    for place, index in enumerate(indices):
        x = left + place * (width + gap)
        words, is_used = ("…", False) if index is None else (label(index), index * each < used)
        boxes.append(Box(x, top, width, height, words, is_used))
        wires.append(f"M{x + width / 2:.1f} 48V{top:.1f}")
    switch = Box(left, 14, whole, 34, _("Switch: %(name)s") % {"name": link.name})
    texts = [
        Text(
            left, top + height + 24, "start", " · ".join(link_words(link)[1:]) + " " + _("je GPU"), soft=True
        )
    ]
    if nodes > 1:
        inside = _("Im Knoten %(count)d GPUs: %(link)s") % {
            "count": topology.gpus_per_node,
            "link": ", ".join(link_words(local)[:2]),
        }
        texts.append(Text(left, top + height + 46, "start", inside, soft=True))
    return Drawing(
        name,
        room,
        round(top + height + (58 if nodes > 1 else 36)),
        FONTS[name],
        (),
        (switch, *boxes),
        "".join(wires),
        tuple(texts),
    )


def _units(count: int) -> list[int | None]:
    """Return which units are drawn: all of a few, else the first two, a gap, and the last."""
    return list(range(count)) if count <= SHOWN else [0, 1, None, count - 1]
