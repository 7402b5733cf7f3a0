"""Names of source code break behind their separators on a page, and nowhere in what is copied."""

from __future__ import annotations

import pytest

from qms.web.templatetags.qms import breakable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("relu", "relu"),
        ("torch/nn/a_b.py:1", "torch/<wbr>nn/<wbr>a_<wbr>b.<wbr>py:1"),
        ("<b>.x", "&lt;b&gt;.<wbr>x"),
    ],
)
def test_separators_get_a_place_to_break(text: str, shown: str) -> None:
    assert breakable(text) == shown
