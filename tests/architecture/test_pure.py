"""Pure packages load in a fresh process without Django."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT, files, module

PURE = (
    "qms.core.values",
    "qms.core.canonical",
    "pilots.graph",
    "pilots.wafer",
    "pilots.cluster",
    "pilots.baseline",
    "pilots.economics",
    "pilots.replay",
    "qms.signing.verify",
)
PRESENT = sorted(
    {
        module(path)
        for path in files("qms", "pilots")
        for pure in PURE
        if module(path) == pure or module(path).startswith(pure + ".")
    }
)


@pytest.mark.system
def test_pure_modules_load_without_django():
    code = (
        f"import sys\nfor name in {PRESENT!r}:\n"
        "    try:\n"
        "        if not name.endswith('__main__'): __import__(name)\n"
        "    except ModuleNotFoundError as error:\n"
        "        if error.name.split('.')[0] not in {'torch', 'jax', 'onnx'}: raise\n"
        "    heavy = {'django', 'celery', 'guardian'} & set(sys.modules)\n"
        "    assert not heavy, f'{name} loads {heavy}'\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr[-2000:]
