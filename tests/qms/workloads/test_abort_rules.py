from __future__ import annotations

from decimal import Decimal

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from qms.core import canonical
from qms.workloads.abort_ast import Combinator, Threshold, in_metric_unit
from qms.workloads.abort_explain import explain
from qms.workloads.abort_grammar import MAX_CONDITIONS, MAX_LENGTH, AbortSyntaxError, parse
from qms.workloads.abort_templates import default_rules, missing_data_default, needed_categories, templates
from qms.workloads.choices import AbortCategory, Flag, Level, MissingData, Mode
from qms.workloads.metrics import catalogue

ALL_TEMPLATES = [(item.id, text) for item in templates().values() for text in item.rules]
ONE = "avg(error_rate) UEBER 1 h > 1 %"


def error_of(text: str) -> AbortSyntaxError:
    with pytest.raises(AbortSyntaxError) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize(("template", "text"), ALL_TEMPLATES)
def test_template_is_canonical_and_round_trips(template: str, text: str) -> None:
    rule = parse(text)
    assert rule.text() == text
    assert parse(rule.text()) == rule
    assert canonical.digest(rule.to_json())


@pytest.mark.parametrize(("template", "text"), ALL_TEMPLATES)
def test_template_is_explained_in_one_sentence(template: str, text: str) -> None:
    with translation.override("de"):
        sentence = explain(parse(text))
    assert sentence.startswith("Wenn ")
    assert sentence.endswith(".")
    assert "%(" not in sentence


def test_explanation_reads_like_the_screen() -> None:
    with translation.override("de"):
        sentence = explain(parse(dict(ALL_TEMPLATES)["AB-06"]))
    assert sentence == (
        "Wenn die mittlere Fehlerquote über 15 Minuten länger als 5 Minuten über 0,5\u00a0% liegt: "
        "Ausweichpfad aktivieren und Vorfall anlegen."
    )


def test_explanation_joins_conditions() -> None:
    text = (
        f"WENN {ONE} ODER p99(ttft_ms[stufe=K2]) UEBER 5 STICHPROBEN >= BASELINE * 1,5 FUER 1 d DANN WARNEN"
    )
    with translation.override("de"):
        sentence = explain(parse(text))
    assert sentence == (
        "Wenn die mittlere Fehlerquote über 1 Stunde über 1\u00a0% liegt oder das 99. Perzentil der Zeit bis zum ersten "
        "Token (stufe = K2) über 5 Stichproben bei mindestens dem 1,5-Fachen der Vergleichsbasis liegt und das "
        "länger als 1 Tag so bleibt: warnen."
    )


@pytest.mark.parametrize(
    ("text", "line", "column", "got"),
    [
        ("", 1, 1, ""),
        ("wenn", 1, 1, "wenn"),
        ("WENN foo(error_rate)", 1, 6, "foo"),
        ("WENN avg(eror_rate) UEBER 5 min", 1, 10, "eror_rate"),
        ("WENN avg(error_rate)\n  UEBER 0 min > 3", 2, 9, "0"),
        ("WENN avg(error_rate) UEBER 1.5 min > 3", 1, 28, "1.5"),
        ("WENN avg(error_rate) UEBER 5 w > 3", 1, 30, "w"),
        ("WENN avg(error_rate) UEBER 5 min = 3", 1, 34, "="),
        ("WENN avg(error_rate) UEBER 5 min > ms", 1, 36, "ms"),
        ("WENN avg(error_rate) UEBER 5 min > 3 ms DANN WARNEN", 1, 38, "ms"),
        (f"WENN {ONE}", 1, 37, ""),
        (f"WENN {ONE} DANN", 1, 42, ""),
        (f"WENN {ONE} DANN WARNEN,", 1, 50, ""),
        (f"WENN {ONE} DANN ALARM", 1, 43, "ALARM"),
        (f"WENN {ONE} DANN WARNEN WARNEN", 1, 50, "WARNEN"),
        (f"WENN {ONE} DANN BENACHRICHTIGEN(XX)", 1, 59, "XX"),
        (f"WENN {ONE} UND {ONE} ODER {ONE} DANN WARNEN", 1, 74, "ODER"),
        ("WENN avg(error_rate) UEBER 5 min > QUALITAETSZIEL 3", 1, 51, "3"),
        ("WENN avg(error_rate[x=]) UEBER 5 min > 3", 1, 23, "]"),
        ("WENN avg(error_rate) UEBER 5 min > 3 § DANN WARNEN", 1, 38, "§"),
    ],
)
def test_error_names_its_exact_position(text: str, line: int, column: int, got: str) -> None:
    error = error_of(text)
    assert (error.line, error.column, error.got) == (line, column, got)
    assert error.expected


