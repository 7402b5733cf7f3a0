"""The English catalogue is complete; German pages say Sie; nothing promises too much in either language."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import allauth
import pytest
from django.utils.translation import gettext, ngettext, override, trans_real

from qms.core import catalogues
from tests import messages as source
from tests.architecture.sources import ROOT, files

PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%[sd]|%%")
INFORMAL = re.compile(r"\b(du|dein\w*|dir|dich|euch|euer|eure\w*)\b", re.IGNORECASE)
INFORMAL_IMPERATIVE = re.compile(
    r"\b(gib|melde dich|klicke?)\b|\bbitte (gebe|habe|wähle|bestätige|kontaktiere|nutze|verwende|überprüfe|versuche|folge|melde)\b",
    re.IGNORECASE,
)
PROMISES = re.compile(
    r"legally valid|legally binding|court-proof|tamper-proof|tamperproof|forgery-proof|unforgeable|immutable|unalterable|audit-proof",
    re.IGNORECASE,
)
GERMAN_LEFT = re.compile(
    r"[äöüßÄÖÜ„“]|\b(und|oder|nicht|der|das|ist|wird|für|mit|Freigabe|Nachweis|Prüfung)\b"
)
# Words of the rule language and names of files, which are the same in every language.
SAME_IN_ENGLISH = {"UND", "ODER"}

# One word per thing (style.md G): where the German term stands, the English one stands too.
GLOSSARY = {
    "Abbruchkriteri": "abort criteri",
    "Absicherung": "assurance",
    "Audit-Protokoll": "audit log",
    "Ausweichpfad": "fallback path",
    "Freigabe": "approv",
    "Freigeber": "approver",
    "Funktionstrennung": "segregation of duties",
    "Kontrollpunkt": "checkpoint",
    "Mitzeichnung": "vote",
    "Nachweis": "evidence",
    "Objektklasse": "object class",
    "Prüfer": "reviewer",
    "Prüfsumme": "digest",
    "Qualitätsziel": "quality target",
    "Regelwerk": "rule set",
    "Siegel ausstehend": "seal pending",
    "Vergleichsbasis": "baseline",
    "Vorfreigabe": "preliminary approval",
    "Workload": "workload",
    "Ziellauf": "target run",
    "antragstellende Person": "requester",
    "entscheidungsreif": "ready for decision",
    "veraltet": "outdated",
    "wirksam": "in force",
}


@functools.cache
def texts():
    return source.messages()


@functools.cache
def english():
    return source.load(source.ENGLISH)


def pairs(entry):
    """(German, English) for each form of an entry."""
    if entry.pluralizable:
        return list(zip(entry.id, entry.string, strict=True))
    return [(entry.id, entry.string)]


def entries(catalogue):
    return [entry for entry in catalogue if entry.id]


def test_every_text_is_a_literal_that_the_catalogue_can_hold():
    assert texts()[1] == []


def test_every_text_has_its_english_translation():
    keys = {
        (entry.context, entry.id) for entry in entries(english()) if all(text for _, text in pairs(entry))
    }
    waiting = sorted(
        f"{text.place} {text.singular}" for text in texts()[0] if (text.context, text.id) not in keys
    )
    assert waiting == [], "python -m tests.messages adds them to the catalogue; then translate the empty ones"


def test_catalogue_holds_nothing_that_is_not_used():
    keys = {(text.context, text.id) for text in texts()[0]}
    assert [entry.id for entry in entries(english()) if (entry.context, entry.id) not in keys] == []


def test_no_translation_is_fuzzy():
    for path in (source.ENGLISH, source.GERMAN):
        assert [entry.id for entry in entries(source.load(path)) if entry.fuzzy] == []


def test_translations_keep_the_placeholders():
    wrong = []
    for path in (source.ENGLISH, source.GERMAN):
        for entry in entries(source.load(path)):
            allowed = [sorted(PLACEHOLDER.findall(text)) for text, _ in pairs(entry)]
            wrong += [text for _, text in pairs(entry) if sorted(PLACEHOLDER.findall(text)) not in allowed]
    assert wrong == []


def test_translations_keep_the_blanks_and_lines_at_both_ends():
    def ends(text):
        return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]

    both = [pair for entry in entries(english()) for pair in pairs(entry)]
    assert [german for german, english_text in both if ends(german) != ends(english_text)] == []


def test_no_german_is_left_in_the_english_catalogue():
    left = [
        text
        for entry in entries(english())
        for _, text in pairs(entry)
        if (found := GERMAN_LEFT.search(text)) and found[0] not in SAME_IN_ENGLISH
    ]
    assert left == []


@pytest.mark.parametrize("german", sorted(GLOSSARY))
def test_english_uses_the_word_of_the_glossary(german):
    wrong = [
        (source_text, text)
        for entry in entries(english())
        for source_text, text in pairs(entry)
        if german in source_text and GLOSSARY[german] not in text.lower()
    ]
    assert wrong == []


def test_english_promises_no_more_than_german():
    found = [text for entry in entries(english()) for _, text in pairs(entry) if PROMISES.search(text)]
    assert found == []


def informal(text):
    return bool(INFORMAL.search(text) or INFORMAL_IMPERATIVE.search(text))


def test_own_texts_say_sie():
    own = [text for message in texts()[0] for text in (message.singular, message.plural) if text]
    own += [value for path in files("qms", "pilots", pattern="*.json") for value in german_values(path)]
    assert [text for text in own if informal(text)] == []


def german_values(path):
    def walk(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                if key.endswith("_de") and isinstance(inner, str):
                    yield inner
                yield from walk(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(inner)

    return list(walk(json.loads((ROOT / path).read_text(encoding="utf-8"))))


def test_texts_of_the_login_library_say_sie():
    """Our catalogue for German replaces each text in which the library says Du, and no other."""
    own = {entry.id: entry.string for entry in entries(source.load(source.GERMAN))}
    library = source.load(Path(allauth.__file__).parent / "locale/de/LC_MESSAGES/django.po")
    theirs = {entry.id: entry.string for entry in entries(library)}
    shown = {key: own.get(key, text) for key, text in theirs.items()}
    assert [text for text in shown.values() if informal(str(text))] == []
    assert set(own) - set(theirs) == set()


def test_django_finds_both_catalogues(monkeypatch):
    catalogues.build()
    monkeypatch.setattr(trans_real, "_translations", {})
    with override("en-gb"):
        assert gettext("Freigaben") == "Approvals"
        assert ngettext("%(n)d Tag", "%(n)d Tage", 2) == "%(n)d days"
    with override("de"):
        assert gettext("Freigaben") == "Freigaben"
        assert gettext("You have signed out.") == "Sie sind abgemeldet."
