"""Prüft ein Nachweispaket ohne Netz und ohne Installation; braucht nur Python 3.9 oder neuer.

Aufruf: python3 pruefen.py VERZEICHNIS --schluessel VKEY
VERZEICHNIS ist das entpackte Paket oder die ZIP-Datei. VKEY steht auf jedem Freigabedokument und muss von dort
oder von der Organisation kommen, nicht aus dem Paket. Ende: 0 in Ordnung, 1 Fehler, 2 falscher Aufruf.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

PRIME = 2**255 - 19  # RFC 8032, 5.1
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE_D = -121665 * pow(121666, PRIME - 2, PRIME) % PRIME
BASE_Y = 4 * pow(5, PRIME - 2, PRIME) % PRIME
TILE_WIDTH = 256
HEX_SHA256 = re.compile(r"[0-9a-f]{64}")


class Fehler(Exception):
    """Das Paket ist nicht in Ordnung; der Text nennt die Stelle."""


# --- Ed25519, RFC 8032, 5.1.7 ---------------------------------------------------------------------------------


def _add(p: tuple[int, ...], q: tuple[int, ...]) -> tuple[int, ...]:
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % PRIME, (p[1] + p[0]) * (q[1] + q[0]) % PRIME
    c, d = 2 * p[3] * q[3] * CURVE_D % PRIME, 2 * p[2] * q[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def _multiply(scalar: int, point: tuple[int, ...]) -> tuple[int, ...]:
    result: tuple[int, ...] = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = _add(result, point)
        point, scalar = _add(point, point), scalar >> 1
    return result


def _point(data: bytes) -> tuple[int, ...]:
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    square = (y * y - 1) * pow(CURVE_D * y * y + 1, PRIME - 2, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME:
        x = x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    if y >= PRIME or (x * x - square) % PRIME or (not x and sign):
        raise Fehler("Schlüssel oder Unterschrift ist kein Punkt der Kurve")
    if x & 1 != sign:
        x = PRIME - x
    return x, y, 1, x * y % PRIME


def ed25519_ok(public: bytes, text: bytes, signature: bytes) -> bool:
    """Return whether the 64 bytes are the key's signature over the text."""
    if len(signature) != 64 or len(public) != 32:
        return False
    scalar = int.from_bytes(signature[32:], "little")
    if scalar >= ORDER:
        return False
    try:
        point, nonce = _point(public), _point(signature[:32])
        base = _point((BASE_Y).to_bytes(32, "little"))
    except Fehler:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + public + text).digest(), "little") % ORDER
    left, right = _multiply(scalar, base), _add(nonce, _multiply(challenge, point))
    return all((left[i] * right[2] - right[i] * left[2]) % PRIME == 0 for i in (0, 1))


# --- Merkle tree, RFC 6962, 2.1 -------------------------------------------------------------------------------


def leaf_hash(line: bytes) -> bytes:
    """Return the hash of a line of events.jsonl, without its line feed."""
    return hashlib.sha256(b"\x00" + line).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """The growing tree: size and the roots of its perfect subtrees."""

    def __init__(self) -> None:
        self.size = 0
        self.hashes: list[bytes] = []

    def append(self, leaf: bytes) -> None:
        """Add a leaf."""
        size = self.size
        while size & 1:
            leaf, size = node_hash(self.hashes.pop(), leaf), size >> 1
        self.hashes.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """Return the root."""
        if not self.hashes:
            return hashlib.sha256(b"").digest()
        root = self.hashes[-1]
        for left in reversed(self.hashes[:-1]):
            root = node_hash(left, root)
        return root


def root_from_path(index: int, size: int, leaf: bytes, path: Iterable[bytes]) -> bytes:
    """Return the root an inclusion path leads to (RFC 9162, 2.1.3.2); b"" if it has the wrong length."""
    last = size - 1
    for item in path:
        if last == 0:
            return b""
        if index & 1 or index == last:
            leaf = node_hash(item, leaf)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            leaf = node_hash(leaf, item)
        index, last = index >> 1, last >> 1
    return b"" if last else leaf


# --- The package: a folder or a ZIP file ----------------------------------------------------------------------


