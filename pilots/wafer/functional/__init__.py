"""The second interpreter: real numbers through a program, with exact counts and resumable states."""

from __future__ import annotations

from pilots.wafer.functional.counting import MultiplyAdds, multiply_adds_of
from pilots.wafer.functional.generation import GenerationResult, generate
from pilots.wafer.functional.interpreter import Cancel, Listener, Loaded, execute, load, stored
from pilots.wafer.functional.samples import FunctionalResult, Progress, Save, run, step_samples

__all__ = [
    "Cancel",
    "FunctionalResult",
    "GenerationResult",
    "Listener",
    "Loaded",
    "MultiplyAdds",
    "Progress",
    "Save",
    "execute",
    "generate",
    "load",
    "multiply_adds_of",
    "run",
    "step_samples",
    "stored",
]
