"""Proofs from the stored tree: inclusion, consistency, and the offline form c2sp.org/tlog-proof@v1."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from qms.audit import merkle, tree
from qms.audit.errors import NoteInvalid, NotSigned
from qms.audit.models import Checkpoint
from qms.audit.notes import Verifier, open_head, unverified_head

HEADER: Final = "c2sp.org/tlog-proof@v1"


@dataclass(frozen=True, slots=True)
class TlogProof:
    """A parsed proof: the leaf number, its path, and the signed checkpoint it leads to."""

    index: int
    path: tuple[bytes, ...]
    note: str


def inclusion(seq: int, size: int) -> list[bytes]:
    """Return the path of event `seq` in the log of `size` events; ValueError if it is not in there."""
    return merkle.inclusion_path(tree.subtree, seq, size)


def consistency(old: int, new: int) -> list[bytes]:
    """Return the proof that the log of `old` events is a prefix of that of `new`; ValueError for other sizes."""
    return merkle.consistency_path(tree.subtree, old, new)


def tlog_proof(seq: int, *, note: str = "") -> str:
    """Return the proof of event `seq` under the newest checkpoint, or under `note`; raises NotSigned."""
    if not note:
        checkpoint = Checkpoint.objects.filter(size__gt=seq).order_by("-size").first()
        if checkpoint is None:
            raise NotSigned(f"no checkpoint covers event {seq} yet")
        note = checkpoint.note
    size = unverified_head(note).size
    if seq >= size:
        raise NotSigned(f"the checkpoint ends before event {seq}")
    hashes = "".join(base64.b64encode(item).decode() + "\n" for item in inclusion(seq, size))
    return f"{HEADER}\nindex {seq}\n{hashes}\n{note}"


def parse_tlog_proof(text: str) -> TlogProof:
    """Read a proof as written by `tlog_proof`, an extra line included; raises NoteInvalid."""
    head, separator, note = text.partition("\n\n")
    lines = head.split("\n")
    if lines and len(lines) > 1 and lines[1].startswith("extra "):
        del lines[1]
    if not separator or len(lines) < 2 or lines[0] != HEADER or not lines[1].startswith("index "):
        raise NoteInvalid("the text is no tlog-proof")
    number = lines[1].removeprefix("index ")
    if not (number.isascii() and number.isdigit()):
        raise NoteInvalid("the index of the proof is no number")
    return TlogProof(int(number), tuple(_hash(line) for line in lines[2:]), note)


def verify_tlog_proof(text: str, line: bytes, verifiers: Sequence[Verifier]) -> int:
    """Return the number of the event if the proof shows `line` under a checkpoint of a known key; else NoteInvalid."""
    proof = parse_tlog_proof(text)
    head = open_head(proof.note, verifiers)
    if not merkle.verify_inclusion(proof.index, head.size, merkle.leaf_hash(line), proof.path, head.root):
        raise NoteInvalid("the proof does not lead to the root of its checkpoint")
    return proof.index


def _hash(text: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise NoteInvalid("a hash of the proof is not base64") from error
    if len(data) != merkle.HASH_BYTES:
        raise NoteInvalid("a hash of the proof has the wrong length")
    return data
