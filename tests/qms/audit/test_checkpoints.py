from __future__ import annotations

import base64
import stat
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from qms.audit import checkpoints, keys, merkle, notes, pins, proofs, pruefen, services, tree, verify
from qms.audit.actors import SYSTEM
from qms.audit.errors import AuditError, KeyFileInvalid, LogFrozen, NoteInvalid, NotSigned
from qms.audit.events import AuditKind
from qms.audit.models import AuditEvent, AuditLeaf, Checkpoint, LogHead, LogKey, Tile
from qms.audit.notes import Head, Signer, Verifier
from qms.audit.services import record, unit
from qms.core import errors
from tests.qms.audit.helpers import kinds, log, size

pytestmark = pytest.mark.django_db
# The key of the C2SP signed-note example in the Go documentation of golang.org/x/mod/sumdb/note.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
NOTE = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)


def test_note_of_the_go_documentation_verifies():
    assert notes.open_note(NOTE, [Verifier.parse(PETER)]).startswith("If you think")
    assert Verifier.parse(PETER).vkey() == PETER


def test_changed_note_is_refused():
    with pytest.raises(NoteInvalid, match="wrong"):
        notes.open_note(NOTE.replace("answer", "Answer"), [Verifier.parse(PETER)])


def test_note_of_unknown_keys_only_is_refused():
    with pytest.raises(NoteInvalid, match="no signature of a known key"):
        notes.open_note(NOTE, [])


@pytest.mark.parametrize("vkey", ["", "name", PETER.replace("c74f20a3", "c74f20a4"), PETER[:-4], "a b+00+AA"])
def test_malformed_vkey_is_refused(vkey):
    with pytest.raises(NoteInvalid):
        Verifier.parse(vkey)


@pytest.mark.parametrize(
    "text", ["a\n1\n", "a\n01\n" + "A" * 43 + "=\n", "a\n-1\nAAAA\n", "a\n1\nAAAA\n", "a\n1\n!\n"]
)
def test_malformed_checkpoint_is_refused(text):
    with pytest.raises(NoteInvalid):
        Head.parse(text)


def test_checkpoint_says_origin_size_and_root():
    log(3)
    note = checkpoints.sign_now()
    head = notes.open_head(note, keys.verifiers())
    assert (head.origin, head.size) == ("pruefstand.example/protokoll", 4)
    assert head.root == bytes(LogHead.objects.get().root)
    assert checkpoints.newest() == note


def test_nothing_signed_yet_is_empty():
    assert checkpoints.newest() == ""


def test_same_size_is_signed_once():
    log()
    assert checkpoints.sign_now() == checkpoints.sign_now()
    assert Checkpoint.objects.count() == 1


def test_signing_inside_a_unit_is_an_error():
    with pytest.raises(AuditError), unit(actor=SYSTEM):
        checkpoints.sign_now()


