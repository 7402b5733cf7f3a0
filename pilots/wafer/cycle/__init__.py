"""The third interpreter: wavelets move through routers cycle by cycle, elements issue vector instructions.

Importing it loads no compiler; the inner loop is compiled at the first run.
"""

from __future__ import annotations

from pilots.wafer.cycle.deadlock import Deadlock
from pilots.wafer.cycle.interpreter import CallCycles, CycleResult, run, run_call
from pilots.wafer.cycle.simulate import Outcome, simulate
from pilots.wafer.cycle.tracing import trace

__all__ = ["CallCycles", "CycleResult", "Deadlock", "Outcome", "run", "run_call", "simulate", "trace"]
