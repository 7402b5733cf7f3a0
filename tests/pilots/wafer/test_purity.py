from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pilots.replay

ROOT = Path(pilots.replay.__file__).parents[1]
WAFER = ROOT / "pilots" / "wafer"
NUMERICS = """
    abs add arange asarray ascontiguousarray bool_ broadcast_shapes concatenate copysign copyto divide empty_like float32
    float64 floor frexp full_like inf int32 int64 isfinite maximum maximum.reduce minimum minimum.reduce moveaxis multiply
    nan negative pad rint sqrt stack subtract where zeros zeros_like
"""
HANDLERS = """
    abs add arange argmax argsort array asarray ascontiguousarray bool_ broadcast_to concatenate divide equal errstate
    flatnonzero float32 float64 greater inf int32 int64 isnan less lib.stride_tricks.sliding_window_view maximum minimum
    multiply negative pad put_along_axis sqrt stack subtract take_along_axis tile trunc where zeros zeros_like
"""
FUNCTIONAL = """
    arange argmax array_equal ascontiguousarray concatenate count_nonzero errstate float32 frombuffer full int32 isfinite
    isnan nan pad tile where
"""
# Exactly what is used today. Every name is an exact move, a comparison or one operation that IEEE 754 rounds once.
ALLOWED = {"numerics*.py": NUMERICS, "handlers/*.py": HANDLERS, "functional/*.py": FUNCTIONAL}
EXACT_MATH = {"isqrt", "prod"}  # of whole numbers
SUMMING = {"sum", "mean", "dot", "prod", "std", "var", "trace", "cumsum", "cumprod", "matmul", "ptp"}
WHOLESALE = {"reduce", "accumulate", "reduceat", "outer", "at"}
EXACT_REDUCTIONS = {"maximum.reduce", "minimum.reduce"}
EMULATED = [(path, names) for pattern, names in ALLOWED.items() for path in sorted(WAFER.glob(pattern))]


def chain(node: ast.AST) -> str:
    """Return `a.b.c` of an attribute, nothing for one of a call or an index."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = chain(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def numpy_names(tree: ast.AST) -> set[str]:
    """Return the longest dotted names below np."""
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    whole = [chain(n) for n in ast.walk(tree) if isinstance(n, ast.Attribute) and id(n) not in inner]
    return {name.removeprefix("np.") for name in whole if name.startswith("np.")}


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield everything that is imported, as `module` or `module.name`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (f"{item.name} as {item.asname}" if item.asname else item.name for item in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{item.name}" for item in node.names)


def offences(source: str, allowed: set[str]) -> set[str]:
    """Return what a file of the emulated numerics must not contain."""
    tree = ast.parse(source)
    found = numpy_names(tree) - allowed - EXACT_REDUCTIONS
    if not allowed >= EXACT_REDUCTIONS:
        found |= numpy_names(tree) & EXACT_REDUCTIONS
    for node in ast.walk(tree):
        if isinstance(node, ast.MatMult):
            found.add("@")
        if isinstance(node, ast.Attribute) and node.attr in SUMMING:
            found.add(f".{node.attr}")
        if isinstance(node, ast.Attribute) and node.attr in WHOLESALE:
            name = chain(node).removeprefix("np.")
            found |= {f".{node.attr}"} - ({f".{node.attr}"} if name in EXACT_REDUCTIONS else set())
    for name in imported(tree):
        top = name.split(".")[0].split(" ")[0]
        if top == "math" and name.removeprefix("math.") not in EXACT_MATH:
            found.add(name)
        if top in {"numpy", "scipy", "cmath", "statistics", "random"} and name not in {
            "numpy as np",
            "numpy.typing as npt",
        }:
            found.add(name)
    return found


@pytest.mark.parametrize(("path", "names"), EMULATED, ids=lambda item: getattr(item, "stem", ""))
def test_emulated_numerics_use_neither_blas_nor_libm(path: Path, names: str) -> None:
    assert not offences(path.read_text(encoding="utf-8"), set(names.split()))


@pytest.mark.parametrize("pattern", ALLOWED)
def test_nothing_is_allowed_that_nobody_uses(pattern: str) -> None:
    used = {
        name
        for path in WAFER.glob(pattern)
        for name in numpy_names(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert used == set(ALLOWED[pattern].split())


@pytest.mark.parametrize(
    ("line", "offence"),
    [
        ("y = np.exp(x)", "exp"),
        ("y = np.sum(x)", "sum"),
        ("y = np.linalg.norm(x)", "linalg.norm"),
        ("y = np.add.reduce(x)", "add.reduce"),
        ("y = np.add.accumulate(x)", ".accumulate"),
        ("plus = np.add\ny = plus.reduce(x)", ".reduce"),
        ("y = x.sum()", ".sum"),
        ("y = f(x)[0].mean(axis=1)", ".mean"),
        ("y = x.dot(x)", ".dot"),
        ("y = x.prod()", ".prod"),
        ("y = x.std()", ".std"),
        ("y = x @ x", "@"),
        ("y @= x", "@"),
        ("from math import exp", "math.exp"),
        ("from math import fsum as exact", "math.fsum"),
        ("import math", "math"),
        ("import numpy", "numpy"),
        ("import numpy as n", "numpy as n"),
        ("from numpy import sum as total", "numpy.sum"),
        ("from numpy.linalg import norm", "numpy.linalg.norm"),
    ],
)
def test_every_way_around_is_found(line: str, offence: str) -> None:
    assert offence in offences(line, set(NUMERICS.split()))


@pytest.mark.parametrize(
    "line",
    [
        "import numpy as np",
        "from math import isqrt, prod",
        "y = np.add(x, x)",
        "y = np.maximum.reduce(x, axis=-1)",
        "y: np.float32 = np.multiply(x, x)",
    ],
)
def test_what_is_exact_passes(line: str) -> None:
    assert not offences(line, set(NUMERICS.split()))


def test_pure_packages_load_without_django() -> None:
    code = (
        "import sys, pilots.replay, pilots.baseline.measure, pilots.baseline.importers, pilots.baseline.facts;"
        "import pilots.wafer.facts, pilots.wafer.listing, pilots.wafer.calibrate, pilots.graph.fingerprint;"
        "import pilots.wafer.__main__, pilots.wafer.serving, pilots.wafer.claims, pilots.graph.evaluate;"
        "print([n for n in sys.modules if n.split('.')[0] in {'django', 'celery', 'guardian'}],"
        "sorted(n for n in sys.modules if n.startswith('qms')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] ['qms', 'qms.core', 'qms.core.canonical', 'qms.core.values']"
