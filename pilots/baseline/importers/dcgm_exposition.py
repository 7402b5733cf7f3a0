"""One scrape of a DCGM exporter: readings of every device at one moment, in the units DCGM gives its fields."""

from __future__ import annotations

from typing import Final

from pilots.baseline.importers.common import ImportedBenchmark
from pilots.baseline.importers.devices import CANNOT_SAY
from pilots.baseline.importers.exposition import devices_of, models_of, samples
from pilots.baseline.importers.reading import Source

NAME: Final = "DCGM-Exporter"


def recognise(source: Source) -> bool:
    """Say whether a file is a scrape of devices alone."""
    text = source.start
    is_text = not text.lstrip().startswith(("{", "[")) and "DCGM_FI_" in text
    return is_text and "DCGM FIELD," not in text and "vllm" not in text


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the readings of a scrape; raises BenchmarkRefused with one German sentence."""
    found = samples(source.text())
    driver = models_of(found, "DCGM_FI_DRIVER_VERSION")
    return (
        ImportedBenchmark(
            tool=NAME,
            metrics=tuple(devices_of(found).metrics(snapshot=True)),
            what_it_says=(f"Geräte laut Datei: {models_of(found, 'modelName')}, Treiber {driver}.",),
            what_it_cannot_say=(
                "Die Datei ist ein einzelner Abruf; Mittel und Spitzen über die Zeit sagt sie nicht.",
                *CANNOT_SAY,
            ),
        ),
    )
