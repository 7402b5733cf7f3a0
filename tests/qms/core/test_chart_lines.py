from __future__ import annotations

import itertools

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from qms.core.chart_layout import Stroke
from qms.core.chart_lines import Axes2D, LinesDrawing, LineSeries, Point, lines
from qms.core.chart_shapes import Chart, Limit

TABLE = (("Menge", "Kosten"), (("geplant", "45"),))


@pytest.fixture(autouse=True)
def _german():
    with translation.override("de"):
        yield


def chart(
    fixed: float = 60000, per_unit: float = 100, today: float = 2000, limit: float = 36
) -> Chart[LinesDrawing]:
    far = 60.0
    amounts = [1 + (far - 1) * step / 60 for step in range(61)]
    return lines(
        [
            LineSeries("Vergleichsbasis (abgeleitet)", ((0, today), (far, today))),
            LineSeries("Ziel (abgeleitet)", tuple((n, fixed / n + per_unit) for n in amounts)),
        ],
        axes=Axes2D("Menge im Monat", "€ je Lauf", "EUR", 2.5 * today),
        title="Kosten über der Menge",
        desc="Das Ziel trägt sich ab 32.",
        marks=[Point(32, today), Point(45, fixed / 45 + per_unit, tone=2)],
        limit=Limit(limit, "nötig ab 36"),
        table=TABLE,
    )


def crossings(drawing: LinesDrawing) -> list[str]:
    """Labels that touch a line, the limit or another label."""
    font = drawing.frame.font
    strokes = [stroke for curve in drawing.curves for stroke in curve.strokes]
    if drawing.limit_x is not None:
        strokes.append(Stroke(drawing.limit_x, drawing.frame.top, drawing.limit_x, drawing.frame.bottom))
    found = [
        label.text for label in drawing.labels if any(stroke.crosses(label.box(font)) for stroke in strokes)
    ]
    for one, other in itertools.combinations(drawing.labels, 2):
        if one.tone != other.tone and one.box(font).overlaps(other.box(font)):
            found.append(f"{one.text} / {other.text}")
    return found


@given(st.floats(1, 1e6), st.floats(0, 5000), st.floats(1, 1e5), st.floats(1, 200))
def test_labels_cross_nothing_and_lines_stay_inside(
    fixed: float, per_unit: float, today: float, limit: float
) -> None:
    made = chart(fixed, per_unit, today, limit)
    for drawing in (made.wide, made.narrow):
        assert crossings(drawing) == []
        frame = drawing.frame
        points = [corner for curve in drawing.curves for corner in curve.corners]
        points += [(mark.x, mark.y) for mark in drawing.markers]
        assert all(frame.left <= x <= frame.right and frame.top - 0.1 <= y <= frame.bottom for x, y in points)
        shown = {label.tone for label in drawing.labels} | {entry.tone for entry in drawing.legend}
        assert shown == {1, 2}


def test_what_lies_above_the_axis_is_said_and_not_pressed_onto_its_edge() -> None:
    made = chart()
    assert "Ziel (abgeleitet): Was über 6.000,00\u00a0€ liegt, ist nicht gezeichnet." in made.notes
    falling = made.wide.curves[1].corners
    assert falling[0][1] == made.wide.frame.top
    assert falling[1][1] > made.wide.frame.top


def test_the_crossing_lies_on_both_lines() -> None:
    wide = chart(fixed=60800).wide  # 60 800 / 32 + 100 is what the other side costs
    mark = wide.markers[0]
    assert mark.y == wide.curves[0].corners[0][1]


def test_a_limit_beyond_the_axis_is_not_drawn() -> None:
    assert chart(limit=60).wide.limit_x is not None
    assert chart(limit=61).wide.limit_x is None


def test_both_axes_start_at_zero_and_the_narrow_one_has_room_for_its_numbers() -> None:
    made = chart(today=123456)
    for drawing in (made.wide, made.narrow):
        assert (drawing.x_ticks[0].text, drawing.y_ticks[0].text) == ("0", "0")
        assert drawing.frame.left > len(drawing.y_ticks[-1].text) * 0.58 * drawing.frame.font


def test_a_line_needs_rising_amounts() -> None:
    with pytest.raises(ValueError, match="rising"):
        LineSeries("Ziel", ((1, 2),))
    with pytest.raises(ValueError, match="rising"):
        LineSeries("Ziel", ((1, 2), (1, 3)))


def test_too_many_lines_are_refused() -> None:
    series = [LineSeries("Ziel", ((0, 1), (1, 1)))] * 4
    with pytest.raises(ValueError, match="lines"):
        lines(series, axes=Axes2D("x", "y", "EUR", 2), title="", desc="", table=TABLE)
