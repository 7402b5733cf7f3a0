"""What packages above bring to the workload: reading a model, and what happens after a change of content.

Filled in `AppConfig.ready`; this package knows none of its providers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qms.roles.models import User
    from qms.workloads.models import Workload


@dataclass(frozen=True)
class ModelFacts:
    """What a model text says: its digest and facts such as parameters and layer widths (canonical JSON values)."""

    digest: str
    facts: dict[str, Any]


ModelReader = Callable[[str], ModelFacts]
ContentHook = Callable[["Workload", "User"], None]


@dataclass
class _Registry:
    reader: ModelReader | None = None
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


def add_content_hook(hook: ContentHook) -> None:
    """Register a function called inside the command after the content of a workload changed."""
    if hook not in _registry.hooks:
        _registry.hooks.append(hook)


def content_changed(workload: Workload, actor: User) -> None:
    """Call every hook, in the order of registration."""
    for hook in _registry.hooks:
        hook(workload, actor)
