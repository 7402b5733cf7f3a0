from __future__ import annotations

import hashlib

import pytest

from qms.core import store

DATA = b"Nachweis"
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture(autouse=True)
def _storage(settings, tmp_path):
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": tmp_path / "files"},
        },
    }


def test_put_returns_the_digest_and_get_the_bytes():
    assert store.put(DATA) == SHA256
    assert store.get(SHA256) == DATA
    assert store.size_bytes(SHA256) == len(DATA)


def test_put_twice_keeps_one_file():
    store.put(DATA)
    before = store.path(SHA256).stat().st_ino
    assert store.put(DATA) == SHA256
    assert store.path(SHA256).stat().st_ino == before
    assert list(store.all_digests()) == [SHA256]


def test_put_repairs_a_file_cut_short():
    store.put(DATA)
    store.path(SHA256).write_bytes(DATA[:3])
    store.put(DATA)
    assert store.get(SHA256) == DATA


def test_get_of_a_changed_file_is_refused():
    store.put(DATA)
    store.path(SHA256).write_bytes(DATA + b"!")
    with pytest.raises(store.StoredFileChanged) as caught:
        store.get(SHA256)
    assert caught.value.sha256 == SHA256


def test_get_of_a_missing_file_is_refused():
    assert not store.exists(SHA256)
    with pytest.raises(store.StoredFileMissing):
        store.get(SHA256)
    with pytest.raises(store.StoredFileMissing):
        store.size_bytes(SHA256)


@pytest.mark.parametrize("name", ["", "abc", SHA256.upper(), SHA256 + "0", "../" + SHA256[3:]])
def test_name_that_is_no_digest_is_refused(name):
    with pytest.raises(ValueError, match="expected 64"):
        store.get(name)


def test_all_digests_are_sorted():
    digests = [store.put(bytes([number])) for number in range(20)]
    assert list(store.all_digests()) == sorted(digests)


def test_all_digests_of_an_empty_store():
    assert list(store.all_digests()) == []
