"""Capture files made by hand, so that each part can be wrong by itself."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np

from pilots.graph.builder import GraphBuilder
from pilots.graph.capture import Captured, Lineage, to_bytes
from pilots.graph.capture.container import MAGIC
from pilots.graph.ir import DType
from pilots.graph.trail import Origin, Trail
from qms.core import canonical
from tests.pilots.graph.captures import evaluated_example


def small() -> Captured:
    builder = GraphBuilder()
    x = builder.input("x", (None, 3), DType.FLOAT32)
    w = builder.constant("w", np.arange(6, dtype=np.float32).reshape(3, 2))
    b = builder.constant("b", np.array([0.5, -0.0], dtype=np.float32))
    value = builder.op("add", builder.op("matmul", x, w), b)
    graph, weights = builder.build(builder.op("scale", value, factor="0.5"))
    row = Origin("aten.addmm.default", "model.py:3", ("matmul", "add"))
    return Captured(graph, weights, Trail("pytorch", "2.13.0", (row,)))


def whole() -> Captured:
    """Return the same with an example of two samples and a lineage."""
    found = small()
    x = np.array([[1, 2, 3], [-4, 5, 0.5]], dtype=np.float32)
    lineage = Lineage("abc", "5e" * 32, "7", "register", (("python", "3.11"), ("torch", "2.13.0")))
    example = evaluated_example(found.graph, found.weights, {"x": x})
    return replace(found, example=example, lineage=lineage)


def parts(data: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Return graph, header of the weights, and their bytes."""
    size = int.from_bytes(data[8:16], "little")
    rest = data[48 + size :]
    length = int.from_bytes(rest[:8], "little")
    return canonical.loads(data[48 : 48 + size]), canonical.loads(rest[8 : 8 + length]), rest[8 + length :]


def joined(graph: Any, header: Any, body: bytes) -> bytes:
    """Return a file; header and graph may already be bytes."""
    text = graph if isinstance(graph, bytes) else canonical.dumps(graph)
    listed = header if isinstance(header, bytes) else canonical.dumps(header)
    listed += b" " * (-len(listed) % 8)
    start = MAGIC + len(text).to_bytes(8, "little") + hashlib.sha256(text).digest() + text
    return start + len(listed).to_bytes(8, "little") + listed + body


SMALL = to_bytes(small())
WHOLE = to_bytes(whole())
