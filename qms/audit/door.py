"""The door to every change: `audited` for commands, `unit` for tests and scripts; see `services`.

`audited` takes the place of a bare `transaction.atomic`. The outermost one opens the transaction, turns a
refusal into its own event, and has a checkpoint signed after a legally relevant event. Inner ones join.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar, cast

from django.apps import apps
from django.db import DatabaseError, models

from qms.audit import checkpoints, pins, units
from qms.audit.actors import HasActor
from qms.audit.errors import ActorMissing, AuditError
from qms.audit.events import LEGALLY_RELEVANT, AuditKind
from qms.audit.units import Unit, record
from qms.core.errors import NotVisible, Refusal

logger = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


def audited(command: Callable[P, T]) -> Callable[P, T]:
    """Run a keyword-only command in a unit; raises ActorMissing without `actor`, NothingRecorded without event."""
    parameters = inspect.signature(command).parameters.values()
    if any(parameter.kind is not inspect.Parameter.KEYWORD_ONLY for parameter in parameters):
        raise TypeError(f"{command.__qualname__} has to be keyword-only to be audited")
    if "actor" not in inspect.signature(command).parameters:
        raise TypeError(f"{command.__qualname__} needs the keyword actor to be audited")

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with _unit(kwargs.get("actor"), command.__name__, kwargs):
            return command(*args, **kwargs)

    return run


def witnessed(check: Callable[P, T]) -> Callable[P, T]:
    """Run a keyword-only check that changes nothing; a refusal is recorded as that of a command, then re-raised."""

    @functools.wraps(check)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return check(*args, **kwargs)
        except NotVisible:
            raise
        except Refusal as refusal:
            if units.current() is None:
                actor = cast("HasActor", kwargs["actor"])
                record_refusal(refusal, actor=actor, action=check.__name__, arguments=kwargs)
            raise

    return run


@contextmanager
def unit(*, actor: HasActor, action: str = "unit") -> Iterator[Unit]:
    """Open a unit like `audited` does, or join the open one; at least one event has to be recorded inside."""
    with _unit(actor, action, {}) as opened:
        yield opened


@contextmanager
def _unit(actor: Any, action: str, arguments: dict[str, Any]) -> Iterator[Unit]:
    if actor is None:
        raise ActorMissing(f"{action} was called without an actor")
    joined = units.current()
    if joined is not None:
        yield joined
        return
    pins.require_intact()
    try:
        with units.transaction_unit() as opened:
            yield opened
    except NotVisible:
        raise
    except Refusal as refusal:
        record_refusal(refusal, actor=actor, action=action, arguments=arguments)
        raise
    if opened.kinds & LEGALLY_RELEVANT:
        checkpoints.sign_after_commit()


def record_refusal(refusal: Refusal, *, actor: HasActor, action: str, arguments: dict[str, Any]) -> None:
    """Record a refusal in its own transaction and mark it as recorded; a second call does nothing.

    For refusals that no command raised, such as those of a page that may not be read. arguments: by keyword; a model
    or a `*_id` among them names the object.
    """
    if refusal.recorded or not refusal.code:
        return
    # If the event cannot be written the answer is still the refusal (audit.md 5.5).
    try:
        with units.transaction_unit():
            record(
                AuditKind(refusal.code),
                actor=actor,
                subject_ref=_object(action, arguments),
                facts={**refusal.facts, "id": refusal.id, "action": action},
            )
            if refusal.demands is not None:
                refusal.demands()
        refusal.recorded = True
    except (AuditError, DatabaseError, ValueError):
        logger.exception("refusal %s %s of %s could not be recorded", refusal.code, refusal.id, action)


def _object(action: str, arguments: dict[str, Any]) -> tuple[str, str]:
    others = {name: value for name, value in arguments.items() if name != "actor" and value is not None}
    for value in others.values():
        if isinstance(value, models.Model) and hasattr(value, "audit_type") and value.pk is not None:
            return units.reference(value)
    for name, value in others.items():
        if name.endswith("_id"):
            return _type_of(name.removesuffix("_id")), str(value)
    return "Command", action


def _type_of(name: str) -> str:
    for model in apps.get_models():
        if model._meta.model_name == name.replace("_", "") and hasattr(model, "audit_type"):
            return str(model.audit_type)
    return name
