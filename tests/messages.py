"""The texts that people see, read from source: `python -m tests.messages` brings the English catalogue up to date.

Reads syntax trees and templates with Django's own lexer, so it needs no gettext. What is translated stays, what is new
comes in empty, what nobody uses any more goes.
"""

from __future__ import annotations

import ast
import io
import re
import sys
from pathlib import Path
from typing import Final, NamedTuple

from babel.messages import Catalog
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

from tests.architecture.sources import ROOT, files

ENGLISH: Final = ROOT / "qms/locale/en_GB/LC_MESSAGES/django.po"
GERMAN: Final = ROOT / "qms/locale/de/LC_MESSAGES/django.po"
# Name of the function without "_lazy" -> positions of context, singular, plural among its arguments.
SHAPES: Final[dict[str, tuple[int | None, int, int | None]]] = {
    "gettext": (None, 0, None),
    "gettext_noop": (None, 0, None),
    "ngettext": (None, 0, 1),
    "pgettext": (0, 1, None),
    "npgettext": (0, 1, 2),
}
STRING: Final = r"""u?(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
CALL: Final = re.compile(rf"\b(n?p?gettext|_)\(\s*({STRING})(?:\s*,\s*({STRING}))?(?:\s*,\s*({STRING}))?")


class Message(NamedTuple):
    """One text to translate: its key and where it stands."""

    context: str | None
    singular: str
    plural: str | None
    place: str

    @property
    def id(self) -> str | tuple[str, str]:
        """What a catalogue calls the text: one string, or singular and plural."""
        return (self.singular, self.plural) if self.plural else self.singular


def aliases(module: ast.Module) -> dict[str, str]:
    """Local names of gettext functions in a module: {"_": "gettext", "lazy": "gettext"}."""
    return {
        alias.asname or alias.name: alias.name.removesuffix("_lazy")
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation"
        for alias in node.names
        if alias.name.removesuffix("_lazy") in SHAPES
    }


def python_messages(source: str, place: str) -> tuple[list[Message], list[str]]:
    """Texts of a Python file, and the lines on which a text is computed and cannot be found this way."""
    found, computed = [], []
    module = ast.parse(source)
    names = aliases(module)
    for node in ast.walk(module):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names):
            continue
        wanted = SHAPES[names[node.func.id]]
        texts = [None if at is None else _constant(node.args[at]) for at in wanted]
        if any(at is not None and text is None for at, text in zip(wanted, texts, strict=True)):
            computed.append(f"{place}:{node.lineno}")
        else:
            found.append(Message(texts[0], str(texts[1]), texts[2], f"{place}:{node.lineno}"))
    return found, computed


def _constant(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def template_messages(source: str, place: str) -> list[Message]:
    """Texts of a template. Django rewrites it into calls; the rest of it becomes X and stays on its line."""
    code = templatize(source, origin=place)
    found = []
    for call in CALL.finditer(code):
        name, *literals = call.groups()
        texts = [ast.literal_eval(literal.removeprefix("u")) for literal in literals if literal]
        context, singular, plural = SHAPES["gettext" if name == "_" else name]
        line = code.count("\n", 0, call.start()) + 1
        found.append(
            Message(
                None if context is None else texts[context],
                texts[singular],
                None if plural is None else texts[plural],
                f"{place}:{line}",
            )
        )
    return found


def messages() -> tuple[list[Message], list[str]]:
    """Every text of the product in order of place, and the places where one is computed."""
    found: list[Message] = []
    computed: list[str] = []
    for path in files("qms", "pilots"):
        texts, lines = python_messages((ROOT / path).read_text(encoding="utf-8"), str(path))
        found += texts
        computed += lines
    for pattern in ("*.html", "*.txt"):
        for path in files("templates", pattern=pattern):
            found += template_messages((ROOT / path).read_text(encoding="utf-8"), str(path))
    return [message for message in found if message.singular], computed


def load(path: Path) -> Catalog:
    """A catalogue from disk."""
    return read_po(io.BytesIO(path.read_bytes()))


def merged(old: Catalog, found: list[Message]) -> Catalog:
    """The catalogue of these texts, with the translations of the old one where the key is the same."""
    new = Catalog(
        locale=old.locale, domain="django", project="AI-QMS", version="", charset="utf-8", fuzzy=False
    )
    new.mime_headers = old.mime_headers
    for message in found:
        known = old.get(message.id, message.context)
        keep = known.string if known is not None and known.pluralizable == bool(message.plural) else None
        new.add(
            message.id,
            string=keep or ("" if not message.plural else ("", "")),
            context=message.context,
            locations=[(message.place.rpartition(":")[0], None)],
        )
    return new


def save(path: Path, catalogue: Catalog) -> None:
    """Write the catalogue: by text, without line numbers or dates, so that only real changes show."""
    buffer = io.BytesIO()
    write_po(
        buffer,
        catalogue,
        width=110,
        omit_header=True,
        sort_output=True,
        ignore_obsolete=True,
        include_lineno=False,
    )
    header = (
        'msgid ""\nmsgstr ""\n"Project-Id-Version: AI-QMS\\n"\n"Language: %s\\n"\n"MIME-Version: 1.0\\n"\n'
        '"Content-Type: text/plain; charset=utf-8\\n"\n"Content-Transfer-Encoding: 8bit\\n"\n'
        '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n'
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(header % path.parent.parent.name + buffer.getvalue().decode(), encoding="utf-8")


def main() -> int:
    """Bring the English catalogue up to date; 1 if a text still waits for its translation."""
    found, computed = messages()
    old = load(ENGLISH) if ENGLISH.exists() else Catalog(locale="en_GB")
    new = merged(old, found)
    save(ENGLISH, new)
    forms = [
        (entry.id, [entry.string] if isinstance(entry.string, str) else entry.string)
        for entry in new
        if entry.id
    ]
    waiting = [key for key, strings in forms if not all(strings)]
    for key in waiting:
        print("waits:", key)
    print(f"{len(new)} texts, {len(waiting)} without translation, {len(computed)} computed")
    return 1 if waiting else 0


if __name__ == "__main__":
    sys.exit(main())
