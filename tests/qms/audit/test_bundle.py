from __future__ import annotations

import base64
import hashlib
import json
import random
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from qms.audit import checkpoints, export, keys, merkle, notes, pruefen, services
from qms.audit.actors import SYSTEM
from qms.audit.errors import AuditError
from qms.audit.events import AuditKind
from qms.audit.models import AuditEvent, AuditLeaf, Disclosure, LogHead
from qms.audit.notes import Signer, Verifier
from qms.audit.services import record, unit
from tests.qms.audit.helpers import kinds, log

pytestmark = pytest.mark.django_db
PDF = b"%PDF-1.7 Muster"
TRICKY = "Erika Muster\u2028sagte\u0085Nein\r\tgenau"


def documents(snapshot: export.Snapshot) -> Iterator[export.Part]:
    yield "documents/freigabe-1.pdf", [PDF[:5], PDF[5:]]


@pytest.fixture
def filled(monkeypatch) -> None:
    """A log with more than one tile, two checkpoints, a document and clear texts."""
    monkeypatch.setattr(export, "_writers", [*export._writers, documents])
    log(280, private={"reason": TRICKY})
    log(kind=AuditKind.APPROVAL_GRANTED)
    with unit(actor=SYSTEM):
        digest = hashlib.sha256(PDF).hexdigest()
        record(AuditKind.DOCUMENT_RENDERED, actor=SYSTEM, subject_ref=("Document", "1"), refs=[digest])


@pytest.fixture
def live_bag(filled, tmp_path) -> Path:
    """The unpacked bundle of that log, beside the log it was made of."""
    bundle = export.build_bundle(
        tmp_path / "b.zip", with_disclosures=True, purpose="Prüfung", requested_by="p"
    )
    with zipfile.ZipFile(bundle.path) as archive:
        archive.extractall(tmp_path / "unpacked")
    return next((tmp_path / "unpacked").iterdir())


@pytest.fixture(scope="module")
def _kept(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("bundle")


@pytest.fixture
def bag(_kept, request, tmp_path) -> Path:
    """A copy of a bundle that is made once."""
    if not (_kept / "unpacked").exists():
        made = request.getfixturevalue("live_bag")
        shutil.copytree(made, _kept / "unpacked" / made.name)
        shutil.copy(made.parent.parent / "b.zip", _kept)
    shutil.copytree(_kept, tmp_path / "copy")
    return next((tmp_path / "copy" / "unpacked").iterdir())


def vkey_of(bag: Path) -> str:
    return next((bag / "data/keys").iterdir()).read_text().strip()


def errors_of(place: Path, *vkeys: str) -> list[str]:
    return pruefen.check(place, list(vkeys) or [vkey_of(place)])[0]


def seal_again(bag: Path) -> None:
    """Make the manifest fit again, as somebody who changed a file would."""
    files = sorted(path for path in (bag / "data").rglob("*") if path.is_file())
    rows = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(bag).as_posix()}\n"
        for path in files
    ]
    (bag / "manifest-sha256.txt").write_text("".join(rows))


def lines(bag: Path) -> list[bytes]:
    return (bag / "data/events.jsonl").read_bytes().split(b"\n")[:-1]


def write_lines(bag: Path, rows: list[bytes]) -> None:
    (bag / "data/events.jsonl").write_bytes(b"".join(row + b"\n" for row in rows))
    seal_again(bag)


