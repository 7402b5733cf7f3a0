"""How large each part of a capture may be. All limits hold before anything of that size is read or made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pilots.graph.capture.errors import refuse

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limit:
    """The greatest size of a part and its name in a sentence."""

    most: int
    subject_de: str


LIMITS: Final[dict[str, Limit]] = {
    "file_bytes": Limit(512 * MIB, "Die Datei ist mit {got} Byte"),
    "graph_bytes": Limit(8 * MIB, "Die Beschreibung des Graphen ist mit {got} Byte"),
    "header_bytes": Limit(8 * MIB, "Das Verzeichnis der Gewichte ist mit {got} Byte"),
    "nodes": Limit(100_000, "Der Graph ist mit {got} Operationen"),
    "tensors": Limit(20_000, "Der Graph ist mit {got} Eingängen und Gewichten"),
    "rows": Limit(100_000, "Der Herkunftsnachweis ist mit {got} Zeilen"),
    "environment": Limit(32, "Die Angaben zur Umgebung sind mit {got} Paaren"),
    "name": Limit(200, "Ein Name ist mit {got} Zeichen"),
    "inputs": Limit(1024, "Eine Operation ist mit {got} Eingängen"),
    "dimensions": Limit(8, "Ein Wert ist mit {got} Dimensionen"),
    "elements": Limit(2**27, "Ein Gewicht ist mit {got} Elementen"),
}


def check(name: str, got: int, position: str) -> None:
    """Raise CaptureError if a part is larger than its limit."""
    limit = LIMITS[name]
    if got > limit.most:
        sentence = f"{limit.subject_de.format(got=got)} zu groß; erlaubt sind höchstens {limit.most}."
        raise refuse("LIMIT", position, f"{name} of at most {limit.most}", got, sentence)
