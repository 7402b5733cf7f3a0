from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.utils import formats as django_formats
from django.utils import translation

from qms.core import formats
from qms.core.values import Assurance, Axes, Interval, Metric, Origin, Provenance, Unit

WINTER = datetime(2026, 11, 4, 9, 30, tzinfo=UTC)
SUMMER = datetime(2026, 7, 4, 9, 30, tzinfo=UTC)
NB = "\u00a0"

TABLE: list[tuple[Callable[[], str], str, str]] = [
    (lambda: formats.number(Decimal("1234567.891"), 2), "1.234.567,89", "1,234,567.89"),
    (lambda: formats.number(0), "0", "0"),
    (lambda: formats.number(0.0), "0", "0"),
    (lambda: formats.number(-5.25), "−5,25", "−5.25"),
    (lambda: formats.number(38.94), "38,9", "38.9"),
    (lambda: formats.number(999.96), "1.000", "1,000"),
    (lambda: formats.number(0.0123456), "0,0123", "0.0123"),
    (lambda: formats.number(50, 1), "50,0", "50.0"),
    (lambda: formats.exact(Decimal("50.0400")), "50,04", "50.04"),
    (lambda: formats.exact(Decimal("1E+3")), "1.000", "1,000"),
    (lambda: formats.percent(0.953), f"95,3{NB}%", "95.3%"),
    (lambda: formats.percent(1, 0), f"100{NB}%", "100%"),
    (lambda: formats.money(Decimal("1234.5")), f"1.234,50{NB}€", "€1,234.50"),
    (lambda: formats.money(184300, decimals=0), f"184.300{NB}€", "€184,300"),
    (lambda: formats.byte_size(1023), f"1.023{NB}B", f"1,023{NB}B"),
    (lambda: formats.byte_size(1024), f"1{NB}KiB", f"1{NB}KiB"),
    (lambda: formats.byte_size(48 * 1024), f"48{NB}KiB", f"48{NB}KiB"),
    (lambda: formats.byte_size(19_300_000), f"18,4{NB}MiB", f"18.4{NB}MiB"),
    (lambda: formats.quantity(50, Unit.MILLISECONDS), f"50{NB}ms", f"50{NB}ms"),
    (lambda: formats.quantity(Decimal("0.01"), Unit.RATIO), f"1,0{NB}%", "1.0%"),
    (lambda: formats.quantity(95, Unit.PERCENT), f"95{NB}%", "95%"),
    (lambda: formats.quantity(2048, Unit.BYTES), f"2{NB}KiB", f"2{NB}KiB"),
    (lambda: formats.quantity(3, Unit.NONE), "3", "3"),
    (lambda: formats.day(WINTER), "04.11.2026", "04/11/2026"),
    (lambda: formats.day(date(2026, 11, 4)), "04.11.2026", "04/11/2026"),
    (lambda: formats.clock_time(WINTER), f"10:30{NB}Uhr", "10:30"),
    (lambda: formats.moment(SUMMER), f"04.07.2026, 11:30{NB}Uhr", "04/07/2026, 11:30"),
    (lambda: formats.signature_time(WINTER), "10:30:00 MEZ (UTC+01:00)", "10:30:00 CET (UTC+01:00)"),
    (
        lambda: formats.signature_time(SUMMER),
        "11:30:00 MESZ (UTC+02:00)",
        "11:30:00 CEST (UTC+02:00)",
    ),
    (lambda: formats.duration(0.42), f"420{NB}ms", f"420{NB}ms"),
    (lambda: formats.duration(59.96), f"1{NB}min", f"1{NB}min"),
    (lambda: formats.duration(2.44), f"2,4{NB}s", f"2.4{NB}s"),
    (lambda: formats.duration(200), f"3{NB}min 20{NB}s", f"3{NB}min 20{NB}s"),
    (lambda: formats.duration(7500), f"2{NB}h 5{NB}min", f"2{NB}h 5{NB}min"),
    (lambda: formats.duration(3600), f"1{NB}h", f"1{NB}h"),
]


@pytest.mark.parametrize(("said", "german", "english"), TABLE)
def test_format_reads_as_people_write(said: Callable[[], str], german: str, english: str) -> None:
    with translation.override("de"):
        assert said() == german
    with translation.override("en-gb"):
        assert said() == english


def test_days_are_counted_in_words() -> None:
    with translation.override("de"):
        assert formats.duration(86_400) == f"1{NB}Tag"
        assert formats.duration(3 * 86_400 + 4 * 3600) == f"3{NB}Tage 4{NB}h"


def test_long_date_names_its_month() -> None:
    with translation.override("de"):
        assert formats.day_long(WINTER) == f"4.{NB}November 2026"


def test_metric_value_and_interval_carry_their_unit() -> None:
    axes = Axes(Provenance.EMULATED, Assurance.CROSS_CHECKED, Origin.OWN)
    interval = Interval(Decimal("36.1"), Decimal("41.8"))
    metric = Metric("e2e_latency_ms", Decimal("38.90"), Unit.MILLISECONDS, axes, interval=interval)
    with translation.override("de"):
        assert formats.metric_value(metric) == f"38,9{NB}ms"
        assert formats.metric_interval(metric) == f"36,1{NB}ms bis 41,8{NB}ms"
        assert formats.axes_text(axes) == "EMULIERT · gegengeprüft · eigen"


def test_every_axis_and_every_unit_has_words() -> None:
    with translation.override("de"):
        for value in (*Provenance, *Assurance, *Origin):
            assert str(formats.AXIS_WORDS[value])
        for unit in Unit:
            assert formats.quantity(1, unit)


def test_django_uses_our_formats() -> None:
    with translation.override("de"):
        assert django_formats.date_format(WINTER, "SHORT_DATETIME_FORMAT") == "04.11.2026, 09:30 Uhr"
    with translation.override("en-gb"):
        assert django_formats.date_format(WINTER, "SHORT_DATE_FORMAT") == "04/11/2026"


def test_short_digest_marks_what_it_leaves_out() -> None:
    assert formats.short_digest("abcdef", 4) == "abcd…"
    assert formats.short_digest("abcd", 4) == "abcd"
