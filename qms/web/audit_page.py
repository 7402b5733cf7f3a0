"""What a person reads of the audit log: everything, or the events about cases they can see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.approvals.models import Approval
from qms.audit import selectors
from qms.audit.selectors import Entry
from qms.core import formats
from qms.core.errors import NotVisible
from qms.evidence import selectors as evidence
from qms.evidence.models import EvidenceItem
from qms.roles import guards, matrix
from qms.roles.models import Person, User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.signing.models import Document
from qms.workloads.models import Workload

_PAGES: Final = {
    "Workload": "workload",
    "Approval": "approval",
    "Evidence": "evidence",
    "Run": "run",
}
_TYPES: Final[dict[str, Promise]] = {
    "Workload": lazy("Workload"),
    "Approval": lazy("Freigabe"),
    "Evidence": lazy("Nachweis"),
    "Run": lazy("Lauf"),
    "Document": lazy("Dokument"),
    "Certificate": lazy("Zertifikat"),
    "SigningKey": lazy("Schlüssel"),
    "Person": lazy("Person"),
    "Account": lazy("Konto"),
    "Export": lazy("Export"),
    "Log": lazy("Audit-Protokoll"),
    "Organisation": lazy("Organisation"),
    "Installation": lazy("Installation"),
    "PlatformProfile": lazy("Plattformprofil"),
    "RoleRequest": lazy("Rollenantrag"),
    "Invitation": lazy("Einladung"),
}


@dataclass(frozen=True, slots=True)
class Scope:
    """What a person may read. everything: the whole log (R); otherwise the events about `ids` (r)."""

    everything: bool
    ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ChosenObject:
    """The object the page is narrowed to."""

    type: str
    id: str
    label: str


def scope_of(actor: User) -> Scope:
    """Return what the roles of the person let it read (P33)."""
    full = matrix.readers_of_everything(Permission.READ_AUDIT)
    if any(role in full for role in guards.roles_of(actor)):
        return Scope(True)
    workloads = Workload.objects.visible_to(actor)
    approvals = Approval.objects.filter(workload__in=workloads)
    keys: set[Any] = set(workloads.values_list("pk", flat=True)) | set(approvals.values_list("pk", flat=True))
    keys |= set(evidence.visible_to(actor).values_list("pk", flat=True))
    keys |= set(Document.objects.filter(subject_id__in=approvals.values("pk")).values_list("pk", flat=True))
    keys |= {
        item.run_id for item in EvidenceItem.objects.filter(workload__in=workloads, run_id__isnull=False)
    }
    return Scope(False, frozenset(str(key) for key in keys))


def chosen_object(text: str, scope: Scope) -> ChosenObject | None:
    """Return the object named as "Type:id"; raises NotVisible for one outside the scope."""
    kind, _colon, key = text.partition(":")
    if not kind or not key:
        return None
    if not scope.everything and key not in scope.ids:
        raise NotVisible(_("Diese Seite gibt es nicht, oder Sie dürfen sie nicht sehen."))
    return ChosenObject(kind, key, f"{type_name(kind)} {_short(key)}")


def entries(scope: Scope, chosen: ChosenObject | None, *, before: int | None, limit: int) -> list[Entry]:
    """Return the events of the scope or of the chosen object, newest first; clear texts for readers of everything."""
    texts = scope.everything
    if chosen is not None:
        return selectors.history(chosen.type, chosen.id, before=before, limit=limit, with_texts=texts)
    ids = None if scope.everything else sorted(scope.ids)
    return selectors.newest(obj_ids=ids, before=before, limit=limit, with_texts=texts)


def rows(found: list[Entry]) -> list[dict[str, Any]]:
    """Return events as the table of the page takes them."""
    known = names(entry.pid for entry in found)
    return [
        {
            "entry": entry,
            "who": known.get(entry.pid, _("System")),
            "role": role_name(entry.role),
            "object": f"{type_name(entry.obj_type)} {_short(entry.obj_id)}",
            "filter": f"{entry.obj_type}:{entry.obj_id}",
            "url": reverse(_PAGES[entry.obj_type], args=[entry.obj_id]) if entry.obj_type in _PAGES else "",
            "facts": [(key, _text(value)) for key, value in entry.data.items()],
            "texts": [
                (path.strip("/").rpartition("/")[2], _text(value)) for path, value in entry.texts.items()
            ],
        }
        for entry in found
    ]


def names(pids: Iterable[str]) -> dict[str, str]:
    """Return the names of people by the id the log knows them by."""
    return dict(Person.objects.filter(pid__in=set(pids)).values_list("pid", "display_name"))


def role_name(code: str) -> str:
    """Return what an acting role is called; the system has none."""
    return str(Role(code).label) if code in set(Role) else ""


def type_name(kind: str) -> str:
    """Return what an object type is called."""
    return str(_TYPES.get(kind, kind))


def _short(key: str) -> str:
    return formats.short_digest(
        key.rpartition("-")[2] if len(key) == len("00000000-0000-0000-0000-000000000000") else key
    )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return _("ja") if value else _("nein")
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(item)}" for key, item in value.items())
    return str(value)
