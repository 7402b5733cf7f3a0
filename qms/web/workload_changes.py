"""Differences between two contents in words: which field, before, now, who and when, what it touches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.core import canonical, formats
from qms.roles.models import Person
from qms.workloads import selectors
from qms.workloads.choices import (
    AbortCategory,
    AiActRiskClass,
    AiActRole,
    AlternativeOption,
    BottleneckType,
    Comparator,
    Criticality,
    Flag,
    Level,
    Mode,
    ObjectClass,
    OrganisationProfile,
    ProtectionNeed,
    UsageKind,
)
from qms.workloads.metrics import catalogue
from qms.workloads.models import ContentVersion, PlatformProfile, Workload

# Path pattern without the index in brackets, its name, and the criteria it touches.
_FIELDS: Final[tuple[tuple[str, Promise, str], ...]] = (
    ("title", lazy("Titel"), ""),
    ("purpose", lazy("Zweck"), "G0-3"),
    ("business_process", lazy("Geschäftsprozess"), "G0-3"),
    ("criticality", lazy("Kritikalität"), "G0-3"),
    ("mode", lazy("Betriebsart"), "G0-4"),
    ("model.text", lazy("Modell"), "G0-5, G4-1"),
    ("model.digest", lazy("Prüfsumme des Modells"), "G0-5, G4-1"),
    ("model.file.name", lazy("Aufzeichnung"), "G0-5, G4-1"),
    ("model.file.sha256", lazy("Prüfsumme der Aufzeichnung"), "G0-5, G4-1"),
    ("model.file.level", lazy("Stufe der Aufzeichnung"), "G1-2"),
    ("ai_act.role", lazy("Rolle nach KI-Verordnung"), "G0-9"),
    ("ai_act.risk_class", lazy("Risikoklasse nach KI-Verordnung"), "G0-9"),
    ("owner", lazy("Owner"), "G0-1"),
    ("owner_accepted_at", lazy("Owner-Rolle angenommen"), "G0-1"),
    ("deputy", lazy("Stellvertretung"), "G0-2"),
    ("location", lazy("Verarbeitungsort"), "G1-3"),
    ("classification.level", lazy("Stufe"), "G1-1, G1-2"),
    ("classification.flags", lazy("Kennzeichen"), "G1-1, G1-2"),
    ("classification.protection", lazy("Schutzbedarf"), "G1-12"),
    ("classification.access_plan", lazy("Zugriffsplan"), "G1-4"),
    ("classification.retention_plan", lazy("Aufbewahrungsplan"), "G1-5"),
    ("classification.confirmed", lazy("bestätigt"), "G1-1"),
    ("criteria.quality_targets", lazy("Qualitätsziel"), "G0-6, G4-3"),
    ("criteria.abort_criteria", lazy("Abbruchkriterium"), "G0-7"),
    ("criteria.fallback", lazy("Ausweichpfad"), "G0-8"),
    ("criteria.success_measure", lazy("Erfolgsmaß"), "G0-10"),
    ("criteria.primary_metrics", lazy("Wichtigste Messgröße"), "G6-8"),
    ("suitability", lazy("Eignung und Bedarf"), "G2-1, G2-2, G2-3"),
    ("suitability.alternatives", lazy("Alternative"), "G2-5"),
    ("pilot", lazy("Pilotrahmen"), "G0-10"),
)
_PARTS: Final[dict[str, Promise]] = {
    "metric": lazy("Messgröße"),
    "dataset_version": lazy("Daten"),
    "comparator": lazy("Vergleich"),
    "threshold": lazy("Schwelle"),
    "unit": lazy("Einheit"),
    "text": lazy("Regel"),
    "category": lazy("Gruppe"),
    "template": lazy("Vorlage"),
    "platform": lazy("Plattform"),
    "steps": lazy("Schritte"),
    "owner": lazy("zuständig"),
    "lead": lazy("Leitung"),
    "rto_min": lazy("Rückkehrzeit in Minuten"),
    "start": lazy("Beginn"),
    "end": lazy("Ende"),
    "budget_cap_eur": lazy("Budgetgrenze"),
    "scope": lazy("Umfang"),
    "provider": lazy("Anbieter"),
    "region": lazy("Region"),
    "country": lazy("Land"),
    "leaves_own_env": lazy("verlässt die eigene Umgebung"),
    "c": lazy("Vertraulichkeit"),
    "i": lazy("Integrität"),
    "a": lazy("Verfügbarkeit"),
    "period_days": lazy("Tage"),
    "principals": lazy("Personenkreis"),
    "org_profile": lazy("Art der Organisation"),
    "org_profile_reason": lazy("Begründung der Art"),
    "bottleneck_types": lazy("Engpass"),
    "business_reason": lazy("Grund für das Geschäft"),
    "usage_kind": lazy("Nutzung"),
    "runs_per_month": lazy("Läufe im Monat"),
    "hours_per_run": lazy("Stunden je Lauf"),
    "requests_per_day": lazy("Anfragen am Tag"),
    "planned_runs": lazy("geplante Läufe"),
    "team_size": lazy("Personen im Team"),
    "state_gb": lazy("Speicherbedarf in GB"),
    "option": lazy("Möglichkeit"),
    "verdict": lazy("Grund"),
}
_CODES: Final[dict[str, Any]] = {
    member.value: member
    for kind in (
        Mode,
        Criticality,
        AiActRole,
        AiActRiskClass,
        Level,
        Flag,
        ProtectionNeed,
        Comparator,
        AbortCategory,
        OrganisationProfile,
        BottleneckType,
        UsageKind,
        AlternativeOption,
    )
    for member in kind
}
# What follows from another field and would only repeat it.
_SILENT: Final = (
    "model.facts",
    "id",
    "schema",
    "classification.object_class",
    "criteria.quality_targets.id",
    "suitability.alternatives.option",
)
# How the history sums up the many fields of one part.
_SECTIONS: Final[tuple[tuple[str, Promise], ...]] = (
    ("model", lazy("Modell")),
    ("classification", lazy("Datenklassifizierung")),
    ("criteria.quality_targets", lazy("Qualitätsziele")),
    ("criteria.abort_criteria", lazy("Abbruchkriterien")),
    ("criteria.fallback", lazy("Ausweichpfad")),
    ("criteria.primary_metrics", lazy("Wichtigste Messgröße")),
    ("suitability", lazy("Eignung und Bedarf")),
    ("location", lazy("Verarbeitungsort")),
    ("pilot", lazy("Pilotrahmen")),
)
_NUMBERS: Final = (
    "runs_per_month",
    "hours_per_run",
    "requests_per_day",
    "planned_runs",
    "team_size",
    "state_gb",
)
_INDEX: Final = re.compile(r"\[([^\]]*)\]")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Change:
    """One row of "Seit der letzten Freigabe geändert", in the form the difference table takes."""

    field: str
    before: str
    now: str
    who: str
    at: datetime | None
    touches: str


def since(workload: Workload, sha256: str) -> list[Change]:
    """Return what changed between the content `sha256` and the current one; empty if nothing did."""
    before = selectors.content_by_sha256(workload, sha256)
    now = selectors.content_by_sha256(workload, workload.content_sha256)
    if before is None or now is None or sha256 == workload.content_sha256:
        return []
    found = [row for row in selectors.differences(before, now) if not _is_silent(row[0])]
    words = _Words()
    authors = _authors(workload, sha256, [path for path, _old, _new in found])
    return [_change(path, old, new, words, authors.get(path)) for path, old, new in found]


def field_name(path: str) -> str:
    """Return the name of a content path: "Eingabedaten: Stufe", "Qualitätsziel QZ-1: Schwelle"."""
    index = _INDEX.search(path)
    plain = _INDEX.sub("", path)
    name, rest = plain, ""
    for pattern, label, _touches in _FIELDS:
        if plain == pattern or plain.startswith(f"{pattern}."):
            name, rest = str(label), plain[len(pattern) + 1 :]
    part = str(_PARTS.get(rest.split(".")[-1], rest)) if rest else ""
    if index and plain.startswith("classification"):
        code = index.group(1)
        owner = str(ObjectClass(code).label) if code in list(ObjectClass) else code
        return f"{owner}: {name}" + (f", {part}" if part else "")
    if index and plain.startswith("suitability.") and index.group(1) in _CODES:
        name, index = f"{name} „{_CODES[index.group(1)].label}“", None
    title = f"{name} {index.group(1)}" if index else name
    return f"{title}: {part}" if part else title


def section_name(path: str) -> str:
    """Return the part of the content a path belongs to: "Datenklassifizierung", "Abbruchkriterien"; else its field."""
    plain = _INDEX.sub("", path)
    found = [
        str(label) for pattern, label in _SECTIONS if plain == pattern or plain.startswith(f"{pattern}.")
    ]
    return found[0] if found else field_name(path)


def sections(paths: Iterable[str]) -> list[str]:
    """Return the changed parts of the content without duplicates, in the order of the paths."""
    return list(dict.fromkeys(section_name(path) for path in paths if not _is_silent(path)))


def _is_silent(path: str) -> bool:
    return _INDEX.sub("", path).startswith(_SILENT)


def touches(path: str) -> str:
    """Return the criteria that a change of this path concerns."""
    plain = _INDEX.sub("", path)
    found = [ids for pattern, _label, ids in _FIELDS if plain == pattern or plain.startswith(f"{pattern}.")]
    return found[-1] if found else ""


class _Words:
    """Turns stored values into words; names and platforms are read once, when the first one is needed."""

    def __init__(self) -> None:
        self._names: dict[str, str] | None = None
        self._platforms: dict[str, str] | None = None

    def say(self, path: str, value: Any) -> str:
        """Return the value in words."""
        if value is None or value == "":
            return ""
        if isinstance(value, bool):
            return _("ja") if value else _("nein")
        text = str(value)
        if text in _CODES:
            member = _CODES[text]
            return f"{text} {member.label}" if isinstance(member, Level) else str(member.label)
        if text in catalogue():
            return catalogue()[text].name
        return self._by_place(path.rsplit(".", maxsplit=1)[-1], text)

    def _by_place(self, last: str, text: str) -> str:
        places: dict[str, Callable[[str], str]] = {
            "owner": self._person,
            "deputy": self._person,
            "lead": self._person,
            "platform": self._platform,
            "owner_accepted_at": lambda moment: formats.moment(datetime.fromisoformat(moment)),
            "budget_cap_eur": lambda amount: formats.money(Decimal(amount)),
            "threshold": _exact,
            **dict.fromkeys(_NUMBERS, _exact),
            "digest": formats.short_digest,
            "sha256": formats.short_digest,
        }
        if last in places:
            return places[last](text)
        return formats.day(date.fromisoformat(text)) if _DAY.fullmatch(text) else text

    def _person(self, pid: str) -> str:
        if self._names is None:
            self._names = dict(Person.objects.values_list("pid", "display_name"))
        return self._names.get(pid, pid)

    def _platform(self, key: str) -> str:
        if self._platforms is None:
            self._platforms = dict(PlatformProfile.objects.values_list("key", "name"))
        return self._platforms.get(key, key)


def _exact(text: str) -> str:
    try:
        return formats.exact(Decimal(text))
    except InvalidOperation:
        return text


def _change(path: str, old: Any, new: Any, words: _Words, author: ContentVersion | None) -> Change:
    return Change(
        field=field_name(path),
        before=words.say(path, old),
        now=words.say(path, new),
        who=author.created_by.display_name if author else "",
        at=author.created_at if author else None,
        touches=touches(path),
    )


def _authors(workload: Workload, sha256: str, paths: list[str]) -> dict[str, ContentVersion]:
    """Return, per path, the version after `sha256` that changed it last."""
    versions = list(workload.content_versions.select_related("created_by").order_by("number"))
    first = max((index for index, version in enumerate(versions) if version.sha256 == sha256), default=0)
    wanted, found = set(paths), {}
    contents = [canonical.loads(version.content) for version in versions[first:]]
    for version, before, now in zip(versions[first + 1 :], contents, contents[1:], strict=False):
        for path, _old, _new in selectors.differences(before, now):
            if path in wanted:
                found[path] = version
    return found


def comparator_words(comparator: str, threshold: Decimal, unit: str) -> str:
    """Return comparator and threshold in words: "mindestens 0,999", "höchstens 50 ms"."""
    label = Comparator(comparator).label if comparator in list(Comparator) else comparator
    return f"{label}{formats.NBSP}{formats.exact_quantity(threshold, unit)}"
