"""G7-9 and G7-10: the signed document and the signing person (spec 3.6, 5.2)."""

from __future__ import annotations

from datetime import timedelta

from qms.gates.choices import SignatureMethod
from qms.gates.facts import Facts
from qms.gates.outcome import Outcome, criterion, decide, missing, not_met
from qms.gates.policy import Policy


@criterion("G7-9")
def document(facts: Facts, policy: Policy) -> Outcome:
    """The document is sealed and verified; judged after the decision, part of *wirksam* only."""
    threshold = "gesiegelt und geprüft"
    sealed, verified = facts.document.sealed, facts.document.verified
    if sealed is None:
        return missing(threshold, "Das Dokument entsteht nach der Entscheidung.")
    if not sealed:
        return missing(threshold, "Das Siegel steht noch aus.")
    value = "gesiegelt"
    good = "Das Dokument ist gesiegelt und geprüft."
    return decide(
        bool(verified), value, threshold, good, "Die Prüfung des Dokuments ist fehlgeschlagen (G7-9)."
    )


@criterion("G7-10")
def signer(facts: Facts, policy: Policy) -> Outcome:
    """The person was confirmed just now, over exactly this digest, with a chosen meaning."""
    longest = policy.span("POL-35", "max")
    minutes = int(longest.total_seconds() // 60)
    threshold = (
        f"Bestätigung höchstens {minutes} min alt (POL-35), an die Prüfsumme gebunden, Bedeutung gewählt"
    )
    found = facts.signer
    if found is None:
        return missing(threshold, "Die Person bestätigt sich mit der Entscheidung.")
    value = found.method.value
    age = facts.now - found.authenticated_at
    if not timedelta(0) <= age <= longest:
        return not_met(value, threshold, "Die Bestätigung der Person ist zu alt (G7-10).")
    if found.method is SignatureMethod.PASSKEY and not found.user_verified:
        return not_met(value, threshold, "Der Passkey hat die Person nicht geprüft (G7-10).")
    if not found.expected_sha256 or found.bound_sha256 != found.expected_sha256:
        return not_met(value, threshold, "Die Bestätigung gehört zu einem anderen Inhalt (G7-10).")
    good, bad = "Die unterzeichnende Person ist bestätigt.", "Die Bedeutung der Unterschrift fehlt (G7-10)."
    return decide(bool(found.meaning.strip()), value, threshold, good, bad)
