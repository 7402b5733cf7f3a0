"""Changed benchmark files, each fixed by its seed: cut, fields gone or doubled, units swapped, NaN, other containers."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any, Final

Mutation = Callable[[Random, bytes], bytes]
ODD: Final[tuple[Any, ...]] = (
    None,
    True,
    -1,
    0,
    1,
    0.5,
    1e300,
    1e19,
    10**400,
    "1.4",
    "",
    "NaN",
    "x" * 300,
    [],
    {},
    [None],
)
PIECES: Final = (
    b"NaN", b"Infinity", b"-", b"1e400", b"\x00", b"null", b"{}", b"[[", b'"', b",", b"\n", b"\xff", b" ", b"[" * 5000,
    b'"a":1,"a":2,', b"9" * 5000,
)  # fmt: skip
UNITS: Final = (
    (b"_ms", b"_s"), (b"_ms", b""), (b'"ms"', b'"sec"'), (b'"ms"', b'"us"'), (b"(ms)", b"(s)"), (b"(ms)", b"(sec)"),
    (b"(us)", b"(ms)"), (b"(ns)", b"(ms)"), (b"MiB", b"GiB"), (b"Sec", b"ms"), (b" ms", b" Sec"), (b"GB/s", b"MB/s"),
    (b"[W]", b"[mW]"), (b"_seconds", b"_milliseconds"), (b"tokens/sec", b"tokens/min"), (b"_s_", b"_ms_"),
)  # fmt: skip
BOMB: Final = gzip.compress(b"0" * 64 * 2**20, 9, mtime=0)
_NUMBER: Final = re.compile(rb"(?<![\w.\-])[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?(?![\w.])")


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to every value inside a JSON value."""
    found = [path] if path else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        found += places(item, (*path, key))
    return found


def _json(random: Random, data: bytes, change: Callable[[Any, Any], None]) -> bytes:
    """Apply a change to one value of a JSON file, or of one line of it; other files lose a line."""
    lines = data.split(b"\n") if data.count(b"\n{") or data.startswith(b":::MLLOG") else [data]
    index = random.randrange(len(lines))
    head, mark, body = lines[index].partition(b":::MLLOG ")
    try:
        value = json.loads(body if mark else head)
        path = random.choice(places(value))
    except (ValueError, IndexError, RecursionError):
        return _line_gone(random, data)
    target = value
    for key in path[:-1]:
        target = target[key]
    change(target, path[-1])
    lines[index] = (head + mark if mark else b"") + json.dumps(value).encode()
    return b"\n".join(lines)


def _field_gone(random: Random, data: bytes) -> bytes:
    def change(target: Any, key: Any) -> None:
        del target[key]

    return _json(random, data, change)


def _field_odd(random: Random, data: bytes) -> bytes:
    def change(target: Any, key: Any) -> None:
        target[key] = random.choice(ODD)

    return _json(random, data, change)


def _field_scaled(random: Random, data: bytes) -> bytes:
    """Multiply one figure as if its unit had been mistaken."""
    factor = random.choice((1000, 0.001, 1e6, 1e-6, -1, 0, 1024, 2))

    def change(target: Any, key: Any) -> None:
        if isinstance(target[key], int | float) and not isinstance(target[key], bool):
            target[key] *= factor

    return _json(random, data, change)


def _field_doubled(random: Random, data: bytes) -> bytes:
    """Name one field of a JSON object twice, or one line of another file."""
    fields = list(re.finditer(rb'"[A-Za-z0-9_ %]+":\s*(?:"[^"]*"|[0-9.eE+-]+|null|true|false)', data))
    if not fields:
        return _line_doubled(random, data)
    field = random.choice(fields)
    return data[: field.end()] + b", " + field[0] + data[field.end() :]


def _number_scaled(random: Random, data: bytes) -> bytes:
    numbers = list(_NUMBER.finditer(data))
    if not numbers:
        return data[1:]
    found = random.choice(numbers)
    value = float(found[0]) * random.choice((1000, 0.001, -1, 0, 1024, 7))
    return data[: found.start()] + repr(value).encode() + data[found.end() :]


def _unit_swapped(random: Random, data: bytes) -> bytes:
    pairs = [pair for pair in (*UNITS, *((b, a) for a, b in UNITS if a and b)) if pair[0] in data]
    if not pairs:
        return _number_scaled(random, data)
    old, new = random.choice(pairs)
    if random.random() < 0.5:
        return data.replace(old, new)
    starts = [match.start() for match in re.finditer(re.escape(old), data)]
    start = random.choice(starts)
    return data[:start] + new + data[start + len(old) :]


def _truncated(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data))]


def _cut_at_line(random: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    return b"\n".join(lines[: random.randrange(len(lines))])


def _line_gone(random: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    del lines[random.randrange(len(lines))]
    return b"\n".join(lines)


def _line_doubled(random: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    index = random.randrange(len(lines))
    lines.insert(random.randrange(len(lines) + 1), lines[index])
    return b"\n".join(lines)


def _bytes(random: Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(random.randint(1, 4)):
        made[random.randrange(len(made))] = random.randrange(256)
    return bytes(made)


def _slice_gone(random: Random, data: bytes) -> bytes:
    start = random.randrange(len(data))
    return data[:start] + data[start + random.randint(1, 400) :]


def _piece(random: Random, data: bytes) -> bytes:
    start = random.randrange(len(data) + 1)
    return data[:start] + random.choice(PIECES) + data[start:]


def _not_a_number(random: Random, data: bytes) -> bytes:
    numbers = list(_NUMBER.finditer(data))
    if not numbers:
        return b"NaN" + data
    found = random.choice(numbers)
    return (
        data[: found.start()]
        + random.choice((b"NaN", b"nan", b"Infinity", b"inf", b"1e999"))
        + data[found.end() :]
    )


def _packed(random: Random, data: bytes) -> bytes:
    packed = gzip.compress(data, 1, mtime=0)
    whole = (
        packed,
        packed[: random.randrange(len(packed))],
        BOMB,
        packed + BOMB,
        packed + packed,
        packed + b"rest",
    )
    return random.choice((*whole, b"PK\x03\x04" + data, data + data, data[::-1], b"\xef\xbb\xbf" + data))


MUTATIONS: Final[tuple[Mutation, ...]] = (
    _truncated, _cut_at_line, _field_gone, _field_odd, _field_scaled, _field_doubled, _number_scaled, _unit_swapped,
    _line_gone, _line_doubled, _bytes, _slice_gone, _piece, _not_a_number, _packed,
)  # fmt: skip


def mutated(seed: int, data: bytes) -> bytes:
    """Return the file changed in the way that belongs to the seed; one in four is changed twice."""
    random = Random(seed)
    made = MUTATIONS[seed % len(MUTATIONS)](random, data)
    if made and random.random() < 0.25 and not made.startswith((b"\x1f\x8b", b"PK")):
        made = random.choice(MUTATIONS[:-1])(random, made)
    return made