class Package:
    """The files of the package by their path inside the bag."""

    def __init__(self, place: Path) -> None:
        self._zip = zipfile.ZipFile(place) if place.is_file() else None
        self._files = self._in_zip(self._zip) if self._zip else self._in_folder(place)

    @staticmethod
    def _in_folder(place: Path) -> dict[str, Any]:
        if not (place / "bagit.txt").exists():
            inner = [item for item in place.iterdir() if (item / "bagit.txt").exists()]
            place = inner[0] if len(inner) == 1 else place
        files = (item for item in sorted(place.rglob("*")) if not item.is_dir())
        return {item.relative_to(place).as_posix(): item for item in files}

    @staticmethod
    def _in_zip(archive: zipfile.ZipFile) -> dict[str, Any]:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if len(set(names)) != len(names):
            raise Fehler("ZIP-Datei enthält einen Namen doppelt")
        return {name.partition("/")[2]: name for name in names}

    def names(self, prefix: str = "") -> list[str]:
        """Return the paths that start with the prefix, sorted."""
        return sorted(name for name in self._files if name.startswith(prefix))

    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading bytes; Fehler if it is not there."""
        if name not in self._files:
            raise Fehler(f"Datei {name} fehlt")
        entry = self._files[name]
        if self._zip:
            return self._zip.open(entry)
        handle: IO[bytes] = entry.open("rb")
        return handle

    def read(self, name: str) -> bytes:
        """Return the content of a small file."""
        with self.open(name) as file:
            return file.read()

    def text(self, name: str) -> str:
        """Return the content of a small text file."""
        try:
            return self.read(name).decode("utf-8")
        except UnicodeDecodeError:
            raise Fehler(f"Datei {name} verändert: kein UTF-8") from None

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a file in hexadecimal."""
        digest = hashlib.sha256()
        try:
            with self.open(name) as file:
                for block in iter(lambda: file.read(1 << 20), b""):
                    digest.update(block)
        except (zipfile.BadZipFile, OSError, EOFError, ValueError) as error:
            raise Fehler(f"Datei {name} verändert: nicht lesbar ({error})") from None
        return digest.hexdigest()


# --- Signed notes (C2SP signed-note, tlog-checkpoint, tlog-proof) ---------------------------------------------


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Fehler("Base64 ist fehlerhaft") from None


def parse_vkey(vkey: str) -> tuple[str, bytes, bytes]:
    """Return name, key id and public key of a vkey; Fehler if it is malformed."""
    name, _, rest = vkey.strip().partition("+")
    key_id, _, key = rest.partition("+")
    data = _base64(key)
    digest = hashlib.sha256(name.encode() + b"\n" + data).digest()[:4]
    if len(data) != 33 or data[0] != 1 or digest.hex() != key_id:
        raise Fehler("der angegebene Schlüssel ist kein gültiger VKEY")
    return name, digest, data[1:]


def open_note(note: str, keys: list[tuple[str, bytes, bytes]]) -> tuple[int, bytes]:
    """Return size and root of a checkpoint signed by one of the keys."""
    text, separator, block = note.rpartition("\n\n")
    signed, accepted = text + "\n", False
    for line in block.split("\n")[:-1] if separator and block.endswith("\n") else ():
        dash, _, rest = line.partition(" ")
        name, _, payload = rest.partition(" ")
        data = _base64(payload) if dash == "\N{EM DASH}" else b""
        for known, key_id, public in keys:
            if (known, key_id) == (name, data[:4]):
                if not ed25519_ok(public, signed.encode(), data[4:]):
                    raise Fehler("Unterschrift des Kontrollpunkts ungültig")
                accepted = True
    parts = signed.split("\n")
    if not accepted:
        raise Fehler("Unterschrift des Kontrollpunkts ungültig: keine mit dem angegebenen Schlüssel")
    if len(parts) != 4 or not parts[1].isdigit() or parts[0] not in {key[0] for key in keys}:
        raise Fehler("Kontrollpunkt hat nicht die vorgeschriebene Form")
    return int(parts[1]), _base64(parts[2])


# --- The checks -----------------------------------------------------------------------------------------------


