"""Models and migrations say the same."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from tests.architecture.sources import files

HAVE_MIGRATIONS = [path for path in files("qms", "pilots", pattern="0*.py") if "migrations" in path.parts]


@pytest.mark.skipif(not HAVE_MIGRATIONS, reason="there are no migrations yet")
@pytest.mark.django_db
def test_no_migration_is_missing(capsys, settings):
    settings.MIGRATION_MODULES = {}
    call_command("makemigrations", "--check", "--dry-run", "-v1")
    assert "No changes detected" in capsys.readouterr().out
