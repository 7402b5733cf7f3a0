from __future__ import annotations

import itertools

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from qms.core.chart_bars import BarRow, horizontal_bars, sparkline
from qms.core.chart_layout import Box, Label, Stroke, axis_ticks, log_ticks, text_width, wrap
from qms.core.charts import CdfDrawing, CdfSeries, Limit, latency_cdf

BASE = CdfSeries(
    "Vergleichsbasis (gemessen)",
    ((0, 22), (0.25, 29), (0.5, 33.5), (0.75, 38), (0.9, 43), (0.95, 47), (0.99, 58), (1, 91)),
)
GOAL = CdfSeries(
    "Ziellauf (emuliert)", ((0, 20), (0.25, 24), (0.5, 27), (0.75, 31), (0.95, 38.9), (0.99, 42), (1, 44))
)
LIMIT = Limit(50, "Grenzwert 50\u00a0ms")


@pytest.fixture(autouse=True)
def _german():
    with translation.override("de"):
        yield


def crossings(drawing: CdfDrawing) -> list[str]:
    """Labels that touch the limit line, a curve or another label."""
    font, frame = drawing.frame.font, drawing.frame
    strokes = [stroke for curve in drawing.curves for stroke in curve.strokes]
    if drawing.limit_x is not None:
        strokes.append(Stroke(drawing.limit_x, frame.top, drawing.limit_x, frame.bottom))
    found = [
        label.text for label in drawing.labels if any(stroke.crosses(label.box(font)) for stroke in strokes)
    ]
    for one, other in itertools.combinations(drawing.labels, 2):
        if one.tone != other.tone and one.box(font).overlaps(other.box(font)):
            found.append(f"{one.text} / {other.text}")
    return found


def test_latency_labels_cross_neither_limit_nor_curve() -> None:
    chart = latency_cdf([BASE, GOAL], limit=LIMIT)
    assert chart.wide.labels
    for drawing in (chart.wide, chart.narrow):
        assert crossings(drawing) == []
        shown = {label.tone for label in drawing.labels} | {entry.tone for entry in drawing.legend}
        assert shown == {1, 2}


@given(
    st.lists(st.floats(0.5, 400), min_size=7, max_size=7, unique=True),
    st.lists(st.floats(0.5, 400), min_size=7, max_size=7, unique=True),
    st.floats(0.5, 900),
)
def test_labels_cross_nothing_whatever_the_curves(one: list[float], other: list[float], limit: float) -> None:
    shares = (0, 0.25, 0.5, 0.75, 0.95, 0.99, 1)
    series = [
        CdfSeries("Vergleichsbasis (gemessen)", tuple(zip(shares, sorted(one), strict=True))),
        CdfSeries("Ziellauf (emuliert)", tuple(zip(shares, sorted(other), strict=True))),
    ]
    chart = latency_cdf(series, limit=Limit(limit, "Grenzwert"))
    for drawing in (chart.wide, chart.narrow):
        assert crossings(drawing) == []
        frame = drawing.frame
        for curve in drawing.curves:
            assert all(
                frame.left <= x <= frame.right and frame.top <= y <= frame.bottom for x, y in curve.corners
            )


def test_both_axes_are_named_and_their_names_do_not_meet() -> None:
    chart = latency_cdf([BASE], limit=LIMIT)
    assert (chart.axis, chart.side) == ("Latenz in ms", "Anteil der Anfragen")
    for drawing in (chart.wide, chart.narrow):
        frame = drawing.frame
        left = 8 + text_width(f"↑ {chart.side}", frame.font)
        assert left < frame.right - text_width(chart.axis, frame.font)


def test_latency_axis_runs_from_0_to_100_percent_in_even_steps() -> None:
    wide = latency_cdf([BASE], limit=LIMIT).wide
    assert [tick.text for tick in wide.y_ticks] == [
        "0\u00a0%",
        "25\u00a0%",
        "50\u00a0%",
        "75\u00a0%",
        "100\u00a0%",
    ]
    steps = {round(b.at - a.at, 1) for a, b in itertools.pairwise(wide.x_ticks)}
    assert len(steps) == 1
    assert wide.x_ticks[0].text == "0"


def test_both_drawings_share_one_scale() -> None:
    chart = latency_cdf([BASE, GOAL], limit=LIMIT)
    assert [tick.text for tick in chart.wide.x_ticks] == [tick.text for tick in chart.narrow.x_ticks]


def test_what_lies_beyond_the_axis_is_counted_in_words() -> None:
    chart = latency_cdf([BASE], limit=LIMIT)
    assert any("0,33\u00a0% liegen über 80\u00a0ms" in note for note in chart.notes)
    assert chart.wide.curves[0].corners[-1][0] == chart.wide.frame.right
    assert chart.wide.curves[0].corners[-1][1] > chart.wide.frame.top


def test_description_states_the_result_and_the_limit() -> None:
    desc = latency_cdf([GOAL], limit=LIMIT).desc
    assert desc == "Ziellauf (emuliert): 95\u00a0% unter 38,9\u00a0ms; Grenzwert 50\u00a0ms."


def test_table_shows_quantiles_as_computed_and_invents_none() -> None:
    few = CdfSeries("Import (gemessen)", ((0.5, 30.0), (0.99, 60.0)))
    assert latency_cdf([few]).rows == (("Import (gemessen)", "30\u00a0ms", "nicht berechnet", "60\u00a0ms"),)


