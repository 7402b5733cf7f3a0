"""Files that are known and are no run of a benchmark: each is refused with the sentence that says where it belongs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pilots.baseline.importers.common import BenchmarkRefused, ImportedBenchmark
from pilots.baseline.importers.reading import Source

NAME: Final = ""


@dataclass(frozen=True, slots=True)
class Known:
    """A kind of file: how its start looks, and why it is not taken."""

    code: str
    matches: Callable[[str], bool]
    sentence: str


def _json_with(*keys: str) -> Callable[[str], bool]:
    def matches(text: str) -> bool:
        return text.lstrip()[:1] == "{" and all(f'"{key}"' in text for key in keys)

    return matches


def _line(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.MULTILINE)
    return lambda text: compiled.search(text[:200_000]) is not None


KNOWN: Final = (
    Known(
        "MODEL_DESCRIPTION",
        lambda text: (
            _json_with("model_type")(text)
            and any(f'"{key}"' in text for key in ("hidden_size", "text_config", "architectures"))
        ),
        "Das ist die Konfiguration eines Modells (config.json), keine Messung; geben Sie sie bei der Suche nach einer "
        "passenden Maschine oder beim Workload als Modell an.",
    ),
    Known(
        "MODEL_DESCRIPTION",
        _json_with("weight_map"),
        "Das ist das Verzeichnis der Gewichte eines Modells (safetensors), keine Messung; seine Größe gehört zum Modell "
        "des Workloads.",
    ),
    Known(
        "SYSTEM_DESCRIPTION",
        _json_with("accelerator_model_name", "host_processor_model_name", "submitter"),
        "Das ist die Beschreibung eines Systems von MLPerf, keine Messung; ihre Angaben gehören in das Plattformprofil.",
    ),
    Known(
        "PUBLISHED",
        lambda text: (
            text.lstrip()[:1] == "["
            and all(f'"{key}"' in text for key in ("Performance_Result", "Performance_Units", "Submitter"))
        ),
        "Das sind veröffentlichte Ergebnisse vieler Systeme von MLPerf; eine Vergleichsbasis ist ein eigener Lauf auf "
        "Ihrer Plattform, bitte laden Sie dessen Protokoll hoch.",
    ),
    Known(
        "NO_RUN",
        _line(r"^# DCGM FIELD, Prometheus metric type, help message"),
        "Das ist die Liste der Messgrößen eines DCGM-Exporters, keine Messung; bitte laden Sie einen Abruf hoch.",
    ),
    Known(
        "NO_RUN",
        _json_with("startedAt", "executable", "gpu_nvidia"),
        "Das sind Angaben zum Rechner eines Laufs von W&B, keine Messwerte; bitte laden Sie die Verlaufsdatei "
        "(history.jsonl) hoch.",
    ),
    Known(
        "NO_RUN",
        lambda text: text.startswith("_wandb:") or "\n_wandb:\n" in text[:200_000],
        "Das ist die Konfiguration eines Laufs von W&B, keine Messung; bitte laden Sie die Verlaufsdatei "
        "(history.jsonl) hoch.",
    ),
    Known(
        "BINARY_LOG",
        lambda text: text.startswith(":W&B"),
        "Das ist das binäre Protokoll eines Laufs von W&B; bitte exportieren Sie den Verlauf als JSON-Zeilen "
        "(„wandb sync“, dann „wandb.Api().run(…).scan_history()“).",
    ),
    Known(
        "PART_OF_A_RUN",
        lambda text: not text.lstrip().startswith("{") and "lifecycle_stage:" in text[:20_000],
        "Das ist ein Teil eines Laufs von MLflow; bitte packen Sie den ganzen Ordner des Laufs als ZIP.",
    ),
    Known(
        "PART_OF_A_RUN",
        lambda text: (
            re.match(r"(?:[0-9]{13} (?:[0-9.eE+-]{1,40}|nan|-?inf) [0-9]{1,12}\r?\n)+", text) is not None
        ),
        "Das ist die Reihe einer einzelnen Messgröße von MLflow ohne ihren Namen; bitte packen Sie den ganzen Ordner des "
        "Laufs als ZIP.",
    ),
)


def recognise(source: Source) -> bool:
    """Say whether a file is one of these."""
    return _known(source) is not None


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Refuse the file with the sentence of its kind."""
    found = _known(source)
    assert found is not None
    raise BenchmarkRefused(found.code, found.sentence)


def _known(source: Source) -> Known | None:
    return next((item for item in KNOWN if item.matches(source.start)), None)
