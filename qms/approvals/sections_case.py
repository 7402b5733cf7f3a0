"""The sections of the signed document that weigh both platforms (spec 5.1: 7 to 9 and 12), in German.

A section whose facts do not exist yet says "nicht geprüft, weil …"; nothing is filled in.
"""

from __future__ import annotations

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from qms.approvals import blocks, cost_blocks, figures, options
from qms.approvals.blocks import Block, Section
from qms.approvals.dossier import BuiltDossier
from qms.core import formats
from qms.gates.business_facts import EnvironmentFacts, LevelsFacts, OfferFacts
from qms.workloads.choices import AiActRiskClass, AiActRole
from qms.workloads.models import Workload

LEVELS: Final[dict[str, str | Promise]] = {
    "HARDWARE": _lazy("Hardware"),
    "SOFTWARE": _lazy("Software"),
    "LIEFERUNG": _lazy("Lieferung"),
}
ENVIRONMENT: Final[dict[str, str | Promise]] = {
    "BESCHAFFUNG": _lazy("Beschaffung"),
    "NETZWERK": _lazy("Netzwerk"),
    "KUEHLUNG": _lazy("Kühlung"),
    "RZ_BETRIEB": _lazy("Rechenzentrumsbetrieb"),
    "ANBIETERVERTRAG": _lazy("Anbietervertrag"),
}
STATES: Final[dict[str, str | Promise]] = {
    "GEKLAERT": _lazy("geklärt"),
    "OFFEN": _lazy("offen"),
    "ENTFAELLT": _lazy("entfällt"),
}


def proof(built: BuiltDossier) -> Section:
    """Return section 7 with the five blocks of S108."""
    head = [_("Messgröße"), _("Vergleichsbasis"), _("Zielplattform")]
    baseline = (
        {(m.key, m.percentile): m for m in built.facts.baseline.metrics} if built.facts.baseline else {}
    )
    target = {(m.key, m.percentile): m for m in built.facts.target.metrics} if built.facts.target else {}
    keys = list(dict.fromkeys([*baseline, *target]))
    rows = [
        [
            figures.metric_name(baseline.get(key) or target[key]),
            figures.with_interval(baseline[key]) if key in baseline else "–",
            figures.with_interval(target[key]) if key in target else "–",
        ]
        for key in keys
    ]
    restart = _("nicht geprüft, weil das Regelwerk in dieser Version dazu keine Angaben hat")
    return blocks.section(
        "7",
        _("Entscheidungsnachweis"),
        blocks.table(_("Vergleich mit der Vergleichsbasis"), head, rows, [20, 35, 45]),
        *[blocks.note(text) for text in figures.notices(built)],
        blocks.facts(
            [
                [_("Portierungsaufwand"), figures.porting_effort(built)],
                [_("Auslastung und Break-even"), cost_blocks.utilisation_sentence(built.facts)],
                [_("Wiederanlauf"), restart],
                [_("Gesamtkosten"), cost_blocks.total_sentence(built.facts)],
            ]
        ),
        *cost_blocks.blocks(built.facts),
    )


def levels(built: BuiltDossier) -> list[Section]:
    """Return section 8; none while nothing is compared and no level was assessed."""
    found = built.facts.levels
    if found is None and built.facts.gap() is not None:
        return []
    title = _("Dreiebenenbewertung")
    if found is None:
        text = _("Nicht geprüft, weil die Dreiebenenbewertung der Plattform (EV-19) fehlt.")
        return [blocks.section("8", title, blocks.paragraph(text))]
    return [blocks.section("8", title, _levels_table(found), blocks.paragraph(_minimum(found)))]


def option_table(workload: Workload, built: BuiltDossier, alternative: str) -> Section:
    """Return section 9: the three options by the same five criteria."""
    rows = options.rows(workload, built, alternative)
    return blocks.section(
        "9",
        _("Optionenvergleich"),
        blocks.table(_("Drei Optionen"), options.head(workload), rows, options.WIDTHS),
    )


def risks(workload: Workload, built: BuiltDossier) -> Section:
    """Return section 12: the legal side, what binds to the provider, and what the site still needs."""
    role = AiActRole(workload.ai_act_role).label if workload.ai_act_role else ""
    risk = AiActRiskClass(workload.ai_act_risk_class).label if workload.ai_act_risk_class else ""
    legal = [[_("Rolle nach KI-Verordnung"), str(role)], [_("Risikoklasse nach KI-Verordnung"), str(risk)]]
    found = [blocks.facts(legal)]
    if built.facts.offer:
        found.append(_exit(built.facts.offer))
    if built.facts.environment:
        found.append(_environment(built.facts.environment))
    return blocks.section("12", _("Risiken und Rechtsgrundlagen"), *found)


def _levels_table(found: LevelsFacts) -> Block:
    rows = [
        [
            str(LEVELS.get(item.name, item.name)),
            _("nicht bewertet") if item.score is None else _("%(score)d von 4") % {"score": item.score},
            item.assessor or "–",
            item.evidence or "–",
        ]
        for item in found.levels
    ]
    head = [_("Ebene"), _("Bewertung"), _("bewertet von"), _("Nachweis")]
    return blocks.table(_("Drei Ebenen, getrennt bewertet"), head, rows, [15, 15, 25, 45])


def _minimum(found: LevelsFacts) -> str:
    scored = [item for item in found.levels if item.score is not None]
    if len(scored) < len(found.levels):
        return _("Nicht jede Ebene ist bewertet; ein Durchschnitt wird nicht gebildet.")
    score = min(item.score or 0 for item in scored)
    names = ", ".join(str(LEVELS.get(item.name, item.name)) for item in scored if item.score == score)
    return _(
        "Es zählt die niedrigste Ebene: %(names)s mit %(score)d von 4. Ein Durchschnitt wird nicht gebildet."
    ) % {
        "names": names,
        "score": score,
    }


def _exit(offer: OfferFacts) -> Block:
    costs = [
        (offer.exit_cost_eur, offer.exit_cost_reason),
        (offer.switching_charges_eur, offer.switching_reason),
    ]
    exit_cost, switching = (figures.money_with_reason(value, reason) for value, reason in costs)
    rows = [
        [_("Angebot oder Vertrag"), _dated(offer)],
        [_("Laufzeit"), figures.months(offer.term_months)],
        [_("Kündigungsfrist"), figures.months(offer.notice_months)],
        [_("Übergang"), offer.transition],
        [_("Rückgabe der Daten"), offer.data_return],
        [_("Exportformat"), offer.export_format],
        [_("Ausstiegskosten"), exit_cost],
        [_("Wechselentgelte"), switching],
    ]
    return blocks.facts(rows)


def _dated(offer: OfferFacts) -> str:
    if offer.offered_at is None:
        return offer.reference
    return _("%(reference)s vom %(day)s") % {
        "reference": offer.reference,
        "day": formats.day(offer.offered_at),
    }


def _environment(found: EnvironmentFacts) -> Block:
    rows = [
        [
            str(ENVIRONMENT.get(item.item, item.item)),
            str(STATES.get(item.status, item.status)),
            item.responsible or "–",
            "–" if item.cost_eur is None else formats.money(item.cost_eur),
            item.note or "–",
        ]
        for item in found.items
    ]
    head = [_("Umfeld"), _("Status"), _("verantwortlich"), _("Kosten"), _("Anmerkung")]
    return blocks.table(_("Umfeld der Plattform"), head, rows, [22, 13, 22, 15, 28], numeric=(3,))
