"""Template tags of our pages: numbers and times, soft hyphens, icons, badges of status and evidence axes."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from qms.core import clock, formats
from qms.core.hyphens import soften
from qms.core.values import Axes, Metric
from qms.web.templatetags.icon_paths import PATHS
from qms.web.templatetags.status_table import STATUS, TONES

register = template.Library()

register.filter("exact", formats.exact)
register.filter("pct", formats.percent)
register.filter("money", formats.money)
register.filter("bytesize", formats.byte_size)
register.filter("duration", formats.duration)
register.filter("short_hash", formats.short_digest)


@register.filter
def num(value: formats.Number, decimals: int | None = None) -> str:
    """Return a number with group separators and, if given, fixed decimals."""
    return formats.number(value, decimals)


@register.filter
def qty(value: formats.Number, unit: str) -> str:
    """Return a value with its unit, joined by a no-break space."""
    return formats.quantity(value, unit)


@register.filter
def soft(value: object) -> str:
    """Return German text with soft hyphens in long words; text in another language stays as it is."""
    text = str(value)
    return soften(text) if (get_language() or "de").startswith("de") else text


@register.filter
def breakable(text: str) -> SafeString:
    """Return a name or path of source code that may be broken behind its separators; copied, it stays as it is."""
    *parts, last = re.split(r"(?<=[/._])", text)
    return format_html("{}{}", format_html_join("", "{}<wbr>", ((part,) for part in parts)), last)


@register.filter
def status_label(code: str) -> str:
    """Return the label of a stored code, or the code itself where pages have no word for it."""
    return str(STATUS[code][0]) if code in STATUS else code


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return an icon; it never carries meaning alone and is hidden from screen readers."""
    return format_html(
        '<svg class="icon" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false">'
        '<path d="{}"/></svg>',
        PATHS[name],
    )


@register.simple_tag
def status_badge(code: str, label: str = "", tone: str = "") -> SafeString:
    """Return a badge of icon, word and border; label and tone default to those of the stored code."""
    known_label, known_tone = STATUS.get(code, (code, "neutral"))
    icon_name, css = TONES[tone or known_tone]
    return format_html(
        '<span class="{}">{}<span>{}</span></span>', css, icon(icon_name), label or known_label
    )


@register.simple_tag
def axes(value: Metric | Axes | dict[str, Any]) -> SafeString:
    """Return the badge of the three evidence axes of a metric, of its JSON form, or of bare axes.

    Raises KeyError or ValueError when an axis is missing: a number without axes is a defect, not a blank.
    """
    words = formats.axes_words(_axes(value))
    return format_html(
        '<span class="axes axes--{}"><span class="sr">{} </span><b>{}</b> <span>· {}</span> <span>· {}</span></span>',
        _axes(value).provenance.value.lower(),
        _("Herkunft, Absicherung, Quelle:"),
        *words,
    )


@register.inclusion_tag("components/metric.html")
def metric(value: Metric | dict[str, Any], label: str = "") -> dict[str, Any]:
    """Show a metric: value with unit, axes, and behind `details` the interval and what it rests on."""
    made = value if isinstance(value, Metric) else Metric.from_json(value)
    return {
        "metric": made,
        "label": label,
        "value": formats.metric_value(made),
        "interval": formats.metric_interval(made),
    }


@register.filter
def metric_text(value: Metric | dict[str, Any]) -> str:
    """Return value and unit of a metric; the axes badge has to stand beside it."""
    return formats.metric_value(value if isinstance(value, Metric) else Metric.from_json(value))


@register.inclusion_tag("components/hash.html")
def digest(value: str, label: str = "") -> dict[str, str]:
    """Show a digest: short on the screen with a button that copies all of it, in full on paper."""
    return {"value": value, "short": formats.short_digest(value), "label": label or _("Prüfsumme")}


@register.simple_tag
def day(value: date | datetime) -> SafeString:
    """Return a date in figures as `time` element."""
    return _time(value, formats.day(value))


@register.simple_tag
def day_long(value: date | datetime) -> SafeString:
    """Return a date with the name of its month as `time` element."""
    return _time(value, formats.day_long(value))


@register.simple_tag
def moment(value: datetime) -> SafeString:
    """Return date and time as `time` element."""
    return _time(value, formats.moment(value))


@register.simple_tag
def signature_moment(value: datetime) -> SafeString:
    """Return date and time of a signature, with zone and offset, as `time` element."""
    return _time(value, formats.signature_moment(value))


@register.simple_tag
def page_moment() -> SafeString:
    """Return the moment this page was made; printed at its foot."""
    return moment(clock.now())


def _time(value: date | datetime, text: str) -> SafeString:
    return format_html('<time datetime="{}">{}</time>', value.isoformat(), text)


def _axes(value: Metric | Axes | dict[str, Any]) -> Axes:
    if isinstance(value, Axes):
        return value
    if isinstance(value, Metric):
        return value.axes
    return Axes.from_json(value.get("axes", value))
