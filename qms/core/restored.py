"""Checks restored data in a process of its own: `python -m qms.core.restored`, told by `qms.core.restore` only.

Reads {"parts", "made_at"} as canonical JSON, writes {"problem", "sentences"} as the last line.
"""

from __future__ import annotations

import sys

import django

from qms.core import canonical


def main() -> int:
    """Check, and write what was found; 0 whatever the outcome is."""
    django.setup()
    from django.db import connections  # noqa: PLC0415 - settings exist only after setup

    from qms.core import backup_parts, restored_checks  # noqa: PLC0415 - models exist only after setup
    from qms.core.installation import WrongMode  # noqa: PLC0415 - models exist only after setup

    order = canonical.loads(sys.stdin.buffer.read())
    answer: dict[str, object] = {"problem": "", "sentences": []}
    try:
        answer["sentences"] = restored_checks.run(order["parts"], order["made_at"])
    except (backup_parts.BackupRefused, WrongMode) as error:
        answer["problem"] = str(error)
    finally:
        connections.close_all()  # SQLite: folds its write-ahead log into the one file
    sys.stdout.buffer.write(b"\n" + canonical.dumps(answer) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
