"""What the log itself brings to an audit bundle: lines, clear texts, checkpoints, tiles, proofs, anchors, keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from qms.audit import keys, pruefen, tree
from qms.audit.errors import AuditError
from qms.audit.events import LEGALLY_RELEVANT
from qms.audit.export import Part, Snapshot, register_part
from qms.audit.lines import Commitment
from qms.audit.models import Anchor, AnchorKind, AuditLeaf, Checkpoint, Disclosure, LogKey, Tile
from qms.audit.notes import Verifier
from qms.audit.proofs import tlog_proof
from qms.audit.texts import liesmich, pruefen_text
from qms.core import canonical

CHUNK_ROWS: Final = 2000
_SUFFIX: Final = {AnchorKind.TIME_STAMP: "tsr", AnchorKind.WITNESS: "note"}


def register_own_parts() -> None:
    """Register the parts of this package."""
    for writer in (events, disclosures, notes, tiles, proofs, anchors, public_keys, instructions):
        register_part(writer)


def events(snapshot: Snapshot) -> Iterator[Part]:
    """Write the lines; line i (from 0) is leaf i."""
    yield "events.jsonl", _lines(snapshot)


def disclosures(snapshot: Snapshot) -> Iterator[Part]:
    """Write the clear texts still there, if permitted."""
    if snapshot.with_disclosures:
        yield "disclosures.jsonl", _disclosures(snapshot)


def notes(snapshot: Snapshot) -> Iterator[Part]:
    """Write the checkpoint of the snapshot and all earlier ones."""
    yield "checkpoint", [snapshot.note.encode()]
    for checkpoint in Checkpoint.objects.filter(size__lt=snapshot.size).order_by("size").iterator(CHUNK_ROWS):
        yield f"checkpoints/{checkpoint.size}", [checkpoint.note.encode()]


def tiles(snapshot: Snapshot) -> Iterator[Part]:
    """Write all full tiles, and the partial ones at the right edge, as C2SP tlog-tiles lays them out."""
    for tile in Tile.objects.order_by("level", "idx").iterator(CHUNK_ROWS):
        if (tile.idx + 1) * tree.TILE_WIDTH ** (tile.level + 1) <= snapshot.size:
            yield tree.tile_path(tile.level, tile.idx), [bytes(tile.hashes)]
    level, width = 0, snapshot.size
    while width:
        full, rest = divmod(width, tree.TILE_WIDTH)
        if rest:
            content = tree.hashes(level, full * tree.TILE_WIDTH, rest)
            yield tree.tile_path(level, full, rest), [b"".join(content)]
        level, width = level + 1, full


def proofs(snapshot: Snapshot) -> Iterator[Part]:
    """Write a proof for every legally relevant event and every step of a document."""
    leaves = AuditLeaf.objects.filter(seq__lt=snapshot.size).order_by("seq")
    relevant = leaves.filter(event__kind__in=[kind.value for kind in LEGALLY_RELEVANT])
    documents = leaves.filter(event__kind__startswith="DOKUMENT_")
    for seq in (relevant | documents).values_list("seq", flat=True).iterator(CHUNK_ROWS):
        yield f"proofs/{seq}.tlog-proof", [tlog_proof(seq, note=snapshot.note).encode()]


def anchors(snapshot: Snapshot) -> Iterator[Part]:
    """Write the pins left outside the system."""
    for anchor in Anchor.objects.filter(size__lte=snapshot.size).order_by("pk").iterator(CHUNK_ROWS):
        suffix = _SUFFIX.get(AnchorKind(anchor.kind), "txt")
        yield f"anchors/{anchor.size}-{anchor.kind}-{anchor.pk}.{suffix}", [bytes(anchor.data)]


def public_keys(snapshot: Snapshot) -> Iterator[Part]:
    """Write the public keys, for convenience: who verifies takes them from a document or the organisation."""
    del snapshot
    rows = list(LogKey.objects.order_by("pk").values_list("vkey", flat=True))
    for vkey in rows:
        yield f"keys/{Verifier.parse(vkey).key_id.hex()}.vkey", [f"{vkey}\n".encode()]
    yield "policy", ["".join(f"log {vkey}\n" for vkey in rows).encode(), b"quorum none\n"]


def instructions(snapshot: Snapshot) -> Iterator[Part]:
    """Write what people read, and the verifier."""
    yield "LIESMICH.txt", [liesmich(keys.origin(), snapshot).encode()]
    yield "PRUEFEN.txt", [pruefen_text().encode()]
    yield "pruefen.py", [Path(pruefen.__file__).read_bytes()]


def _lines(snapshot: Snapshot) -> Iterable[bytes]:
    rows = AuditLeaf.objects.filter(seq__lt=snapshot.size).order_by("seq").values_list("seq", "event__body")
    expected, chunk = 0, bytearray()
    for seq, body in rows.iterator(CHUNK_ROWS):
        if seq != expected:
            raise AuditError(f"the log has no event {expected}")
        expected += 1
        chunk += body.encode() + b"\n"
        if expected % CHUNK_ROWS == 0:
            yield bytes(chunk)
            chunk.clear()
    if expected != snapshot.size:
        raise AuditError(f"the log has {expected} events, its checkpoint says {snapshot.size}")
    yield bytes(chunk)


def _disclosures(snapshot: Snapshot) -> Iterable[bytes]:
    rows = Disclosure.objects.filter(event__leaf__seq__lt=snapshot.size).order_by("event__leaf__seq", "pk")
    for seq, path, salt, value in rows.values_list("event__leaf__seq", "path", "salt", "value").iterator(
        CHUNK_ROWS
    ):
        yield canonical.dumps({"seq": seq, "disclosure": Commitment(path, salt, value).encoded()}) + b"\n"
