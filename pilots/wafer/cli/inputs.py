"""What the commands share: reading files, finding a machine, writing results."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

from pilots.graph.model_config import ModelConfig, parse_config
from pilots.wafer import defect_file, defects, machine_file
from pilots.wafer.errors import RequestError
from pilots.wafer.estimate import Question
from pilots.wafer.machine import MACHINES, Machine, find
from pilots.wafer.program import Mode

MAX_FILE_BYTES: Final = 2**28
USUAL_CONTEXT: Final = 4096
MODES: Final = {"resident": Mode.RESIDENT, "weight-streaming": Mode.WEIGHT_STREAMING}


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add the choice of a machine."""
    known = ", ".join(MACHINES)
    parser.add_argument("--machine", default="wse-2", help=f"{known}, oder eine Maschinendatei (JSON)")
    parser.add_argument("--clock", default="", help="Taktprofil der Maschine, etwa sdk oder research")
    parser.add_argument(
        "--defects", default="", help="Ausfallkarte (JSON): gerechnet wird auf dem, was heil bleibt"
    )


def add_question(parser: argparse.ArgumentParser) -> None:
    """Add model, machine, mode and sizes."""
    parser.add_argument("--config", required=True, help="config.json des Modells (Hugging Face)")
    add_machine(parser)
    parser.add_argument("--mode", choices=sorted(MODES), default="resident")
    parser.add_argument(
        "--context",
        type=int,
        default=None,
        help="Token je Anfrage; ohne Angabe 4096, höchstens was das Modell kann",
    )
    parser.add_argument("--batch", type=int, default=1, help="Anfragen zugleich")
    parser.add_argument("--systems", type=int, default=1, help="Zahl der Systeme, 1 bis 16")


def model(arguments: argparse.Namespace) -> ModelConfig:
    """Return the model of the named file; raises ConfigError or RequestError."""
    return parse_config(read_text(arguments.config))


def question(arguments: argparse.Namespace, config: ModelConfig) -> Question:
    """Return what is asked of a model."""
    usual = min(USUAL_CONTEXT, config.max_context or USUAL_CONTEXT)
    context = usual if arguments.context is None else arguments.context
    return Question(context, arguments.batch, arguments.systems, MODES[arguments.mode])


def machine(arguments: argparse.Namespace) -> Machine:
    """Return a known machine or the one a file describes, at the clock asked for, less what a map calls defect."""
    name = arguments.machine
    found = machine_file.load(read_text(name)) if Path(name).suffix == ".json" else find(name)
    if arguments.clock:
        found = found.with_clock(arguments.clock)
    if arguments.defects:
        found = defects.usable(found, defect_file.load(read_text(arguments.defects), found)).machine
    return found


def read_text(name: str) -> str:
    """Return the text of a file; raises RequestError as `read_bytes`, and for what is no UTF-8."""
    try:
        return read_bytes(name).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"{name}: {error}", message_de=f"Die Datei {name} ist kein UTF-8-Text.") from error


def read_bytes(name: str, most: int = MAX_FILE_BYTES) -> bytes:
    """Return the bytes of a regular file; raises RequestError if it is none, cannot be read or is larger than `most`."""
    path = Path(name)
    unreadable = f"Die Datei {name} lässt sich nicht lesen."
    try:
        if not path.is_file():
            raise RequestError(f"{name} is no file", message_de=unreadable)
        if path.stat().st_size > most:
            sentence = f"Die Datei {name} ist größer als {most // 2**20}\u00a0MiB."
            raise RequestError(f"{name} is too large", message_de=sentence)
        return path.read_bytes()
    except OSError as error:
        raise RequestError(f"{name}: {error}", message_de=unreadable) from error


def there(path: Path) -> bool:
    """Say whether something lies at a path; raises RequestError for a path that cannot be one."""
    try:
        return path.exists()
    except OSError as error:
        raise RequestError(f"{path}: {error}", message_de="Der Name der Datei ist zu lang.") from error


def write_file(path: Path, content: bytes) -> None:
    """Replace a file; a half-written one never takes the place of a whole one. Raises RequestError."""
    refusal = f"Die Datei {path} lässt sich nicht schreiben."
    if there(path) and not path.is_file():
        raise RequestError(f"{path} is no regular file", message_de=refusal)
    try:
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name[:40]}.", delete=False) as fresh:
            fresh.write(content)
        Path(fresh.name).replace(path)
    except OSError as error:
        raise RequestError(f"{path}: {error}", message_de=refusal) from error


def write(text: str) -> None:
    """Write a result to standard output."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def write_json(value: Any) -> None:
    """Write a result as JSON."""
    write(json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True))


def progress(done: int, total: int) -> None:
    """Write how far a computation is to standard error, on one line."""
    sys.stderr.write(f"\r{done}/{total} " + ("\n" if done == total else ""))
    sys.stderr.flush()
