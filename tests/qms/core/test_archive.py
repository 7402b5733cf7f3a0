"""A ZIP of stored files: its bytes depend on its content alone."""

from __future__ import annotations

import io
import zipfile

import pytest

from qms.core import archive, store


@pytest.fixture(autouse=True)
def _storage(settings, tmp_path):
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": tmp_path / "files"},
        },
    }


def made(stored: dict[str, str], texts: dict[str, str]) -> bytes:
    target = io.BytesIO()
    archive.write_zip(target, stored=stored, texts=texts)
    return target.getvalue()


def test_same_content_in_any_order_gives_the_same_bytes():
    one, two = store.put(b"1" * 3_000_000), store.put(b"zwei")
    data = made({"b.json": one, "a.pdf": two}, {"LIESMICH.txt": "für Sie"})
    assert data == made({"a.pdf": two, "b.json": one}, {"LIESMICH.txt": "für Sie"})
    with zipfile.ZipFile(io.BytesIO(data)) as found:
        assert found.testzip() is None
        assert found.namelist() == ["LIESMICH.txt", "a.pdf", "b.json"]
        assert found.read("LIESMICH.txt").decode() == "für Sie"
        assert found.read("b.json") == b"1" * 3_000_000
        assert {item.date_time for item in found.infolist()} == {archive.UNDATED}


def test_changed_file_is_named_by_its_digest():
    sha256 = store.put(b"Nachweis")
    store.path(sha256).write_bytes(b"anders")
    with pytest.raises(store.StoredFileChanged) as caught:
        made({"a.json": sha256}, {})
    assert caught.value.sha256 == sha256
