"""What can be wrong with a sheet of costs. The error carries one German sentence."""

from __future__ import annotations


class EconomicsError(Exception):
    """A sheet, a price or a demand cannot be used; `field` names the place, `message_de` is for people."""

    def __init__(self, field: str, message_de: str) -> None:
        super().__init__(f"{field}: {message_de}")
        self.field = field
        self.message_de = message_de
