"""The file of a backup: nothing half-written, and nothing but what was written comes out again."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from qms.core import backup_archive, canonical
from qms.core.backup_archive import Writer, opened
from qms.core.backup_manifest import MANIFEST, MANIFEST_DIGEST, Content, Entry, Manifest
from qms.core.backup_parts import BackupRefused

FILES = {"qms.sqlite3": b"SQLite format 3\0" + bytes(100), "files/sha256/ab/cd/abcd": b"Nachweis " * 9}
TOPS = {"qms.sqlite3", "files"}


def manifest(entries, **changes):
    values = {
        "content": Content.DATA,
        "made_at": "2026-11-30T12:00:00.000000Z",
        "product": "0.1.0",
        "mode": "REAL",
        "database": "sqlite",
        "migrations": {"core": ["0001_initial"]},
        "parts": {"audit": {"size": 3}},
        "entries": tuple(entries),
    }
    return Manifest(**values | changes)


def write(target: Path, files, **changes) -> None:
    with Writer(target) as archive:
        for name, source in files.items():
            archive.add(name, source)
        archive.finish(manifest(archive.entries, **changes))


def written(target: Path, **changes) -> Path:
    write(target, {name: io.BytesIO(data) for name, data in FILES.items()}, **changes)
    return target


def forged(target: Path, files: dict[str, bytes], *, entries=None, compression=zipfile.ZIP_STORED) -> Path:
    """Write an archive whose manifest agrees with its own digests, as somebody would who forges one."""
    listed = [Entry(name, canonical.sha256_hex(data), len(data)) for name, data in files.items()]
    data = manifest(listed if entries is None else entries).dumps()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(MANIFEST, data)
        archive.writestr(MANIFEST_DIGEST, f"{canonical.sha256_hex(data)}\n")
    return target


def extracted(path: Path, folder: Path, tops=TOPS) -> dict[str, bytes]:
    with opened(path, Content.DATA, tops) as archive:
        archive.extract(folder)
    found = (item for item in folder.rglob("*") if item.is_file())
    return {str(item.relative_to(folder)): item.read_bytes() for item in found}


def test_what_was_written_comes_out_again_readable_by_its_owner_only(tmp_path):
    path = written(tmp_path / "sicherung.zip")
    assert extracted(path, tmp_path / "neu") == FILES
    assert path.stat().st_mode & 0o077 == 0
    assert all(item.stat().st_mode & 0o077 == 0 for item in (tmp_path / "neu").rglob("*") if item.is_file())
    assert [item.name for item in tmp_path.iterdir() if item.name.startswith(".")] == []


def test_manifest_is_canonical_and_says_whether_private_keys_are_inside(tmp_path):
    with zipfile.ZipFile(written(tmp_path / "a.zip")) as archive:
        value = canonical.loads(archive.read(MANIFEST))
    assert (value["schema"], value["private_keys"]) == ("ai-qms-backup/1", False)
    keys = canonical.loads(manifest([], content=Content.KEYS).dumps())
    assert keys["private_keys"]
    assert "PRIVATE SCHLÜSSEL" in keys["note"]


def test_writing_that_fails_leaves_nothing_behind(tmp_path):
    class Broken(io.BytesIO):
        def read(self, *size):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write(tmp_path / "a.zip", {"qms.sqlite3": io.BytesIO(b"x"), "files/x": Broken()})
    assert list(tmp_path.iterdir()) == []


def test_file_that_is_there_is_not_overwritten(tmp_path):
    target = tmp_path / "a.zip"
    target.write_bytes(b"eine andere")
    with pytest.raises(BackupRefused, match="gibt es schon"):
        written(target)
    assert target.read_bytes() == b"eine andere"
    assert list(tmp_path.iterdir()) == [target]


def test_no_changed_byte_passes(tmp_path):
    """Each byte in turn: refused, or (framing such as dates) the same files come out."""
    original = written(tmp_path / "a.zip").read_bytes()
    passed = []
    for place in range(len(original)):
        changed = bytearray(original)
        changed[place] ^= 1
        path, folder = tmp_path / "b.zip", tmp_path / f"neu-{place}"
        path.write_bytes(changed)
        try:
            if extracted(path, folder) != FILES:
                passed.append(place)
        except BackupRefused:
            continue
    assert passed == []


@pytest.mark.parametrize("name", [*FILES, MANIFEST, MANIFEST_DIGEST])
def test_changed_byte_in_each_file_is_named(tmp_path, name):
    path = written(tmp_path / "a.zip")
    with zipfile.ZipFile(path) as archive:
        content = archive.read(name)
    data = path.read_bytes()
    assert data.count(content) == 1
    place = data.index(content) + len(content) // 2
    path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    named = name if name in FILES else MANIFEST
    with pytest.raises(BackupRefused, match=f"{named}.*verändert"):
        extracted(path, tmp_path / "neu")


@pytest.mark.parametrize("kept", [0, 1, 100, 0.5, -1])
def test_truncated_file_is_refused(tmp_path, kept):
    path = written(tmp_path / "a.zip")
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept) if isinstance(kept, float) else kept])
    with pytest.raises(BackupRefused, match="keine vollständige Sicherung"):
        extracted(path, tmp_path / "neu")


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(BackupRefused, match="lässt sich nicht lesen"):
        extracted(tmp_path / "a.zip", tmp_path / "neu")


@pytest.mark.parametrize(
    "name",
    [
        "../boese",
        "/etc/boese",
        "files/../../boese",
        "files//x",
        "files/.versteckt",
        "files\\x",
        "C:/x",
        "a\nb",
    ],
)
def test_name_that_leads_out_of_the_folder_is_refused(tmp_path, name):
    path = forged(tmp_path / "a.zip", {name: b"x"})
    with pytest.raises(BackupRefused, match="unzulässigen Dateinamen"):
        extracted(path, tmp_path / "neu", {*TOPS, "", "..", "C:"})
    assert not (tmp_path / "boese").exists()


def test_file_that_does_not_belong_into_a_backup_is_refused(tmp_path):
    path = forged(tmp_path / "a.zip", {"keys/log.key": b"x"})
    with pytest.raises(BackupRefused, match="nicht hineingehört"):
        extracted(path, tmp_path / "neu")


def test_packed_data_are_refused_before_they_are_unpacked(tmp_path):
    bomb = forged(tmp_path / "a.zip", {"files/x": bytes(5_000_000)}, compression=zipfile.ZIP_DEFLATED)
    assert bomb.stat().st_size < 50_000
    with pytest.raises(BackupRefused, match="gepackte Daten"):
        extracted(bomb, tmp_path / "neu")
    assert not (tmp_path / "neu").exists()


def test_entries_that_share_their_bytes_are_refused(tmp_path):
    """Overlapping entries let a small file grow without compression."""
    path = written(tmp_path / "a.zip")
    with zipfile.ZipFile(path, "a") as archive:
        largest = archive.getinfo("qms.sqlite3")
        for number in range(50):
            copy = zipfile.ZipInfo(f"files/{number}")
            for field in ("header_offset", "file_size", "compress_size", "CRC"):
                setattr(copy, field, getattr(largest, field))
            archive.filelist.append(copy)
            archive.NameToInfo[copy.filename] = copy
        archive._didModify = True
    with pytest.raises(BackupRefused):
        extracted(path, tmp_path / "neu")


@pytest.mark.parametrize("more", [{"files/extra": b"x"}, {}])
def test_files_and_manifest_have_to_agree(tmp_path, more):
    listed = [Entry(name, canonical.sha256_hex(data), len(data)) for name, data in FILES.items()]
    files = FILES | more if more else dict(list(FILES.items())[:1])
    path = forged(tmp_path / "a.zip", files, entries=listed)
    with pytest.raises(BackupRefused, match="stimmen nicht überein"):
        extracted(path, tmp_path / "neu")


def test_digest_in_the_manifest_counts(tmp_path):
    listed = [Entry(name, "0" * 64, len(data)) for name, data in FILES.items()]
    with pytest.raises(BackupRefused, match="wurde verändert"):
        extracted(forged(tmp_path / "a.zip", FILES, entries=listed), tmp_path / "neu")


def test_manifest_larger_than_the_limit_is_refused(tmp_path, monkeypatch):
    path = written(tmp_path / "a.zip")
    monkeypatch.setattr(backup_archive, "_MANIFEST_BYTES", 100)
    with pytest.raises(BackupRefused, match="zu groß"):
        extracted(path, tmp_path / "neu")


def test_archive_without_manifest_and_other_format_are_refused(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("qms.sqlite3", b"x")
    with pytest.raises(BackupRefused, match="keine Sicherung von AI-QMS"):
        extracted(path, tmp_path / "neu")
    other = canonical.dumps({"schema": "ai-qms-backup/2"})
    with pytest.raises(BackupRefused, match="nicht kennt"):
        Manifest.loads(other)
    with pytest.raises(BackupRefused, match="nicht lesbar"):
        Manifest.loads(b"[]")


def test_keys_and_data_are_not_taken_for_each_other(tmp_path):
    keys = written(tmp_path / "a.zip", content=Content.KEYS)
    with pytest.raises(BackupRefused, match="--keys"):
        extracted(keys, tmp_path / "neu")
    data = written(tmp_path / "b.zip")
    with pytest.raises(BackupRefused, match="keine Schlüssel"), opened(data, Content.KEYS, TOPS):
        pass
