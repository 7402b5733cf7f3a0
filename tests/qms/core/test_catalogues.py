from __future__ import annotations

import gettext
import os

from qms.core import catalogues

PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\nmsgid "Freigabe"\nmsgstr "Approval"\n'


def make(folder, text=PO):
    path = folder / "en_GB" / "LC_MESSAGES" / "django.po"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_build_makes_a_catalogue_gettext_can_read(tmp_path):
    target = make(tmp_path).with_suffix(".mo")
    assert catalogues.build(tmp_path) == [target]
    with target.open("rb") as stream:
        assert gettext.GNUTranslations(stream).gettext("Freigabe") == "Approval"


def test_build_again_only_when_the_source_is_newer(tmp_path):
    source = make(tmp_path)
    catalogues.build(tmp_path)
    assert catalogues.build(tmp_path) == []
    newer = source.with_suffix(".mo").stat().st_mtime + 10
    os.utime(source, (newer, newer))
    assert catalogues.build(tmp_path) == [source.with_suffix(".mo")]
