"""Files and functions stay readable in one sitting (style.md D)."""

from __future__ import annotations

import ast

from tests.architecture.sources import OUR_CODE, ROOT, files, tree

FILE_LINES = 500
FUNCTION_LINES = 70


def test_no_file_is_longer_than_500_lines():
    lengths = {
        str(path): len((ROOT / path).read_text().splitlines())
        for path in files(*OUR_CODE)
        if "migrations" not in path.parts
    }
    assert {path: length for path, length in lengths.items() if length > FILE_LINES} == {}


def test_no_function_is_longer_than_70_lines():
    long = [
        f"{path}:{node.lineno} {node.name} {node.end_lineno - node.lineno + 1}"
        for path in files(*OUR_CODE)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    ]
    assert long == []
