"""The picture of a frame: places of elements, links and wavelets. Pure geometry; a template and a script draw it.

Every element has a cell of 100 x 100 units; two drawings of the same cells are 640 and 340 wide. A wavelet is drawn on
the right-hand lane of its link, so that two in opposite directions do not meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pilots.catalog.fabric_view import Frame

CELL: Final = 100
BOX: Final = 54
LANE: Final = 15
MARGIN: Final = 26  # room for the numbers of columns and rows
DIGITS_FROM: Final = 57  # width of a cell from which a number inside a wavelet can be read
DRAWINGS: Final = {"wide": (640, 104, 14), "narrow": (340, 84, 16)}  # width, largest cell, size of text
TURNS: Final = {"E": 0, "S": 90, "W": 180, "N": -90}
DIGITS: Final = {"E": (50, LANE), "S": (-LANE, 50), "W": (-50, -LANE), "N": (LANE, -50)}
SHAPES: Final = ("circle", "square", "diamond")
HUES: Final = 3


@dataclass(frozen=True, slots=True)
class Glyph:
    """How an element looks that does something: fill and stroke of its box, and the path of its sign."""

    fill: str
    stroke: str
    width: int
    path: str
    sign: str
    dash: str = ""


SURFACE, LINE, STRONG, MUTED = "var(--surface)", "var(--line)", "var(--line-strong)", "var(--muted)"
ACCENT, TINT, BAD = "var(--accent)", "var(--accent-tint)", "var(--bad)"
# Signs without a direction: a dot that radiates gives, a target takes. Only wavelets point somewhere.
RAYS = "M10-10L15-15M10 10L15 15M-10 10L-15 15M-10-10L-15-15"
DOT, RING = "M-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0", "M-11 0a11 11 0 1 0 22 0a11 11 0 1 0-22 0"
GLYPHS: Final[dict[str, Glyph]] = {
    "b": Glyph(TINT, ACCENT, 4, f"{RING}{RAYS}", ACCENT),
    "s": Glyph(TINT, ACCENT, 4, f"{DOT}{RAYS}", ACCENT),
    "r": Glyph(TINT, ACCENT, 4, f"{DOT}{RING}", ACCENT),
    "c": Glyph(ACCENT, ACCENT, 4, "M-10-10L10 10M10-10L-10 10", SURFACE),
    "d": Glyph(SURFACE, STRONG, 3, "M-9-11H9L-9 11H9Z", MUTED),
    "x": Glyph("var(--bad-tint)", BAD, 5, "M0-13V4M0 13V13.1", BAD),
    "w": Glyph(SURFACE, STRONG, 3, "M-12 0H-11.9M0 0H.1M12 0H12.1", MUTED, "8 5"),
    "f": Glyph(SURFACE, LINE, 3, "M-11 1L-3 9L11-9", "var(--ok)"),
    "n": Glyph("none", LINE, 2, "M0 0", "none", "4 6"),
}


def wavelet(color: int) -> dict[str, Any]:
    """Return the look of a color: one of three hues, one of three shapes, and its number."""
    shape = SHAPES[color // HUES % len(SHAPES)]
    return {"color": color, "hue": f"var(--chart-{color % HUES + 1})", "shape": shape}


def drawings(width: int, height: int, ways: list[tuple[int, str]], frame: Frame) -> list[dict[str, Any]]:
    """Return both drawings of a frame."""
    return [_drawing(name, width, height) | _moving(name, width, ways, frame) for name in DRAWINGS]


def _drawing(name: str, width: int, height: int) -> dict[str, Any]:
    """Return what stays the same from frame to frame."""
    room, largest, font = DRAWINGS[name]
    scale = min(largest, (room - MARGIN) / width) / CELL
    return {
        "name": name,
        "width": room,
        "height": round(MARGIN + height * CELL * scale) + 2,
        "margin": MARGIN,
        "scale": round(scale, 4),
        "font": round(font / scale, 1),
        "digits": scale * CELL >= DIGITS_FROM,
        "links": _links(width, height),
        "columns": [{"text": x, "x": x * CELL + CELL // 2, "y": -8} for x in range(width)],
        "rows": [{"text": y, "x": -8, "y": y * CELL + CELL // 2 + 10} for y in range(height)],
        "glyphs": [{"letter": letter, "glyph": glyph} for letter, glyph in GLYPHS.items()],
    }


def _moving(name: str, width: int, ways: list[tuple[int, str]], frame: Frame) -> dict[str, Any]:
    """Return the looks of wavelets, and where things are in this frame."""
    sides = [
        wavelet(color) | {"side": side, "turn": TURNS[side], "x": DIGITS[side][0], "y": DIGITS[side][1]}
        for color, side in ways
    ]
    elements = [
        _place(p, width) | {"use": f"{name}-{letter}", "held": frame.held[p]}
        for p, letter in enumerate(frame.doing)
    ]
    moves = [
        _place(move.p, width) | {"use": f"{name}-{move.color}{move.side}"}
        for move in frame.moves
        if move.side in TURNS
    ]
    return {"looks": sides, "elements": elements, "moves": moves}


def _place(p: int, width: int) -> dict[str, int]:
    return {"x": p % width * CELL + CELL // 2, "y": p // width * CELL + CELL // 2}


def _links(width: int, height: int) -> str:
    """Return the path of all links between neighbours."""
    gap, end = CELL - BOX, CELL // 2 + BOX // 2
    across = [
        f"M{x * CELL + end} {y * CELL + CELL // 2}h{gap}" for x in range(width - 1) for y in range(height)
    ]
    down = [
        f"M{x * CELL + CELL // 2} {y * CELL + end}v{gap}" for x in range(width) for y in range(height - 1)
    ]
    return "".join(across + down)


def packed(frames: tuple[Frame, ...], sentences: list[str], values: list[list[str]]) -> list[list[Any]]:
    """Return frames for the script, tightly: [cycle, doing, "held held ...", "p side color value;...", sentence]."""
    return [
        [
            frame.cycle,
            frame.doing,
            " ".join(str(count) for count in frame.held),
            ";".join(
                f"{p} {side} {color} {text}"
                for (p, side, color, _value), text in zip(frame.moves, texts, strict=True)
            ),
            sentence,
        ]
        for frame, sentence, texts in zip(frames, sentences, values, strict=True)
    ]


def ways_of(frames: tuple[Frame, ...]) -> list[tuple[int, str]]:
    """Return which color takes which side in a run, sorted."""
    return sorted({(move.color, move.side) for frame in frames for move in frame.moves if move.side in TURNS})
