"""A file as the model of a workload: read and judged before it is stored, with the level its owner states (P01)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from qms.audit.services import audited, witnessed
from qms.core import canonical, store
from qms.core.errors import CriterionNotMet
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.workloads import levels, providers, selectors
from qms.workloads.choices import Level, ObjectClass
from qms.workloads.models import Workload
from qms.workloads.services import content

MAX_BYTES: Final = 64 * 2**20
"""What a browser sends in a minute at 10 Mbit/s; bytes and arrays of a file are held in memory while it is read."""
MAX_NAME: Final = 200


def set_model_file(*, actor: User, workload_id: UUID, data: bytes, name: str, level: Level) -> Workload:
    """Make a file the model of the workload in place of a text or another file; a refused file changes nothing.

    level: of weights and example inputs. Raises CriterionNotMet for the level (G1-2) or the file (G0-5), WrongState
    once the criteria are frozen; the same file with another level is taken then, too.
    """
    file = ModelFile(data, file_name(name), level)
    # Reading takes seconds, in which nobody else could write: it comes before the transaction, which judges again.
    read = read_model_file(actor=actor, workload_id=workload_id, file=file)
    return _set_model_file(actor=actor, workload_id=workload_id, file=file, read=read)


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file as handed in: bytes, the name shown, and the level stated."""

    data: bytes
    name: str
    level: Level


@witnessed
def read_model_file(*, actor: User, workload_id: UUID, file: ModelFile) -> providers.ModelFacts:
    """Return what a file says, for a person who may make it the model; raises as `set_model_file`."""
    _judge(selectors.get(workload_id, actor=actor), actor, file)
    if len(file.data) > MAX_BYTES:
        raise CriterionNotMet(too_large(), id="G0-5")
    return providers.read_model_file(file.data, file.name)


@audited
def _set_model_file(
    *, actor: User, workload_id: UUID, file: ModelFile, read: providers.ModelFacts
) -> Workload:
    workload = selectors.lock(workload_id, actor=actor)
    role = _judge(workload, actor, file)
    report = {"report_sha256": store.put(canonical.dumps(read.report))} if read.report is not None else {}
    workload.model_text = ""
    workload.model_digest, workload.model_facts = read.digest, read.facts | report
    workload.model_file_sha256 = store.put(file.data)
    workload.model_file_name, workload.model_file_level = file.name, file.level.value
    workload.save()
    content.store_changed(workload, actor=actor, as_actor=actor.audit_actor(role))
    return workload


def _judge(workload: Workload, actor: User, file: ModelFile) -> Role:
    """Return the role that may make the file the model of the workload as it is now; raises as `set_model_file`."""
    role = guards.require(actor=actor, permission=Permission.EDIT_WORKLOAD, workload=workload)
    if hashlib.sha256(file.data).hexdigest() != workload.model_file_sha256:
        content.check_not_frozen(workload)
    _check_level(workload, file.level)
    return role


def needed_to_take(workload: Workload, sha256: str) -> Permission:
    """Return what a person needs to take a model file along: from K1 on, to be one who runs it (spec 4.2, S094)."""
    classified = weights_level(workload)
    public = workload.model_file_level == Level.PUBLIC and classified in {None, Level.PUBLIC}
    if public and sha256 == workload.model_file_sha256:
        return Permission.READ_AUDIT
    return Permission.START_TARGET_RUN


def too_large() -> str:
    """Return the sentence about a file above the limit."""
    text = _("Die Datei ist größer als %(size)d\u00a0MiB. Bitte wählen Sie ein kleineres Modell.")
    return text % {"size": MAX_BYTES // 2**20}


def file_name(name: str) -> str:
    """Return the last part of a name as it may be stored and shown."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(item for item in last if item.isprintable()).strip()[-MAX_NAME:] or "modell"


def weights_level(workload: Workload) -> Level | None:
    """Return the level of the object class MODELLGEWICHTE, proposed or confirmed; None while it is not classified."""
    row = workload.classifications.filter(object_class=ObjectClass.MODEL_WEIGHTS.value).first()
    return Level(row.level) if row else None


def _check_level(workload: Workload, level: Level) -> None:
    least = weights_level(workload)
    if least is not None and levels.rank(level) < levels.rank(least):
        text = _(
            "Die Modellgewichte sind als %(least)s eingestuft; die Aufzeichnung darf nicht niedriger eingestuft sein (G1-2)."
        )
        raise CriterionNotMet(text % {"least": f"{least.value} {least.label}"}, id="G1-2")
    if level is Level.STRICTLY_CONFIDENTIAL:
        text = _(
            "Gewichte der Stufe K3 werden hier nicht abgelegt: Sie verlangen einen eigenen Schlüssel je Datei und einen "
            "abgeschotteten Rechner. Bitte rechnen Sie dort: „python -m pilots.wafer run --capture modell.wgraph "
            "--manifest lauf.json“. Datei und Ergebnis bleiben auf jenem Rechner."
        )
        raise CriterionNotMet(text, id="G1-2")
