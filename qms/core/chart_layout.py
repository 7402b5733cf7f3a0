"""Places inside a drawing: boxes of text, ticks on an axis, and labels that cross nothing. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Mean width of a character of IBM Plex Sans in em, rounded up; a browser test compares it with real boxes.
CHARACTER_EM = 0.58


@dataclass(frozen=True)
class Box:
    """A rectangle in drawing units; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Whether the two boxes share a point."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def inside(self, other: Box) -> bool:
        """Whether this box lies within the other."""
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.top >= other.top
            and self.bottom <= other.bottom
        )


@dataclass(frozen=True)
class Stroke:
    """A straight piece of a line."""

    x1: float
    y1: float
    x2: float
    y2: float

    def crosses(self, box: Box) -> bool:
        """Whether the piece touches the box (Liang and Barsky's clipping)."""
        dx, dy = self.x2 - self.x1, self.y2 - self.y1
        edges = (
            (-dx, self.x1 - box.left),
            (dx, box.right - self.x1),
            (-dy, self.y1 - box.top),
            (dy, box.bottom - self.y1),
        )
        enter, leave = 0.0, 1.0
        for direction, distance in edges:
            if direction == 0:
                if distance < 0:
                    return False
            elif direction < 0:
                enter = max(enter, distance / direction)
            else:
                leave = min(leave, distance / direction)
        return enter <= leave


@dataclass(frozen=True)
class Label:
    """A line of text: baseline point, anchor ("start", "middle", "end"), text and tone (0 is plain text)."""

    x: float
    y: float
    anchor: str
    text: str
    tone: int = 0

    def box(self, font: int) -> Box:
        """Return the room the text takes at `font` units, estimated from its length."""
        width = text_width(self.text, font)
        left = self.x - {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]
        return Box(left, self.y - 0.85 * font, left + width, self.y + 0.28 * font)


def text_width(text: str, font: int) -> float:
    """Return the estimated width of `text` at `font` units."""
    return len(text) * CHARACTER_EM * font


def wrap(text: str, width: float, font: int) -> list[str]:
    """Return `text` in lines of at most `width`, broken at spaces; a longer word keeps a line of its own."""
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, font) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def place(
    candidates: Iterable[tuple[Label, ...]],
    *,
    font: int,
    area: Box,
    strokes: Sequence[Stroke],
    taken: Sequence[Box],
) -> tuple[Label, ...]:
    """Return the first candidate (lines of one label) in `area` that touches no stroke and no taken box, or ()."""
    for lines in candidates:
        boxes = [label.box(font) for label in lines]
        crossed = any(stroke.crosses(box) for stroke in strokes for box in boxes)
        covered = any(box.overlaps(other) for other in taken for box in boxes)
        if not crossed and not covered and all(box.inside(area) for box in boxes):
            return lines
    return ()


def axis_ticks(high: float, most: int) -> list[float]:
    """Return evenly spaced round values from 0 to the first one not below `high`, at most `most` + 1 of them."""
    if high <= 0:
        raise ValueError(f"expected a positive end of the axis, got {high}")
    rough = high / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))
    count = math.ceil(high / step - 1e-9)
    return [float(f"{index * step:.10g}") for index in range(count + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return the powers of ten that enclose `low` to `high`."""
    if not 0 < low <= high:
        raise ValueError(f"expected 0 < low <= high, got {low} and {high}")
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [float(f"1e{power}") for power in range(first, max(last, first + 1) + 1)]
