"""The capture format `.wgraph`: a graph, its weights and an example in one file that holds data only."""

from __future__ import annotations

from pilots.graph.capture.container import Captured, from_bytes, read, to_bytes
from pilots.graph.capture.errors import CaptureError
from pilots.graph.capture.example import Example
from pilots.graph.lineage import Lineage

__all__ = ["CaptureError", "Captured", "Example", "Lineage", "from_bytes", "read", "to_bytes"]
