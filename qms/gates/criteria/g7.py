"""G7 Freigabeentscheidung: earlier gates, votes, segregation, integrity, validity, real conditions (spec 3.6)."""

from __future__ import annotations

from uuid import UUID

from qms.core.values import Assurance, Origin, Provenance
from qms.gates.case_facts import VoteFacts
from qms.gates.choices import ApprovalType, CriterionKind, OpinionValue, VoteValue
from qms.gates.facts import Facts
from qms.gates.outcome import Outcome, axis, criterion, decide, met, missing, not_met
from qms.gates.policy import Policy
from qms.gates.votes import HIGH_RISK, RequiredVote
from qms.roles.roles import Role
from qms.workloads.choices import Flag, Level, PilotStatus

_FOR_PRELIMINARY = frozenset({PilotStatus.ASSESSMENT, PilotStatus.COMPLETED})
# A refusal of these blocks; one of the others, and an objection, can be overruled with a written reason (4.4).
_BLOCKING = frozenset({Role.QUALITY, Role.SECURITY})
_BLOCKING_SUBJECTS = frozenset({"QUALITAET", "INFORMATIONSSICHERHEIT"})
_NO_DEVIATION = frozenset({"G1-8", "G1-9", "G1-10", "G1-11"})
_REAL = frozenset({ApprovalType.PRODUCTION, ApprovalType.CAPACITY})


@criterion("G7-1")
def earlier_gates(facts: Facts, policy: Policy) -> Outcome:
    """Every NW criterion of G0 to G6 is met, every open W is covered, and the pilot is far enough."""
    threshold = "alle NW erfüllt, offene W gedeckt, Pilot in Bewertung oder abgeschlossen"
    judged = [item for item in facts.earlier if item.gate != "G7"]
    if not judged:
        return missing(threshold, "Die vorherigen Gates sind noch nicht ausgewertet.")
    failing = [
        item.id
        for item in judged
        if not item.result.passes
        and (item.kind is CriterionKind.NON_WAIVABLE or item.id not in facts.covered)
    ]
    value = f"{len(judged) - len(failing)} von {len(judged)} Kriterien"
    if failing:
        return not_met(value, threshold, f"Nicht erfüllt oder offen: {', '.join(failing)} (G7-1).")
    preliminary = facts.approval_type is ApprovalType.PRELIMINARY
    wanted = _FOR_PRELIMINARY if preliminary else frozenset({PilotStatus.COMPLETED})
    if facts.approval_type is not ApprovalType.PILOT and (
        facts.pilot is None or facts.pilot.status not in wanted
    ):
        state = facts.pilot.status.value if facts.pilot else "kein Pilot"
        return not_met(state, threshold, "Der Pilot ist noch nicht bewertet (G7-1).")
    return met(value, threshold, "Alle vorherigen Gates sind erfüllt.")


@criterion("G7-2")
def votes(facts: Facts, policy: Policy) -> Outcome:
    """The required votes are there, current, and negative ones are dealt with."""
    required = facts.required.votes
    threshold = f"{len(required)} Mitzeichnungen, keine veraltet"
    present = {vote.role: vote for vote in facts.votes if not vote.outdated}
    lacking = [item.role.value for item in required if not _complete(item, present.get(item.role))]
    if lacking:
        return missing(
            threshold, f"Es fehlt die Mitzeichnung oder Stellungnahme von {', '.join(lacking)} (G7-2)."
        )
    value = f"{len(required)} von {len(required)}"
    blocked = sorted(name for vote in present.values() for name in _refusals(vote, blocking=True))
    if blocked:
        return not_met(value, threshold, f"Ablehnung blockiert: {', '.join(blocked)} (G7-2).")
    fixed = sorted(_NO_DEVIATION & {code for vote in present.values() for code in _objections(vote)})
    if fixed:
        return not_met(value, threshold, f"Abweichung nicht möglich: Einwand betrifft {', '.join(fixed)}.")
    overruled = any(_refusals(vote, blocking=False) for vote in present.values())
    objected = any(vote.opinion is OpinionValue.OBJECTION for vote in present.values())
    if (overruled or objected) and not facts.deviation_reason.strip():
        reason = "Abweichung von der Stellungnahme braucht eine Begründung (G7-2)."
        return not_met(value, threshold, reason)
    return met(value, threshold, "Alle verlangten Mitzeichnungen liegen vor.")


def _complete(item: RequiredVote, vote: VoteFacts | None) -> bool:
    if vote is None:
        return False
    if item.opinion:
        return vote.opinion is not None
    if item.subjects:
        return set(item.subjects) <= set(vote.subjects)
    return vote.value is not None


def _refusals(vote: VoteFacts, *, blocking: bool) -> list[str]:
    named = [
        code
        for code, value in vote.subjects.items()
        if value is VoteValue.REFUSE and (code in _BLOCKING_SUBJECTS) is blocking
    ]
    whole = not vote.subjects and vote.value is VoteValue.REFUSE and (vote.role in _BLOCKING) is blocking
    return [*named, vote.role.value] if whole else named


