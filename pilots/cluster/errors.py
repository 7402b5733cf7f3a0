"""What can be wrong on the way from a question to a prediction. Each error carries one German sentence."""

from __future__ import annotations

from decimal import Decimal

from pilots.cluster.german import number


class ClusterError(Exception):
    """Base of all errors of the cluster model; `message_de` is for people."""

    def __init__(self, message: str, *, message_de: str) -> None:
        super().__init__(message)
        self.message_de = message_de


class RequestError(ClusterError):
    """A question lies outside what the model knows or a file cannot be used."""


class ReferenceFileError(ClusterError):
    """A file of published measurements is malformed; `message_de` names the entry and what is wrong."""


class DoesNotFit(ClusterError):
    """A plan needs more memory per GPU than there is; all sizes in bytes, smallest_gpus: None if no size helps."""

    def __init__(self, *, needed_bytes: int, usable_bytes: int, smallest_gpus: int | None) -> None:
        self.needed_bytes = needed_bytes
        self.usable_bytes = usable_bytes
        self.shortfall_bytes = needed_bytes - usable_bytes
        self.smallest_gpus = smallest_gpus
        hint = (
            f"Die kleinste Aufteilung, die passt, braucht {number(smallest_gpus)} GPUs."
            if smallest_gpus
            else "Auch mit mehr GPUs dieser Art passt es nicht; bitte kleinere Batches oder kürzere Kontexte wählen."
        )
        sentence = (
            f"Der Plan passt nicht in den Speicher: je GPU werden {_size(needed_bytes)} gebraucht, nutzbar sind "
            f"{_size(usable_bytes)}, es fehlen {_size(self.shortfall_bytes)}. {hint}"
        )
        super().__init__(f"needs {needed_bytes} B per GPU, has {usable_bytes} B", message_de=sentence)


def _size(value: int) -> str:
    """Return bytes in the largest binary unit that leaves at least one whole ("12,3 TiB"); a shortfall never reads 0."""
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if value >= 1024**power:
            return f"{number(Decimal(value) / 1024**power, 1)}\u00a0{unit}"
    return f"{number(value)}\u00a0Byte"
