"""Changed capture files, each fixed by its seed: bytes, cuts, values of the JSON, entries of the header, other containers."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from random import Random
from typing import Any, Final

from qms.core import canonical
from tests.pilots.graph.capture.files import joined, parts

Mutation = Callable[[Random, bytes], bytes]
ODD: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 2**31, 2**40, 2**53, "", "x", "float32", "@in.0", "a" * 300, "0" * 64, [], {},
    [None, 3], [2**40, 2**40], [1] * 9, ["x"] * 1100, {"op": "matmul"}, [[]], "\u00e4",
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to every value inside a JSON value."""
    found = [path] if path else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        found += places(item, (*path, key))
    return found


def _bytes(random: Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(random.randint(1, 4)):
        made[random.randrange(len(made))] = random.randrange(256)
    return bytes(made)


def _bit(random: Random, data: bytes) -> bytes:
    made = bytearray(data)
    made[random.randrange(len(made))] ^= 1 << random.randrange(8)
    return bytes(made)


def _splice(random: Random, data: bytes) -> bytes:
    first, last = random.randrange(len(data) + 1), random.randrange(len(data) + 1)
    return data[:first] + random.randbytes(random.randrange(16)) + data[last:]


def _length(random: Random, data: bytes) -> bytes:
    return data[:8] + random.choice((0, 1, 47, 2**20, 2**32, 2**63)).to_bytes(8, "little") + data[16:]


def _target(random: Random, graph: Any, header: Any) -> tuple[Any, Any]:
    """Return the container and the key of one value of graph or header."""
    target = random.choice((graph, graph, header))
    path = random.choice(places(target))
    for key in path[:-1]:
        target = target[key]
    return target, path[-1]


def _value(random: Random, data: bytes) -> bytes:
    graph, header, body = parts(data)
    target, key = _target(random, graph, header)
    target[key] = random.choice(ODD)
    return joined(graph, header, body)


def _removed(random: Random, data: bytes) -> bytes:
    graph, header, body = parts(data)
    target, key = _target(random, graph, header)
    del target[key]
    return joined(graph, header, body)


def _swapped(random: Random, data: bytes) -> bytes:
    """Put one value of the graph in the place of another."""
    graph, header, body = parts(data)
    target, key = _target(random, graph, header)
    other, name = _target(random, *parts(data)[:2])
    target[key] = other[name]
    return joined(graph, header, body)


def _offsets(random: Random, data: bytes) -> bytes:
    graph, header, body = parts(data)
    item = random.choice(list(header.values()))
    item["data_offsets"] = [random.choice((0, 8, 24, 2**40, *item["data_offsets"])) for _ in range(2)]
    return joined(graph, header, body)


def _text(random: Random, data: bytes) -> bytes:
    """Return the JSON of the graph with a piece that JSON should not have."""
    graph, header, body = parts(data)
    text = canonical.dumps(graph)
    piece = random.choice(
        (b"NaN", b"1e999", b"[" * 50_000, b'"a":1,"a":2,', b"\xff", b"\0", b" ", b"1" * 5000)
    )
    place = random.randrange(len(text) + 1)
    return joined(text[:place] + piece + text[place:], header, body)


def _packed(random: Random, data: bytes) -> bytes:
    return random.choice((gzip.compress(data, mtime=0), b"PK\x03\x04" + data, data + data, data[::-1]))


MUTATIONS: Final[dict[str, Mutation]] = {
    "bytes": _bytes,
    "bit": _bit,
    "splice": _splice,
    "length": _length,
    "value": _value,
    "removed": _removed,
    "swapped": _swapped,
    "offsets": _offsets,
    "text": _text,
    "packed": _packed,
}


def mutated(seed: int, data: bytes) -> bytes:
    """Return the file changed in the way that belongs to the seed; some are changed twice."""
    random = Random(seed)  # noqa: S311 - repeatable, not secret
    names = list(MUTATIONS)
    made = MUTATIONS[names[seed % len(names)]](random, data)
    twice = names[seed % len(names)] in {"value", "removed", "offsets"} and random.random() < 0.5
    return MUTATIONS["bit"](random, made) if twice else made
