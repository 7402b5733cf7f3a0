"""Messages of the log: the timer that signs what no legally relevant event had signed."""

from __future__ import annotations

from typing import Final

from qms.audit import checkpoints
from qms.audit.models import Checkpoint, LogHead
from qms.core import tasks

SIGN: Final = "audit.checkpoint"


@tasks.handler(SIGN)
def sign_checkpoint(payload: dict[str, str]) -> None:
    """Sign the log if it has grown since the newest checkpoint."""
    del payload
    size = LogHead.objects.values_list("size", flat=True).first() or 0
    if size and not Checkpoint.objects.filter(size=size).exists():
        checkpoints.sign_now()
