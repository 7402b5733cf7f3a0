"""What packages above bring to the workload: reading a model, its runs, and what happens after a change of content.

Filled in `AppConfig.ready`; this package knows none of its providers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from qms.roles.models import User
    from qms.workloads.models import Workload


@dataclass(frozen=True)
class ModelFacts:
    """What a model text or file says: its digest and facts such as the number of parameters (canonical JSON values).

    report: what a file says about each of its operations, None for a text; too long for the content of a workload.
    """

    digest: str
    facts: dict[str, Any]
    report: dict[str, Any] | None = None


@dataclass(frozen=True)
class RunState:
    """The newest run of one kind: evidence it leads to, words for kind and machine, the reason it failed.

    state: code of the state, empty while the run lasts; progress: what it says meanwhile.
    """

    id: UUID
    evidence: str
    label: str
    platform: str
    started_at: datetime
    state: str
    reason: str
    progress: str


ModelReader = Callable[[str], ModelFacts]
ModelFileReader = Callable[[bytes, str], ModelFacts]
RunLister = Callable[["Workload"], tuple[RunState, ...]]
ContentHook = Callable[["Workload", "User"], None]


@dataclass
class _Registry:
    reader: ModelReader | None = None
    file_reader: ModelFileReader | None = None
    run_lister: RunLister | None = None
    hooks: list[ContentHook] = field(default_factory=list)


_registry = _Registry()


def set_model_reader(reader: ModelReader) -> None:
    """Register the function that reads a model text; it raises `CriterionNotMet` for a text it cannot read."""
    _registry.reader = reader


def read_model(text: str) -> ModelFacts:
    """Return digest and facts of a model text; raises RuntimeError when no reader is registered."""
    if _registry.reader is None:
        raise RuntimeError("no model reader registered")
    return _registry.reader(text)


def set_model_file_reader(reader: ModelFileReader) -> None:
    """Register the function that reads bytes and name of a model file; it raises `CriterionNotMet` if it cannot."""
    _registry.file_reader = reader


def read_model_file(data: bytes, name: str) -> ModelFacts:
    """Return digest, facts and report of a model file; raises RuntimeError when no reader is registered."""
    if _registry.file_reader is None:
        raise RuntimeError("no reader of model files registered")
    return _registry.file_reader(data, name)


def set_run_lister(lister: RunLister) -> None:
    """Register the function that lists the newest run of each kind of a workload."""
    _registry.run_lister = lister


def latest_runs(workload: Workload) -> tuple[RunState, ...]:
    """Return the newest run of each kind; raises RuntimeError when no lister is registered."""
    if _registry.run_lister is None:
        raise RuntimeError("no lister of runs registered")
    return _registry.run_lister(workload)


def add_content_hook(hook: ContentHook) -> None:
    """Register a function called inside the command after the content of a workload changed."""
    if hook not in _registry.hooks:
        _registry.hooks.append(hook)


def content_changed(workload: Workload, actor: User) -> None:
    """Call every hook, in the order of registration."""
    for hook in _registry.hooks:
        hook(workload, actor)
