"""Emptying a guarded database between tests that really commit: the triggers refuse it otherwise."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from django.conf import settings
from django.core.management.commands import flush

from qms.audit import guard


@contextmanager
def emptied_as_owner() -> Iterator[None]:
    """Let `flush` take the guard away first, and the pin with it; post_migrate puts the guard back."""
    original = flush.Command.handle

    def handle(self: flush.Command, **options: Any) -> Any:
        guard.uninstall(using=options["database"])
        shutil.rmtree(Path(settings.DATA_DIR) / "pins", ignore_errors=True)
        return original(self, **options)

    with mock.patch.object(flush.Command, "handle", handle):
        yield
