"""The source as the architecture tests see it: files, syntax trees, dotted names."""

from __future__ import annotations

import ast
import fnmatch
import functools
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUR_CODE = ("qms", "pilots")


@functools.cache
def files(*folders: str, pattern: str = "*.py") -> tuple[Path, ...]:
    """All files of the pattern below the folders, in order, relative to the root."""
    found = [path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob(pattern)]
    return tuple(sorted(path for path in found if "__pycache__" not in path.parts))


@functools.cache
def tree(path: Path) -> ast.Module:
    """Syntax tree of a file given relative to the root."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), filename=str(path))


def module(path: Path) -> str:
    """Dotted name of a source file."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def imports(path: Path) -> tuple[tuple[str, int], ...]:
    """Dotted names that a file imports, with line; `from a import b` counts as `a.b`."""
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
    return tuple(found)


def is_below(name: str, prefix: str) -> bool:
    """Whether a dotted name is the prefix or lies below it."""
    return name == prefix or name.startswith(prefix + ".")


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a dotted module name matches one of the patterns, itself or as a package above it."""
    return any(
        fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, f"{pattern}.*")
        for pattern in patterns
    )
