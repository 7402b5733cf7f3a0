"""One signed sample per run, shared by all tests that only read it."""

from __future__ import annotations

import pytest

from tests.qms.signing import samples
from tests.system_parts import require_system


@pytest.fixture(scope="session")
def chain() -> samples.Chain:
    require_system("pango")
    return samples.make_chain(2)
