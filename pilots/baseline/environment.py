"""What the measuring machine is: processor, memory and software, for the evidence file."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from qms.core import canonical

FIELDS: Final = (
    "cpu_model",
    "architecture",
    "logical_cores",
    "usable_cores",
    "memory_bytes",
    "operating_system",
    "python",
    "numpy",
    "blas",
    "byte_order",
)
"""What is said of a machine: no host name, no user, no path."""
COUNTED: Final = frozenset({"logical_cores", "usable_cores", "memory_bytes"})


def environment() -> dict[str, Any]:
    """Return processor model, cores, operating system and the versions that decide the speed of the baseline."""
    config: Any = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {}) if isinstance(config, dict) else {}
    return {
        "cpu_model": _cpu_model(),
        "architecture": platform.machine(),
        "logical_cores": os.cpu_count() or 0,
        "usable_cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 0,
        "memory_bytes": _memory_bytes(),
        "operating_system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "byte_order": sys.byteorder,
    }


def peak_memory_bytes() -> int:
    """Return the peak of resident memory of this process alone.

    On Linux from the kernel's own count: `ru_maxrss` starts with that of the process this one was forked from.
    """
    status = Path("/proc/self/status")
    peak = status.read_text(encoding="ascii").partition("VmHWM:")[2] if status.exists() else ""
    if peak:
        return int(peak.split()[0]) * 1024
    scale = 1 if sys.platform == "darwin" else 1024  # getrusage counts kibibytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def environment_digest(data: dict[str, Any]) -> str:
    """Return the SHA-256 of an environment record."""
    return canonical.digest(data)


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """Run the body with one thread in NumPy's bundled OpenBLAS; yields 1, or 0 if this NumPy has another library."""
    library = _bundled_openblas()
    if library is None:
        yield 0
        return
    before = library.scipy_openblas_get_num_threads64_()
    library.scipy_openblas_set_num_threads64_(1)
    try:
        yield 1
    finally:
        library.scipy_openblas_set_num_threads64_(before)


def _bundled_openblas() -> ctypes.CDLL | None:
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    for path in sorted(folder.glob("libscipy_openblas64_*")):
        try:
            library = ctypes.CDLL(str(path))
            library.scipy_openblas_get_num_threads64_  # noqa: B018 - raises if the build has another name
        except (OSError, AttributeError):
            continue
        return library
    return None


def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0][:120] if names else platform.processor() or "unknown"


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