def _objections(vote: VoteFacts) -> tuple[str, ...]:
    return vote.opinion_criteria if vote.opinion is OpinionValue.OBJECTION else ()


@criterion("G7-3")
def segregation(facts: Facts, policy: Policy) -> Outcome:
    """Requester, reviewer and approvers are different persons, none of them involved in the workload."""
    threshold = f"Antrag, Prüfung und {facts.required.approvers} Entscheidung(en) getrennt"
    case = facts.case
    if case.requester is None or case.reviewer is None:
        return missing(threshold, "Antragstellende oder prüfende Person steht noch nicht fest.")
    involved = {facts.workload.owner, facts.workload.deputy, case.lead, *case.workers} - {None}
    broken = _broken(facts, case.reviewer, involved)
    if broken:
        return not_met(
            ", ".join(broken), threshold, f"Funktionstrennung verletzt: {', '.join(broken)} (G7-3)."
        )
    persons = len({case.requester, case.reviewer, *case.deciders})
    return met(f"{persons} Personen", threshold, "Die Funktionstrennung ist eingehalten.")


def _broken(facts: Facts, reviewer: UUID, involved: set[UUID | None]) -> list[str]:
    case = facts.case
    producers = {item.producer for item in facts.evidence if item.usable and not item.inherited}
    found = {
        "SoD-01": case.requester in case.deciders,
        "SoD-02": bool(involved & {reviewer, *case.deciders}),
        "SoD-03": reviewer in producers,
        "SoD-04": reviewer in case.deciders or len(set(case.deciders)) < len(case.deciders),
    }
    return [name for name, violated in found.items() if violated]


@criterion("G7-4")
def integrity(facts: Facts, policy: Policy) -> Outcome:
    """Every evidence file was re-hashed now and the log verifies."""
    threshold = "alle Prüfsummen gleich, Audit-Protokoll gültig"
    found = facts.integrity
    if found is None:
        return missing(threshold, "Die Prüfsummen werden bei der Entscheidung geprüft.")
    if found.changed:
        return not_met(", ".join(found.changed), threshold, "Ein Nachweis wurde verändert (G7-4).")
    good, bad = "Nachweise und Audit-Protokoll sind unverändert.", "Das Audit-Protokoll ist ungültig (G7-4)."
    return decide(found.log_ok, f"{found.files} Dateien", threshold, good, bad)


@criterion("G7-6")
def validity(facts: Facts, policy: Policy) -> Outcome:
    """The validity does not exceed the policy for type, class and risk."""
    longest = policy.span("POL-20", facts.approval_type.value)
    cap = policy.span("POL-20", "cap_K3_FBK_high_risk")
    top = facts.level() is Level.STRICTLY_CONFIDENTIAL or Flag.SPECIAL_CATEGORIES in facts.flags()
    if top or facts.workload.ai_act_risk_class in HIGH_RISK:
        longest = min(longest, cap)
    threshold = f"höchstens {longest.days} Tage (POL-20)"
    if facts.validity is None:
        return missing(threshold, "Das Enddatum steht noch nicht fest.")
    span = facts.validity.valid_until - facts.validity.valid_from
    value = f"{span.days} Tage"
    if span.total_seconds() <= 0:
        return not_met(value, threshold, "Das Ende liegt nicht nach dem Beginn (G7-6).")
    good, bad = "Die Gültigkeit ist befristet.", "Die Gültigkeit ist länger als zulässig (G7-6)."
    # The end is the end of its day (3.5.3, T-18), so whole days count.
    return decide(span.days <= longest.days, value, threshold, good, bad)


@criterion("G7-8")
def real_conditions(facts: Facts, policy: Policy) -> Outcome:
    """V carries the notice of EM-08 on page 1; R and K need measured decisive target metrics."""
    if facts.target is None:
        return missing("Werte des Ziellaufs", "Es gibt noch keinen Ziellauf (EV-04).")
    if facts.approval_type not in _REAL:
        threshold = "Hinweis EM-08 auf Seite 1, wenn emuliert"
        if not facts.target.emulated:
            return met("gemessen", threshold, "Die Zielwerte sind gemessen.")
        if facts.document.notice is None:
            return missing(threshold, "Der Hinweis auf die Emulation wird mit dem Dokument gesetzt.")
        good = "Zielplattform emuliert – keine Aussage unter realen Bedingungen."
        bad = "Auf Seite 1 fehlt der Hinweis auf die Emulation (G7-8)."
        return decide(facts.document.notice, "emuliert", threshold, good, bad)
    least = Assurance(policy.text("POL-59", facts.approval_type.value))
    threshold = f"GEMESSEN, mindestens {axis(least)}, nicht veröffentlicht"
    real = bool(facts.target.metrics) and all(
        item.axes.provenance is Provenance.MEASURED
        and item.axes.origin is not Origin.PUBLISHED
        and item.axes.assurance.rank >= least.rank
        for item in facts.target.metrics
    )
    bad = "Maßgebliche Zielwerte sind emuliert oder nicht ausreichend abgesichert (G7-8)."
    value = "gemessen" if real else "nicht gemessen"
    return decide(real, value, threshold, "Die maßgeblichen Zielwerte sind gemessen.", bad)