def test_key_is_made_once_readable_by_its_owner_only_and_recorded():
    vkey = checkpoints.vkey()
    path = keys.Path(keys.settings.LOG_KEY_FILE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert checkpoints.vkey() == vkey == LogKey.objects.get().vkey
    assert kinds() == ["SCHLUESSEL_AUSGESTELLT"]


def test_lost_key_is_not_replaced_silently(settings):
    checkpoints.vkey()
    settings.LOG_KEY_FILE.unlink()
    with pytest.raises(KeyFileInvalid, match="missing"):
        checkpoints.vkey()


def test_foreign_key_type_is_refused(settings):
    settings.LOG_KEY_FILE.parent.mkdir()
    settings.LOG_KEY_FILE.write_bytes(b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    with pytest.raises(KeyFileInvalid, match="unreadable"):
        checkpoints.vkey()


def test_notes_verify_before_during_and_after_a_rotation():
    log()
    before = checkpoints.sign_now()
    old = Verifier.parse(checkpoints.vkey())
    new = services.rotate_log_key(actor=SYSTEM)
    during = checkpoints.sign_now()
    assert services.retire_log_key(actor=SYSTEM) == [old]
    after = checkpoints.sign_now()
    assert notes.open_note(during, [old]) == notes.open_note(during, [new])
    for note, verifier in ((before, old), (after, new)):
        assert notes.open_note(note, [verifier])
    with pytest.raises(NoteInvalid):
        notes.open_note(after, [old])
    assert keys.verifiers() == [old, new]
    assert kinds()[-2:] == ["SCHLUESSEL_GEWECHSELT", "SCHLUESSEL_VERNICHTET"]
    assert services.retire_log_key(actor=SYSTEM) == []


def test_full_tiles_are_stored_and_roots_agree():
    log(600)
    checkpoints.sign_now()
    assert list(Tile.objects.values_list("level", "idx")) == [(0, 0), (0, 1)]
    leaves = [bytes(row.hash) for row in AuditLeaf.objects.order_by("seq")]
    for at in (1, 255, 256, 257, 511, 512, 513, 601):
        assert tree.root_at(at) == merkle.root_of(leaves[:at])
    assert bytes(Tile.objects.get(idx=1).hashes) == b"".join(leaves[256:512])


def test_tiles_not_stored_yet_are_computed():
    log(600)
    assert tree.root_at(600) == bytes(LogHead.objects.get().root)


@pytest.mark.parametrize(
    ("level", "index", "width", "path"),
    [
        (0, 67, 256, "tile/0/067"),
        (1, 1234067, 256, "tile/1/x001/x234/067"),
        (0, 1000, 8, "tile/0/x001/000.p/8"),
    ],
)
def test_tile_paths_follow_c2sp(level, index, width, path):
    assert tree.tile_path(level, index, width) == path


def test_tlog_proof_shows_the_line_under_the_checkpoint():
    log(300)
    note = checkpoints.sign_now()
    for seq in (0, 1, 255, 256, 300):
        proof = proofs.tlog_proof(seq)
        line = AuditEvent.objects.get(leaf__seq=seq).line
        assert proof.startswith(f"c2sp.org/tlog-proof@v1\nindex {seq}\n")
        assert proof.endswith(f"\n\n{note}")
        assert proofs.verify_tlog_proof(proof, line, keys.verifiers()) == seq
        with pytest.raises(NoteInvalid):
            proofs.verify_tlog_proof(proof, line + b" ", keys.verifiers())


def test_proofs_between_checkpoints_are_consistent():
    log(3)
    old = notes.unverified_head(checkpoints.sign_now())
    log(9)
    new = notes.unverified_head(checkpoints.sign_now())
    path = proofs.consistency(old.size, new.size)
    assert merkle.verify_consistency(old.size, new.size, old.root, new.root, path)


def test_unsigned_event_has_no_proof():
    log()
    with pytest.raises(NotSigned):
        proofs.tlog_proof(0)


@pytest.mark.parametrize(
    "text", ["", "x\nindex 0\n\nn", "c2sp.org/tlog-proof@v1\nindex x\n\nn", "c2sp.org/tlog-proof@v1\n\nn"]
)
def test_malformed_proof_is_refused(text):
    with pytest.raises(NoteInvalid):
        proofs.parse_tlog_proof(text)


@pytest.mark.django_db(transaction=True)
def test_committed_checkpoint_is_pinned_outside_the_database():
    log(kind=AuditKind.VOTE_CAST)
    assert pins.path().read_text(encoding="utf-8") == checkpoints.newest()
    assert pins.compare() == pins.PinFinding(2, 2)


def test_uncommitted_checkpoint_is_not_pinned():
    log(kind=AuditKind.VOTE_CAST)
    assert not pins.path().exists()


@pytest.mark.django_db(transaction=True)
def test_pin_never_goes_back():
    log()
    first = checkpoints.sign_now()
    log(2)
    second = checkpoints.sign_now()
    pins.write(first)
    assert pins.path().read_text(encoding="utf-8") == second


@pytest.mark.django_db(transaction=True)
def test_log_shorter_than_its_pin_refuses_writes_until_confirmed():
    log()
    checkpoints.vkey()
    longer = Head(keys.origin(), 9, b"r" * 32).text()
    pins.write(notes.sign(longer, keys.signers()))
    with pytest.raises(LogFrozen, match="2 statt 9"):
        log()
    with pytest.raises(LogFrozen):
        checkpoints.sign_now()
    assert size() == 2
    services.confirm_restore(actor=SYSTEM, reason="Sicherung von gestern")
    assert kinds()[-1] == "PROTOKOLL_WIEDERHERGESTELLT"
    assert notes.unverified_head(pins.path().with_suffix(".pin.1").read_text(encoding="utf-8")).size == 9
    log()
    assert pins.compare().pinned == 3


@pytest.mark.django_db(transaction=True)
def test_other_root_than_pinned_refuses_writes():
    log(3)
    checkpoints.vkey()
    pins.write(notes.sign(Head(keys.origin(), 2, b"r" * 32).text(), keys.signers()))
    with pytest.raises(LogFrozen, match="Abweichung"):
        log()


@pytest.mark.django_db(transaction=True)
def test_restore_is_not_confirmed_without_contradiction():
    log()
    with pytest.raises(errors.WrongState):
        services.confirm_restore(actor=SYSTEM, reason="nichts")


def test_own_ed25519_check_of_the_verifier_agrees_with_openssl():
    key = Ed25519PrivateKey.generate()
    public, text = key.public_key().public_bytes_raw(), "Prüfung ü\n".encode()
    signature = key.sign(text)
    assert pruefen.ed25519_ok(public, text, signature)
    for place in range(64):
        wrong = bytearray(signature)
        wrong[place] ^= 1 << (place % 8)
        assert not pruefen.ed25519_ok(public, text, bytes(wrong))
    assert not pruefen.ed25519_ok(public, text + b" ", signature)
    assert not pruefen.ed25519_ok(public, text, signature[:63])
    scalar = int.from_bytes(signature[32:], "little") + pruefen.ORDER
    assert not pruefen.ed25519_ok(public, text, signature[:32] + scalar.to_bytes(32, "little"))


def test_ed25519_vector_of_rfc_8032():
    public = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
    signature = bytes.fromhex(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    assert pruefen.ed25519_ok(public, b"\x72", signature)


def test_note_signature_verifies_with_openssl(tmp_path):
    log()
    note = checkpoints.sign_now()
    text, _, lines = note.rpartition("\n\n")
    payload = base64.b64decode(lines.rstrip("\n").rpartition(" ")[2])
    public = Verifier.parse(checkpoints.vkey()).public
    der = base64.b64encode(bytes.fromhex("302a300506032b6570032100") + public).decode()
    (tmp_path / "k.pem").write_text(f"-----BEGIN PUBLIC KEY-----\n{der}\n-----END PUBLIC KEY-----\n")
    (tmp_path / "text").write_text(text + "\n", encoding="utf-8")
    (tmp_path / "sig").write_bytes(payload[4:])
    key, signed = ["-pubin", "-inkey", "k.pem"], ["-rawin", "-in", "text", "-sigfile", "sig"]
    command = ["openssl", "pkeyutl", "-verify", *key, *signed]
    assert subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode == 0


def test_whole_log_verifies():
    log(5)
    checkpoints.sign_now()
    log()
    report = services.verify_log()
    assert report == verify.Report(7, 6)
    assert kinds()[-1] == "PROTOKOLL_GEPRUEFT"


@pytest.mark.parametrize(
    ("statement", "first_bad", "what"),
    [
        (
            "UPDATE audit_event SET body = replace(body, 'Workload', 'Werkload') WHERE obj_seq = 1",
            3,
            "Inhalt",
        ),
        ("DELETE FROM audit_leaf WHERE seq = 2", 2, "fehlende"),
        ("UPDATE audit_log_head SET size = 9", 7, "fehlende"),
        ("UPDATE audit_checkpoint SET note = replace(note, 'example', 'sample')", 6, "Unterschrift"),
        ("DELETE FROM audit_leaf WHERE seq = 6", 6, "fehlende"),
    ],
)
def test_damage_of_the_stored_log_is_found(statement, first_bad, what):
    from django.db import connection

    from qms.audit import guard

    log(6)
    checkpoints.sign_now()
    guard.uninstall()
    with connection.cursor() as cursor:
        cursor.execute(statement)
    report = verify.check_log()
    assert (report.first_bad, report.ok) == (first_bad, False)
    assert what in report.problem


def test_resigning_with_another_key_is_found():
    log(3)
    other = Signer(keys.origin(), Ed25519PrivateKey.generate())
    head = LogHead.objects.get()
    checkpoints.vkey()
    text = Head(keys.origin(), head.size, bytes(head.root)).text()
    Checkpoint.objects.create(size=head.size, note=notes.sign(text, [other]))
    assert "Unterschrift" in verify.check_log().problem


def test_broken_log_is_recorded():
    from django.db import connection

    from qms.audit import guard

    log(3)
    guard.uninstall()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE audit_leaf SET hash = (SELECT hash FROM audit_leaf WHERE seq = 0) WHERE seq = 1"
        )
    assert services.verify_log().first_bad == 1
    with unit(actor=SYSTEM):
        record(AuditKind.INCIDENT_OPENED, actor=SYSTEM, subject_ref=("Incident", "1"))
    assert "KETTE_UNGUELTIG" in kinds()
