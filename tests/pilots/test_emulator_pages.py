"""The page "Emulator" through HTTP: the answer, refusals in one sentence, hostile inputs, who may see it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import pytest
from django.core import signing
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from pilots import catalog, views_emulator
from pilots.models import Run
from qms.audit.models import AuditLeaf
from qms.core.models import Job
from qms.evidence.models import EvidenceItem
from tests.walk import JSON, World, screen, world

__all__ = ["world"]
STAGE = "house"
pytestmark = pytest.mark.django_db

LLAMA_8B: Final = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "torch_dtype": "bfloat16",
    "_name_or_path": "meta-llama/Llama-3.1-8B",
}
LLAMA_70B: Final = LLAMA_8B | {
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
}
SMALL: Final = LLAMA_8B | {
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "_name_or_path": "klein",
}
ASKED: Final = {"machine": "wse-2", "mode": "RESIDENT", "context": "4096", "batch": "1", "systems": "1"}
PNG: Final = b"\x89PNG\r\n\x1a\n"


def text_of(config: Any) -> str:
    return config if isinstance(config, str) else json.dumps(config, indent=2)


def ask(world: World, config: Any = SMALL, *, status: int = 200, **changes: Any) -> str:
    """Return the page as read after a question; nothing of it is stored."""
    with nothing_stored():
        answer = world.browser("wo01").post(
            reverse("emulator"), ASKED | {"config": text_of(config)} | changes
        )
    assert answer.status_code == status
    return html.unescape(answer.content.decode().replace("\u00ad", ""))


@contextmanager
def nothing_stored() -> Iterator[None]:
    def count() -> list[int]:
        return [model.objects.count() for model in (AuditLeaf, Run, Job, EvidenceItem)]

    before = count()
    yield
    assert count() == before


def field(page: str, name: str) -> str:
    """Return what stands in the text area."""
    return re.search(rf'<textarea[^>]*name="{name}"[^>]*>\s?(.*?)</textarea>', page, re.DOTALL).group(1)


def errors(page: str) -> list[str]:
    """Return the sentences of the summary above the form."""
    summary = re.search(r'id="fehler".*?</ul>', page, re.DOTALL).group(0)
    return [re.sub(r"<[^>]+>", "", item) for item in re.findall(r"<li>(.*?)</li>", summary, re.DOTALL)]


# the answer


def test_the_answer_says_what_the_emulator_says(world: World) -> None:
    page = ask(world, LLAMA_8B)
    found = catalog.answer(
        catalog.Asked(catalog.read_config(text_of(LLAMA_8B)), "wse-2", 4096, 1, 1, "RESIDENT")
    )
    tokens = catalog.figures(found)["tokens"]
    shown = f"{round(tokens.metric.value):,}".replace(",", ".")
    assert f"Llama-3.1-8B (8,0\u00a0Mrd. Parameter) auf WSE-2 bei 0,85\u00a0GHz: {shown}\u00a0Token/s" in page
    assert f"badge--{'ok' if tokens.state.code == 'KALIBRIERT' else 'warn'}" in page
    assert tokens.state.reason_de in page
    for heading in (
        *("Ergebnis", "Wohin die Zeit geht", "Speicher", "Karte des Wafers", "Veröffentlichte Messungen"),
        *("Mehrere Systeme", "Wege auf dem Wafer", "Physikalische Grenzen", "Programm"),
    ):
        assert f"<h2>{heading}</h2>" in page


def test_what_every_result_says_stands_at_its_top(world: World) -> None:
    page = ask(world)
    assert page.index(catalog.calibration_note()) < page.index("<h2>Ergebnis</h2>")
    assert "nicht die Software des Herstellers." in page
    assert "nicht gespeichert und kein Nachweis" in page


def test_every_figure_has_its_axes_interval_and_state(world: World) -> None:
    page = ask(world, batch="2")
    figures = re.findall(r'<li class="figure">.*?</li>', page, re.DOTALL)
    assert len(figures) == 6
    for figure in figures:
        assert "EMULIERT" in figure
        assert " bis " in figure
        assert "extrapoliert" in figure or "kalibriert" in figure


def test_a_prompt_that_does_not_fit_is_said_and_the_answer_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = catalog.answer

    def without_prompt(asked: catalog.Asked) -> catalog.Estimate:
        return replace(real(asked), prefill=None, prefill_refusal_de="Es fehlen 5 Byte.")

    monkeypatch.setattr(catalog, "answer", without_prompt)
    page = ask(world)
    assert "Die Zeit bis zum ersten Token lässt sich nicht vorhersagen:" in page
    assert "Es fehlen 5 Byte." in page
    assert "Zeit bis zum ersten Token, eine Eingabe" not in page


def test_causes_add_up_to_the_step_and_stand_in_the_table(world: World) -> None:
    page = ask(world)
    found = catalog.answer(
        catalog.Asked(catalog.read_config(text_of(SMALL)), "wse-2", 4096, 1, 1, "RESIDENT")
    )
    causes = catalog.causes(found)
    step = catalog.figures(found)["step"].metric
    assert float(sum(item.metric.value for item in causes.values())) == pytest.approx(
        float(step.value), rel=1e-3
    )
    assert 'id="ursachen-wide-t"' in page
    for name in ("Rechnen", "Netz auf dem Wafer", "Start der Kernel"):
        assert page.count(name) >= 3  # two drawings and the table


def test_weights_from_outside_wait_for_them(world: World) -> None:
    page = ask(world, LLAMA_8B, mode="WEIGHT_STREAMING", machine="wse-3")
    assert "Die meiste Zeit braucht: Warten auf Gewichte von außen" in page
    assert "41\u00a0GiB" in page


def test_several_systems_are_extrapolated_and_never_called_linear_below_the_limit(world: World) -> None:
    page = ask(world, LLAMA_8B)
    table = re.search(r'aria-label="Mehrere Systeme".*?</table>', page, re.DOTALL).group(0)
    assert [f"{count} System" in table for count in (1, 2, 4, 8, 16)] == [True] * 5
    words = re.findall(r"(sub|über)?linear \(([\d,]+)\)", table)
    assert len(words) == 4
    assert all((prefix == "") == (float(value.replace(",", ".")) >= 0.95) for prefix, value in words)
    assert table.count("extrapoliert") >= 4


def test_published_runs_stand_beside_with_their_answer_and_whether_the_fit_saw_them(world: World) -> None:
    page = ask(world, LLAMA_8B)
    table = re.search(r'aria-label="Veröffentlichte Messungen".*?</table>', page, re.DOTALL).group(0)
    assert "Dasselbe Modell ist veröffentlicht als LLaMA3-8B." in page
    assert "wllm.decode4k.LLaMA3-8B.660" in table
    assert "2.243\u00a0Token/s" in table
    assert "zur Anpassung verwendet" in table
    assert "nicht vorhergesagt" in table  # the vendor's claim about a hosted service
    assert "A100" not in table


def test_an_unpublished_model_gets_the_nearest(world: World) -> None:
    assert "Dieses Modell ist nicht veröffentlicht; am nächsten kommt" in ask(world)


def test_claims_are_answered(world: World) -> None:
    page = ask(world)
    assert "20 Aussagen ansehen" in page
    assert "Auf dem Chip liegen 44" in page
    assert "S018" in page


def test_the_kernel_listing_can_be_read_and_is_cut(world: World) -> None:
    listing = re.search(r"<pre[^>]*>(.*?)</pre>", ask(world, LLAMA_8B), re.DOTALL).group(1)
    assert listing.startswith("program ")
    assert "GEMV" in listing
    assert len(listing.splitlines()) <= 201


@pytest.mark.parametrize(
    ("view", "alt"),
    [
        ("mittel", "tragen das Programm"),
        ("maximum", "tragen das Programm"),
        ("ausfaelle", "Ausgedachte Ausfälle"),
    ],
)
def test_the_map_has_three_views_and_the_question_stays(world: World, view: str, alt: str) -> None:
    page = ask(world, ansicht=view)
    assert re.search(rf'name="ansicht" value="{view}" aria-current="true"', page)
    source, said = re.search(r'<img src="([^"]+)"[^>]*alt="([^"]+)"', page).groups()
    assert alt in said
    assert json.loads(field(page, "config")) == SMALL
    picture = world.browser("wo01").get(source)
    assert picture["Content-Type"] == "image/png"
    assert picture.content.startswith(PNG)


def test_an_uploaded_file_counts_and_stays_as_text(world: World) -> None:
    page = ask(world, "", file=SimpleUploadedFile("config.json", text_of(SMALL).encode()))
    assert "klein (" in page
    assert json.loads(field(page, "config")) == SMALL


def test_the_example_fills_the_field(world: World) -> None:
    page = world.browser("wo01").get(reverse("emulator"), {"beispiel": ""}).content.decode()
    assert catalog.read_config(html.unescape(field(page, "config"))).params == 8_030_261_248


def test_machines_get_every_figure_as_json(world: World) -> None:
    with nothing_stored():
        answer = world.browser("wo01").post(
            reverse("emulator"), ASKED | {"config": text_of(SMALL)}, headers=JSON
        )
    body = answer.json()
    assert body["ok"] is True
    assert {row["axes"]["provenance"] for row in body["figures"]} == {"EMULIERT"}
    assert all("interval" in row and row["state"] for row in body["figures"])
    assert body["note"] == catalog.calibration_note()


def test_the_english_page(world: World) -> None:
    browser = world.browser("wo01")
    browser.post("/sprache/", {"language": "en-gb", "next": "/"})
    page = html.unescape(
        browser.post(reverse("emulator"), ASKED | {"config": text_of(SMALL)}).content.decode()
    )
    assert "What would a wafer do for your model?" in page
    assert "tokens/s" in page
    assert "Where the time goes" in page
    assert "Wohin die Zeit geht" not in page
    assert f'<p lang="de">{catalog.calibration_note()}</p>' in page


# refusals: one sentence, what to do, and the input stays


@pytest.mark.parametrize(
    ("config", "changes", "sentence"),
    [
        (LLAMA_70B, {}, r"Das Modell passt nicht auf die Maschine: .* es fehlen [\d.]+ ?\S* Byte"),
        (
            SMALL | {"model_type": "bert", "architectures": []},
            {},
            "Die Modellart „bert“ in model_type ist nicht bekannt",
        ),
        (SMALL | {"num_hidden_layers": 257}, {}, "bis zu 256 Schichten; die Konfiguration nennt 257"),
        (SMALL | {"num_hidden_layers": 10**9}, {}, "muss eine ganze Zahl von 1 bis 1024 sein"),
        (SMALL | {"hidden_size": -1}, {}, "muss eine ganze Zahl"),
        (SMALL, {"context": "131073"}, "Der Kontext muss zwischen 1 und 131072 liegen"),
        (
            SMALL,
            {"batch": "4097", "context": "1"},
            "Die Zahl der Anfragen zugleich muss zwischen 1 und 4096 liegen",
        ),
        (SMALL, {"systems": "17"}, "Die Zahl der Systeme muss zwischen 1 und 16 liegen"),
        (SMALL, {"context": "131072", "batch": "33"}, "Token nicht übersteigen"),
        ("", {}, "Bitte fügen Sie die config.json ein"),
        ("  \r\n", {}, "Bitte fügen Sie die config.json ein"),
        ("{", {}, "kein gültiges JSON"),
        ("[1, 2]", {}, "muss ein JSON-Objekt"),
        ('{"a": 1, "a": 2}', {}, "steht doppelt"),
        ("[" * 100_000 + "]" * 100_000, {}, "tiefer als 16 Ebenen|kein gültiges JSON"),
        ('{"a": ' * 17 + "1" + "}" * 17, {}, "tiefer als 16 Ebenen"),
        ('{"a": ' + "9" * 10_000 + "}", {}, "keine zulässige Zahl"),
        (json.dumps({"a": "x" * 256 * 1024}), {}, "ist größer als 262144 Byte"),
        (SMALL, {"context": ""}, "Dieses Feld ist zwingend erforderlich"),
        (SMALL, {"context": "0"}, "größer oder gleich 1"),
        (SMALL, {"context": "9" * 5000}, "ganze Zahl"),
        (SMALL, {"context": "viel"}, "ganze Zahl"),
        (SMALL, {"machine": "wse-9"}, "gültige Auswahl"),
        (SMALL, {"machine": "lab-8x8"}, "gültige Auswahl"),
        (SMALL, {"mode": "GPU"}, "gültige Auswahl"),
        ("{\0}", {}, "Nullzeichen"),
    ],
)
def test_a_refusal_is_one_sentence_and_the_input_stays(
    world: World, config: Any, changes: dict[str, str], sentence: str
) -> None:
    page = ask(world, config, status=422, **changes)
    (said,) = errors(page)
    assert re.search(sentence, said), said
    assert said.count(". ") <= 1
    kept = field(page, "config").replace("\0", "")
    assert kept.strip() == text_of(config).replace("\0", "").strip()
    assert "<h2>Ergebnis</h2>" not in page


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "kein gültiges JSON"),
        (b"\xff\xfe{\x00}\x00", "kein Text in UTF-8"),
        (b"PK\x03\x04" + b"\x00" * 100, "Nullzeichen"),
        (b"\xef\xbb\xbf{}", "Bytereihenfolge-Marke"),
        (b"{" + b" " * 256 * 1024 + b"}", "ist größer als 262144 Byte"),
    ],
)
def test_a_file_that_is_no_configuration(world: World, data: bytes, sentence: str) -> None:
    page = ask(world, "", status=422, file=SimpleUploadedFile("../../config.json", data))
    (said,) = errors(page)
    assert sentence in said


def test_the_deepest_model_a_page_answers(world: World) -> None:
    assert "<h2>Ergebnis</h2>" in ask(world, SMALL | {"num_hidden_layers": 256}, systems="16")


def test_a_body_above_the_limit_is_not_read(world: World) -> None:
    answer = world.browser("wo01").generic("POST", reverse("emulator"), b"", CONTENT_LENGTH=str(2**30))
    assert answer.status_code == 413


def test_names_stay_text(world: World) -> None:
    evil = "<script>alert(1)</script>{{7*7}}"
    answer = world.browser("wo01").post(
        reverse("emulator"), ASKED | {"config": text_of(SMALL | {"_name_or_path": evil})}
    )
    assert b"<script>alert" not in answer.content
    assert answer.status_code == 200


def test_machines_get_a_refusal_as_json(world: World) -> None:
    with nothing_stored():
        answer = world.browser("wo01").post(reverse("emulator"), ASKED | {"config": "{"}, headers=JSON)
    assert answer.status_code == 422
    assert "kein gültiges JSON" in answer.json()["errors"]["config"][0]["message"]


# who


@pytest.mark.parametrize("name", ["wo01", "pr01", "fg01", "au01", "ad01"])
def test_everybody_signed_in_finds_the_page_in_the_navigation(world: World, name: str) -> None:
    browser = world.browser(name)
    assert 'href="/pilot/emulator/"' in browser.get(reverse("start")).content.decode()
    page = screen(browser.get(reverse("emulator")))
    assert "Was leistet ein Wafer für Ihr Modell?" in page


@pytest.mark.parametrize("name", ["emulator", "emulator_map"])
def test_nobody_else_does(world: World, name: str) -> None:
    for method in ("get", "post"):
        answer = getattr(Client(), method)(reverse(name))
        assert answer.status_code == 302
        assert answer["Location"].startswith("/konto/login/")


# the map


def token(**changes: Any) -> str:
    asked = catalog.Asked(catalog.read_config(text_of(SMALL)), "wse-2", 4096, 1, 1, "RESIDENT")
    return signing.dumps(asked.to_json() | changes, salt=views_emulator.SALT)


def test_the_map_answers_only_questions_of_the_page(world: World) -> None:
    browser, url = world.browser("wo01"), reverse("emulator_map")
    good = token()
    assert browser.get(url, {"frage": good}).status_code == 200
    foreign = signing.dumps({"config": "{}"}, salt="another")
    for wrong in (
        good[:-1],
        good + "x",
        foreign,
        "",
        "\0",
        "x" * 10_000,
        token(machine_id="wse-9"),
        token(config="{}"),
    ):
        assert browser.get(url, {"frage": wrong}).status_code == 404


def test_views_of_the_map_differ(world: World) -> None:
    browser, url, good = world.browser("wo01"), reverse("emulator_map"), token()
    pictures = [
        browser.get(url, {"frage": good, "ansicht": view}).content for view in ("mittel", "ausfaelle")
    ]
    assert pictures[0] != pictures[1]
    unknown = browser.get(url, {"frage": good, "ansicht": "<x>"}).content
    assert unknown == browser.get(url, {"frage": good, "ansicht": "maximum"}).content
