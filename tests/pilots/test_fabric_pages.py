"""The page "Takt für Takt" through HTTP: frames with and without script, refusals in one sentence, its weight."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from pilots import pages_fabric, pages_fabric_picture, pages_fabric_texts
from pilots.catalog import fabric_view
from pilots.catalog.fabric_view import SHOWS, Frame, Move, Wanted, watch
from pilots.catalog.whatif import NotAnswered
from tests.pilots.test_emulator_pages import errors, nothing_stored
from tests.walk import World, world

__all__ = ["world"]
STAGE = "house"
pytestmark = pytest.mark.django_db
MAX_BYTES = 150_000
LARGEST = [
    (name, show.largest, 1 if show.sides == "line" else show.largest, show.sizes)
    for name, show in SHOWS.items()
]


def seen_page(world: World, *, status: int = 200, **query: Any) -> str:
    """Return the page as read; nothing is stored."""
    with nothing_stored():
        answer = world.browser("wo01").get(reverse("fabric"), query)
    assert answer.status_code == status
    assert len(answer.content) < MAX_BYTES
    return html.unescape(answer.content.decode().replace("\u00ad", ""))


def data_of(page: str) -> dict[str, Any]:
    """Return what the script gets."""
    found: dict[str, Any] = json.loads(
        re.search(r'<script id="takte"[^>]*>(.*?)</script>', page, re.DOTALL).group(1)
    )
    return found


def sentence(page: str) -> str:
    return re.search(r"data-sentence><b>(.*?)</b>", page).group(1)


def uses(page: str, layer: str) -> list[str]:
    """Return what is drawn in a layer of the wide picture."""
    return re.findall(r'href="#wide-(\w+)"', re.search(rf"<g data-{layer}>(.*?)</g>", page).group(1))


def proposed(name: str) -> fabric_view.Seen:
    return watch(Wanted(name, *SHOWS[name].usual, "float32"))


@pytest.mark.parametrize("name", SHOWS)
def test_every_show_is_explained_and_runs(world: World, name: str) -> None:
    page = seen_page(world, ablauf=name)
    label, hint = pages_fabric_texts.TEXTS[name]
    assert f"<h2>{label}</h2>" in page
    assert str(hint) in page
    assert "nicht die Software des Herstellers." in page
    assert ("Ab hier bewegt sich nichts mehr." in page) == (name == "deadlock")
    assert ("bitgleich" in page) == (name != "deadlock")
    assert "verschieden" not in page
    frames = data_of(page)["frames"]
    assert len(frames) == len(proposed(name).trace.frames)
    assert all(str(frame[0]) in frame[4] for frame in frames if frame[0] < 1000)


def test_the_first_page_shows_the_first_movement_of_a_chain(world: World) -> None:
    page = seen_page(world)
    assert "Gezählt: 33 Takte, von der Formel vorhergesagt: 33, Verhältnis 1,00." in page
    assert sentence(page) == "Takt 2: 1 Wavelet der Farbe 0 wandert nach rechts. 1 Element sendet, 5 warten."
    assert uses(page, "elements") == ["s", *"wwwww"]
    assert uses(page, "moves") == ["0E"]
    page = seen_page(world, takt=0)
    assert sentence(page) == "Takt 0: 1 Element sendet, 5 warten."
    assert uses(page, "moves") == []


@pytest.mark.parametrize("name", SHOWS)
def test_a_show_opens_where_the_first_wavelet_moves_and_says_what_was_before(world: World, name: str) -> None:
    page = seen_page(world, ablauf=name)
    frames, start = data_of(page)["frames"], data_of(page)["index"]
    assert uses(page, "moves")
    for cycle, *_rest in frames[:start]:
        assert uses(seen_page(world, ablauf=name, takt=cycle), "moves") == []
    assert f"Die Ansicht beginnt mit Takt {frames[start][0]}: Erst dann wandert ein Wavelet" in page
    before = "".join(doing for _cycle, doing, *_rest in frames[:start])
    assert ("sich vorbereiten" in page) == ("d" in before)
    assert "die ersten Wavelets an ihren Router geben." in page


def test_where_nothing_moves_the_first_frame_is_shown_and_nothing_said_about_waiting(world: World) -> None:
    page = seen_page(world, ablauf="stationary", breite=1, hoehe=1, groesse=1)
    assert data_of(page)["index"] == 0
    assert "Die Ansicht beginnt" not in page


def test_words_are_explained_near_the_picture_and_the_picture_stands_above_what_moves_it(
    world: World,
) -> None:
    page = seen_page(world)
    words = [str(word) for word, _text in pages_fabric_texts.WORDS]
    assert {"Element", "Wavelet", "Farbe", "Warteschlange", "Vorbereiten"} <= set(words)
    for word, text in pages_fabric_texts.WORDS:
        assert f"<dt>{word}</dt><dd>{text}</dd>" in page
    order = (
        "data-picture",
        "data-step",
        "data-slide",
        "data-sentence",
        "Wörter: Element",
        "<h2>Ergebnis</h2>",
    )
    places = [page.index(text) for text in order]
    assert places == sorted(places)
    assert page.index('id="ablauf"') < places[0] < page.index('#ablauf"')


def test_signs_of_elements_have_no_direction() -> None:
    round_ones = (pages_fabric_picture.RAYS, pages_fabric_picture.RING, pages_fabric_picture.DOT)
    for letter in "bsr":
        rest = pages_fabric_picture.GLYPHS[letter].path
        for part in round_ones:
            rest = rest.replace(part, "")
        assert rest == ""
    ends = re.findall(r"L(-?\d+) ?(-?\d+)", pages_fabric_picture.RAYS)
    assert sorted(ends) == sorted((x, y) for x in ("15", "-15") for y in ("15", "-15"))
    assert len({pages_fabric_picture.GLYPHS[letter].path for letter in pages_fabric_texts.DOING}) == 9


def test_a_mark_of_origin_is_told_from_evidence(world: World) -> None:
    page = seen_page(world)
    assert "Gespeichert wird nichts." in page
    assert "Zum Nachweis wird sie erst in einem Lauf, der zu einem Workload gehört." in page
    assert "nichts davon ist ein Nachweis" not in page


def test_a_frame_is_the_same_with_and_without_script(world: World) -> None:
    data = data_of(seen_page(world, ablauf="stationary"))
    for cycle, doing, held, moves, text in data["frames"][:: len(data["frames"]) // 4]:
        page = seen_page(world, ablauf="stationary", takt=cycle)
        assert data_of(page)["frames"][data_of(page)["index"]][0] == cycle
        assert sentence(page) == text
        assert uses(page, "elements") == list(doing)
        shown = [move.split(" ") for move in moves.split(";") if move]
        assert uses(page, "moves") == [f"{color}{side}" for _p, side, color, _value in shown if side != "R"]
        rows = re.search(r"<tbody data-rows>(.*?)</tbody>", page, re.DOTALL).group(1)
        assert re.findall(r'<td class="n">(.*?)</td>', rows) == [value for *_rest, value in shown]
        counts = re.findall(r"<text [^>]*>(\d*)</text>", re.search(r"<g data-held>(.*?)</g>", page).group(1))
        assert [int(count or 0) for count in counts] == [int(count) for count in held.split()]


def test_steps_are_links_that_stop_at_both_ends(world: World) -> None:
    cycles = [frame.cycle for frame in proposed("chain").trace.frames]
    page = seen_page(world, takt=cycles[5])
    found = dict(re.findall(r'data-step="(\w+)" href="[^"]*takt=(\d+)#ablauf"(?! aria-disabled)', page))
    assert {name: int(cycle) for name, cycle in found.items()} == {
        "first": cycles[0],
        "previous": cycles[4],
        "next": cycles[6],
        "last": cycles[-1],
    }
    for cycle, off in ((cycles[0], ["first", "previous"]), (cycles[-1], ["next", "last"])):
        page = seen_page(world, takt=cycle)
        assert re.findall(r'data-step="(\w+)" href="[^"]*" aria-disabled="true"', page) == off


def test_between_two_frames_the_earlier_one_is_shown(world: World) -> None:
    frames = proposed("stationary").trace.frames
    here, after = next(pair for pair in pairwise(frames) if pair[1].cycle - pair[0].cycle > 1)
    page = seen_page(world, ablauf="stationary", takt=here.cycle + 1)
    assert sentence(page).startswith(f"Takt {here.cycle}:")
    assert f"So bleibt es bis Takt {after.cycle - 1}." in sentence(page)
    assert "gibt es im Ablauf nicht" not in page
    same = f"Takt {here.cycle + 1} sieht aus wie Takt {here.cycle}: Dazwischen ändert sich nichts."
    assert same in page
    assert "sieht aus wie" not in seen_page(world, ablauf="stationary", takt=here.cycle)
    assert "sieht aus wie" not in seen_page(world, ablauf="stationary", takt=after.cycle)


@pytest.mark.parametrize("takt", ["-1", "1000000000", "9" * 5000, "siebzehn", "", "1.5", "1\x00"])
def test_a_cycle_that_is_not_there_is_said(world: World, takt: str) -> None:
    page = seen_page(world, takt=takt)
    assert "Diesen Takt gibt es im Ablauf nicht; zu sehen ist der nächstliegende." in page
    index = data_of(page)["index"]
    assert index == (len(proposed("chain").trace.frames) - 1 if takt == "1000000000" else 0)


@pytest.mark.parametrize(
    "query",
    [
        {"ablauf": "mesh_gemm", "breite": "9999"},
        {"breite": "13"},
        {"breite": "1"},
        {"groesse": "17"},
        {"groesse": "0"},
        {"groesse": "4x4"},
        {"groesse": "9" * 5000},
        {"breite": "-6"},
        {"breite": ""},
        {"ablauf": "stencil", "hoehe": "9"},
        {"ablauf": "stencil", "zahlentyp": "int32"},
        {"ablauf": "stencil", "zahlentyp": "\x00"},
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(world: World, query: dict[str, str]) -> None:
    page = seen_page(world, status=422, **query)
    assert len(errors(page)) == 1
    assert "data-picture" not in page
    assert "Was möchten Sie sehen?" in page


@pytest.mark.parametrize("name", ["SUMMA", "<script>alert(1)</script>", "", "\x00", "a" * 5000])
def test_an_unknown_show_is_refused_without_repeating_it(world: World, name: str) -> None:
    assert errors(seen_page(world, status=422, ablauf=name)) == [
        "Welcher Ablauf – Diesen Ablauf gibt es nicht; bitte wählen Sie einen aus der Liste."
    ]


def test_what_a_show_does_not_ask_is_not_read(world: World) -> None:
    page = seen_page(world, ablauf="chain", hoehe="77", zahlentyp="unsinn")
    assert "6\u00a0×\u00a01 Elemente" in page
    page = seen_page(world, ablauf="mesh_gemm", breite="3", hoehe="5")
    assert "3\u00a0×\u00a03 Elemente" in page


@pytest.mark.parametrize(("name", "width", "height", "size"), LARGEST)
def test_the_largest_question_has_a_light_page(
    world: World, name: str, width: int, height: int, size: int
) -> None:
    page = seen_page(world, ablauf=name, breite=width, hoehe=height, groesse=size, takt=240)
    seen = watch(Wanted(name, width, height, size, "float32"))
    assert len(seen.trace.frames) <= fabric_view.MAX_FRAMES
    assert sum(len(frame.moves) for frame in seen.trace.frames) <= fabric_view.MAX_MOVES
    assert (f"{seen.trace.left_out} weitere sind gerechnet" in page) == (seen.trace.left_out > 0)
    assert seen.same_bits in {True, None}


@pytest.mark.parametrize(
    ("wanted", "allowed"),
    [
        (("chain", 12, 1, 16), True),
        (("chain", 13, 1, 16), False),
        (("chain", 12, 1, 17), False),
        (("chain", 1, 1, 1), False),
        (("stencil", 8, 8, 1), True),
        (("stencil", 8, 9, 1), False),
        (("stencil", 0, 8, 1), False),
        (("deadlock", 2, 2, 1), True),
        (("deadlock", 2, 1, 1), False),
    ],
)
def test_limits_hold_without_a_form(wanted: tuple[str, int, int, int], allowed: bool) -> None:
    if allowed:
        assert watch(Wanted(*wanted, "float32")).same_bits
    else:
        with pytest.raises(NotAnswered) as caught:
            watch(Wanted(*wanted, "float32"))
        assert "bitte ändern Sie die Angabe" in caught.value.message_de


def test_a_deadlock_is_explained_and_a_shorter_message_arrives(world: World) -> None:
    page = seen_page(world, ablauf="deadlock", takt=24)
    assert "Ab Takt 24 bewegt sich nichts mehr." in page
    assert data_of(page)["frames"][-1][0] == 24
    assert "26" not in sentence(page)
    assert "nach 26 Takten" not in page
    assert "kann Farbe 0 nicht senden, weil Element (1, 0) sie nicht abnimmt" in page
    assert "damit schließt sich der Kreis" in page
    assert uses(page, "elements") == ["x"] * 6
    assert sentence(page) == "Takt 24: 6 Elemente können nicht senden. Ab hier bewegt sich nichts mehr."
    page = seen_page(world, ablauf="deadlock", groesse=24)
    assert "bitgleich" in page
    assert "eine Formel gibt es für dieses Beispiel nicht" in page


def test_a_standstill_that_is_not_shown_has_no_cycle_and_no_last_sentence() -> None:
    seen = proposed("deadlock")
    cut = replace(seen, trace=replace(seen.trace, frames=seen.trace.frames[:5], left_out=20))
    shown = pages_fabric.page(cut, {"ablauf": "deadlock"}, "1000")
    assert shown["headline"] == "Irgendwann bewegt sich nichts mehr."
    assert "Ab hier" not in shown["sentence"]


def test_frames_are_told_in_sentences() -> None:
    moves = (Move(0, "E", 0, 1.0), Move(1, "S", 0, 1.0), Move(3, "W", 0, 1.0), Move(2, "N", 1, 1.0))
    frame = Frame(12, "ssrn", (0, 0, 0, 0), (*moves, Move(2, "R", 1, 1.0)))
    assert pages_fabric_texts.sentence(frame, None, stuck=False) == (
        "Takt 12: 3 Wavelets der Farbe 0 wandern nach rechts, nach unten und nach links. "
        "1 Wavelet der Farbe 1 wandert nach oben. 1 Wavelet kommt bei seinem Element an. "
        "2 Elemente senden, 1 empfängt, 1 hat kein Programm."
    )


@pytest.mark.parametrize(("ratio", "said"), [(1.049, False), (1.051, True), (0.951, False), (0.949, True)])
def test_count_and_formula_that_are_apart_are_explained(ratio: float, said: bool) -> None:
    seen = proposed("chain")
    shown = pages_fabric.page(replace(seen, predicted=seen.counted / ratio), {"ablauf": "chain"}, None)
    assert ("mehr als 5\u00a0% auseinander" in shown["far"]) == said


def test_the_page_of_the_emulator_links_here_and_only_people_signed_in_see_it(world: World) -> None:
    assert reverse("fabric") in world.browser("wo01").get(reverse("emulator")).content.decode()
    answer = Client().get(reverse("fabric"))
    assert answer.status_code == 302
    assert world.browser("wo01").post(reverse("fabric")).status_code == 405
