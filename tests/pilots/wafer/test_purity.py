from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pilots.replay

ROOT = Path(pilots.replay.__file__).parents[1]
WAFER = ROOT / "pilots" / "wafer"
EMULATED = sorted([*WAFER.glob("numerics*.py"), *WAFER.glob("handlers/*.py"), *WAFER.glob("functional/*.py")])
FORBIDDEN = {
    "dot",
    "matmul",
    "einsum",
    "inner",
    "tensordot",
    "vdot",
    "sum",
    "exp",
    "tanh",
    "power",
    "linalg",
    "cumsum",
}


@pytest.mark.parametrize("path", EMULATED, ids=lambda path: path.stem)
def test_emulated_numerics_use_neither_blas_nor_libm(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np"
    }
    assert not used & FORBIDDEN
    assert not any(isinstance(node, ast.MatMult) for node in ast.walk(tree))


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
