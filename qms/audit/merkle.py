"""Merkle tree of RFC 6962, section 2.1: leaf and node hashes, frontier, proofs and their verification. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

HASH_BYTES: Final = 32
EMPTY_ROOT: Final = hashlib.sha256(b"").digest()  # RFC 6962, 2.1

Subtree = Callable[[int, int], bytes]
"""`subtree(level, index)` returns the root of the perfect subtree of 2**level leaves number `index`."""


def leaf_hash(line: bytes) -> bytes:
    """Return SHA-256(0x00 ‖ line)."""
    return hashlib.sha256(b"\x00" + line).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return SHA-256(0x01 ‖ left ‖ right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True)
class Frontier:
    """The roots of the perfect subtrees a tree of `size` leaves falls into, the largest first."""

    size: int
    hashes: tuple[bytes, ...]

    @classmethod
    def empty(cls) -> Frontier:
        """Return the frontier of the empty tree."""
        return cls(0, ())

    @classmethod
    def unpack(cls, size: int, data: bytes) -> Frontier:
        """Read the stored form; raises ValueError if the number of hashes does not fit `size`."""
        if len(data) != HASH_BYTES * size.bit_count():
            raise ValueError(
                f"frontier of {size} leaves needs {size.bit_count()} hashes, got {len(data)} bytes"
            )
        return cls(size, tuple(data[i : i + HASH_BYTES] for i in range(0, len(data), HASH_BYTES)))

    def pack(self) -> bytes:
        """Return the stored form: the hashes one after the other."""
        return b"".join(self.hashes)

    def append(self, leaf: bytes) -> Frontier:
        """Return the frontier with one more leaf hash."""
        hashes, size = list(self.hashes), self.size
        node = leaf
        while size & 1:
            node = node_hash(hashes.pop(), node)
            size >>= 1
        return Frontier(self.size + 1, (*hashes, node))

    def root(self) -> bytes:
        """Return the root of the tree."""
        if not self.hashes:
            return EMPTY_ROOT
        root = self.hashes[-1]
        for left in reversed(self.hashes[:-1]):
            root = node_hash(left, root)
        return root


def root_of(leaves: Sequence[bytes]) -> bytes:
    """Return the root over leaf hashes, computed as the RFC defines it; for short lists and tests."""
    if not leaves:
        return EMPTY_ROOT
    if len(leaves) == 1:
        return leaves[0]
    split = _split(len(leaves))
    return node_hash(root_of(leaves[:split]), root_of(leaves[split:]))


def range_root(subtree: Subtree, start: int, stop: int) -> bytes:
    """Return the root over the leaves start .. stop-1; `start` is a multiple of the largest subtree inside."""
    if start >= stop:
        return EMPTY_ROOT
    parts: list[bytes] = []
    while start < stop:
        level = (stop - start).bit_length() - 1
        parts.append(subtree(level, start >> level))
        start += 1 << level
    root = parts.pop()
    while parts:
        root = node_hash(parts.pop(), root)
    return root


def inclusion_path(subtree: Subtree, index: int, size: int) -> list[bytes]:
    """Return the audit path of leaf `index` in the tree of `size` leaves, leaf to root (RFC 6962, 2.1.1)."""
    if not 0 <= index < size:
        raise ValueError(f"leaf {index} is not in a tree of {size}")
    path: list[bytes] = []
    start, stop = 0, size
    while stop - start > 1:
        middle = start + _split(stop - start)
        if index < middle:
            path.append(range_root(subtree, middle, stop))
            stop = middle
        else:
            path.append(range_root(subtree, start, middle))
            start = middle
    return path[::-1]


def consistency_path(subtree: Subtree, old: int, new: int) -> list[bytes]:
    """Return the consistency proof between two sizes, 0 < old <= new (RFC 6962, 2.1.2)."""
    if not 0 < old <= new:
        raise ValueError(f"no consistency proof from {old} to {new}")
    path: list[bytes] = []
    start, stop, complete = 0, new, True
    while old != stop:
        middle = start + _split(stop - start)
        if old <= middle:
            path.append(range_root(subtree, middle, stop))
            stop = middle
        else:
            path.append(range_root(subtree, start, middle))
            start, complete = middle, False
    if not complete:
        path.append(range_root(subtree, start, stop))
    return path[::-1]


def root_from_path(index: int, size: int, leaf: bytes, path: Sequence[bytes]) -> bytes | None:
    """Return the root an inclusion path leads to, or None if its length is wrong (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size:
        return None
    node, last, result = index, size - 1, leaf
    for item in path:
        if last == 0:
            return None
        if node & 1 or node == last:
            result = node_hash(item, result)
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            result = node_hash(result, item)
        node, last = node >> 1, last >> 1
    return result if last == 0 else None


def verify_inclusion(index: int, size: int, leaf: bytes, path: Sequence[bytes], root: bytes) -> bool:
    """Return whether `path` proves that `leaf` is leaf number `index` under `root`."""
    return root_from_path(index, size, leaf, path) == root


def verify_consistency(old: int, new: int, old_root: bytes, new_root: bytes, path: Sequence[bytes]) -> bool:
    """Return whether `path` proves that the tree of `old` leaves is a prefix of that of `new` (RFC 9162, 2.1.4.2)."""
    if not 0 < old <= new:
        return False
    if old == new:
        return not path and old_root == new_root
    steps = [old_root, *path] if old & (old - 1) == 0 else list(path)
    if not steps:
        return False
    node, last = old - 1, new - 1
    while node & 1:
        node, last = node >> 1, last >> 1
    first = second = steps[0]
    for item in steps[1:]:
        if last == 0:
            return False
        if node & 1 or node == last:
            first, second = node_hash(item, first), node_hash(item, second)
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            second = node_hash(second, item)
        node, last = node >> 1, last >> 1
    return last == 0 and first == old_root and second == new_root


def _split(size: int) -> int:
    return 1 << ((size - 1).bit_length() - 1)
