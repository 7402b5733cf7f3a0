"""The page "Kosten und Auslastung": what a person enters becomes EV-17 and EV-18 (spec 3.17, G6-2 to G6-5)."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse

from pilots import demo, pages_costs
from pilots.catalog.costs import CostsEntry
from pilots.economics import categories as economics
from pilots.services import costs
from qms.audit.actors import SYSTEM
from qms.audit.services import unit
from qms.core import clock, jobs
from qms.evidence import services as evidence
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.evidence.services import Submission
from qms.gates import services as gates
from qms.gates.choices import ApprovalType
from qms.web.costs_names import CATEGORIES
from tests.pilots.capture_house import changed, start_run
from tests.pilots.costs_house import form
from tests.walk import JSON, World, address, screen, world

__all__ = ["world"]
STAGE = "emulated"
pytestmark = pytest.mark.django_db
NO_FACTOR = "Kein Vergleichsfaktor: Vergleichsbasis stammt von einem Entwicklungsrechner."


def item(kind: EvidenceType = EvidenceType.COSTS) -> EvidenceItem:
    return EvidenceItem.objects.get(type=kind, replaced_by__isnull=True)


def post(world: World, data: dict[str, str], name: str = "wo01", **more: Any) -> Any:
    return world.browser(name).post(address("pilot_costs", world.workload_id), data, **more)


def page(world: World, name: str = "wo01") -> str:
    return screen(world.browser(name).get(address("pilot_costs", world.workload_id)))


def in_use(**changes: object) -> None:
    """Let the baseline come from the platform in use: a newer report that says so replaces the one made here."""
    found = item(EvidenceType.BASELINE_REPORT)
    facts = found.facts() | changes
    facts["platform"] |= {"development_machine": False, "profile": "DISKRET-4GPU", "kind": "GPU_CLUSTER"}
    with unit(actor=SYSTEM):
        evidence.submit(
            actor=SYSTEM,
            submission=Submission(
                workload=found.workload,
                type=EvidenceType.BASELINE_REPORT,
                title=found.title,
                facts=facts,
                axes=costs.STATED,
                producer=found.producer,
                measured_at=found.measured_at,
            ),
        )


def test_a_development_machine_gives_costs_but_no_ratio(world: World) -> None:
    assert NO_FACTOR in page(world)
    assert post(world, form()).status_code == 302
    facts = item().facts()
    assert facts["comparable"] is False
    assert facts["ratio"] is None
    assert facts["baseline"]["unit_cost"] == "2000.00"
    shown = page(world)
    assert NO_FACTOR in shown
    assert "0,717" not in shown
    assert "Kosten über der Menge" not in shown
    assert NO_FACTOR in evidence_page(world)


def evidence_page(world: World, kind: EvidenceType = EvidenceType.COSTS) -> str:
    return screen(world.browser("pr01").get(address("evidence", item(kind).pk)))


def test_the_worked_check_of_the_specification_stands_on_the_page(world: World) -> None:
    in_use()
    assert post(world, form()).status_code == 302
    facts = item().facts()
    assert (facts["ratio"], facts["target"]["unit_cost"]) == ("0.716667", "1433.33")
    assert facts["break_even"]["units"] == "32"
    shown = page(world)
    for text in (
        "Je Lauf kostet WSE-2 (emuliert) 1.433,33 € statt 2.000,00 € (Verhältnis 0,717).",
        "Die erwartete Auslastung von 37,5 % erreicht die nötigen 29,3 %.",
        "Auslastung des Ziels −20 %",
        "0,883",
        "Preise des Ziels +20 %",
        "Trägt sich ab einer Menge im Monat von 32",
        "mit Sicherheit nötig Menge 36",
    ):
        assert text in shown, text
    assert "0,883" in evidence_page(world)


@pytest.mark.parametrize("hours", ["999999999999", "270"])
def test_paid_hours_of_any_size_leave_a_page_that_can_be_read_and_corrected(world: World, hours: str) -> None:
    in_use()
    assert post(world, form(target_paid_hours=hours)).status_code == 302
    assert "Kosten über der Menge" in page(world)
    assert "nötig sind ," not in page(world)
    assert world.browser("pr01").get(address("evidence", item().pk)).status_code == 200
    assert post(world, form()).status_code == 302


def test_what_is_stored_is_german_whoever_hands_it_in(world: World) -> None:
    browser = world.browser("wo01")
    browser.post(reverse("set_language"), {"language": "en-gb", "next": "/"})
    assert browser.post(address("pilot_costs", world.workload_id), form()).status_code == 302
    assert item().title == "TCO-Blatt"


def test_the_evidence_says_everything_in_words(world: World) -> None:
    in_use()
    post(world, form(**{"month_2020-01": "3"}))
    shown = evidence_page(world)
    shown = shown[: shown.index("Alle Angaben")]
    for code in ("RESERVIERT", "NUTZUNGSABHAENGIG", "fixed_month", "AUSLASTUNG", "target", "GESCHAETZT"):
        assert code not in shown
    assert "Angebot A-17 · Preisstand 01.11.2026" in shown
    assert "Im Preis enthalten." in shown
    demand = evidence_page(world, EvidenceType.DEMAND)
    assert "Woher die Zahlen stammen Auftragsplan" in demand


def test_a_target_that_never_pays_is_said_as_plainly(world: World) -> None:
    in_use()
    post(world, form(**{"target_TCO-03_amount": "2.000"}))
    facts = item().facts()
    assert facts["break_even"]["reachable"] is False
    assert "trägt sich auch bei voller Auslastung nicht" in page(world)


def test_too_little_use_is_said_with_both_shares(world: World) -> None:
    in_use()
    post(world, form(units_per_month="30"))
    shown = page(world)
    assert "Die erwartete Auslastung von 25 % erreicht die nötigen 29,3 % nicht." in shown.replace(
        ",0 %", " %"
    )


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"target_TCO-05_note": " "}, "target_TCO-05_note", "Null braucht eine Begründung"),
        ({"target_paid_hours": ""}, "target_paid_hours", "bezahlten Stunden"),
        ({"baseline_paid_hours": "720"}, "baseline_paid_hours", "nur bei reservierter Kapazität"),
        ({"target_queue_h": "1"}, "target_compile_h", "alle vier Zeiten"),
        ({"units_per_month": "-1"}, "units_per_month", "größer oder gleich 0"),
        ({"units_per_month": "NaN"}, "units_per_month", "Zahl"),
        ({"target_TCO-03_basis": ""}, "target_TCO-03_basis", "wofür der Betrag gilt"),
        ({"target_date": ""}, "target_date", "erforderlich"),
        ({"target_TCO-05_amount": "1,0000001"}, "target_TCO-05_amount", "Dezimalstellen"),
    ],
)
def test_what_is_missing_is_said_at_its_field_and_nothing_is_stored(
    world: World, changes: dict[str, str], field: str, words: str
) -> None:
    answer = post(world, form(**changes), headers=JSON)
    assert answer.status_code == 422
    said = " ".join(row["message"] for row in answer.json()["errors"][field])
    assert words in said
    assert not EvidenceItem.objects.filter(type=EvidenceType.COSTS).exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"units_per_month": "120,01"}, "reichen für diese Menge nicht"),
        ({"baseline_hours": ""}, "Stunden je Ergebnis: Vergleichsbasis"),
        ({"units_per_month": "0"}, "größer als null"),
    ],
)
def test_the_command_refuses_with_a_sentence_and_typed_values_stay(
    world: World, changes: dict[str, str], words: str
) -> None:
    answer = post(world, form(**changes))
    assert answer.status_code == 422
    assert words in screen(answer)
    assert 'value="60.000"' in answer.content.decode()
    refused = post(world, form(**changes), headers=JSON)
    assert refused.status_code == 422
    assert refused.json()["id"] == "G6-2"


def test_full_use_of_the_paid_hours_is_the_most(world: World) -> None:
    assert post(world, form(units_per_month="120")).status_code == 302
    assert item().facts()["target"]["utilisation_paid"] == "1"


def test_an_empty_category_leaves_the_sheet_without_a_ratio(world: World) -> None:
    in_use()
    post(world, form(**{"target_TCO-05_amount": "", "target_TCO-05_note": ""}))
    assert item().facts()["ratio"] is None
    assert "Im Kostenblatt fehlt 1 Angabe (G6-2)." in page(world)


def test_a_stated_volume_takes_the_pessimistic_end_of_the_emulation(world: World) -> None:
    post(world, form(volume_per_unit="3600000", baseline_hours="", target_hours=""))
    facts, reached = item().facts(), item(EvidenceType.TARGET_REPORT).facts()
    rate = next(row for row in reached["metrics"] if row["key"] == "throughput_samples_s")
    side = facts["target"]
    assert Decimal(side["hours_per_unit"]) == pytest.approx(
        Decimal(1000) / Decimal(rate["interval"]["lower"]), rel=Decimal("0.00001")
    )
    assert Decimal(rate["interval"]["lower"]) < Decimal(rate["value"])
    assert side["hours_provenance"] == "EMULIERT"
    assert side["hours_note"] == "pessimistisches Ende des Modellfehlers"
    assert facts["baseline"]["hours_provenance"] == "GEMESSEN"


def test_a_newer_measurement_is_said_and_taken_over_by_entering_again(world: World) -> None:
    post(world, form(volume_per_unit="3600000", baseline_hours="", target_hours=""))
    before = item().facts_sha256
    assert "neu gemessen" not in page(world)
    start_run(world, "pilot_baseline")
    jobs.run_pending()
    assert "Seit diesem Kostenblatt ist neu gemessen worden." in page(world)
    assert item().facts_sha256 == before
    post(world, form(volume_per_unit="3600000", baseline_hours="", target_hours=""))
    assert "neu gemessen" not in page(world)


def test_the_form_shows_what_was_entered(world: World) -> None:
    month = pages_costs.months_before(clock.now().date())[1]
    sent = form(**{f"month_{month}": "44", "target_queue_h": "2", "target_transfer_h": "0,5"})
    sent |= {"target_compile_h": "1", "target_evaluation_h": "0", "target_TCO-04_date": "2026-10-01"}
    sent |= {"target_TCO-04_amount": "12,50", "target_TCO-04_note": "Preisliste"}
    assert post(world, sent).status_code == 302
    first = item().facts()
    assert first["target"]["cycle"]["total_h"] == "9.5"
    entry = CostsEntry.from_json(first["entered"])
    again = {key: str(value) for key, value in pages_costs.initial_of(entry).items() if value is not None}
    dotted = {key: value.replace(".", ",") if _is_number(value) else value for key, value in again.items()}
    post(world, dotted)
    assert item().facts() == first


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def test_the_months_are_the_twelve_whole_ones_before_today() -> None:
    found = pages_costs.months_before(date(2027, 1, 31))
    assert (found[0], found[-1], len(found)) == ("2026-12", "2026-01", 12)


def test_demand_counts_the_months_that_carry_the_forecast(world: World) -> None:
    months = pages_costs.months_before(clock.now().date())
    post(world, form(**{f"month_{month}": "44" for month in months[:3]}))
    facts = item(EvidenceType.DEMAND).facts()
    assert facts["backed_months"] == 3
    assert facts["forecast_units_per_month"] == "45"
    assert facts["hours_per_unit"] == "6"


def test_a_damaged_measurement_is_refused_and_said(world: World) -> None:
    with changed(item(EvidenceType.BASELINE_REPORT).facts_sha256):
        assert "Prüfsumme stimmt nicht mehr" in page(world)
        answer = post(world, form(), headers=JSON)
    assert (answer.status_code, answer.json()["id"]) == (422, "G7-4")


def test_a_damaged_sheet_is_said_on_the_page(world: World) -> None:
    post(world, form())
    with changed(item().facts_sha256):
        assert "Prüfsumme stimmt nicht mehr" in page(world)


def test_only_who_enters_the_sheet_sees_the_form(world: World) -> None:
    assert "Kosten eintragen" in page(world)
    assert "Kosten eintragen" not in page(world, "pr01")
    assert "noch nicht eingetragen" in page(world, "pr01")
    assert post(world, form(), "pr01", headers=JSON).status_code == 403


def test_the_steps_are_those_of_the_rule_set() -> None:
    found = [(step.key, step.change) for step in costs.steps_of(gates.policy().raw)]
    assert found == [
        ("AUSLASTUNG", Decimal("-0.2")),
        ("MENGE", Decimal("-0.2")),
        ("MENGE", Decimal("0.2")),
        ("PREIS", Decimal("0.2")),
        ("PORTIERUNG", Decimal("0.5")),
    ]


def test_the_names_of_the_categories_are_those_of_the_calculation() -> None:
    assert {code: str(name) for code, name in CATEGORIES.items()} == {
        row.code: row.german for row in economics.CATEGORIES
    }


@pytest.mark.parametrize(
    ("units", "results"),
    [
        ("45", {"G6-2": "ERFUELLT", "G6-3": "ERFUELLT", "G6-4": "ERFUELLT", "G6-5": "ERFUELLT"}),
        ("30", {"G6-2": "ERFUELLT", "G6-3": "NICHT_ERFUELLT", "G6-4": "NICHT_ERFUELLT"}),
    ],
)
def test_the_gates_judge_what_the_page_made(world: World, units: str, results: dict[str, str]) -> None:
    in_use()
    months = pages_costs.months_before(clock.now().date())[:3]
    post(world, form(units_per_month=units, **{f"month_{month}": units for month in months}))
    facts = gates.facts_for(
        world.workload, ApprovalType.PRELIMINARY, at=clock.now(), reviewer=world.user("pr01").person
    )
    found = {item.row.id: item.result.value for item in gates.evaluate_dossier(facts).criteria}
    assert {name: found[name] for name in results} == results


def test_the_review_shows_unit_costs_ratio_and_utilisation_beside_what_they_carry(world: World) -> None:
    in_use()
    post(world, form(units_per_month="45"))
    approval = demo.request_approval(world.demo, world.workload)
    shown = screen(world.browser("pr01").get(address("approval_review", approval.pk)))
    for text in ("Kosten je Lauf", "Verhältnis Ziel zu Vergleichsbasis", "Bezahlte Auslastung des Ziels"):
        assert text in shown
    for text in ("Menge im Monat", "Rechenzeit je Ergebnis auf dem Ziel"):
        assert text in shown


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        (EvidenceType.COSTS, "mit Angebot, Rechnung oder Auftragsliste"),
        (EvidenceType.DEMAND, "mit Angebot, Rechnung oder Auftragsliste"),
        (EvidenceType.BASELINE_REPORT, "mit der Ausgabedatei des Messwerkzeugs"),
    ],
)
def test_what_to_compare_with_fits_the_evidence(world: World, kind: EvidenceType, hint: str) -> None:
    post(world, form())
    shown = screen(world.browser("pr01").get(address("evidence", item(kind).pk)))
    assert hint in shown
