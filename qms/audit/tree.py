"""The Merkle tree over the stored leaves: full tiles (C2SP tlog-tiles) and roots of any earlier size."""

from __future__ import annotations

from typing import Final

from qms.audit.merkle import range_root, root_of
from qms.audit.models import AuditLeaf, Tile

TILE_WIDTH: Final = 256
TILE_LEVELS: Final = 8  # a tile spans 8 levels of the binary tree


def subtree(level: int, index: int) -> bytes:
    """Return the root of the perfect subtree `index` of 2**level leaves, from tiles where they are stored."""
    tile_level, rest = divmod(level, TILE_LEVELS)
    width = 1 << rest
    return root_of(hashes(tile_level, index * width, width))


def hashes(level: int, start: int, count: int) -> list[bytes]:
    """Return `count` hashes of a tile level from `start`; level 0 are the leaves."""
    if level == 0:
        rows = AuditLeaf.objects.filter(seq__gte=start, seq__lt=start + count).order_by("seq")
        found = [bytes(value) for value in rows.values_list("hash", flat=True)]
        if len(found) != count:
            raise ValueError(f"the log has no leaves {start} .. {start + count - 1}")
        return found
    tiles = Tile.objects.filter(level=level - 1, idx__gte=start, idx__lt=start + count).order_by("idx")
    stored = {idx: bytes(root) for idx, root in tiles.values_list("idx", "root")}
    return [
        stored[index] if index in stored else root_of(hashes(level - 1, index * TILE_WIDTH, TILE_WIDTH))
        for index in range(start, start + count)
    ]


def root_at(size: int) -> bytes:
    """Return the root of the log as it was with `size` leaves."""
    return range_root(subtree, 0, size)


def store_full_tiles(size: int) -> None:
    """Store every full tile of the first `size` leaves that is not stored yet; call it in a transaction."""
    level, width = 0, size
    while width >= TILE_WIDTH:
        full = width // TILE_WIDTH
        done = Tile.objects.filter(level=level).count()
        for index in range(done, full):
            content = hashes(level, index * TILE_WIDTH, TILE_WIDTH)
            Tile.objects.create(level=level, idx=index, hashes=b"".join(content), root=root_of(content))
        level, width = level + 1, full


def tile_path(level: int, index: int, width: int = TILE_WIDTH) -> str:
    """Return the path of a tile as C2SP writes it: tile/0/067, tile/0/x001/067, partial ones with .p/<width>."""
    groups = [f"{index % 1000:03d}"]
    while index >= 1000:
        index //= 1000
        groups.insert(0, f"x{index % 1000:03d}")
    partial = "" if width == TILE_WIDTH else f".p/{width}"
    return f"tile/{level}/{'/'.join(groups)}{partial}"
