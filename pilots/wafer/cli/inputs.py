"""What the commands share: reading files, finding a machine, writing results."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from pilots.graph.model_config import ModelConfig, parse_config
from pilots.wafer import machine_file
from pilots.wafer.errors import RequestError
from pilots.wafer.estimate import Question
from pilots.wafer.machine import MACHINES, Machine, find
from pilots.wafer.program import Mode

MAX_FILE_BYTES: Final = 2**24
MODES: Final = {"resident": Mode.RESIDENT, "weight-streaming": Mode.WEIGHT_STREAMING}


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add the choice of a machine."""
    known = ", ".join(MACHINES)
    parser.add_argument("--machine", default="wse-2", help=f"{known}, oder eine Maschinendatei (JSON)")
    parser.add_argument("--clock", default="", help="Taktprofil der Maschine, etwa sdk oder research")


def add_question(parser: argparse.ArgumentParser) -> None:
    """Add model, machine, mode and sizes."""
    parser.add_argument("--config", required=True, help="config.json des Modells (Hugging Face)")
    add_machine(parser)
    parser.add_argument("--mode", choices=sorted(MODES), default="resident")
    parser.add_argument("--context", type=int, default=4096, help="Token je Anfrage")
    parser.add_argument("--batch", type=int, default=1, help="Anfragen zugleich")
    parser.add_argument("--systems", type=int, default=1, help="Zahl der Systeme, 1 bis 16")


def model(arguments: argparse.Namespace) -> ModelConfig:
    """Return the model of the named file; raises ConfigError or RequestError."""
    return parse_config(read_text(arguments.config))


def question(arguments: argparse.Namespace) -> Question:
    """Return what is asked."""
    return Question(arguments.context, arguments.batch, arguments.systems, MODES[arguments.mode])


def machine(arguments: argparse.Namespace) -> Machine:
    """Return a known machine or the one a file describes, at the clock asked for."""
    name = arguments.machine
    found = MACHINES[name] if name in MACHINES else machine_file.load(read_text(name))
    return found.with_clock(arguments.clock) if arguments.clock else found


def read_text(name: str) -> str:
    """Return the text of a file; raises RequestError if it cannot be read, is too large or no UTF-8."""
    path = Path(name)
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise RequestError(
                f"{name} is too large", message_de=f"Die Datei {name} ist größer als 16\u00a0MiB."
            )
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RequestError(
            f"{name}: {error}", message_de=f"Die Datei {name} lässt sich nicht lesen."
        ) from error
    except UnicodeDecodeError as error:
        raise RequestError(f"{name}: {error}", message_de=f"Die Datei {name} ist kein UTF-8-Text.") from error


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
