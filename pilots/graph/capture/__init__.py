"""The capture format `.wgraph`: a graph with its weights in one file that holds data only."""

from __future__ import annotations

from pilots.graph.capture.container import Captured, from_bytes, read, to_bytes
from pilots.graph.capture.errors import CaptureError

__all__ = ["CaptureError", "Captured", "from_bytes", "read", "to_bytes"]
