from __future__ import annotations

import hashlib

import pytest

from qms.audit import merkle
from qms.audit.merkle import Frontier

# The leaf inputs and roots of the RFC 6962 reference tests.
INPUTS = [
    bytes.fromhex(text)
    for text in [
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    ]
]
ROOTS = {
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}


def leaves(count: int) -> list[bytes]:
    return [merkle.leaf_hash(str(number).encode()) for number in range(count)]


def source(hashes: list[bytes]) -> merkle.Subtree:
    return lambda level, index: merkle.root_of(hashes[index << level : (index + 1) << level])


def frontier(hashes: list[bytes]) -> Frontier:
    found = Frontier.empty()
    for leaf in hashes:
        found = found.append(leaf)
    return found


@pytest.mark.parametrize("size", sorted(ROOTS))
def test_roots_match_rfc_6962(size: int):
    hashes = [merkle.leaf_hash(data) for data in INPUTS[:size]]
    assert merkle.root_of(hashes).hex() == ROOTS[size]
    assert frontier(hashes).root().hex() == ROOTS[size]


def test_empty_tree_is_the_hash_of_nothing():
    assert merkle.root_of([]) == Frontier.empty().root() == hashlib.sha256(b"").digest()


@pytest.mark.parametrize("size", [0, 1, 2, 3, 255, 256, 257])
def test_frontier_survives_storage(size: int):
    found = frontier(leaves(size))
    assert Frontier.unpack(size, found.pack()) == found
    assert len(found.hashes) == size.bit_count()


def test_frontier_of_wrong_length_is_refused():
    with pytest.raises(ValueError, match="needs 2 hashes"):
        Frontier.unpack(3, b"\0" * 32)


def _proofs_hold(limit: int) -> None:
    hashes = leaves(limit)
    subtree = source(hashes)
    roots = [merkle.root_of(hashes[:size]) for size in range(limit + 1)]
    for size in range(1, limit + 1):
        for index in range(size):
            path = merkle.inclusion_path(subtree, index, size)
            assert merkle.verify_inclusion(index, size, hashes[index], path, roots[size])
        for old in range(1, size + 1):
            path = merkle.consistency_path(subtree, old, size)
            assert merkle.verify_consistency(old, size, roots[old], roots[size], path)


def test_all_proofs_hold_for_small_trees():
    _proofs_hold(33)


@pytest.mark.full
def test_all_proofs_hold_up_to_130():
    _proofs_hold(130)


@pytest.mark.parametrize("size", [2, 5, 8, 13])
def test_changed_inclusion_proofs_are_refused(size: int):
    hashes = leaves(size)
    root = merkle.root_of(hashes)
    for index in range(size):
        path = merkle.inclusion_path(source(hashes), index, size)
        wrong = [
            (index, hashes[index], [*path, root]),
            (index, hashes[index], path[:-1]),
            (index, merkle.leaf_hash(b"x"), path),
            *((other, hashes[index], path) for other in range(size) if other != index),
            *((index, hashes[index], [*path[:i], root, *path[i + 1 :]]) for i in range(len(path))),
        ]
        assert not any(merkle.verify_inclusion(i, size, leaf, items, root) for i, leaf, items in wrong)


@pytest.mark.parametrize(("old", "new"), [(1, 2), (3, 7), (4, 7), (6, 13), (8, 13)])
def test_changed_consistency_proofs_are_refused(old: int, new: int):
    hashes = leaves(new)
    before, after = merkle.root_of(hashes[:old]), merkle.root_of(hashes)
    path = merkle.consistency_path(source(hashes), old, new)
    assert not merkle.verify_consistency(old, new, before, after, path[:-1])
    assert not merkle.verify_consistency(old, new, before, after, [*path, after])
    assert not merkle.verify_consistency(old, new, after, before, path)
    for place in range(len(path)):
        assert not merkle.verify_consistency(
            old, new, before, after, [*path[:place], b"\0" * 32, *path[place + 1 :]]
        )


def test_proofs_outside_the_tree_are_refused():
    subtree = source(leaves(4))
    with pytest.raises(ValueError, match="leaf 4"):
        merkle.inclusion_path(subtree, 4, 4)
    with pytest.raises(ValueError, match="from 0"):
        merkle.consistency_path(subtree, 0, 4)
    with pytest.raises(ValueError, match="from 5"):
        merkle.consistency_path(subtree, 5, 4)
