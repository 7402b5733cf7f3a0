"""Settings as the type checker's Django plug-in loads them: one folder beside its cache, made once."""

import os
from pathlib import Path

os.environ["QMS_DATA"] = str(Path(__file__).resolve().parent.parent / ".mypy_cache" / "data")

from qms.config.settings import *  # noqa: E402, F403
