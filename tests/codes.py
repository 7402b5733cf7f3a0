"""Documents that are generated: `python -m tests.codes` writes docs/codes.md and the index of decisions.

The table of codes comes from the enumerations (architecture, decision 15), the index from the titles of the decisions.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final

from tests.architecture.sources import ROOT, files, module

TARGET: Final = ROOT / "docs/codes.md"
HEAD: Final = """# Codes

Generated from the enumerations by `python -m tests.codes`; a test compares. Identifier = name in the code, stored value = what
the database, the audit log and every export hold (never renamed, never reused), label = what the screen says. *Wirksam*,
*veraltet* and *Siegel ausstehend* are computed and have no code.
"""


INDEX: Final = ROOT / "docs/decisions/README.md"
INDEX_HEAD: Final = """# Decisions

Decisions of weight, half a page each: what the question was, what was decided, what follows. Where code and a page of the design
differ, one of these says why. How numbers are given is decision 0009; this index is written by `python -m tests.codes`.
"""
BLOCKS: Final = (
    ("The whole", 0),
    ("Pilots and emulator", 100),
    ("Signing", 120),
    ("Audit log", 140),
    ("Workloads, gates, approvals", 150),
    ("Jobs and operation", 160),
    ("People", 170),
    ("Pages", 180),
    ("Access and what the database refuses", 190),
)


def index() -> str:
    """The text of the index of decisions, in blocks of numbers."""
    rows = []
    for path in sorted(INDEX.parent.glob("0*.md")):
        number, title = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").split(" ", 1)
        rows.append((int(number), f"| [{number}]({path.name}) | {title} |"))
    parts = [INDEX_HEAD]
    ends = [start for _, start in BLOCKS[1:]] + [10_000]
    for (name, start), end in zip(BLOCKS, ends, strict=True):
        lines = [line for number, line in rows if start <= number < end]
        if lines:
            parts.append("\n".join((f"\n## {name}\n", "| no. | decision |", "|---|---|", *lines, "")))
    return "".join(parts)


def labels_beside() -> dict[str, Mapping[Any, Any]]:
    """Enumerations whose labels stand in a table beside them, since their module must not import Django."""
    from qms.core.formats import AXIS_WORDS
    from qms.evidence.choices import STATUS_LABELS, TYPE_LABELS

    axes = dict.fromkeys(("Provenance", "Assurance", "Origin"), AXIS_WORDS)
    return {**axes, "EvidenceStatus": STATUS_LABELS, "EvidenceType": TYPE_LABELS}


def enumerations() -> list[type[Enum]]:
    """Every enumeration of ours that has labels, in order of package and name."""
    from django.db.models import TextChoices

    from qms.core.coded import Coded

    for path in files("qms", "pilots"):
        if not {"migrations", "management", "frontends"} & set(path.parts):  # no codes there
            importlib.import_module(module(path))
    found = {kind for base in (Coded, TextChoices) for kind in below(base) if list(kind)}
    found |= {kind for kind in below(Enum) if kind.__name__ in labels_beside()}
    own = [kind for kind in found if kind.__module__.partition(".")[0] in {"qms", "pilots"}]
    return sorted(own, key=lambda kind: (kind.__module__, kind.__name__))


def below(kind: type[Any]) -> Iterator[type[Any]]:
    """All subclasses of a class."""
    for child in kind.__subclasses__():
        yield child
        yield from below(child)


def page() -> str:
    """The text of docs/codes.md."""
    from django.utils.translation import override

    beside = labels_beside()
    parts = [HEAD]
    for kind in enumerations():
        summary = (kind.__doc__ or "").strip().splitlines()[0]
        parts.append(f"\n## {kind.__name__}\n\n`{kind.__module__}` – {summary}\n")
        parts.append("| identifier | stored value | Deutsch | English |\n|---|---|---|---|")
        for member in kind:
            label = beside[kind.__name__][member] if kind.__name__ in beside else member.label
            with override("de"):
                german = str(label)
            with override("en-gb"):
                english = str(label)
            parts.append(f"| `{member.name}` | `{member.value}` | {german} | {english} |")
    return "\n".join(parts) + "\n"


def main() -> int:
    """Write both."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    import django

    from qms.core import catalogues

    catalogues.build()
    django.setup()
    TARGET.write_text(page(), encoding="utf-8")
    INDEX.write_text(index(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