def test_error_is_a_german_sentence_with_a_suggestion() -> None:
    with translation.override("de"):
        message = error_of("WENN avg(eror_rate)").message
    assert message == (
        "Zeile 1, Spalte 10: erwartet eine Messgröße des Katalogs, gefunden „eror_rate“. Meinten Sie „error_rate“?"
    )


def test_decimal_comma_is_read_and_written_as_point() -> None:
    rule = parse("WENN avg(error_rate) UEBER 5 min > 0,5 % DANN WARNEN,LAUF_STOPPEN")
    assert rule.text() == "WENN avg(error_rate) UEBER 5 min > 0.5 % DANN WARNEN, LAUF_STOPPEN"


def test_one_combinator_joins_many_conditions_up_to_the_limit() -> None:
    joined = " UND ".join([ONE] * MAX_CONDITIONS)
    assert parse(f"WENN {joined} DANN WARNEN").combinator is Combinator.AND
    assert error_of(f"WENN {joined} UND {ONE} DANN WARNEN").got == "UND"


def test_text_beyond_the_limit_is_refused() -> None:
    assert error_of("x" * (MAX_LENGTH + 1)).column == MAX_LENGTH + 1


@given(st.text(max_size=80))
def test_any_text_parses_or_fails_with_a_position(text: str) -> None:
    try:
        parse(text)
    except AbortSyntaxError as error:
        found = (error.line, error.column)
    else:
        found = (1, 1)
    assert min(found) >= 1


@pytest.mark.parametrize(
    ("number", "unit", "metric", "expected"),
    [
        ("0.5", "%", "error_rate", "0.005"),
        ("80", "%", "budget_used_pct", "80"),
        ("2", "s", "ttft_ms", "2000"),
    ],
)
def test_threshold_is_converted_to_the_unit_of_the_metric(
    number: str, unit: str, metric: str, expected: str
) -> None:
    found = in_metric_unit(Threshold(Decimal(number), unit), catalogue()[metric].unit)
    assert found == Decimal(expected)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(
    ("level", "flags"), [(Level.INTERNAL, ()), (Level.CONFIDENTIAL, ()), (None, (Flag.PERSONAL_DATA,))]
)
def test_default_rules_cover_every_needed_category(
    mode: Mode, level: Level | None, flags: tuple[Flag, ...]
) -> None:
    rules = default_rules(mode, level, flags)
    assert {rule.category for rule in rules} >= set(needed_categories(mode, level, flags))
    assert all(parse(rule.text) for rule in rules)


def test_privacy_rules_only_from_k2_or_with_personal_data() -> None:
    assert AbortCategory.PRIVACY not in needed_categories(Mode.INFERENCE, Level.INTERNAL, ())
    assert AbortCategory.PRIVACY in needed_categories(Mode.INFERENCE, Level.CONFIDENTIAL, ())
    assert AbortCategory.PRIVACY in needed_categories(Mode.INFERENCE, Level.INTERNAL, (Flag.PERSONAL_DATA,))


def test_latency_limit_replaces_the_template() -> None:
    rules = default_rules(Mode.INFERENCE, Level.INTERNAL, latency_limit_ms=Decimal(50))
    assert any("> 50 ms" in rule.text for rule in rules)


@pytest.mark.parametrize(
    ("category", "level", "expected"),
    [
        (AbortCategory.PRIVACY, Level.INTERNAL, MissingData.VIOLATION),
        (AbortCategory.COST, Level.STRICTLY_CONFIDENTIAL, MissingData.VIOLATION),
        (AbortCategory.COST, Level.CONFIDENTIAL, MissingData.WARN),
    ],
)
def test_missing_data_is_a_violation_for_privacy_and_k3(
    category: AbortCategory, level: Level, expected: MissingData
) -> None:
    assert missing_data_default(category, level) is expected
