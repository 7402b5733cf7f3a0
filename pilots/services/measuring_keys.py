"""Keys that sign measurements elsewhere: a person registers one, uses it until it is revoked (ADR 0115)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from pilots import catalog, selectors
from pilots.models import MeasuringKey
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock
from qms.core.errors import CriterionNotMet, NotVisible, WrongState
from qms.core.values import Assurance
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.workloads.choices import PlatformKind
from qms.workloads.models import PlatformProfile, Workload

PROCESSORS: Final = frozenset({PlatformKind.CPU_SERVER, PlatformKind.DEVELOPMENT_MACHINE})


@audited
def register_key(*, actor: User, card: str, label: str) -> MeasuringKey:
    """Take the registration line of a key as one's own (P12).

    Raises CriterionNotMet for a line that its holder did not make, WrongState for a key that was registered before.
    """
    role = guards.require(actor=actor, permission=Permission.START_BASELINE_RUN)
    try:
        public_key = catalog.read_card(card)
    except catalog.SignatureError as error:
        raise CriterionNotMet(error.message_de, id="P12") from error
    if not label.strip():
        raise CriterionNotMet(_("Bitte benennen Sie den Rechner, auf dem der Schlüssel liegt."), id="P12")
    if _is_known(public_key):
        raise _registered_before()
    try:
        with transaction.atomic():  # of two who register the key at once, the second finds it taken
            key = MeasuringKey.objects.create(
                person=actor.person,
                public_key=public_key,
                key_id=catalog.key_id(public_key),
                label=label.strip(),
                registered_at=clock.now(),
            )
    except IntegrityError as error:
        raise _registered_before() from error
    record(
        AuditKind.MEASURING_KEY_REGISTERED,
        actor=actor.audit_actor(role),
        subject=key,
        facts={"key_id": key.key_id, "public_key": key.public_key},
        private={"label": key.label},
    )
    return key


def _is_known(public_key: str) -> bool:
    return MeasuringKey.objects.filter(public_key=public_key).exists()


def _registered_before() -> WrongState:
    return WrongState(
        _("Dieser Schlüssel ist schon registriert, oder er wurde widerrufen."),
        id="P12",
        next_step=_("Erzeugen Sie mit „keygen“ einen neuen Schlüssel."),
    )


@audited
def revoke_key(*, actor: User, key_id: UUID) -> MeasuringKey:
    """End a key: one's own, or any as administrator (P39). Evidence it signed before keeps its assurance.

    Raises NotVisible for an unknown or another's key, WrongState for one that is revoked already.
    """
    key = selectors.measuring_keys(actor).select_for_update(of=("self",)).filter(pk=key_id).first()
    if key is None:
        raise NotVisible(_("Diesen Schlüssel gibt es nicht."))
    if key.revoked_at is not None:
        raise WrongState(
            _("Dieser Schlüssel ist schon widerrufen."),
            id="P12",
            next_step=_("Bitte laden Sie die Seite neu."),
        )
    key.revoked_at = clock.now()
    key.save(update_fields=["revoked_at"])
    record(
        AuditKind.MEASURING_KEY_REVOKED,
        actor=actor.audit_actor(),
        subject=key,
        facts={"key_id": key.key_id, "public_key": key.public_key},
    )
    return key


def judged(public_key: str) -> tuple[Assurance, str]:
    """Return what a signature that holds is worth here, and why in German; "" for a file without one."""
    if not public_key:
        return Assurance.SUBMITTED, "Nicht signiert: Wer die Datei hatte, konnte sie ändern."
    key = selectors.measuring_key(public_key)
    short = catalog.key_id(public_key)
    if key is None:
        return Assurance.SUBMITTED, (
            f"Signiert mit dem Schlüssel {short}, der hier nicht registriert ist: Registrieren Sie ihn unter „Messschlüssel“ "
            "und reichen Sie die Datei erneut ein, dann zählt die Signatur."
        )
    if key.revoked_at is not None:
        return Assurance.SUBMITTED, f"Signiert mit dem Schlüssel {short}, der widerrufen ist."
    said = f"Signiert mit dem Schlüssel {short} ({key.label}); Inhalt seit der Messung unverändert."
    return Assurance.SIGNED_BY_COMMAND, said


def assured(
    imported: catalog.ImportedRun, *, workload: Workload, platform: PlatformProfile
) -> catalog.ImportedRun:
    """Return the files of a run with the assurance their signature gives; other tools' files come back as they are.

    Raises CriterionNotMet (EV-02) for a measurement of another model, of a processor where the profile is none, or one
    that was handed in for another platform before.
    """
    found = imported.measurement
    if found is None:
        return imported
    if selectors.measured_elsewhere(found.sha256, platform):
        raise catalog.refused(
            "Diese Messung ist schon für eine andere Plattform eingereicht; sie stammt nur von einer. Bitte messen Sie "
            "auf der gewählten Plattform.",
            "OTHER_PLATFORM",
        )
    graph = found.kind == catalog.GRAPH
    if graph and found.model_digest != workload.model_digest:
        raise catalog.refused(
            "Die Datei misst ein anderes Modell als das dieses Workloads; bitte messen Sie das angegebene Modell.",
            "OTHER_MODEL",
        )
    if graph and platform.kind not in PROCESSORS:
        raise catalog.refused(
            "Gemessen wurde auf einem Prozessor mit NumPy; bitte wählen Sie einen CPU-Server oder einen "
            "Entwicklungsrechner als Plattform.",
            "OTHER_PLATFORM",
        )
    assurance, said = judged(found.public_key)
    own = imported.read[imported.joined.main].benchmark
    joined = replace(
        imported.joined, benchmark=catalog.assured(imported.joined.benchmark, own, assurance, said)
    )
    return replace(imported, joined=joined)


def assurance_of(imported: catalog.ImportedRun) -> Assurance:
    """Return the assurance of EV-02: that of its least assured figure."""
    found = [item.axes.assurance for item in imported.joined.benchmark.metrics]
    return min(found, key=lambda item: item.rank)
