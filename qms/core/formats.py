"""Numbers, units and times as people read them, in German and British English (ui.md section 7).

Between a number and its unit stands a no-break space. The language is the active one; times are shown in the
active time zone. Page and PDF use the same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal

from babel.dates import get_timezone_name
from babel.numbers import format_currency, format_decimal
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from qms.core.values import Assurance, Axes, Metric, Origin, Provenance, Unit

NBSP = "\u00a0"
MINUS = "\u2212"
Number = Decimal | float | int

UNIT_LABELS: dict[str, str | Promise] = {
    Unit.MILLISECONDS: "ms",
    Unit.SECONDS: "s",
    Unit.PER_SECOND: "1/s",
    Unit.TOKENS_PER_SECOND: _lazy("Token/s"),
    Unit.SAMPLES_PER_SECOND: _lazy("Samples/s"),
    Unit.CYCLES: _lazy("Takte"),
    Unit.JOULES: "J",
}
AXIS_WORDS: dict[str, str | Promise] = {
    Provenance.MEASURED: _lazy("GEMESSEN"),
    Provenance.EMULATED: _lazy("EMULIERT"),
    Provenance.VENDOR_STATED: _lazy("HERSTELLERANGABE"),
    Provenance.DERIVED: _lazy("ABGELEITET"),
    Provenance.ESTIMATED: _lazy("GESCHÄTZT"),
    Assurance.SUBMITTED: _lazy("eingereicht"),
    Assurance.CROSS_CHECKED: _lazy("gegengeprüft"),
    Assurance.SIGNED_BY_COMMAND: _lazy("vom Messbefehl signiert"),
    Assurance.REPEATED: _lazy("wiederholt"),
    Origin.OWN: _lazy("eigen"),
    Origin.THIRD_PARTY: _lazy("Dritte"),
    Origin.PUBLISHED: _lazy("veröffentlicht"),
}
_BYTE_STEPS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def locale() -> str:
    """Return the babel locale of the active language: "de" or "en_GB"."""
    return "en_GB" if (get_language() or "de").startswith("en") else "de"


def number(value: Number, decimals: int | None = None) -> str:
    """Return `value` with group separators: with fixed `decimals`, or about three significant digits."""
    amount = _decimal(value)
    if decimals is None:
        pattern = "#,##0." + "#" * _free_decimals(amount)
    else:
        pattern = "#,##0" + ("." + "0" * decimals if decimals else "")
    return _true_minus(format_decimal(amount, format=pattern.rstrip("."), locale=locale()))


def exact(value: Number) -> str:
    """Return `value` with all its decimals: for values compared with a threshold."""
    amount = _decimal(value)
    places = max(0, -int(amount.normalize().as_tuple().exponent))
    return number(amount, places)


def percent(ratio: Number, decimals: int = 1) -> str:
    """Return a ratio as percentage: 0.953 is "95,3 %" in German, "95.3%" in English."""
    return _percent_sign(number(_decimal(ratio) * 100, decimals))


def money(value: Number, currency: str = "EUR", decimals: int = 2) -> str:
    """Return an amount of money: "1.234,50 €", "€1,234.50"."""
    pattern = "#,##0" + ("." + "0" * decimals if decimals else "")
    pattern = f"¤{pattern}" if locale() == "en_GB" else f"{pattern}{NBSP}¤"
    text = format_currency(_decimal(value), currency, format=pattern, locale=locale(), currency_digits=False)
    return _true_minus(text)


def byte_size(value: Number) -> str:
    """Return a number of bytes in binary steps: "512 B", "18,4 MiB"."""
    amount, step = _decimal(value), 0
    while abs(amount) >= 1024 and step < len(_BYTE_STEPS) - 1:
        amount, step = amount / 1024, step + 1
    places = 0 if step == 0 or abs(amount) >= 100 else 1
    amount = round(amount, places)
    return f"{number(amount)}{NBSP}{_BYTE_STEPS[step]}"


def quantity(value: Number, unit: str, decimals: int | None = None) -> str:
    """Return a value with its unit of the metric catalogue: "50 ms", "95,3 %", "48 KiB", "1.234,50 €"."""
    special: dict[str, Callable[[], str]] = {
        Unit.NONE: lambda: number(value, decimals),
        Unit.RATIO: lambda: percent(value, 1 if decimals is None else decimals),
        Unit.PERCENT: lambda: _percent_sign(number(value, decimals)),
        Unit.BYTES: lambda: byte_size(value),
        Unit.EURO: lambda: money(value, decimals=2 if decimals is None else decimals),
    }
    if unit in special:
        return special[unit]()
    return f"{number(value, decimals)}{NBSP}{UNIT_LABELS.get(unit, unit)}"


def exact_quantity(value: Number, unit: str) -> str:
    """Return a threshold with all its decimals and the word of its unit; shares and counts have no word."""
    plain = {Unit.NONE, Unit.RATIO, "n", "*"}
    word = "" if unit in plain else str(UNIT_LABELS.get(unit, unit))
    return f"{exact(value)}{NBSP}{word}".strip()


def metric_value(metric: Metric, decimals: int | None = None) -> str:
    """Return the value of a metric with its unit; its axes are shown by the badge beside it."""
    return quantity(metric.value, metric.unit, decimals)


def metric_interval(metric: Metric) -> str:
    """Return the interval of an emulated metric ("36,1 ms bis 41,8 ms"), or an empty text."""
    if metric.interval is None:
        return ""
    ends = {
        "lower": quantity(metric.interval.lower, metric.unit),
        "upper": quantity(metric.interval.upper, metric.unit),
    }
    return _("%(lower)s bis %(upper)s") % ends


def axes_words(axes: Axes) -> tuple[str, str, str]:
    """Return the words of the badge beside a number: Herkunft, Absicherung, Quelle."""
    return str(AXIS_WORDS[axes.provenance]), str(AXIS_WORDS[axes.assurance]), str(AXIS_WORDS[axes.origin])


def axes_text(axes: Axes) -> str:
    """Return the badge as one text: "EMULIERT · gegengeprüft · eigen"."""
    return " · ".join(axes_words(axes))


def day(value: date | datetime) -> str:
    """Return a date in figures: "04.11.2026", "04/11/2026"."""
    return _local(value).strftime("%d/%m/%Y" if locale() == "en_GB" else "%d.%m.%Y")


def day_long(value: date | datetime) -> str:
    """Return a date with the name of its month: "4. November 2026", "4 November 2026"."""
    local = _local(value)
    months = [_("Januar"), _("Februar"), _("März"), _("April"), _("Mai"), _("Juni"), _("Juli"), _("August")]
    months += [_("September"), _("Oktober"), _("November"), _("Dezember")]
    dot = "" if locale() == "en_GB" else "."
    return f"{local.day}{dot}{NBSP}{months[local.month - 1]} {local.year}"


def clock_time(value: datetime) -> str:
    """Return the time of day: "16:42 Uhr", "16:42"."""
    text = _local(value).strftime("%H:%M")
    return text if locale() == "en_GB" else f"{text}{NBSP}Uhr"


def moment(value: datetime) -> str:
    """Return date and time: "04.11.2026, 16:42 Uhr"."""
    return f"{day(value)}, {clock_time(value)}"


def signature_time(value: datetime) -> str:
    """Return the time of a signature with zone and offset: "10:30:00 MEZ (UTC+01:00)"."""
    local = timezone.localtime(value)
    offset = local.utcoffset() or timedelta()
    minutes = int(offset.total_seconds() // 60)
    sign = "-" if minutes < 0 else "+"
    hours, rest = divmod(abs(minutes), 60)
    name = get_timezone_name(local, width="short", locale="de" if locale() == "de" else "en_150")
    return f"{local:%H:%M:%S} {name} (UTC{sign}{hours:02d}:{rest:02d})"


def signature_moment(value: datetime) -> str:
    """Return date and time of a signature: "04.11.2026, 10:30:00 MEZ (UTC+01:00)"."""
    return f"{day(value)}, {signature_time(value)}"


def duration(seconds: Number) -> str:
    """Return a span of time in its two largest units: "420 ms", "2,4 s", "3 min 20 s", "2 h 5 min", "3 Tage 4 h"."""
    amount = _decimal(seconds)
    if abs(amount) < 1:
        return f"{number(amount * 1000)}{NBSP}ms"
    if abs(round(amount, 1)) < 60:
        return f"{number(round(amount, 1))}{NBSP}s"
    total = round(amount)
    days, hours, minutes = total // 86400, total % 86400 // 3600, total % 3600 // 60
    if days:
        return _join(ngettext("%(n)d Tag", "%(n)d Tage", days) % {"n": days}, f"{hours} h" if hours else "")
    if hours:
        return _join(f"{hours} h", f"{minutes} min" if minutes else "")
    return _join(f"{minutes} min", f"{total % 60} s" if total % 60 else "")


def short_digest(digest: str, length: int = 12) -> str:
    """Return the first `length` characters of a digest, marked as shortened."""
    return digest if len(digest) <= length else f"{digest[:length]}…"


def _join(first: str, second: str) -> str:
    return " ".join(part.replace(" ", NBSP) for part in (first, second) if part)


def _decimal(value: Number) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(repr(value))


def _free_decimals(amount: Decimal) -> int:
    if amount == 0:
        return 0
    magnitude = amount.adjusted()
    return {0: 2, 1: 1, 2: 1}.get(magnitude, 0) if magnitude >= 0 else 2 - magnitude


def _true_minus(text: str) -> str:
    return text.replace("-", MINUS)


def _percent_sign(text: str) -> str:
    return f"{text}%" if locale() == "en_GB" else f"{text}{NBSP}%"


def _local(value: date | datetime) -> date | datetime:
    if isinstance(value, datetime) and timezone.is_aware(value):
        return timezone.localtime(value)
    return value
