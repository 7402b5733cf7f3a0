"""Words of the page "Takt für Takt": what there is to see, what its words mean, what happens in a frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext, npgettext_lazy, pgettext, pgettext_lazy

from pilots.catalog.fabric_view import Frame
from qms.core import formats

TEXTS: Final[dict[str, tuple[Promise, Promise]]] = {
    "chain": (
        pgettext_lazy("Ablauf", "Kette"),
        lazy(
            "Eine Summe von Nachbar zu Nachbar: Jedes Element addiert, was von links kommt, zu seinen Zahlen und "
            "schickt die Teilsumme nach rechts weiter."
        ),
    ),
    "broadcast": (
        pgettext_lazy("Ablauf", "Rundruf"),
        lazy(
            "Das erste Element schickt seine Zahlen los; jeder Router gibt sie seinem Element und zugleich dem "
            "nächsten Router."
        ),
    ),
    "allreduce": (
        lazy("Summe für alle"),
        lazy(
            "Teilsummen laufen von beiden Enden jeder Gruppe zur Mitte; die fertige Summe läuft auf einer eigenen "
            "Farbe zu allen zurück."
        ),
    ),
    "stationary": (
        lazy("Produkt mit ruhenden Gewichten (STATIONARY)"),
        lazy(
            "Die Gewichte bleiben liegen: Eingaben laufen durch die Zeilen, Teilsummen die Spalten hinunter."
        ),
    ),
    "mesh_gemm": (
        lazy("Produkt mit wandernden Blöcken (MESH_GEMM)"),
        lazy(
            "Blöcke beider Matrizen wandern reihum; in jedem Schritt multipliziert jedes Element, was gerade bei "
            "ihm liegt."
        ),
    ),
    "gemv": (
        lazy("Matrix mal Vektor (GEMV)"),
        lazy(
            "So entsteht jedes Token einer Antwort: Jedes Element multipliziert seinen Block, die Summen einer "
            "Spalte treffen sich in ihrer Mitte und laufen zurück."
        ),
    ),
    "softmax": (
        lazy("Softmax einer Zeile"),
        lazy("Erst sucht jede Zeile ihr Maximum, dann ihre Summe; beide treffen sich und laufen zurück."),
    ),
    "stencil": (
        lazy("7-Punkt-Stern (STENCIL)"),
        lazy(
            "Jedes Element schickt seine Säule von Zahlen den vier Nachbarn und rechnet daraus den nächsten "
            "Zeitschritt."
        ),
    ),
    "deadlock": (
        pgettext_lazy("Ablauf", "Verklemmung"),
        lazy(
            "Absichtlich falsch: Alle senden zuerst und nehmen erst danach ab. Mehr als 24 Wavelets finden keinen "
            "Platz, und jedes Element wartet auf das nächste."
        ),
    ),
}
WORDS: Final[tuple[tuple[Promise, Promise], ...]] = (
    (
        pgettext_lazy("Wort", "Element"),
        lazy("Ein kleiner Rechner mit eigenem Speicher; sein Router verbindet ihn mit seinen vier Nachbarn."),
    ),
    (
        pgettext_lazy("Wort", "Takt"),
        lazy("Ein Schlag der Uhr, nach der alle Elemente zugleich arbeiten."),
    ),
    (
        pgettext_lazy("Wort", "Wavelet"),
        lazy(
            "Ein Päckchen von 32 Bit, also eine oder zwei Zahlen; je Takt kommt es höchstens einen Nachbarn weiter."
        ),
    ),
    (
        pgettext_lazy("Wort", "Farbe"),
        lazy(
            "Die Nummer eines Weges: Nach ihr weiß jeder Router, woher er ein Wavelet nimmt und wohin er es gibt."
        ),
    ),
    (
        pgettext_lazy("Wort", "Warteschlange"),
        lazy(
            "Hier warten Wavelets einer Farbe, bis ihr Weg frei ist oder das Element sie abnimmt; ist sie voll, "
            "muss warten, wer sendet."
        ),
    ),
    (
        pgettext_lazy("Wort", "Vorbereiten"),
        lazy(
            "Eine feste Zeit, die das Zeitmodell für das Anlaufen eines Programms und für jeden seiner Schritte ansetzt."
        ),
    ),
)
DOING: Final[dict[str, tuple[Promise, Any]]] = {
    "b": (
        pgettext_lazy("Zeichen", "empfängt und sendet"),
        npgettext_lazy("Elemente", "empfängt und sendet", "empfangen und senden", "n"),
    ),
    "s": (pgettext_lazy("Zeichen", "sendet"), npgettext_lazy("Elemente", "sendet", "senden", "n")),
    "r": (pgettext_lazy("Zeichen", "empfängt"), npgettext_lazy("Elemente", "empfängt", "empfangen", "n")),
    "c": (pgettext_lazy("Zeichen", "rechnet"), npgettext_lazy("Elemente", "rechnet", "rechnen", "n")),
    "d": (
        pgettext_lazy("Zeichen", "bereitet vor"),
        npgettext_lazy("Elemente", "bereitet vor", "bereiten vor", "n"),
    ),
    "x": (
        pgettext_lazy("Zeichen", "kann nicht senden, weil niemand abnimmt"),
        npgettext_lazy("Elemente", "kann nicht senden", "können nicht senden", "n"),
    ),
    "w": (pgettext_lazy("Zeichen", "wartet"), npgettext_lazy("Elemente", "wartet", "warten", "n")),
    "f": (
        pgettext_lazy("Zeichen", "ist fertig"),
        npgettext_lazy("Elemente", "ist fertig", "sind fertig", "n"),
    ),
    "n": (
        pgettext_lazy("Zeichen", "hat kein Programm"),
        npgettext_lazy("Elemente", "hat kein Programm", "haben kein Programm", "n"),
    ),
}
TOWARDS: Final = {
    "N": lazy("nach oben"),
    "E": lazy("nach rechts"),
    "S": lazy("nach unten"),
    "W": lazy("nach links"),
}


BEFORE: Final = {
    "d": pgettext_lazy("Davor müssen die Elemente", "sich vorbereiten"),
    "c": pgettext_lazy("Davor müssen die Elemente", "rechnen"),
    "s": pgettext_lazy("Davor müssen die Elemente", "die ersten Wavelets an ihren Router geben"),
}


def opening(before: tuple[Frame, ...], first: Frame) -> str:
    """Return what passes before the first wavelet moves, so that a page may begin with it; "" if nothing does."""
    if not before:
        return ""
    seen = {letter for frame in before for letter in frame.doing}
    does = listed([str(text) for letter, text in BEFORE.items() if letter in seen])
    facts = {"cycle": formats.number(first.cycle, 0), "does": does}
    return (
        _(
            "Die Ansicht beginnt mit Takt %(cycle)s: Erst dann wandert ein Wavelet, denn davor müssen die Elemente %(does)s."
        )
        % facts
    )


def sentence(frame: Frame, after: Frame | None, stuck: bool) -> str:
    """Return what happens in a frame, and how long it stays so; after: the next frame; stuck: the last one is the end."""
    said = " ".join([*_moving(frame), _does(frame)])
    parts = [_("Takt %(cycle)s: %(said)s") % {"cycle": formats.number(frame.cycle, 0), "said": said}]
    if after is None and stuck:
        parts.append(_("Ab hier bewegt sich nichts mehr."))
    if after is not None and after.cycle - frame.cycle > 1:
        parts.append(_("So bleibt es bis Takt %(cycle)s.") % {"cycle": formats.number(after.cycle - 1, 0)})
    return " ".join(parts)


def _does(frame: Frame) -> str:
    """Return what the elements do: "1 Element sendet, 5 warten."."""
    counts = Counter(frame.doing)
    found = [(counts[letter], text) for letter, (_label, text) in DOING.items() if counts[letter]]
    (first, text), *others = found
    facts = {"n": first, "does": str(text % {"n": first})}
    parts = [ngettext("%(n)d Element %(does)s", "%(n)d Elemente %(does)s", first) % facts]
    parts += [f"{n} {text % {'n': n}}" for n, text in others]
    return ", ".join(parts) + "."


def _moving(frame: Frame) -> list[str]:
    """Return which wavelets move: a sentence for each color, and one for those that arrive."""
    colors: dict[int, Counter[str]] = {}
    for move in frame.moves:
        if move.side in TOWARDS:
            colors.setdefault(move.color, Counter())[move.side] += 1
    parts = []
    for color, sides in sorted(colors.items()):
        n = sides.total()
        text = ngettext(
            "%(n)d Wavelet der Farbe %(color)d wandert %(ways)s.",
            "%(n)d Wavelets der Farbe %(color)d wandern %(ways)s.",
            n,
        )
        parts.append(text % {"n": n, "color": color, "ways": towards(sides)})
    arrived = sum(move.side not in TOWARDS for move in frame.moves)
    if arrived:
        text = ngettext(
            "%(n)d Wavelet kommt bei seinem Element an.",
            "%(n)d Wavelets kommen bei ihren Elementen an.",
            arrived,
        )
        parts.append(text % {"n": arrived})
    return parts


def towards(sides: Container[str]) -> str:
    """Return directions in words, always in the same order."""
    return listed([str(text) for side, text in TOWARDS.items() if side in sides])


def listed(texts: list[str]) -> str:
    """Return texts as people list them: "nach rechts, nach unten und nach links"."""
    *before, last = texts
    if not before:
        return last
    return pgettext("Aufzählung", "%(before)s und %(last)s") % {"before": ", ".join(before), "last": last}
