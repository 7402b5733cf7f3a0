"""Words of the page "Takt für Takt": what there is to see, what an element does, what happens in a frame."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext, ngettext_lazy

from pilots.catalog.fabric_view import Frame
from qms.core import formats

TEXTS: Final[dict[str, tuple[Promise, Promise]]] = {
    "chain": (
        lazy("Kette"),
        lazy(
            "Eine Summe von Nachbar zu Nachbar: Jedes Element addiert, was von links kommt, zu seinen Zahlen und "
            "schickt die Teilsumme nach rechts weiter."
        ),
    ),
    "broadcast": (
        lazy("Rundruf"),
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
        lazy("Verklemmung"),
        lazy(
            "Absichtlich falsch: Alle senden zuerst und nehmen erst danach ab. Mehr als 24 Wavelets finden keinen "
            "Platz, und jeder wartet auf jeden."
        ),
    ),
}
DOING: Final[dict[str, tuple[Promise, Any]]] = {
    "b": (
        lazy("empfängt und sendet"),
        ngettext_lazy("%(n)d empfängt und sendet", "%(n)d empfangen und senden", "n"),
    ),
    "s": (lazy("sendet"), ngettext_lazy("%(n)d sendet", "%(n)d senden", "n")),
    "r": (lazy("empfängt"), ngettext_lazy("%(n)d empfängt", "%(n)d empfangen", "n")),
    "c": (lazy("rechnet"), ngettext_lazy("%(n)d rechnet", "%(n)d rechnen", "n")),
    "d": (
        lazy("bereitet vor: Anlauf und Schrittzeit des Zeitmodells"),
        ngettext_lazy("%(n)d bereitet vor", "%(n)d bereiten vor", "n"),
    ),
    "x": (
        lazy("kann nicht senden, weil niemand abnimmt"),
        ngettext_lazy("%(n)d kann nicht senden", "%(n)d können nicht senden", "n"),
    ),
    "w": (lazy("wartet"), ngettext_lazy("%(n)d wartet", "%(n)d warten", "n")),
    "f": (lazy("ist fertig"), ngettext_lazy("%(n)d ist fertig", "%(n)d sind fertig", "n")),
    "n": (lazy("ohne Programm"), ngettext_lazy("%(n)d ohne Programm", "%(n)d ohne Programm", "n")),
}
TOWARDS: Final = {
    "N": lazy("nach oben"),
    "E": lazy("nach rechts"),
    "S": lazy("nach unten"),
    "W": lazy("nach links"),
}


def sentence(frame: Frame, after: Frame | None, stuck: bool) -> str:
    """Return what happens in a frame, and how long it stays so; after: the next frame; stuck: the last one is the end."""
    counts = Counter(frame.doing)
    does = ", ".join(
        str(text % {"n": counts[letter]}) for letter, (_label, text) in DOING.items() if counts[letter]
    )
    parts = [_("Takt %(cycle)s.") % {"cycle": formats.number(frame.cycle, 0)}, *_moving(frame)]
    parts.append(_("Elemente: %(does)s.") % {"does": does})
    if after is None and stuck:
        parts.append(_("Ab hier bewegt sich nichts mehr."))
    if after is not None and after.cycle - frame.cycle > 1:
        parts.append(_("So bleibt es bis Takt %(cycle)s.") % {"cycle": formats.number(after.cycle - 1, 0)})
    return " ".join(parts)


def _moving(frame: Frame) -> list[str]:
    """Return which wavelets move, in sentences."""
    ways = Counter((move.color, move.side) for move in frame.moves)
    links = {way: count for way, count in sorted(ways.items()) if way[1] in TOWARDS}
    moving, parts = sum(links.values()), []
    if moving:
        listed = ", ".join(
            _("%(n)d der Farbe %(color)d %(towards)s") % {"n": n, "color": color, "towards": TOWARDS[side]}
            for (color, side), n in links.items()
        )
        text = ngettext("Ein Wavelet wandert: %(ways)s.", "%(n)d Wavelets wandern: %(ways)s.", moving)
        parts.append(text % {"n": moving, "ways": listed})
    arrived = len(frame.moves) - moving
    if arrived:
        text = ngettext("Eines kommt bei seinem Element an.", "%(n)d kommen bei ihren Elementen an.", arrived)
        parts.append(text % {"n": arrived})
    return parts
