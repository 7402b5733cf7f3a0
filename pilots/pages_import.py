"""What pages say of files handed in: which were recognised, by which tool, and what each brought."""

from __future__ import annotations

from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from pilots import pages_blocks as blocks
from pilots.catalog.joined import PREVIEW_ROWS, ImportedRun, Table
from pilots.models import Run
from pilots.pages import METRIC_LABELS, metric_name, metrics_in
from qms.core import formats

NOTHING: Final = "–"
FIGURES: Final[dict[str, Any]] = {
    **METRIC_LABELS,
    "throughput_samples_s": lazy("Durchsatz, Anfragen je Sekunde"),
    "throughput_tokens_s": lazy("Durchsatz, Token je Sekunde"),
}


def files_of(run: Run) -> dict[str, Any] | None:
    """Return the table of the files a run was read from, or None for a run without files."""
    rows = run.summary.get("files")
    return files_table(rows) if rows else None


def recognised(read: ImportedRun) -> dict[str, Any]:
    """Return what handed-in files say together, before anything is stored: files, figures, what they cannot say."""
    summary = read.summary()
    return {
        "files": files_table(summary["files"]),
        "metrics": metrics_in(summary),
        "summary": summary,
        "measured_at": read.measured_at,
    }


def files_table(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the table of files: name and size, tool with version, figures, digest."""
    columns = [(_("Datei"), False), (_("Erkannt als"), False), (_("Größen"), False), (_("SHA-256"), False)]
    cells = [
        [
            {
                "text": row["name"],
                "code": True,
                "small": formats.quantity(row["size_bytes"] / 1024, "KiB", 1),
            },
            {"text": row["tool"]},
            {"text": named(row["keys"]) or NOTHING},
            {"text": f"{row['sha256'][:16]}…"},
        ]
        for row in rows
    ]
    return blocks.table(_("Erkannte Dateien"), columns, cells)


def named(keys: list[str]) -> str:
    """Return the names of figures in the active language, each once."""
    return ", ".join(dict.fromkeys(str(FIGURES.get(key) or metric_name(key)) for key in keys))


def preview(table: Table) -> dict[str, Any]:
    """Return the first rows of a table as they stand, with their lines."""
    columns = [(_("Zeile"), False), *((name, False) for name in table.names)]
    rows: list[list[dict[str, Any]]] = [
        [{"text": str(line)}, *({"text": cell or NOTHING, "code": True} for cell in cells)]
        for line, cells in table.rows[:PREVIEW_ROWS]
    ]
    return blocks.table(_("Die ersten Zeilen"), columns, rows)
