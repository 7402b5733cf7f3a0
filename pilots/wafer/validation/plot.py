"""The scatter plot of the report: predicted against published cycles, both axes in powers of ten. Plain SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Final

SIDE: Final = 560
LEFT: Final = 84
TOP: Final = 64
RIGHT: Final = 24
BOTTOM: Final = 64
INK: Final = "#222222"
GRID: Final = "#d9d9d9"
OURS: Final = "#0072b2"  # blue and vermillion of Okabe and Ito, apart for every kind of colour vision
NAIVE: Final = "#d55e00"
RADIUS: Final = 4.0


@dataclass(frozen=True, slots=True)
class Point:
    """One entry: published cycles, ours, and the naive curve's (None if it has none)."""

    name: str
    published: float
    ours: float
    naive: float | None


def scatter(points: Sequence[Point]) -> str:
    """Return the plot as SVG text; without points only its frame."""
    values = [value for point in points for value in (point.published, point.ours, point.naive) if value]
    low, high = (floor(log10(min(values))), ceil(log10(max(values)))) if values else (0, 1)
    high = max(high, low + 1)
    return "\n".join([*_frame(low, high), *_marks(points, low, high), *_legend(), "</svg>"]) + "\n"


def _frame(low: int, high: int) -> list[str]:
    width, height = LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM
    title = "Vorhergesagte gegen veröffentlichte Takte"
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
            ' font-family="sans-serif" font-size="14">'
        ),
        f"<title>{title}, Silizium, Einstellung jeweils ausgelassen</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for power in range(low, high + 1):
        x, y = _place(10.0**power, low, high), TOP + SIDE - _offset(10.0**power, low, high)
        lines += [
            f'<path d="M{x:.1f} {TOP}V{TOP + SIDE}M{LEFT} {y:.1f}H{LEFT + SIDE}" stroke="{GRID}" fill="none"/>',
            f'<text x="{x:.1f}" y="{TOP + SIDE + 22}" text-anchor="middle" fill="{INK}">{_power(power)}</text>',
            f'<text x="{LEFT - 10}" y="{y + 5:.1f}" text-anchor="end" fill="{INK}">{_power(power)}</text>',
        ]
    middle = TOP + SIDE / 2
    return [
        *lines,
        f'<path d="M{LEFT} {TOP + SIDE}L{LEFT + SIDE} {TOP}" stroke="{INK}" stroke-width="1.5" fill="none"/>',
        f'<text x="{LEFT + SIDE / 2}" y="{height - 14}" text-anchor="middle" fill="{INK}">veröffentlichte Takte</text>',
        (
            f'<text transform="translate(20 {middle}) rotate(-90)" text-anchor="middle" fill="{INK}">'
            "vorhergesagte Takte</text>"
        ),
    ]


def _marks(points: Sequence[Point], low: int, high: int) -> list[str]:
    """Draw the naive curve first, as open diamonds, so that our points lie on top."""
    lines = []
    for point in points:
        if point.naive:
            x, y = _place(point.published, low, high), TOP + SIDE - _offset(point.naive, low, high)
            lines.append(_diamond(x, y, f"{point.name}: naive Kurve"))
    for point in points:
        x, y = _place(point.published, low, high), TOP + SIDE - _offset(point.ours, low, high)
        lines.append(_circle(x, y, f"{point.name}: Emulator"))
    return lines


def _legend() -> list[str]:
    y = 30.0
    return [
        _circle(LEFT + 8, y, "Emulator"),
        f'<text x="{LEFT + 20}" y="{y + 5}" fill="{INK}">Emulator</text>',
        _diamond(LEFT + 118, y, "naive Kurve"),
        f'<text x="{LEFT + 132}" y="{y + 5}" fill="{INK}">naive Kurve der Familie</text>',
        f'<path d="M{LEFT + 318} {y}h24" stroke="{INK}" stroke-width="1.5"/>',
        f'<text x="{LEFT + 350}" y="{y + 5}" fill="{INK}">gleich</text>',
    ]


def _circle(x: float, y: float, title: str) -> str:
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" fill="{OURS}" fill-opacity="0.75">'
        f"<title>{escape(title)}</title></circle>"
    )


def _diamond(x: float, y: float, title: str) -> str:
    size = RADIUS + 2
    return (
        f'<path d="M{x:.1f} {y - size:.1f}l{size} {size}l-{size} {size}l-{size} -{size}z" fill="none"'
        f' stroke="{NAIVE}" stroke-width="1.6"><title>{escape(title)}</title></path>'
    )


def _offset(value: float, low: int, high: int) -> float:
    return (log10(value) - low) / (high - low) * SIDE


def _place(value: float, low: int, high: int) -> float:
    return LEFT + _offset(value, low, high)


def _power(power: int) -> str:
    return f'10<tspan dy="-6" font-size="10">{power}</tspan>'
