"""Sections 7 to 9 and 12 and the sentence of page 1, once platforms are compared (S102, S104, S108, S111)."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.template.loader import render_to_string

from pilots.economics.demand import Demand, Month
from pilots.economics.evaluate import evaluate
from pilots.economics.sheet import CostLine, Sheet
from qms.approvals import cost_blocks, figures, options, sections_case
from qms.approvals.choices import ApprovalStatus
from qms.approvals.dossier import BuiltDossier
from qms.gates import business_readers
from qms.gates.business_facts import LevelFacts, LevelsFacts, SuitabilityFacts
from qms.gates.choices import ApprovalType
from qms.gates.facts import Facts
from qms.gates.report import GateReport, Verdict
from qms.web import approval_page
from qms.workloads.choices import PlatformKind
from tests.pilots.economics.sheets import changed, line, pay_per_use, with_target_line, worked
from tests.qms.gates.complete_facts import complete, platform

NO = Verdict(
    "VF-06",
    "GPU_BEIBEHALTEN_ODER_OPTIMIEREN",
    "Nein, GPU behalten – weil die erwartete Auslastung von 22 % die nötigen 29,3 % nicht erreicht (VF-06).",
    ("die erwartete Auslastung von 22 % die nötigen 29,3 % nicht erreicht",),
)
REQUEST = {"title": "Ausschussprognose", "valid_until": date(2027, 4, 18), "emulated": True}
YES = Verdict("VF-08", "VORFREIGABE_EMPFOHLEN", "Vorfreigabe empfohlen (VF-08).", ())
OFFER = {
    "platform": "WSE-3",
    "commercial_model": "PROVIDER",
    "reference": "Angebot 17",
    "offered_at": "2026-11-01",
    "term_months": 12,
    "notice_months": 3,
    "transition": "paralleler Betrieb",
    "data_return": "verschlüsselter Datenträger",
    "export_format": "safetensors",
    "exit_cost_eur": "5000",
    "exit_cost_reason": "",
    "switching_charges_eur": "0",
    "switching_reason": "vertraglich ausgeschlossen",
}


def in_use(facts: Facts) -> Facts:
    """The baseline comes from the platform in use, so that platforms are compared."""
    assert facts.baseline
    existing = platform(PlatformKind.GPU_CLUSTER, is_existing=True)
    return replace(facts, baseline=replace(facts.baseline, platform=existing))


def with_costs(sheet: Sheet) -> Facts:
    history = tuple(Month(f"2026-{month:02d}", Decimal(45)) for month in (7, 8, 9))
    demand = Demand(Decimal(45), Decimal(6), Decimal(45), "Auftragsbuch", history)
    return replace(
        in_use(complete()),
        costs=business_readers.costs_from(evaluate(sheet).to_json()),
        demand=business_readers.demand_from(demand.to_json()),
    )


def built(facts: Facts, verdict: Verdict | None = None) -> BuiltDossier:
    report = GateReport(
        "kompakt", "d" * 64, ApprovalType.PRELIMINARY, (), (), (), 60, 76, facts.gap(), verdict
    )
    return BuiltDossier({}, "d" * 64, report, facts)


def facts_of(section) -> dict[str, str]:
    return {
        label: value
        for block in section["blocks"]
        if block["kind"] == "facts"
        for label, value in block["rows"]
    }


def tables_of(section) -> dict[str, list[list[str]]]:
    return {block["caption"]: block["rows"] for block in section["blocks"] if block["kind"] == "table"}


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_section_7_states_cost_and_break_even_of_the_worked_check():
    section = sections_case.proof(built(with_costs(worked())))
    rows = {label: plain(value) for label, value in facts_of(section).items()}
    assert rows["Gesamtkosten"] == (
        "1.433,33 € je Lauf auf der Zielplattform, 2.000,00 € auf der Vergleichsbasis; Verhältnis 0,717"
    )
    assert rows["Auslastung und Break-even"] == (
        "erwartete Auslastung 37,5 %; Break-even bei einer Menge von 32 im Monat (Lauf), Auslastung 26,7 %; "
        "mit Sicherheitsabstand nötig 29,3 %; Nachfrage belegt durch 3 Monate"
    )


def test_section_7_lists_all_twelve_categories_and_the_sum():
    tables = tables_of(sections_case.proof(built(with_costs(worked()))))
    caption = next(name for name in tables if name.startswith("Gesamtkosten"))
    assert plain(caption) == "Gesamtkosten im Monat bei einer Menge von 45 (Lauf), EUR; Preise vom 01.11.2026"
    rows = [[plain(cell) for cell in row] for row in tables[caption]]
    assert [row[0][:6] for row in rows[:12]] == [f"TCO-{number:02d}" for number in range(1, 13)]
    assert rows[0] == ["TCO-01 Rechenzeit", "86.400,00 €", "22.500,00 €"]
    assert rows[7] == ["TCO-08 Leerstand (Auslastung)", "0,00 €", "37.500,00 €"]
    assert rows[12:] == [
        ["Summe im Monat", "90.000,00 €", "64.500,00 €"],
        ["je Lauf", "2.000,00 €", "1.433,33 €"],
        ["Auslastung der bezahlten Stunden", "nicht reserviert", "37,5 %"],
    ]


def test_section_7_shows_each_step_of_the_sensitivity():
    tables = tables_of(sections_case.proof(built(with_costs(worked()))))
    rows = next(rows for name, rows in tables.items() if name.startswith("Sensitivität"))
    assert next([plain(cell) for cell in row] for row in rows) == [
        "Auslastung des Ziels −20 %",
        "2.000,00 €",
        "1.766,67 €",
        "0,883",
    ]
    assert len(rows) == 5


def test_one_off_costs_enter_the_month_over_the_term():
    facts = with_costs(with_target_line(worked(), line("TCO-02", one_off="54000")))
    rows = next(iter(cost_blocks.blocks(facts)))["rows"]
    assert plain(rows[1][2]) == "4.500,00 €"


def test_a_missing_category_is_named_and_nothing_is_compared():
    facts = with_costs(with_target_line(worked(), CostLine("TCO-07")))
    rows = next(iter(cost_blocks.blocks(facts)))["rows"]
    assert rows[6][2] == "nicht angegeben"
    assert "Verhältnis" not in cost_blocks.total_sentence(facts)
    assert (
        cost_blocks.utilisation_sentence(replace(facts, demand=None))
        == "Nachfrage nicht belegt (EV-18 fehlt)"
    )


@pytest.mark.parametrize(
    ("sheet", "part"),
    [
        (pay_per_use(), "nicht anwendbar: nutzungsabhängige Abrechnung"),
        (with_target_line(worked(), line("TCO-03", per_unit="2000")), "kein Break-even"),
        (worked(reserved="240000"), "mehr als die bezahlten Stunden"),
        (with_target_line(worked(), line("TCO-02", one_off="51000")), "zurückverdient nach 2,0 Monaten"),
        (changed(worked(), comparable=False), "Kein Kostenverhältnis"),
    ],
)
def test_the_sentence_on_utilisation_says_what_holds(sheet, part):
    assert part in cost_blocks.utilisation_sentence(with_costs(sheet))


def test_costs_on_a_development_machine_stand_there_without_any_ratio():
    facts = with_costs(changed(worked(), comparable=False))
    found = cost_blocks.blocks(facts)
    assert [block["kind"] for block in found] == ["table", "note", "table"]
    assert {row[3] for row in found[2]["rows"]} == {"–"}
    assert "Verhältnis" not in cost_blocks.total_sentence(facts)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (in_use(complete()), "nicht geprüft, weil das Kostenblatt (EV-17) fehlt"),
        (complete(), "nicht geprüft, weil die Vergleichsbasis ein Entwicklungsrechner ist"),
        (replace(complete(), baseline=None), "nicht geprüft, weil es keine Vergleichsbasis gibt"),
    ],
)
def test_without_a_sheet_section_7_says_why(facts, reason):
    rows = facts_of(sections_case.proof(built(facts)))
    assert rows["Gesamtkosten"] == rows["Auslastung und Break-even"] == reason
    assert cost_blocks.blocks(facts) == []


def test_section_8_is_there_once_platforms_are_compared():
    assert sections_case.levels(built(complete())) == []
    (empty,) = sections_case.levels(built(in_use(complete())))
    assert empty["blocks"][0]["text"].startswith("Nicht geprüft, weil")


@pytest.mark.parametrize(
    ("score", "sentence"),
    [
        (1, "Es zählt die niedrigste Ebene: Software mit 1 von 4."),
        (2, "Es zählt die niedrigste Ebene: Software, Lieferung mit 2 von 4."),
        (None, "Nicht jede Ebene ist bewertet"),
    ],
)
def test_section_8_names_the_lowest_level_and_no_average(score, sentence):
    found = LevelsFacts(
        "WSE-3",
        (
            LevelFacts("HARDWARE", 3, "A", "EV-04"),
            LevelFacts("SOFTWARE", score, "B", "EV-05"),
            LevelFacts("LIEFERUNG", 2, "C", "Angebot 17"),
        ),
    )
    (section,) = sections_case.levels(built(replace(in_use(complete()), levels=found)))
    assert section["number"] == "8"
    assert [row[0] for row in section["blocks"][0]["rows"]] == ["Hardware", "Software", "Lieferung"]
    assert section["blocks"][1]["text"].startswith(sentence)
    assert "Durchschnitt wird nicht gebildet" in section["blocks"][1]["text"]


def test_section_9_costs_all_three_options_the_same_way():
    answers = SuitabilityFacts(alternatives=(("TPU_CLOUD", "keine Region in der EU"),))
    facts = replace(with_costs(worked()), offer=business_readers.offer_from(OFFER), suitability=answers)
    workload = SimpleNamespace(pilot=None, fallback=None)
    rows = {
        name: [plain(cell) for cell in cells] for name, *cells in options.rows(workload, built(facts), "")
    }
    assert list(rows) == ["Nutzen", "Kosten", "Risiko", "Aufwand", "Zeit"]
    assert rows["Kosten"][0].startswith("1.433,33 € je Lauf (Gesamtkosten in Abschnitt 7)")
    assert (
        rows["Kosten"][1]
        == "2.000,00 € je Lauf (Gesamtkosten in Abschnitt 7); Rückkehr: 5.000,00 € Ausstiegskosten"
    )
    assert "Kündigungsfrist 3 Monate" in rows["Risiko"][0]
    assert rows["Nutzen"][2] == "TPU-Cloud: keine Region in der EU"
    assert all(cell for cells in rows.values() for cell in cells)


def test_section_12_says_how_to_leave_and_what_the_site_needs():
    environment = {
        "platform": "WSE-3",
        "items": [
            {"item": "KUEHLUNG", "status": "OFFEN", "responsible": "Technik"},
            {"item": "NETZWERK", "status": "GEKLAERT", "responsible": "Technik", "cost_eur": "1200.50"},
        ],
    }
    facts = replace(
        in_use(complete()),
        offer=business_readers.offer_from(OFFER),
        environment=business_readers.environment_from(environment),
    )
    section = sections_case.risks(SimpleNamespace(ai_act_role="", ai_act_risk_class=""), built(facts))
    rows = {label: plain(value) for label, value in facts_of(section).items()}
    assert rows["Angebot oder Vertrag"] == "Angebot 17 vom 01.11.2026"
    assert rows["Ausstiegskosten"] == "5.000,00 €"
    assert rows["Wechselentgelte"] == "0,00 € (vertraglich ausgeschlossen)"
    assert tables_of(section)["Umfeld der Plattform"] == [
        ["Kühlung", "offen", "Technik", "–", "–"],
        ["Netzwerk", "geklärt", "Technik", "1.200,50\u00a0€", "–"],
    ]
    bare = sections_case.risks(SimpleNamespace(ai_act_role="", ai_act_risk_class=""), built(complete()))
    assert [block["kind"] for block in bare["blocks"]] == ["facts"]


def approval(status: ApprovalStatus):
    without = SimpleNamespace(all=list)
    return SimpleNamespace(
        status=status, workload=SimpleNamespace(title="Ausschussprognose"), conditions=without
    )


def sentence(status: ApprovalStatus, verdict: Verdict | None) -> str:
    return figures.board_sentence(approval(status), built(in_use(complete()), verdict), date(2027, 4, 18))


@pytest.mark.parametrize("verdict", [NO, YES])
def test_a_no_stands_on_the_request_as_plainly_as_a_yes(verdict):
    assert sentence(ApprovalStatus.IN_REVIEW, verdict) == verdict.sentence_de


def test_a_freigabe_names_the_row_that_recommends_it():
    found = sentence(ApprovalStatus.APPROVED, YES)
    assert found.startswith("Vorfreigabe bis 18.04.2027 für ‚Ausschussprognose‘")
    assert found.endswith("(VF-08).")


def test_without_a_verdict_the_sentence_stays_as_it_was():
    assert "VF-" not in sentence(ApprovalStatus.IN_REVIEW, None)


def test_a_freigabe_against_the_recommendation_says_so():
    found = sentence(ApprovalStatus.APPROVED, NO)
    assert found.startswith("Vorfreigabe bis 18.04.2027")
    assert found.endswith("abweichend von der Empfehlung VF-06.")


def test_a_no_for_its_costs_shows_the_costs_on_page_1():
    shown = figures.figures(built(with_costs(worked()), replace(NO, deciding=("G6-3", "G6-4"))))
    assert [(row["label"], plain(row["value"]), plain(row["note"])) for row in shown] == [
        ("Kosten je Lauf · Zielplattform (emuliert)", "1.433,33 €", ""),
        ("Kosten je Lauf · Vergleichsbasis", "2.000,00 €", ""),
        ("Erwartete Auslastung", "37,5 %", "nötig: 29,3 %"),
    ]
    assert {row["axes"] for row in shown} == {"ABGELEITET · eingereicht · eigen"}


def test_figures_of_speed_stand_on_page_1_otherwise():
    shown = figures.figures(built(with_costs(worked()), replace(YES, deciding=("G3-8",))))
    assert shown
    assert not any(row["label"].startswith(("Kosten", "Erwartete")) for row in shown)


def test_a_measured_target_is_never_called_emulated():
    facts = in_use(complete())
    target = replace(facts.target, emulated=False)
    labels = [row["label"] for row in figures.figures(built(replace(facts, target=target)))]
    assert any("Zielplattform" in label for label in labels)
    assert not any("emuliert" in label for label in labels)


def test_a_metric_without_a_short_name_has_that_of_the_catalogue():
    assert figures.named("ttft_ms", "p99") == "Zeit bis zum ersten Token p99"
    assert figures.named("e2e_latency_ms", "p95") == "Antwortzeit p95"


@pytest.mark.parametrize("verdict", [NO, YES])
def test_the_page_of_a_request_shows_sentence_and_reasons_of_the_verdict(verdict):
    dossier = built(in_use(complete()), verdict)
    found = approval_page.preview_headline(dossier, figures.request_sentence(dossier.report, **REQUEST))
    html = render_to_string("approvals/figures.html", found)
    assert found["board"] == verdict.sentence_de
    assert all(reason in html for reason in verdict.reasons_de)
    assert ("Gründe der Empfehlung" in html) is bool(verdict.reasons_de)