def check_manifest(package: Package) -> Iterator[str]:
    """Compare every file under data/ with the manifest, in both directions."""
    listed: dict[str, str] = {}
    for line in package.text("manifest-sha256.txt").split("\n")[:-1]:
        digest, _, name = line.partition("  ")
        if not HEX_SHA256.fullmatch(digest) or not name.startswith("data/") or name in listed:
            yield "manifest-sha256.txt hat nicht die vorgeschriebene Form"
        listed[name] = digest
    present = set(package.names("data/"))
    for name in sorted(present | set(listed)):
        if name not in listed:
            yield f"Datei {name} steht nicht im Verzeichnis der Prüfsummen"
        elif name not in present:
            yield f"Datei {name} fehlt"
        else:
            try:
                if package.sha256(name) != listed[name]:
                    yield f"Datei {name} verändert"
            except Fehler as error:
                yield str(error)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _value in pairs}) != len(pairs):
        raise Fehler("doppelter Schlüssel")
    return dict(pairs)


def lines_of(package: Package) -> Iterator[bytes]:
    """Yield the lines of events.jsonl without line feed; split at byte 0x0A and nowhere else."""
    with package.open("data/events.jsonl") as file:
        for line in file:
            if not line.endswith(b"\n"):
                raise Fehler("letzte Zeile unvollständig")
            yield line[:-1]


def parse_line(number: int, line: bytes) -> dict[str, Any]:
    """Return a line as an object; Fehler for anything that is no JSON object with unique keys."""
    try:
        value = json.loads(line.decode("utf-8"), object_pairs_hook=_unique)
    except Fehler as error:
        raise Fehler(f"Ereignis {number}: {error}") from None
    except (ValueError, RecursionError):
        raise Fehler(f"Ereignis {number}: kein JSON") from None
    if not isinstance(value, dict):
        raise Fehler(f"Ereignis {number}: kein Objekt")
    return value


