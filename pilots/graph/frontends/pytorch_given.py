"""What is given to the PyTorch front end: a module, and a tuple of tensors that its `forward` takes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final

import torch

from pilots.graph.frontends.errors import FrontEndError, refuse, shown
from pilots.graph.frontends.walk import line_of

WANTED_DE: Final = "die Funktion muss (Modul, Beispiele) zurückgeben, die Beispiele als Tupel von Tensoren in der Reihenfolge von forward, etwa (modul, (x,))"


def check(module: Any, examples: Any) -> None:
    """Refuse what is no module, no tuple of tensors, or of another number than `forward` takes; raises FrontEndError."""
    if not isinstance(module, torch.nn.Module):
        raise _wrong(f"Das Modul ist kein torch.nn.Module, sondern {type(module).__name__}", module)
    if not isinstance(examples, tuple | list):
        raise _wrong(f"Die Beispiele sind kein Tupel, sondern {type(examples).__name__}", examples)
    other = next((item for item in examples if not isinstance(item, torch.Tensor)), None)
    if other is not None:
        raise _wrong(f"Ein Beispiel ist kein Tensor, sondern {type(other).__name__}", other)
    try:
        inspect.signature(module.forward).bind(*examples)
    except TypeError as error:
        raise _wrong(
            f"Das Modell nimmt {len(examples)} Beispiele nicht an ({shown(str(error))})", error
        ) from error


def not_computed(error: Exception, examples: Sequence[torch.Tensor]) -> FrontEndError:
    """Return the error of a module that cannot be computed on the examples at all."""
    place = line_of(error)
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    shapes = ", ".join(f"{tuple(item.shape)} {str(item.dtype).removeprefix('torch.')}" for item in examples)
    where = f" ({place})" if place else ""
    sentence = f"PyTorch kann das Modell mit den Beispielen {shapes} nicht rechnen{where}: {shown(first).rstrip('.')}; Form und Zahlentyp der Beispiele müssen zum Modell passen."
    return refuse("EXAMPLE", "example", "what the module takes", first, sentence)


def _wrong(what: str, got: object) -> FrontEndError:
    return refuse(
        "EXAMPLE", "example", "a module and a tuple of tensors", type(got).__name__, f"{what}; {WANTED_DE}."
    )