@pytest.mark.parametrize(("p99", "log"), [(300.0, False), (300.1, True)])
def test_axis_turns_logarithmic_when_p99_exceeds_ten_times_p50(p99: float, log: bool) -> None:
    chart = latency_cdf([CdfSeries("Reihe", ((0, 20), (0.5, 30), (0.95, 100), (0.99, p99)))])
    assert (chart.wide.x_ticks[0].text == "10") is log


@pytest.mark.parametrize(("value", "drawn"), [(60 * 3, True), (60 * 3 + 1, False)])
def test_limit_far_outside_is_said_in_words(value: float, drawn: bool) -> None:
    chart = latency_cdf([CdfSeries("Reihe", ((0, 50), (1, 60)))], limit=Limit(value, "Grenzwert"))
    assert (chart.wide.limit_x is not None) is drawn
    assert any("außerhalb der Achse" in note for note in chart.notes) is not drawn


@pytest.mark.parametrize("points", [(), ((0.5, 1),), ((0.5, 1), (0.5, 2)), ((0.5, 2), (0.9, 1))])
def test_series_is_refused_when_quantiles_do_not_rise(points: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(ValueError, match="rising quantiles"):
        CdfSeries("Reihe", points)


def test_at_most_three_series_are_drawn() -> None:
    with pytest.raises(ValueError, match="one to 3 series"):
        latency_cdf([GOAL] * 4)


def test_bars_start_at_zero_and_keep_their_proportions() -> None:
    chart = horizontal_bars([BarRow("A", 50), BarRow("B", 100, 80, 120)], unit="ms", title="t", axis="ms")
    for drawing in (chart.wide, chart.narrow):
        short, long = drawing.bars
        assert short.x == long.x == drawing.frame.left
        assert long.width == pytest.approx(2 * short.width, abs=0.2)
        assert long.whisker is not None
        assert long.whisker[1] <= drawing.frame.right
    assert chart.rows == (
        ("A", "50\u00a0ms", "kein Intervall"),
        ("B", "100\u00a0ms", "80\u00a0ms bis 120\u00a0ms"),
    )


def test_bar_texts_keep_clear_of_the_limit_line() -> None:
    rows = [BarRow("Wafer, erwartete Auslastung im Jahresmittel (geschätzt)", 184_300, 151_000, 221_000)]
    limit = Limit(250_000, "Budget")
    chart = horizontal_bars(rows, unit="EUR", title="t", axis="Euro", limit=limit, decimals=0)
    for drawing in (chart.wide, chart.narrow):
        for start, end in drawing.limit_marks:
            stroke = Stroke(drawing.limit_x or 0, start, drawing.limit_x or 0, end)
            for bar in drawing.bars:
                assert not any(
                    stroke.crosses(text.box(drawing.frame.font)) for text in (*bar.lines, bar.value)
                )


@pytest.mark.parametrize("rows", [[], [BarRow("A", -1)]])
def test_bars_refuse_nothing_and_negative_values(rows: list[BarRow]) -> None:
    with pytest.raises(ValueError, match="no negative value"):
        horizontal_bars(rows, unit="ms", title="t", axis="ms")


def test_bars_of_zero_have_an_axis() -> None:
    assert horizontal_bars([BarRow("A", 0)], unit="ms", title="t", axis="ms").wide.bars[0].width == 0


def test_sparkline_names_series_unit_and_range() -> None:
    line = sparkline("Latenz p95", [41, 38.1, 38.9], unit="ms")
    assert line.text == "Latenz p95: 3 Werte, 38,1\u00a0ms bis 41\u00a0ms, zuletzt 38,9\u00a0ms"
    with pytest.raises(ValueError, match="expected a series"):
        sparkline("Latenz p95", [41], unit="ms")


def test_axis_ticks_are_round_and_cover_the_end() -> None:
    assert axis_ticks(91, 4) == [0, 25, 50, 75, 100]
    assert axis_ticks(100, 4) == [0, 25, 50, 75, 100]
    assert log_ticks(0.5, 120) == [0.1, 1, 10, 100, 1000]
    with pytest.raises(ValueError, match="positive end"):
        axis_ticks(0, 4)


@given(st.floats(1e-6, 1e9), st.integers(2, 8))
def test_axis_ticks_stay_within_their_number(high: float, most: int) -> None:
    ticks = axis_ticks(high, most)
    assert ticks[0] == 0
    assert ticks[-1] >= high * (1 - 1e-6)
    assert 2 <= len(ticks) <= most + 1


def test_stroke_meets_a_box_only_where_it_passes() -> None:
    box = Box(10, 10, 20, 20)
    assert Stroke(0, 0, 30, 30).crosses(box)
    assert not Stroke(0, 15, 9, 15).crosses(box)
    assert not Stroke(25, 0, 25, 30).crosses(box)


def test_label_box_follows_its_anchor() -> None:
    start, middle, end = (Label(100, 50, anchor, "abcd").box(10) for anchor in ("start", "middle", "end"))
    assert (start.left, end.right) == (100, 100)
    assert (middle.left + middle.right) / 2 == pytest.approx(100)


def test_wrap_breaks_at_spaces_only() -> None:
    assert wrap("ein sehrlangeswort da", 60, 10) == ["ein", "sehrlangeswort", "da"]
