"""The user's function that gives what is captured: found, called once, and every failure told in one sentence."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pilots.graph.capture import CaptureError
from pilots.graph.capture.errors import refuse
from pilots.graph.errors import GraphError
from pilots.graph.frontends.errors import shown
from pilots.graph.frontends.walk import line_of

EXTRAS: Final = {
    "torch": "pytorch",
    "jax": "jax",
    "jaxlib": "jax",
    "onnx": "onnx",
}  # package -> extra of ours


def load(text: str) -> Callable[[], Any]:
    """Return the function MODULE:FUNCTION; raises CaptureError."""
    module, _, name = text.partition(":")
    if not module or not name:
        raise _unknown(text, "", "no colon")
    sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except GraphError:
        raise
    except (Exception, SystemExit) as error:  # the module is the user's: anything may happen
        raise _not_loaded(text, module, error) from error
    if not callable(found):
        raise _unknown(text, "das Modul hat keine Funktion dieses Namens", "no function")
    return found  # type: ignore[no-any-return]  # callable, as just checked


def call(text: str, factory: Callable[[], Any]) -> Any:
    """Return what the function gives; raises CaptureError, and GraphError where it captures by itself."""
    needed = _needed(factory)
    if needed:
        sentence = f"Die Funktion {text} braucht Argumente ({', '.join(needed)}); bitte eine Funktion ohne Argumente angeben."
        raise refuse("FACTORY", "factory", "no arguments", ", ".join(needed), sentence)
    try:
        return factory()
    except GraphError:
        raise
    except (Exception, SystemExit) as error:  # as above
        if isinstance(error, ModuleNotFoundError):
            raise _missing(error) from error
        sentence = f"Die Funktion {text} bricht ab{_where(error)}: {_last_line(error)}."
        raise refuse("FACTORY", "factory", "a result", type(error).__name__, sentence) from error


def source_of(factory: Callable[[], Any]) -> Path | None:
    """Return the file of the module a function is from."""
    file = getattr(sys.modules.get(factory.__module__), "__file__", None)
    return Path(file).absolute() if file else None


def front_end(name: str) -> Any:
    """Return the module of a front end; raises CaptureError if its extra is not installed."""
    try:
        return importlib.import_module(f"pilots.graph.frontends.{name}")
    except ImportError as error:
        package = error.name or next(key for key, extra in EXTRAS.items() if extra == name)
        sentence = f"Das Paket {package} für {name} ist nicht eingerichtet; bitte mit dem Zusatz [{name}] einrichten."
        raise refuse("EXTRA", "framework", f"the extra {name}", error, sentence) from error


def _needed(factory: Callable[[], Any]) -> list[str]:
    """Return the arguments a function cannot be called without."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # not every callable says
        return []
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        item.name for item in parameters if item.default is inspect.Parameter.empty and item.kind not in free
    ]


def _not_loaded(text: str, module: str, error: BaseException) -> CaptureError:
    if isinstance(error, ModuleNotFoundError) and error.name:
        if module == error.name or module.startswith(f"{error.name}."):
            return _unknown(text, f"das Modul {error.name} ist im aktuellen Ordner nicht zu finden", error)
        return _missing(error)
    sentence = f"Das Modul {module} lässt sich nicht laden{_where(error)}: {_last_line(error)}."
    return refuse("FACTORY", "factory", "a module", type(error).__name__, sentence)


def _missing(error: ModuleNotFoundError) -> CaptureError:
    package = (error.name or "").partition(".")[0]
    extra = f" (Zusatz [{EXTRAS[package]}])" if package in EXTRAS else ""
    sentence = f"Das Paket {package} fehlt{_where(error)}; bitte richten Sie es ein{extra}."
    return refuse("PACKAGE", "factory", "an installed package", package, sentence)


def _where(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({Path(error.filename).name}:{error.lineno})"
    place = line_of(error)
    return f" ({place})" if place else ""


def _last_line(error: BaseException) -> str:
    """Return kind and last line of an error."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return shown(": ".join([type(error).__name__, *lines[-1:]])).rstrip(".")


def _unknown(text: str, why: str, got: object) -> CaptureError:
    reason = f": {why}" if why else ""
    sentence = f"Die Funktion {text} lässt sich nicht laden{reason}; bitte als MODUL:FUNKTION angeben."
    return refuse("FACTORY", "factory", "module:function", got, sentence)
