"""What can be wrong on the way from a graph to a result. Each error carries one German sentence."""

from __future__ import annotations

from pilots.wafer.german import number


class WaferError(Exception):
    """Base of all errors of the emulator; `message_de` is for people."""

    def __init__(self, message: str, *, message_de: str) -> None:
        super().__init__(message)
        self.message_de = message_de


class UnsupportedOps(WaferError):
    """The graph holds operations without a kernel; `ops` lists (op, position) of every one of them."""

    def __init__(self, ops: tuple[tuple[str, str], ...]) -> None:
        listed = ", ".join(f"{op} ({position})" for op, position in ops)
        sentence = f"Für diese Operationen gibt es keinen Kernel: {listed}."
        super().__init__(f"no kernel for {listed}", message_de=sentence)
        self.ops = ops


class DoesNotFit(WaferError):
    """The program is larger than the machine; all sizes in bytes of SRAM, elements in PEs.

    of_one_call: a single operation is too large for the region that was tried, so that more regions would not help.
    """

    def __init__(
        self,
        *,
        needed_bytes: int,
        available_bytes: int,
        needed_pes: int,
        available_pes: int,
        of_one_call: bool = False,
    ) -> None:
        self.of_one_call = of_one_call
        self.needed_bytes = needed_bytes
        self.available_bytes = available_bytes
        self.shortfall_bytes = needed_bytes - available_bytes
        self.needed_pes = needed_pes
        self.available_pes = available_pes
        message = f"needs {needed_pes} PEs ({needed_bytes} B), has {available_pes} ({available_bytes} B)"
        sentence = (
            f"Das Modell passt nicht auf die Maschine: benötigt werden {number(needed_pes)} Rechenelemente mit "
            f"{number(needed_bytes)} Byte SRAM, frei sind {number(available_pes)} mit {number(available_bytes)} Byte; "
            f"es fehlen {number(self.shortfall_bytes)} Byte."
        )
        super().__init__(message, message_de=sentence)

    def with_hint(self, hint_de: str) -> DoesNotFit:
        """Return the same refusal with one more German sentence on what to do."""
        self.message_de = f"{self.message_de} {hint_de}"
        return self


class ProgramError(WaferError):
    """A program breaks a rule of the spec table: rule, call, expected, got."""

    def __init__(self, rule: str, *, call: int | None, expected: str, got: str) -> None:
        place = "program" if call is None else f"call {call}"
        super().__init__(
            f"{rule} at {place}: expected {expected}, got {got}",
            message_de=f"Das Programm verletzt die Regel {rule} ({place}): erwartet {expected}, gefunden {got}.",
        )
        self.rule = rule
        self.call = call


class CheckpointError(WaferError):
    """A checkpoint is malformed or belongs to another run."""


class RequestError(WaferError):
    """Batch or seed lies outside what the emulator runs."""
