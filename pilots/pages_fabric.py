"""The page "Takt für Takt": words, figures and tables of a small run. Pure preparation, no rules, nothing is stored."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, Final

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from pilots import catalog
from pilots import pages_fabric_picture as picture
from pilots.catalog.fabric_view import Frame, Move, Seen
from pilots.pages_fabric_texts import DOING, TEXTS, WORDS, opening, sentence, towards
from qms.core import formats

NEAR: Final = 0.05
NEXT_TO: Final = {"N": (0, -1), "E": (1, 0), "S": (0, 1), "W": (-1, 0)}


def shows(current: str) -> list[dict[str, Any]]:
    """Return what there is to see, each as a link."""
    return [
        {
            "url": f"{reverse('fabric')}?{urlencode({'ablauf': name})}",
            "label": str(label),
            "hint": str(hint),
            "current": name == current,
        }
        for name, (label, hint) in TEXTS.items()
    ]


def page(seen: Seen, query: dict[str, str], takt: str | None) -> dict[str, Any]:
    """Return the context of a run at a cycle: `takt` as the query has it, None for the first movement."""
    frames = seen.trace.frames
    start = start_of(frames)
    index, missed = place_of(frames, takt) if takt is not None else (start, "")
    frame, ways, width = frames[index], picture.ways_of(frames), seen.case.grid[0]
    stuck = seen.deadlock is not None and not seen.trace.left_out
    sentences = [sentence(here, after, stuck) for here, after in zip_longest(frames, frames[1:])]
    values = [[formats.number(move.value) for move in here.moves] for here in frames]
    label, hint = TEXTS[query["ablauf"]]
    return {
        "title": str(label),
        "hint": str(hint),
        "note": catalog.calibration_note(),
        "headline": headline(seen),
        "figures": _figures(seen),
        "facts": _facts(seen),
        "seen": seen,
        "far": _far(seen),
        "frame": frame,
        "missed": missed,
        "opening": opening(frames[:start], frames[start]),
        "words": [{"label": str(word), "value": str(text)} for word, text in WORDS],
        "left_out": _left_out(seen),
        "sentence": sentences[index],
        "steps": _steps(frames, index, query),
        "query": query,
        "last": frames[-1].cycle,
        "pictures": picture.drawings(*seen.case.grid, ways, frame),
        "legend": _legend(frames, ways),
        "doing": _doing(frames, frame, width),
        "held": _held(frame, width),
        "moves": [_move(move, text, width) for move, text in zip(frame.moves, values[index], strict=True)],
        "data": {
            "width": width,
            "index": index,
            "towards": NEXT_TO,
            "ramp": pgettext("Ziel eines Wavelets", "eigenes Element"),
            "frames": picture.packed(frames, sentences, values),
        },
    }


def start_of(frames: tuple[Frame, ...]) -> int:
    """Return the frame in which a wavelet first takes a link, or the first one if none does."""
    moving = (
        place for place, frame in enumerate(frames) if any(move.side in NEXT_TO for move in frame.moves)
    )
    return next(moving, 0)


def place_of(frames: tuple[Frame, ...], takt: str) -> tuple[int, str]:
    """Return the frame of a cycle, and a sentence if it is not the one that was asked for."""
    other = _("Diesen Takt gibt es im Ablauf nicht; zu sehen ist der nächstliegende.")
    try:
        cycle = int(takt)
    except ValueError:
        return 0, other
    index = max((place for place, frame in enumerate(frames) if frame.cycle <= cycle), default=0)
    here = frames[index].cycle
    if not frames[0].cycle <= cycle <= frames[-1].cycle:
        return index, other
    if cycle == here:
        return index, ""
    facts = {"cycle": formats.number(cycle, 0), "here": formats.number(here, 0)}
    return index, _("Takt %(cycle)s sieht aus wie Takt %(here)s: Dazwischen ändert sich nichts.") % facts


def headline(seen: Seen) -> str:
    """Return what came out, in one sentence."""
    if seen.counted is None:
        if seen.trace.left_out:
            return _("Irgendwann bewegt sich nichts mehr.")
        return _("Ab Takt %(cycle)s bewegt sich nichts mehr.") % {
            "cycle": formats.number(seen.trace.frames[-1].cycle, 0)
        }
    facts = {"counted": formats.number(seen.counted, 0)}
    if seen.predicted is None:
        return _("Gezählt: %(counted)s Takte; eine Formel gibt es für dieses Beispiel nicht.") % facts
    facts |= {
        "predicted": formats.number(seen.predicted, 0),
        "ratio": formats.number(seen.counted / seen.predicted, 2),
    }
    return (
        _("Gezählt: %(counted)s Takte, von der Formel vorhergesagt: %(predicted)s, Verhältnis %(ratio)s.")
        % facts
    )


def _figures(seen: Seen) -> list[dict[str, Any]]:
    if seen.counted is None:
        return []
    rows: list[tuple[str, float, str]] = [
        (_("Gezählte Takte"), seen.counted, _("bis das letzte Element fertig ist"))
    ]
    if seen.predicted is not None:
        rows.append(
            (_("Vorhergesagte Takte"), seen.predicted, _("aus der Formel des Kernels, ohne Wavelets"))
        )
    rows.append((_("Schritte von Wavelets"), seen.hops or 0, _("jeder über eine Leitung zum Nachbarn")))
    return [
        {"label": label, "value": formats.number(value, 0), "axes": catalog.EMULATED, "note": note}
        for label, value, note in rows
    ]


def _far(seen: Seen) -> str:
    """Return a sentence if formula and count are apart."""
    if not seen.counted or not seen.predicted or abs(seen.counted / seen.predicted - 1) <= NEAR:
        return ""
    return _(
        "Beide liegen mehr als 5\u00a0% auseinander: Bei so wenigen Elementen wiegen einzelne Takte schwer, und am Rand "
        "fehlen Nachbarn, die die Formel mitzählt."
    )


def _facts(seen: Seen) -> list[dict[str, str]]:
    """Return what was run."""
    case = seen.case
    grid = f"{case.grid[0]}\u00a0×\u00a0{case.grid[1]}"
    return [
        {
            "label": pgettext("Ablauf", "Netz"),
            "value": _("%(grid)s Elemente mit den Zeiten der WSE-2") % {"grid": grid},
        },
        {"label": pgettext("Ablauf", "Aufgabe"), "value": _task(case.kernel, case.shape)},
        {"label": _("Zahlentyp"), "value": case.dtype.value},
    ]


def _task(kernel: str, shape: tuple[int, ...]) -> str:
    """Return the shape of a task in words."""
    m, *rest = shape
    if len(shape) == 1:
        return ngettext("%(n)d Zahl je Element", "%(n)d Zahlen je Element", m) % {"n": m}
    sizes = "\u00a0×\u00a0".join(str(size) for size in (shape[:3] if kernel == "STENCIL" else (m, *rest)))
    if kernel == "STENCIL":
        return _("Gitter aus %(sizes)s Punkten") % {"sizes": sizes}
    if len(shape) == 3:
        facts = {"left": f"{m}\u00a0×\u00a0{rest[0]}", "right": f"{rest[0]}\u00a0×\u00a0{rest[1]}"}
        return _("Matrix %(left)s mal Matrix %(right)s") % facts
    return _("Matrix %(sizes)s, jede Zeile für sich") % {"sizes": sizes}


def _left_out(seen: Seen) -> str:
    if not seen.trace.left_out:
        return ""
    facts = {"n": len(seen.trace.frames), "rest": formats.number(seen.trace.left_out, 0)}
    return (
        _("Zu sehen sind die ersten %(n)d Bilder; %(rest)s weitere sind gerechnet, aber nicht gezeigt.")
        % facts
    )


def _steps(frames: tuple[Frame, ...], index: int, query: dict[str, str]) -> list[dict[str, Any]]:
    """Return the links to other frames."""
    last = len(frames) - 1
    places = (
        ("first", pgettext("Blättern", "Anfang"), 0, index == 0),
        ("previous", pgettext("Blättern", "Zurück"), max(0, index - 1), index == 0),
        ("next", pgettext("Blättern", "Vor"), min(last, index + 1), index == last),
        ("last", pgettext("Blättern", "Ende"), last, index == last),
    )
    return [
        {
            "step": name,
            "label": label,
            "url": f"?{urlencode(query | {'takt': frames[place].cycle})}#ablauf",
            "off": off,
        }
        for name, label, place, off in places
    ]


def _legend(frames: tuple[Frame, ...], ways: list[tuple[int, str]]) -> dict[str, Any]:
    """Return what the signs mean that occur in this run."""
    seen = {letter for frame in frames for letter in frame.doing}
    sides: dict[int, list[str]] = {}
    for color, side in ways:
        sides.setdefault(color, []).append(side)
    return {
        "elements": [
            {"glyph": picture.GLYPHS[letter], "label": str(label)}
            for letter, (label, _count) in DOING.items()
            if letter in seen
        ],
        "colors": [
            picture.wavelet(color)
            | {"label": _("Farbe %(color)d: %(ways)s") % {"color": color, "ways": towards(taken)}}
            for color, taken in sides.items()
        ],
    }


def _doing(frames: tuple[Frame, ...], frame: Frame, width: int) -> list[dict[str, Any]]:
    """Return the elements of a frame by what they do; rows for everything that occurs in the run."""
    seen = {letter for other in frames for letter in other.doing}
    return [
        {
            "letter": letter,
            "label": str(label),
            "elements": " ".join(name_of(p, width) for p, own in enumerate(frame.doing) if own == letter)
            or "–",
        }
        for letter, (label, _count) in DOING.items()
        if letter in seen
    ]


def _held(frame: Frame, width: int) -> str:
    """Return how many wavelets wait where."""
    return " · ".join(f"{name_of(p, width)} {count}" for p, count in enumerate(frame.held) if count) or "–"


def _move(move: Move, text: str, width: int) -> dict[str, str]:
    """Return a row of the table of wavelets."""
    target = pgettext("Ziel eines Wavelets", "eigenes Element")
    if move.side in NEXT_TO:
        right, down = NEXT_TO[move.side]
        target = name_of(move.p + right + down * width, width)
    return {"source": name_of(move.p, width), "target": target, "color": str(move.color), "value": text}


def name_of(p: int, width: int) -> str:
    """Return an element as people write it: "(2,0)"."""
    return f"({p % width},{p // width})"
