"""What packages above do when a document is sealed or sealing failed; filled in `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qms.signing.models import Document

Hook = Callable[["Document"], None]
_hooks: list[Hook] = []


def add(hook: Hook) -> None:
    """Register a function called inside the unit that ends a sealing job, with the document as it is then."""
    if hook not in _hooks:
        _hooks.append(hook)


def ended(document: Document) -> None:
    """Call every hook, in the order of registration."""
    for hook in _hooks:
        hook(document)
