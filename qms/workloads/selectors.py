"""Reading workloads: locking, canonical content, criteria, people, differences."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils.translation import gettext as _

from qms.core import canonical
from qms.core.clock import timestamp
from qms.core.errors import NotVisible
from qms.core.values import decimal_text
from qms.roles.guards import WORKING_CODENAMES
from qms.workloads.choices import ObjectClass
from qms.workloads.models import ContentVersion, Organisation, Workload, WorkloadUserGrant

if TYPE_CHECKING:
    from qms.roles.models import User


def get(workload_id: UUID, *, actor: User) -> Workload:
    """Return the workload for reading; raises NotVisible (404) alike for "not there" and "not yours"."""
    workload = Workload.objects.visible_to(actor).filter(pk=workload_id).first()
    if workload is None:
        raise NotVisible(_("Diese Seite gibt es nicht, oder Sie dürfen sie nicht sehen."))
    return workload


def lock(workload_id: UUID, *, actor: User) -> Workload:
    """Return the workload locked for a change; raises NotVisible."""
    get(workload_id, actor=actor)
    return Workload.objects.select_for_update().get(pk=workload_id)


def organisation() -> Organisation:
    """Return the organisation; raises Organisation.DoesNotExist before the installation is set up."""
    return Organisation.objects.get()


def criteria(workload: Workload) -> dict[str, Any]:
    """Return what the start of the first target run freezes: targets, abort rules, fallback, success measure."""
    fallback = getattr(workload, "fallback", None)
    pilot = getattr(workload, "pilot", None)
    return {
        "quality_targets": [
            {
                "id": target.target_id,
                "metric": target.metric,
                "dataset_version": target.dataset_version,
                "comparator": target.comparator,
                "threshold": decimal_text(target.threshold),
                "unit": target.unit,
                "percentile": target.percentile,
                "confidence_method": target.confidence_method,
            }
            for target in workload.quality_targets.all()
        ],
        "abort_criteria": [
            {"category": rule.category, "template": rule.template, "text": rule.text}
            for rule in workload.abort_criteria.all()
        ],
        "fallback": fallback
        and {
            "platform": fallback.platform.key,
            "steps": fallback.steps,
            "owner": fallback.owner.pid,
            "rto_min": fallback.rto_min,
        },
        "success_measure": pilot.success_measure if pilot else "",
        "primary_metrics": primary_metrics(workload),
    }


def primary_metrics(workload: Workload) -> list[str]:
    """Return the metrics the benefit is judged by (POL-23), the first counts; empty means the throughput."""
    answers = getattr(workload, "suitability", None)
    return list(answers.primary_metrics) if answers else []


def suitability(workload: Workload) -> dict[str, Any] | None:
    """Return the answers on suitability in canonical form but for the frozen metrics; None before anybody answered."""
    answers = getattr(workload, "suitability", None)
    if answers is None:
        return None
    names = ("org_profile", "org_profile_reason", "bottleneck_types", "business_reason", "usage_kind")
    counts = ("requests_per_day", "planned_runs", "team_size")
    decimals = ("runs_per_month", "hours_per_run", "state_gb")
    return (
        {name: getattr(answers, name) for name in (*names, *counts)}
        | {name: _decimal_or_none(getattr(answers, name)) for name in decimals}
        | {"alternatives": answers.alternatives}
    )


def _decimal_or_none(value: Decimal | None) -> str | None:
    return None if value is None else decimal_text(value)


def classification(workload: Workload) -> list[dict[str, Any]]:
    """Return the classified object classes in canonical form."""
    return [
        {
            "object_class": item.object_class,
            "level": item.level,
            "flags": sorted(item.flags),
            "protection": item.protection,
            "access_plan": item.access_plan,
            "retention_plan": item.retention_plan,
            "confirmed": item.confirmed_by_id is not None,
        }
        for item in workload.classifications.all()
    ]


def unconfirmed_classes(workload: Workload) -> list[str]:
    """Return the object classes that are not classified or not confirmed yet, in the order of the catalogue."""
    confirmed = set(
        workload.classifications.filter(confirmed_by__isnull=False).values_list("object_class", flat=True)
    )
    return [item.value for item in ObjectClass if item.value not in confirmed]


def content(workload: Workload) -> dict[str, Any]:
    """Return the content that `content_sha256` covers: purpose, model, data, classification, criteria, pilot."""
    location = getattr(workload, "location", None)
    pilot = getattr(workload, "pilot", None)
    return {
        "schema": "qms.workload/1",
        "id": str(workload.pk),
        "title": workload.title,
        "purpose": workload.purpose,
        "business_process": workload.business_process,
        "criticality": workload.criticality,
        "mode": workload.mode,
        "model": {
            "text": workload.model_text,
            "digest": workload.model_digest,
            "facts": workload.model_facts,
        }
        | model_file(workload),
        "ai_act": {"role": workload.ai_act_role, "risk_class": workload.ai_act_risk_class},
        "owner": workload.owner.pid if workload.owner else None,
        "owner_accepted_at": workload.owner_accepted_at and timestamp(workload.owner_accepted_at),
        "deputy": workload.deputy.pid if workload.deputy else None,
        "location": location
        and {
            "leaves_own_env": location.leaves_own_env,
            "provider": location.provider,
            "region": location.region,
            "country": location.country,
        },
        "classification": classification(workload),
        "criteria": criteria(workload),
        "suitability": suitability(workload),
        "pilot": pilot
        and {
            "platform": pilot.platform.key,
            "lead": pilot.lead.pid,
            "start": pilot.start.isoformat(),
            "end": pilot.end.isoformat(),
            "budget_cap_eur": decimal_text(pilot.budget_cap_eur),
            "scope": pilot.scope,
        },
    }


def model_file(workload: Workload) -> dict[str, Any]:
    """Return the file of the model as content and documents name it; nothing where the model is a text."""
    if not workload.model_file_sha256:
        return {}
    return {
        "file": {
            "name": workload.model_file_name,
            "sha256": workload.model_file_sha256,
            "level": workload.model_file_level,
        }
    }


def people(workload: Workload) -> frozenset[UUID]:
    """Return the persons who answer or answered for the workload or worked on it (SoD-02).

    Owner, deputy and pilot lead, also former ones, and the creator.
    """
    pilot = getattr(workload, "pilot", None)
    ids = {workload.owner_id, workload.deputy_id, pilot and pilot.lead_id, *workers(workload)}
    return frozenset(item for item in ids if item)


def workers(workload: Workload) -> frozenset[UUID]:
    """Return who created the workload, and everyone to whom it was ever entrusted (SoD-02)."""
    return workers_of([workload])[workload.pk]


def workers_of(workloads: Iterable[Workload]) -> dict[UUID, frozenset[UUID]]:
    """Return `workers` of every workload in one query.

    Owner, deputy and lead each get a personal grant to act and keep it when another person follows; the grant of
    a role group, or one to see, review or decide, makes nobody a worker.
    """
    found = {workload.pk: {workload.created_by_id} for workload in workloads}
    held = WorkloadUserGrant.objects.filter(
        content_object__in=list(found), permission__codename__in=WORKING_CODENAMES
    )
    for workload_id, person_id in held.values_list("content_object", "user__person"):
        found[workload_id].add(person_id)
    return {key: frozenset(ids) for key, ids in found.items()}


def content_by_sha256(workload: Workload, sha256: str) -> dict[str, Any] | None:
    """Return the stored content version with this digest, or None."""
    version = ContentVersion.objects.filter(workload=workload, sha256=sha256).first()
    return canonical.loads(version.content) if version else None


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return (path, before, now) of every leaf that differs between two contents, sorted by path."""
    old, new = _flatten(before), _flatten(now)
    paths = sorted(old.keys() | new.keys())
    return [(path, old.get(path), new.get(path)) for path in paths if old.get(path) != new.get(path)]


def _flatten(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        items = [(f"{path}.{key}" if path else key, item) for key, item in value.items()]
    elif isinstance(value, list):
        items = [(f"{path}[{_key(index, item)}]", item) for index, item in enumerate(value)]
    else:
        return {path: value}
    return {leaf: found for name, item in items for leaf, found in _flatten(item, name).items()}


def _key(index: int, item: Any) -> str:
    keys = ("object_class", "id", "option")
    name = next((item[key] for key in keys if item.get(key)), None) if isinstance(item, dict) else None
    return name or str(index + 1)
