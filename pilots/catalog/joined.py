"""The files of one run, as handed in: what they say together, which evidence they become, and what is kept of them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from pilots.baseline import joining, mapping
from pilots.baseline.importers.common import BenchmarkRefused, Measurement
from pilots.baseline.joining import MAX_FILES, Joined, Part
from pilots.baseline.mapping import (
    DECIMALS,
    MEANINGS,
    PREVIEW_ROWS,
    SEPARATORS,
    SUCCESS,
    Column,
    Layout,
    Table,
)
from pilots.catalog.baseline import Imported, read_benchmark, refused
from qms.core import canonical
from qms.core.errors import CriterionNotMet
from qms.core.values import decimal_text

__all__ = [
    "DECIMALS",
    "MAX_FILES",
    "MEANINGS",
    "PREVIEW_ROWS",
    "SEPARATORS",
    "SUCCESS",
    "Column",
    "ImportedRun",
    "Layout",
    "Table",
    "TableReading",
    "archive",
    "cut_table",
    "read_files",
    "read_handed_in",
]
ARCHIVE: Final = "messdateien.zip"
BASELINE, PROFILE, TARGET = "EV-02", "EV-01", "EV-04"
ONLY_A_TRACE: Final = (
    "Eine Profiler-Spur allein ist kein Ziellauf; bitte reichen Sie auch die Messdatei des Laufs ein."
)
NO_SPEED: Final = (
    "{tool} sagt nicht, wie schnell der Workload lief: Weder Durchsatz noch Antwortzeit steht darin; bitte reichen Sie "
    "auch die Messdatei der Last desselben Laufs ein."
)
Handed = tuple[bytes, str]
"""Bytes and name of a file."""
_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)  # the archive says nothing the files do not


@dataclass(frozen=True)
class ImportedRun:
    """The files of one run, understood. files: as handed in; read: what each says; joined: what they say together.

    more: further facts of EV-02.
    """

    files: tuple[Handed, ...]
    read: tuple[Imported, ...]
    joined: Joined
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def measured_at(self) -> datetime | None:
        """When the run was measured, as the file with the load says."""
        return self.read[self.joined.main].measured_at

    @property
    def measurement(self) -> Measurement | None:
        """What our own measuring command adds, if the file with the load is one of its results."""
        return self.read[self.joined.main].benchmark.measurement

    @property
    def started_at(self) -> datetime | None:
        """The earliest start the file with the load allows, without zone where it names none; None if it gives no time."""
        found = self.read[self.joined.main].benchmark
        try:
            moment = datetime.fromisoformat(found.measured_at or "")
            lasted = timedelta(seconds=found.lasted_s or 0) if found.measured_until is None else timedelta(0)
            return moment - lasted
        except (ValueError, OverflowError):
            return None

    @property
    def raw(self) -> dict[str, Handed]:
        """What is kept beside each piece of evidence: the one file, all in an archive, or the trace alone."""
        kept = self.files[0] if len(self.files) == 1 else (archive(self.files), ARCHIVE)
        trace = self._trace
        return {BASELINE: kept} | ({} if trace is None else {PROFILE: self.files[trace]})

    def facts(
        self, *, run_id: str, platform: dict[str, Any], model_digest: str, measured_at: str
    ) -> dict[str, dict[str, Any]]:
        """Return the facts by type: EV-02 unless there is nothing but a trace, and EV-01 for a trace."""
        found: dict[str, dict[str, Any]] = {}
        if not all(part.is_trace for part in self._parts):
            main = replace(self.read[self.joined.main], benchmark=self.joined.benchmark)
            facts = main.facts(
                run_id=run_id, platform=platform, model_digest=model_digest, measured_at=measured_at
            )
            kept = self.raw[BASELINE][0]
            found[BASELINE] = (
                facts | self.more | {"files": self.listed(), "raw_sha256": canonical.sha256_hex(kept)}
            )
        if self._trace is not None:
            found[PROFILE] = self._profile(self._trace, run_id, platform, measured_at)
        return found

    def target_facts(
        self,
        *,
        run_id: str,
        platform: dict[str, Any],
        model_digest: str,
        started_at: str,
        criteria_sha256: str,
    ) -> dict[str, Any]:
        """Return EV-04 of a run on a real system: what no benchmark file knows of the wafer stays empty.

        Raises CriterionNotMet for files that hold nothing but a profiler trace.
        """
        facts = self.facts(
            run_id=run_id, platform=platform, model_digest=model_digest, measured_at=started_at
        ).get(BASELINE)
        if facts is None:
            raise refused(ONLY_A_TRACE, "NO_RUN")
        return facts | {
            "type": TARGET,
            "role": "ZIEL",
            "mode": "",
            "op_coverage": [],
            "unsupported_ops": [],
            "result_digest": facts["raw_sha256"],
            "criteria_sha256": criteria_sha256,
            "started_at": started_at,
        }

    def listed(self) -> list[dict[str, Any]]:
        """Return name, digest, size in bytes, tool and figures of each file, in the order handed in."""
        return [
            {
                "name": name,
                "sha256": canonical.sha256_hex(data),
                "size_bytes": len(data),
                "tool": f"{item.benchmark.tool} {item.benchmark.version}".strip(),
                "keys": list(keys),
            }
            for (data, name), item, keys in zip(self.files, self.read, self.joined.keys, strict=True)
        ]

    def summary(self) -> dict[str, Any]:
        """Return what the page shows."""
        main = replace(self.read[self.joined.main], benchmark=self.joined.benchmark)
        return main.summary() | {"files": self.listed()}

    def check_says_how_fast(self) -> None:
        """Raise CriterionNotMet for files with neither throughput nor time: no baseline, no target run.

        A profiler trace alone passes: it becomes EV-01.
        """
        if not self.joined.says_how_fast and not all(part.is_trace for part in self._parts):
            tools = dict.fromkeys(item.benchmark.tool for item in self.read)
            raise refused(NO_SPEED.format(tool=" und ".join(tools)), "NO_SPEED")

    @property
    def _parts(self) -> tuple[Part, ...]:
        return tuple(
            Part(name, item.benchmark) for (_data, name), item in zip(self.files, self.read, strict=True)
        )

    @property
    def _trace(self) -> int | None:
        return next((index for index, part in enumerate(self._parts) if part.is_trace), None)

    def _profile(self, index: int, run_id: str, platform: dict[str, Any], measured_at: str) -> dict[str, Any]:
        """Return EV-01: shares of the window; what a trace cannot tell is null. compute_share includes copies."""
        found, (data, name) = self.read[index].benchmark, self.files[index]
        values = {item.key: item.value for item in found.metrics}
        communication: Decimal = values["comm_share"]
        return {
            "schema": "qms.profile/1",
            "type": PROFILE,
            "run_id": run_id,
            "platform": platform,
            "measured_at": found_at(self.read[index], measured_at),
            "comm_share": decimal_text(communication),
            "mem_stall_share": None,
            "compute_share": decimal_text(values["gpu_busy_share"] - communication),
            "metrics": [item.to_json() for item in found.metrics],
            "tool": f"{found.tool} {found.version}".strip(),
            "files": [{"name": name, "sha256": canonical.sha256_hex(data), "size_bytes": len(data)}],
            "cannot_say": list(found.what_it_cannot_say),
        }


def read_files(files: Sequence[Handed], number: int | None = None) -> ImportedRun:
    """Read the files of one run; raises CriterionNotMet NACHWEIS_VERWEIGERT with one sentence, naming the file.

    number: which run of the one file that holds several.
    """
    if len({canonical.sha256_hex(data) for data, _name in files}) < len(files):
        raise refused("Dieselbe Datei ist zweimal dabei; bitte wählen Sie sie einmal.", "TWICE")
    read = tuple(_read(data, name, number, alone=len(files) == 1) for data, name in files)
    parts = [Part(name, item.benchmark) for (_data, name), item in zip(files, read, strict=True)]
    try:
        joined = joining.join(parts)
    except BenchmarkRefused as error:
        raise refused(error.message_de, error.code) from error
    return ImportedRun(tuple(files), read, joined)


@dataclass(frozen=True)
class TableReading:
    """What a person says of a table of their own: how it is written, and what its columns are."""

    layout: Layout
    columns: tuple[Column, ...]


def read_handed_in(
    files: Sequence[Handed], number: int | None = None, table: TableReading | None = None
) -> ImportedRun:
    """Read the files of one run, or the one table as `table` says; raises CriterionNotMet NACHWEIS_VERWEIGERT."""
    return read_files(files, number) if table is None else read_table(files[0], table)


def read_table(file: Handed, table: TableReading) -> ImportedRun:
    """Read a table by what a person says of its columns; raises CriterionNotMet NACHWEIS_VERWEIGERT with one sentence."""
    (data, name), layout, columns = file, table.layout, table.columns
    try:
        names = mapping.table_of(data, layout).names
        found = mapping.read_table(data, layout, columns)
    except BenchmarkRefused as error:
        raise refused(error.message_de, error.code) from error
    more = {"mapping": mapping.to_json(layout, columns, names)}
    return ImportedRun((file,), (Imported(found, data),), joining.join([Part(name, found)]), more)


def cut_table(data: bytes, layout: Layout) -> Table:
    """Return the cells of a table before its columns are named; raises CriterionNotMet with one sentence."""
    try:
        return mapping.table_of(data, layout)
    except BenchmarkRefused as error:
        raise refused(error.message_de, error.code) from error


def _read(data: bytes, name: str, number: int | None, *, alone: bool) -> Imported:
    """Read one file; beside others a refusal names the file, and the number means the file that holds several runs."""
    if alone:
        return read_benchmark(data, name, number)
    try:
        return read_benchmark(data, name)
    except CriterionNotMet as error:
        if number is not None and error.facts.get("cause") == "SEVERAL_RUNS":
            return read_benchmark(data, name, number)
        raise refused(f"{name}: {error.message}", str(error.facts.get("cause", ""))) from error


def found_at(item: Imported, otherwise: str) -> str:
    """Return when a file says it was measured, as ISO 8601 in UTC."""
    moment = item.measured_at
    return moment.isoformat() if moment else otherwise


def archive(files: Sequence[Handed]) -> bytes:
    """Return the files as a ZIP, byte for byte and not packed, each name after its place."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as into:
        for place, (data, name) in enumerate(files, 1):
            into.writestr(zipfile.ZipInfo(f"{place}-{name}", _LONG_AGO), data)
    return held.getvalue()