def test_bundle_passes_the_verifier_from_a_copy_outside(bag, tmp_path):
    script = tmp_path / "outside.py"
    shutil.copy(bag / "data/pruefen.py", script)
    command = [sys.executable, "-I", str(script), str(bag), "--schluessel", vkey_of(bag)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("OK: 283 Ereignisse, Wurzel und Unterschrift stimmen.")
    assert "Ab Ereignis 0 ist kein Anker" in done.stdout


def test_zip_and_folder_give_the_same_verdict(bag, tmp_path):
    assert errors_of(tmp_path / "copy/b.zip", vkey_of(bag)) == errors_of(bag) == []


def test_manifest_is_one_for_sha256sum(bag):
    for name in ("manifest-sha256.txt", "tagmanifest-sha256.txt"):
        assert (
            subprocess.run(["sha256sum", "-c", name], cwd=bag, capture_output=True, check=False).returncode
            == 0
        )


def test_bag_names_what_it_holds(bag):
    info = (bag / "bag-info.txt").read_text(encoding="utf-8")
    files = [path for path in (bag / "data").rglob("*") if path.is_file()]
    octets = sum(path.stat().st_size for path in files)
    assert f"Payload-Oxum: {octets}.{len(files)}\n" in info
    assert "QMS-Zweck: Prüfung\n" in info
    assert (bag / "bagit.txt").read_text() == "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"


def test_line_of_the_export_is_the_leaf(live_bag):
    for number, line in enumerate(lines(live_bag)):
        assert merkle.leaf_hash(line) == bytes(AuditLeaf.objects.get(seq=number).hash)


def test_tricky_text_survives_in_the_disclosures(bag):
    row = json.loads((bag / "data/disclosures.jsonl").read_bytes().split(b"\n")[0])
    padded = row["disclosure"] + "=" * (-len(row["disclosure"]) % 4)
    assert json.loads(base64.urlsafe_b64decode(padded))[2] == TRICKY


def test_without_permission_no_clear_text_is_in_the_bundle(filled, tmp_path):
    bundle = export.build_bundle(tmp_path / "b.zip")
    with zipfile.ZipFile(bundle.path) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
        assert not any("disclosures.jsonl" in name for name in archive.namelist())
    assert b"Erika" not in content
    assert errors_of(bundle.path, checkpoints.vkey()) == []


def test_missing_key_argument_is_a_usage_error(bag):
    with pytest.raises(SystemExit) as caught:
        pruefen.main([str(bag)])
    assert caught.value.code == 2


def _first_changed(bag: Path) -> None:
    rows = lines(bag)
    rows[5] = rows[5].replace(b'"v":1', b'"v":2')
    write_lines(bag, rows)


def _swapped(bag: Path) -> None:
    rows = lines(bag)
    rows[7], rows[8] = rows[8], rows[7]
    write_lines(bag, rows)


def _cut(bag: Path) -> None:
    write_lines(bag, lines(bag)[:-1])


def _deleted(bag: Path) -> None:
    write_lines(bag, lines(bag)[:9] + lines(bag)[10:])


def _inserted(bag: Path) -> None:
    write_lines(bag, [*lines(bag)[:3], lines(bag)[3], *lines(bag)[3:]])


def _unfinished(bag: Path) -> None:
    path = bag / "data/events.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    seal_again(bag)


def _doubled_key(bag: Path) -> None:
    rows = lines(bag)
    rows[2] = rows[2].replace(b'"v":1', b'"v":1,"v":1')
    write_lines(bag, rows)


def _not_json(bag: Path) -> None:
    write_lines(bag, [*lines(bag)[:4], b"kein JSON", *lines(bag)[5:]])


def _naive(bag: Path) -> None:
    path = bag / "data/events.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"v":1', b'"v":2', 1))


def _extra_file(bag: Path) -> None:
    (bag / "data/mehr.txt").write_text("x")


def _file_gone(bag: Path) -> None:
    (bag / "data/LIESMICH.txt").unlink()


def _foreign_document(bag: Path) -> None:
    (bag / "data/documents/freigabe-2.pdf").write_bytes(b"%PDF gefaelscht")
    seal_again(bag)


def _other_document(bag: Path) -> None:
    (bag / "data/documents/freigabe-1.pdf").write_bytes(b"%PDF gefaelscht")
    seal_again(bag)


def _checkpoint_changed(bag: Path) -> None:
    path = bag / "data/checkpoint"
    path.write_text(path.read_text(encoding="utf-8").replace("\n283\n", "\n282\n"), encoding="utf-8")
    seal_again(bag)


def _no_checkpoint(bag: Path) -> None:
    (bag / "data/checkpoint").unlink()
    seal_again(bag)


def _earlier_note(bag: Path) -> None:
    path = next((bag / "data/checkpoints").iterdir())
    path.write_text(path.read_text(encoding="utf-8").replace("pruefstand", "prueftisch"), encoding="utf-8")
    seal_again(bag)


def _false_disclosure(bag: Path) -> None:
    path = bag / "data/disclosures.jsonl"
    rows = path.read_bytes().split(b"\n")
    false = base64.urlsafe_b64encode(b'["AAAAAAAAAAAAAAAAAAAAAA","reason","anders"]').rstrip(b"=").decode()
    rows[0] = json.dumps({"disclosure": false, "seq": 0}).encode()
    path.write_bytes(b"\n".join(rows))
    seal_again(bag)


def _proof_changed(bag: Path) -> None:
    path = next((bag / "data/proofs").iterdir())
    text = path.read_text(encoding="utf-8").split("\n")
    text[2] = base64.b64encode(b"x" * 32).decode()
    path.write_text("\n".join(text), encoding="utf-8")
    seal_again(bag)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_naive, "Datei data/events.jsonl verändert"),
        (_extra_file, "Datei data/mehr.txt steht nicht"),
        (_file_gone, "Datei data/LIESMICH.txt fehlt"),
        (_first_changed, "Ereignis 5 weicht von seiner Kachel ab"),
        (_swapped, "Ereignis 7 weicht von seiner Kachel ab"),
        (_deleted, "282 Ereignisse, Kontrollpunkt nennt 283"),
        (_inserted, "284 Ereignisse, Kontrollpunkt nennt 283"),
        (_cut, "282 Ereignisse, Kontrollpunkt nennt 283"),
        (_unfinished, "letzte Zeile unvollständig"),
        (_doubled_key, "Ereignis 2: doppelter Schlüssel"),
        (_not_json, "Ereignis 4: kein JSON"),
        (_foreign_document, "freigabe-2.pdf steht in keinem Ereignis"),
        (_other_document, "freigabe-1.pdf steht in keinem Ereignis"),
        (_checkpoint_changed, "Unterschrift des Kontrollpunkts ungültig"),
        (_no_checkpoint, "Datei data/checkpoint fehlt"),
        (_earlier_note, "Unterschrift des Kontrollpunkts ungültig"),
        (_false_disclosure, "Offenlegung zu Ereignis 0"),
        (_proof_changed, "führt nicht zur Wurzel"),
    ],
)
def test_damage_is_found_and_named(bag, damage, said, capsys):
    damage(bag)
    assert pruefen.main([str(bag), "--schluessel", vkey_of(bag)]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("FEHLER: ")
    assert said in printed


def _recomputed_log(bag: Path) -> bytes:
    rows = lines(bag)
    rows[5] = rows[5].replace(b'"v":1', b'"v":2')
    for folder in ("checkpoints", "tile", "proofs"):
        shutil.rmtree(bag / "data" / folder)
    write_lines(bag, rows)
    return merkle.root_of([merkle.leaf_hash(row) for row in rows])


def test_recomputed_log_does_not_fit_the_signed_root(bag):
    _recomputed_log(bag)
    assert errors_of(bag) == ["Wurzel weicht ab – Inhalt oder Reihenfolge verändert"]


def test_package_signed_again_with_a_foreign_key_is_refused_by_the_published_one(bag):
    published = vkey_of(bag)
    signer = Signer(Verifier.parse(published).name, Ed25519PrivateKey.generate())
    text = notes.Head(signer.name, 283, _recomputed_log(bag)).text()
    (bag / "data/checkpoint").write_text(notes.sign(text, [signer]), encoding="utf-8")
    for path in (bag / "data/keys").iterdir():
        path.write_text(signer.verifier.vkey() + "\n")
    seal_again(bag)
    assert "Unterschrift des Kontrollpunkts ungültig" in errors_of(bag, published)[0]
    assert errors_of(bag, signer.verifier.vkey()) == []


def test_holder_of_the_log_key_is_found_by_an_earlier_pin(live_bag):
    """Who has the key can sign a rewritten log; the earlier note, kept elsewhere, contradicts it."""
    bag = live_bag
    earlier = next((bag / "data/checkpoints").iterdir())
    kept = earlier.read_text(encoding="utf-8")
    root = _recomputed_log(bag)
    text = notes.Head("pruefstand.example/protokoll", 283, root).text()
    (bag / "data/checkpoint").write_text(notes.sign(text, keys.signers()), encoding="utf-8")
    seal_again(bag)
    assert errors_of(bag) == []  # missed without a pin (audit.md, section 8)
    (bag / "data/checkpoints").mkdir()
    (bag / "data/checkpoints/282").write_text(kept, encoding="utf-8")
    seal_again(bag)
    assert "Abweichung vor Ereignis" in errors_of(bag)[0]


def _flips_are_found(bag: Path, count: int) -> None:
    source = random.Random(24)
    files = [path for path in sorted((bag / "data").rglob("*")) if path.is_file() and path.stat().st_size]
    vkey = vkey_of(bag)
    for _ in range(count):
        path = source.choice(files)
        before = path.read_bytes()
        place = source.randrange(len(before))
        changed = bytearray(before)
        changed[place] ^= 1 << source.randrange(8)
        path.write_bytes(bytes(changed))
        errors, _notes = pruefen.check(bag, [vkey])
        assert f"Datei {path.relative_to(bag).as_posix()} verändert" in errors
        path.write_bytes(before)
    assert errors_of(bag) == []


def test_flipped_bits_are_found_and_the_file_is_named(bag):
    _flips_are_found(bag, 40)


@pytest.mark.full
def test_1000_flipped_bits_are_found_and_the_file_is_named(bag):
    _flips_are_found(bag, 1000)


def test_erasure_leaves_line_root_and_old_proofs_as_they_were(live_bag, tmp_path):
    event = AuditEvent.objects.get(leaf__seq=0)
    body, root = event.body, bytes(LogHead.objects.get().root)
    count = services.erase_disclosures(
        actor=SYSTEM, event_uid=event.uid, paths=["reason"], reason="Löschantrag von Person 7"
    )
    assert count == 1
    event.refresh_from_db()
    assert event.body == body
    assert not Disclosure.objects.filter(event=event).exists()
    assert errors_of(live_bag) == []
    again = export.build_bundle(tmp_path / "c.zip", with_disclosures=True)
    assert errors_of(again.path, checkpoints.vkey()) == []
    with zipfile.ZipFile(again.path) as archive:
        name = next(item for item in archive.namelist() if item.endswith("events.jsonl"))
        rows = archive.read(name).split(b"\n")[:283]
    assert merkle.root_of([merkle.leaf_hash(row) for row in rows]) == root
    assert "OFFENLEGUNG_GELOESCHT" in kinds()


def test_two_writers_of_one_path_are_an_error(filled, monkeypatch, tmp_path):
    def second(snapshot: export.Snapshot) -> Iterator[export.Part]:
        yield "events.jsonl", [b""]

    export.register_part(second)
    with pytest.raises(AuditError, match="two writers"):
        export.build_bundle(tmp_path / "b.zip")


@pytest.mark.parametrize("path", ["../x", "/x", "a/../b", "a//b", "ä", "a b", "", ".x"])
def test_path_outside_the_bag_is_an_error(filled, path, tmp_path):
    export.register_part(lambda snapshot: iter([(path, [b""])]))
    with pytest.raises(AuditError, match="no path for a bundle"):
        export.build_bundle(tmp_path / "b.zip")
