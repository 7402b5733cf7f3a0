"""The page of an emulated run: machine and mode, where the time goes, three maps, ways, limits."""

from __future__ import annotations

import html
import re

import pytest
from django.urls import reverse

from pilots.models import Run
from qms.core.values import Axes, Metric
from qms.evidence.models import EvidenceItem
from tests.walk import World, address, screen, world

__all__ = ["world"]
STAGE = "emulated"
pytestmark = pytest.mark.django_db


def target() -> Run:
    return Run.objects.get(role="ZIEL")


def page(world: World, **query: str) -> str:
    answer = world.browser("pl01").get(address("run", target().pk), query)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode().replace("\u00ad", ""))


def test_the_run_says_machine_mode_and_what_its_model_is_worth(world: World) -> None:
    shown = page(world)
    assert "Maschine und Betriebsart" in shown
    assert "Gewichte im Wafer" in shown
    assert re.search(r"Zustand des Modells</dt><dd>(kalibriert|extrapoliert|außerhalb)", shown)


def test_the_run_says_where_its_time_goes(world: World) -> None:
    shown = page(world)
    assert "Die meiste Zeit braucht: Host und Übertragung" in shown
    assert "Zeit eines Stapels nach Ursache – emuliert" in shown
    causes = target().summary["causes"]
    latency = next(row for row in target().summary["metrics"] if row["key"] == "e2e_latency_ms")
    total = sum(float(Metric.from_json(row).value) for row in causes.values())
    assert total == pytest.approx(float(latency["value"]), rel=1e-3)


def test_figures_of_a_replayed_run_carry_the_axes_of_their_evidence(world: World) -> None:
    evidence = EvidenceItem.objects.get(type="EV-04")
    axes = {Axes.from_json(row["axes"]) for row in target().summary["metrics"]}
    assert [item.assurance.value for item in axes] == ["WIEDERHOLT"] == [evidence.assurance]
    results = re.search(r"<h2>Ergebnisse</h2>.*?</section>", page(world), re.DOTALL).group(0)
    assert "wiederholt" in results
    assert "eingereicht" not in results


@pytest.mark.parametrize(
    ("view", "alt"),
    [("mittel", "tragen das Programm"), ("maximum", "tragen"), ("ausfaelle", "Ausgedachte Ausfälle")],
)
def test_the_map_has_three_views_by_link(world: World, view: str, alt: str) -> None:
    shown = page(world, ansicht=view)
    assert re.search(rf'href="\?ansicht={view}#karte" aria-current="true"', shown)
    source, said = re.search(r'<img src="([^"]+)"[^>]*alt="([^"]+)"', shown).groups()
    assert source == f"{reverse('run_map', args=[target().pk])}?ansicht={view}"
    assert alt in said
    assert world.browser("pl01").get(source).content.startswith(b"\x89PNG")


def test_an_unknown_view_is_the_maximum(world: World) -> None:
    assert 'href="?ansicht=maximum#karte" aria-current="true"' in page(world, ansicht="<script>")


def test_ways_and_limits_stand_on_the_page(world: World) -> None:
    shown = page(world)
    for text in (
        "Nachbar",
        "Mittel aller Paare",
        "Längster Weg",
        "Rechenleistung",
        "eingehalten",
        "Kernelliste ansehen",
    ):
        assert text in shown
    assert "verletzt" not in shown


def test_a_run_of_an_earlier_version_still_has_its_page(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = target()
    for name in ("mode", "state", "causes", "checks"):
        del found.summary[name]
    monkeypatch.setattr("pilots.views.selectors.get", lambda *_names, **_values: found)
    shown = page(world)
    assert "Ergebnisse" in shown
    assert "Wohin die Zeit geht" not in shown
    assert "Maschine und Betriebsart" not in shown
    assert "Physikalische Grenzen" not in shown


def test_layer_widths_lack_no_origin_and_show_their_seed(world: World) -> None:
    run = target()
    seed = str(run.parameters["seed"])
    shown = page(world).split("<h2>Herkunft</h2>")[1].split("</section>")[0]
    assert "fehlt" not in shown
    assert "Nicht angegeben" not in shown
    assert shown.count("entfällt: Gewichte und Eingaben entstehen aus festem Startwert") == 5
    assert re.search(rf"Startwert.*?{seed}.*?angegeben", shown, re.DOTALL)
    item = EvidenceItem.objects.get(type="EV-16")
    words = screen(world.browser("pr01").get(address("evidence", item.pk)))
    assert f"Startwert {seed} " in words
    assert "entfällt: Gewichte und Eingaben entstehen aus festem Startwert" in words
    assert "Herkunft nicht angegeben" not in words
    assert "Modell aus Schichtbreiten" in words


def test_a_reason_why_a_model_is_not_calibrated_is_a_sentence(world: World) -> None:
    shown = html.unescape(page(world))
    assert re.search(r"Zustand des Modells</dt><dd>extrapoliert – [^<]* ist nicht kalibriert", shown)
    assert "außerhalb 4" not in shown


def test_operations_of_the_graph_are_counted_by_kernel(world: World) -> None:
    item = EvidenceItem.objects.get(type="EV-04")
    rows = item.facts()["op_coverage"]
    shown = screen(world.browser("pr01").get(address("evidence", item.pk)))
    counts = {(row["op"], row["kernel"]): rows.count(row) for row in rows}
    for (op, kernel), count in counts.items():
        assert f"{op} Kernel {kernel} Anzahl {count} " in shown
    assert len(counts) < len(rows)
