"""Where a capture came from besides its operations: source, data, seed, registry and software. All of it is optional."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

MAX_VALUE: Final = 200


@dataclass(frozen=True, slots=True)
class Lineage:
    """What was stated at capture; "" where it was not given.

    commit: of the model's source, marked where the tree was changed; data_sha256: of the data set; environment: pairs of name and
    release, sorted by name, without names of people or machines.
    """

    commit: str = ""
    data_sha256: str = ""
    seed: str = ""
    registry: str = ""
    environment: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {
            "commit": self.commit,
            "data_sha256": self.data_sha256,
            "seed": self.seed,
            "registry": self.registry,
            "environment": [list(pair) for pair in self.environment],
        }

    @property
    def open_links(self) -> tuple[str, ...]:
        """Names of what was not given."""
        return tuple(name for name, value in self.to_json().items() if not value)
