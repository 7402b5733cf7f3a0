from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from django import forms
from django.template import Context, Template
from django.template.loader import render_to_string
from django.utils import translation

from qms.core.errors import CriterionNotMet
from qms.web.templatetags.icon_paths import PATHS
from qms.web.templatetags.status_table import STATUS, TONES
from qms.web.widgets import ChoiceCards
from tests.qms.web.design_pages import CONTENT, DIGEST, EMULATED, DecisionForm, WorkloadForm, page


def render(source: str, **context: object) -> str:
    with translation.override("de"):
        return Template("{% load qms %}" + source).render(Context(context))


def words(markup: str) -> str:
    return re.sub(r"[ \n\t]+", " ", re.sub(r"<[^>]+>", "", markup)).strip()


def test_axes_badge_says_three_words_when_given_metric_json() -> None:
    metric = {"key": "x", "value": "1", "unit": "", "axes": EMULATED.to_json(), "reliable": True}
    for value in (metric, EMULATED.to_json(), EMULATED):
        shown = words(render("{% axes value %}", value=value))
        assert shown == "Herkunft, Absicherung, Quelle: EMULIERT · gegengeprüft · eigen"


def test_axes_badge_refuses_when_an_axis_is_missing() -> None:
    with pytest.raises(KeyError):
        render("{% axes value %}", value={"provenance": "EMULIERT"})


@pytest.mark.parametrize("code", STATUS)
def test_status_badge_carries_icon_word_and_known_tone(code: str) -> None:
    markup = render("{% status_badge code %}", code=code)
    assert "<svg" in markup
    assert words(markup) not in {"", code}
    assert STATUS[code][1] in TONES


def test_status_badge_takes_label_and_tone_when_given() -> None:
    markup = render('{% status_badge "X" label "bad" %}', label="Nachweis <fehlt>")
    assert "badge--bad" in markup
    assert "Nachweis &lt;fehlt&gt;" in markup


def test_every_tone_has_an_icon() -> None:
    assert {icon for icon, _css in TONES.values()} <= set(PATHS)


def test_digest_is_short_on_screen_and_whole_on_paper() -> None:
    markup = render("{% digest value %}", value=DIGEST)
    assert f">{DIGEST[:12]}…<" in markup
    assert f'hash__full">{DIGEST}<' in markup
    assert f'data-copy="{DIGEST}"' in markup
    assert "\u00ad" not in markup


def test_soft_hyphens_come_in_german_only() -> None:
    assert "\u00ad" in render("{{ 'Funktionstrennung'|soft }}")
    with translation.override("en-gb"):
        assert Template("{% load qms %}{{ 'responsibility'|soft }}").render(Context()) == "responsibility"


def test_soft_filter_escapes_markup() -> None:
    assert render("{{ value|soft }}", value="<b>Funktionstrennung</b>").startswith("&lt;b&gt;")


def test_field_shows_hint_above_and_error_beside_when_invalid() -> None:
    with translation.override("de"):
        markup = str(WorkloadForm({"title": ""}))
    assert markup.index("id_title_helptext") < markup.index('name="title"') < markup.index("id_title_error")
    assert 'aria-describedby="id_title_helptext id_title_error"' in markup
    assert 'aria-invalid="true"' in markup
    assert markup.count("<svg") == len(WorkloadForm({"title": ""}).errors)


def test_field_says_vorschlag_when_the_form_proposes_a_value() -> None:
    form = WorkloadForm()
    form.fields["process"].proposed = True
    with translation.override("de"):
        assert str(form).count("Vorschlag") == 1


def test_no_radio_is_checked_on_arrival() -> None:
    assert "checked" not in str(DecisionForm())


def test_choice_keeps_its_value_when_the_form_comes_back() -> None:
    markup = str(DecisionForm({"decision": "ABGELEHNT"}))
    assert re.findall(r'value="(\w+)"[^>]*checked', markup) == ["ABGELEHNT"]


def test_choice_card_is_labelled_and_escapes_its_hint() -> None:
    class Cards(forms.Form):
        kind = forms.ChoiceField(choices=[("a", "Eins")], widget=ChoiceCards(hints={"a": "<i>Hinweis</i>"}))

    markup = str(Cards())
    assert 'for="id_kind_0"' in markup
    assert "&lt;i&gt;Hinweis" in markup
    assert "hint=" not in markup


def test_error_summary_links_every_field_in_error() -> None:
    form = WorkloadForm({"title": "", "process": "a", "purpose": "x", "personal": "ja", "accept": "on"})
    with translation.override("de"):
        markup = render_to_string("components/error_summary.html", {"form": form})
    assert "Eine Angabe passt noch nicht" in markup
    assert re.findall(r'href="#([\w-]+)"', markup) == ["id_title"]


@pytest.mark.parametrize("name", CONTENT)
@pytest.mark.parametrize("language", ["de", "en-gb"])
def test_page_names_its_language_and_has_one_heading_and_one_main(name: str, language: str) -> None:
    markup = page(name, language=language)
    assert f'<html lang="{language}">' in markup
    assert len(re.findall(r"<h1\b", markup)) == 1
    assert len(re.findall(r"<main\b", markup)) == 1


def test_page_carries_the_band_only_when_it_is_a_demo() -> None:
    assert "Muster – keine Freigabe" in page("404.html", demo=True)
    assert "Muster – keine Freigabe" not in page("404.html", demo=False)


def test_page_has_no_navigation_when_nobody_is_signed_in() -> None:
    markup = page("404.html", user=SimpleNamespace(is_authenticated=False))
    assert "Hauptnavigation" not in markup


def test_refusal_page_says_sentence_rule_and_next_step() -> None:
    refusal = CriterionNotMet("Es fehlt ein Nachweis.", id="G4-2", next_step="Nachweis einreichen.")
    markup = words(page("refusal.html", refusal=refusal))
    for part in ("Es fehlt ein Nachweis.", "G4-2", "Nachweis einreichen.", "Es wurde nichts geändert."):
        assert part in markup


def test_failure_page_renders_without_any_context() -> None:
    with translation.override("de"):
        markup = render_to_string("500.html")
    assert "Fehler 500" not in markup
    assert "Störung" in markup


def test_htmx_is_configured_without_eval_styles_or_history() -> None:
    markup = page("404.html")
    assert '{"allowEval": false, "includeIndicatorStyles": false, "historyCacheSize": 0}' in markup


def test_progress_stops_polling_when_done() -> None:
    facts = {"url": "/x", "label": "Lauf", "permille": 1000, "percent": "100 %", "text": "fertig"}
    assert "hx-get" in render_to_string("components/progress.html", facts)
    assert "hx-get" not in render_to_string("components/progress.html", {**facts, "done": True})


@pytest.mark.parametrize("name", CONTENT)
def test_page_has_no_breakable_space_before_a_unit(name: str) -> None:
    text = words(re.sub(r"<(script|style|svg)\b.*?</\1>", "", page(name), flags=re.DOTALL)).replace(
        "&nbsp;", "\u00a0"
    )
    assert not re.findall(r"\d (?:ms|s|%|€|MiB|KiB|B|Token/s)(?!\w)", text)