class Run:
    """One pass over the lines, with everything that has to be compared on the way."""

    def __init__(self, package: Package, keys: list[tuple[str, bytes, bytes]]) -> None:
        self.package, self.keys = package, keys
        self.errors: list[str] = []
        self.tree = Tree()
        self.documented: set[str] = set()
        self.note = package.text("data/checkpoint")
        self.size, self.root = open_note(self.note, keys)
        self.earlier = self._notes()
        self.proofs = dict(self._proofs())
        self.disclosed = self._disclosures()
        self.tile = b""
        self.tiles = {name.partition(".p/")[0]: name for name in package.names("data/tile/0/")}

    def _notes(self) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        for name in self.package.names("data/checkpoints/"):
            try:
                size, root = open_note(self.package.text(name), self.keys)
            except Fehler as error:
                self.errors.append(f"{name}: {error}")
                continue
            if size > self.size:
                self.errors.append(f"{name}: liegt hinter dem Kontrollpunkt")
            found[size] = root
        return found

    def _proofs(self) -> Iterator[tuple[int, list[bytes]]]:
        for name in self.package.names("data/proofs/"):
            head, _, note = self.package.text(name).partition("\n\n")
            lines = head.split("\n")
            number = lines[1][6:] if len(lines) > 1 else ""
            if lines[0] != "c2sp.org/tlog-proof@v1" or not number.isdigit():
                self.errors.append(f"{name}: kein Beweis")
            elif note != self.note:
                self.errors.append(f"{name}: gehört zu einem anderen Kontrollpunkt")
            else:
                yield int(number), [_base64(line) for line in lines[2:]]

    def _disclosures(self) -> dict[int, set[str]]:
        found: dict[int, set[str]] = {}
        if not self.package.names("data/disclosures.jsonl"):
            return found
        for line in self.package.read("data/disclosures.jsonl").split(b"\n")[:-1]:
            entry = parse_line(-1, line)
            digest = hashlib.sha256(str(entry["disclosure"]).encode()).digest()
            code = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            found.setdefault(int(entry["seq"]), set()).add(code)
        return found

    def follow(self) -> None:
        """Read all lines and compare count, root, tiles, earlier checkpoints, proofs and disclosures."""
        for line in lines_of(self.package):
            number = self.tree.size
            self._compare_line(number, line, parse_line(number, line))
            self.tree.append(leaf_hash(line))
            root = self.earlier.get(self.tree.size)
            if root is not None and root != self.tree.root():
                self.errors.append(f"Abweichung vor Ereignis {self.tree.size}: Inhalt oder Reihenfolge")
                self.earlier.clear()
        if self.tree.size != self.size:
            self.errors.append(f"{self.tree.size} Ereignisse, Kontrollpunkt nennt {self.size}")
        elif self.tree.root() != self.root:
            self.errors.append("Wurzel weicht ab – Inhalt oder Reihenfolge verändert")
        for number in sorted({*self.proofs, *self.disclosed}):
            if number >= self.tree.size:
                self.errors.append(f"Beweis oder Offenlegung zu Ereignis {number}, das es nicht gibt")

    def _compare_line(self, number: int, line: bytes, event: dict[str, Any]) -> None:
        leaf = leaf_hash(line)
        self._compare_tile(number, leaf)
        path = self.proofs.get(number)
        if path is not None and root_from_path(number, self.size, leaf, path) != self.root:
            self.errors.append(f"Beweis zu Ereignis {number} führt nicht zur Wurzel")
        if self.disclosed.get(number, set()) - set(event.get("_sd", ())):
            self.errors.append(f"Offenlegung zu Ereignis {number} passt zu keinem Prüfwert der Zeile")
        if str(event.get("kind", "")).startswith("DOKUMENT_"):
            self.documented.update(HEX_SHA256.findall(line.decode("utf-8")))

    def _compare_tile(self, number: int, leaf: bytes) -> None:
        index, place = divmod(number, TILE_WIDTH)
        if place == 0:
            self.tile = self._tile(index)
        if self.tile and self.tile[32 * place : 32 * place + 32] != leaf:
            self.errors.append(f"Ereignis {number} weicht von seiner Kachel ab")
            self.tile = b""

    def _tile(self, index: int) -> bytes:
        groups = [f"{index % 1000:03d}"]
        while index >= 1000:
            index //= 1000
            groups.insert(0, f"x{index % 1000:03d}")
        name = self.tiles.get("data/tile/0/" + "/".join(groups))
        return self.package.read(name) if name else b""

    def check_documents(self) -> None:
        """Every PDF under data/documents has to stand with its SHA-256 in a DOKUMENT line."""
        for name in self.package.names("data/documents/"):
            if name.lower().endswith(".pdf") and self.package.sha256(name) not in self.documented:
                self.errors.append(f"Datei {name} steht in keinem Ereignis des Audit-Protokolls")

    def pinned(self) -> int:
        """Return up to which event a pin outside the system is enclosed."""
        sizes = [re.match(r"data/anchors/(\d+)-", name) for name in self.package.names("data/anchors/")]
        return max((int(match.group(1)) for match in sizes if match), default=0)


def check(place: Path, vkeys: list[str]) -> tuple[list[str], list[str]]:
    """Check a package; return the errors and what is good to know."""
    errors: list[str] = []
    try:
        keys = [parse_vkey(vkey) for vkey in vkeys]
        package = Package(place)
        errors += check_manifest(package)
        run = Run(package, keys)
        run.follow()
        run.check_documents()
    except (Fehler, zipfile.BadZipFile, OSError, EOFError, KeyError, TypeError, ValueError) as error:
        return [*errors, str(error)], []
    notes = [f"{run.size} Ereignisse, Wurzel und Unterschrift stimmen."]
    if run.pinned() < run.size:
        notes.append(f"Hinweis: Ab Ereignis {run.pinned()} ist kein Anker außerhalb des Systems beigelegt.")
    return errors + run.errors, notes


def main(arguments: list[str] | None = None) -> int:
    """Run the check from the command line."""
    parser = argparse.ArgumentParser(description="Prüft ein Nachweispaket des Audit-Protokolls.")
    parser.add_argument(
        "verzeichnis", type=Path, metavar="VERZEICHNIS", help="entpacktes Paket oder ZIP-Datei"
    )
    parser.add_argument(
        "--schluessel", action="append", required=True, metavar="VKEY", help="öffentlicher Protokollschlüssel"
    )
    options = parser.parse_args(arguments)
    errors, notes = check(options.verzeichnis, options.schluessel)
    for error in errors:
        print(f"FEHLER: {error}")  # noqa: T201 - a command line tool
    if not errors:
        print("OK: " + "\n".join(notes))  # noqa: T201 - a command line tool
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
