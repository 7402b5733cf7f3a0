"""One signed sample per run, shared by all tests that only read it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.roles.models import Person, User
from tests.qms.signing import samples
from tests.system_parts import require_system

PASSWORD = "korrekt-pferd-batterie"


@pytest.fixture(scope="session")
def chain() -> samples.Chain:
    require_system("pango")
    return samples.make_chain(2)


@pytest.fixture
def demo(settings: Any, tmp_path: Path) -> Any:
    """Demo mode with a key file of its own."""
    settings.DEMO = True
    settings.KEK_FILE = tmp_path / "keys" / "kek"
    settings.ORGANISATION_NAME = samples.ORGANISATION
    cache.clear()
    return settings


@pytest.fixture
def join(db: None) -> Callable[[str], User]:
    """Make a person with an account."""

    def make(name: str) -> User:
        with unit(actor=SYSTEM):
            person = Person.objects.create(display_name=name, email=f"{name.replace(' ', '.')}@example.org")
            user = User.objects.create_user(name.replace(" ", "."), person=person, password=PASSWORD)
            record(AuditKind.ACCOUNT_CREATED, actor=SYSTEM, subject=user)
        return user

    return make
