"""Why nothing moves any more: who waits for whom, as a chain a person can follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pilots.wafer.cycle import layout
from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.layout import State
from pilots.wafer.errors import WaferError

MAX_LINKS: Final = 8  # what a person reads; of a longer chain its first ones and its last
MAX_CHAIN: Final = 1_000


@dataclass(frozen=True, slots=True)
class Link:
    """Element (x, y) cannot go on: what it waits for in German, and the element that is to blame, or None."""

    element: tuple[int, int]
    reason_de: str
    blamed: tuple[int, int] | None


class Deadlock(WaferError):
    """Nothing moves and somebody waits; `links` is the chain of waiting, `cycle` when it was noticed.

    parts_de: the chain in German, a part for each link that is shown, and one if it closes to a circle.
    """

    def __init__(self, cycle: int, links: tuple[Link, ...]) -> None:
        self.cycle = cycle
        self.links = links
        self.parts_de = _parts(links)
        chain = "; ".join(self.parts_de)
        sentence = (
            f"Das Programm steht still, bemerkt nach {cycle} Takten: {chain}. "
            "Bitte prüfen Sie Farben, Wege und Reihenfolge."
        )
        super().__init__(f"deadlock at cycle {cycle}", message_de=sentence)


def _parts(links: tuple[Link, ...]) -> tuple[str, ...]:
    parts = [f"Element {link.element} {link.reason_de}" for link in links]
    hidden = len(parts) - MAX_LINKS
    if hidden > 1:
        parts[MAX_LINKS - 1 : -1] = [
            f"dazwischen warten {hidden} weitere Elemente ebenso, jedes auf das nächste"
        ]
    if links[-1].blamed in {link.element for link in links}:
        parts.append("damit schließt sich der Kreis")
    return tuple(parts)


def explain(image: Image, state: State) -> tuple[Link, ...]:
    """Return the chain of waiting, from the first element that waits to one that waits for nobody or is known already."""
    threads = state.threads[:, layout.COUNTER].reshape(-1, image.threads)
    waiting = [int(p) for p in (threads != layout.FINISHED).any(axis=1).nonzero()[0]]
    p: int | None = waiting[0]
    links: list[Link] = []
    seen: set[int] = set()
    while p is not None and p not in seen and len(links) < MAX_CHAIN:
        seen.add(p)
        link, p = _link(image, state, p)
        links.append(link)
    return tuple(links)


def _link(image: Image, state: State, p: int) -> tuple[Link, int | None]:
    """Return why an element waits and the element it waits for."""
    colors = image.colors
    for thread in range(image.threads):
        code = int(state.threads[p * image.threads + thread, layout.COUNTER])
        row = state.code[code]
        if code == layout.FINISHED or row[layout.OPCODE] != layout.FABRIC:
            continue
        color = int(row[layout.COLOR_IN])
        if color >= 0 and state.inputs[p * colors + color, layout.LENGTH] == 0:
            source = _upstream(image, state, p, color)
            if source is None:
                return Link(_xy(image, p), f"wartet auf Farbe {color}, die niemand sendet", None), None
            reason = f"wartet auf Farbe {color} von Element {_xy(image, source)}"
            return Link(_xy(image, p), reason, _xy(image, source)), source
        color = int(row[layout.COLOR_OUT])
        if color >= 0:
            taker, reason = _downstream(image, state, p, color)
            return Link(_xy(image, p), reason, None if taker is None else _xy(image, taker)), taker
    if all(state.threads[p * image.threads + thread, layout.COUNTER] < 0 for thread in range(image.threads)):
        return Link(_xy(image, p), "ist fertig und sendet und empfängt nichts mehr", None), None
    return Link(_xy(image, p), "wartet auf ein Signal, das keiner seiner Fäden gibt", None), None


def _upstream(image: Image, state: State, p: int, color: int) -> int | None:
    """Follow a color against its direction to the element that sends it."""
    for _step in range(image.width * image.height):
        side = int(state.way_in[state.queues[p * image.colors + color, layout.IN_PLACE]])
        if side == layout.RAMP:
            return p
        if side < 0 or state.near[p, side] < 0:
            return None
        p = int(state.near[p, side])
    return None


def _downstream(image: Image, state: State, p: int, color: int) -> tuple[int | None, str]:
    """Follow a color in its direction to what does not take it."""
    stuck = f"kann Farbe {color} nicht senden"
    for _step in range(image.width * image.height):
        q = p * image.colors + color
        ways = int(state.ways_out[state.queues[q, layout.OUT_PLACE]])
        if not ways:
            return None, f"{stuck}: sie hat bei {_xy(image, p)} keinen Weg"
        if ways >> layout.RAMP & 1 and state.inputs[q, layout.LENGTH] == layout.DEPTH:
            return p, f"{stuck}, weil Element {_xy(image, p)} sie nicht abnimmt"
        sides = [side for side in range(4) if ways >> side & 1]
        there = [int(state.near[p, side]) for side in sides]
        if -1 in there:
            return None, f"{stuck}: ihr Weg führt bei {_xy(image, p)} aus dem Netz"
        if not sides:
            return None, f"{stuck}: bei {_xy(image, p)} steht der Weg auf einer anderen Seite"
        for side, other in zip(sides, there, strict=True):
            target = other * image.colors + color
            facing = layout.RAMP if side == layout.RAMP else (side + 2) % 4
            if int(state.way_in[state.queues[target, layout.IN_PLACE]]) != facing:
                return None, f"{stuck}: Element {_xy(image, other)} empfängt sie von einer anderen Seite"
        full = [o for o in there if state.queues[o * image.colors + color, layout.LENGTH] == layout.DEPTH]
        p = full[0] if full else there[0]
    return None, stuck


def _xy(image: Image, p: int) -> tuple[int, int]:
    return (p % image.width, p // image.width)
