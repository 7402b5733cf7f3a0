"""Results of our own measuring command (`qms.measurement/1`): a graph here, or an endpoint.

Every figure is computed again from the single durations in the file; the stated ones must be the same. A signature
that is there must hold. Whose key it is, the application asks its register (ADR 0115).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from pilots.baseline import endpoint_figures, measure_graph
from pilots.baseline.environment import COUNTED, FIELDS
from pilots.baseline.importers.common import (
    MAX_TEXT,
    NO_COST,
    BenchmarkRefused,
    ImportedBenchmark,
    Measurement,
    failure_warning,
    iso,
    refuse_all_failed,
    requests_sentence,
    short,
    text_of,
)
from pilots.baseline.importers.reading import Source, json_object
from pilots.baseline.measure import pooled_metrics
from pilots.baseline.measure_statement import SCHEMA, TOOL
from pilots.baseline.signature import SignatureError, key_id, verified_key
from qms.core import canonical

NAME: Final = TOOL
ONE_MACHINE: Final = "Die Werte gelten für diesen Rechner und diese Software, für keine andere."
NO_SERVER: Final = (
    "Die Datei nennt weder Hardware noch Treiber des Servers; gemessen ist, was beim Aufrufer ankam."
)
NO_ERRORS: Final = "Kosten und Leistungsaufnahme sind nicht gemessen."
_BAD: Final = "Die Datei des Messbefehls ist unvollständig oder verändert: {what}. Bitte laden Sie die Datei hoch, die er geschrieben hat."


def recognise(source: Source) -> bool:
    """Say whether the file begins with the schema of our own results."""
    return f'"{SCHEMA}"' in source.start[:200]


def read(source: Source) -> tuple[ImportedBenchmark, ...]:
    """Return the one run of a result; raises BenchmarkRefused with one German sentence."""
    envelope = json_object(source)
    found = _object(envelope, "statement")
    try:
        if canonical.digest(found) != envelope.get("sha256"):
            raise _bad("die Prüfsumme passt nicht zum Inhalt")
        public_key = verified_key(found, envelope["signature"]) if "signature" in envelope else ""
    except canonical.CanonicalError as error:
        raise _bad("der Inhalt hat eine andere Form") from error
    except SignatureError as error:
        raise BenchmarkRefused("BROKEN_SIGNATURE", error.message_de) from error
    reader = _READERS.get(str(found.get("kind")))
    if reader is None:
        raise _bad("die Art der Messung fehlt")
    try:
        run = reader(found)
    except (KeyError, TypeError, ValueError, IndexError, ZeroDivisionError) as error:
        if isinstance(error, BenchmarkRefused):
            raise
        raise _bad("ein Feld fehlt oder hat eine andere Form") from error
    if [item.to_json() for item in run.metrics] != found.get("metrics"):
        raise _bad("die Kennzahlen folgen nicht aus den einzelnen Zeiten")
    assert run.measurement is not None
    known = replace(run.measurement, public_key=public_key, sha256=envelope["sha256"])
    return (
        replace(run, measurement=known, what_it_says=(*run.what_it_says, signature_sentence(public_key))),
    )


def signature_sentence(public_key: str) -> str:
    """Return what a file alone says of its signature; "" for none."""
    return (
        f"Signiert mit dem Schlüssel {key_id(public_key)}." if public_key else "Die Datei ist nicht signiert."
    )


def _graph(found: Mapping[str, Any]) -> ImportedBenchmark:
    method, workload = _object(found, "method"), _object(found, "workload")
    rows = [_whole(row) for row in found["durations_ns"]]
    batch, failed, peaks = int(workload["batch"]), int(found["failed"]), _whole(found["peak_memory_bytes"])
    repetitions, iterations = int(method["repetitions"]), int(method["iterations"])
    total = repetitions * iterations
    if len(rows) != repetitions or any(len(row) != iterations for row in rows) or not batch >= 1:
        raise _bad("Anzahl und Zeiten passen nicht zusammen")
    if not 0 <= failed <= total or failed == total:
        raise refuse_all_failed(total)
    durations = tuple(item for row in rows for item in row)
    return _common(
        found,
        metrics=pooled_metrics(rows, batch=batch, failed=failed, peak_bytes=max(peaks)),
        measurement=_measurement(
            found,
            workload,
            counts=(repetitions, iterations),
            spread=measure_graph.spread(rows),
            durations_ns=durations,
        ),
        says=(
            f"{repetitions} Wiederholungen mit je {iterations} Durchläufen, jede in einem eigenen Prozess.",
            requests_sentence(total - failed, failed),
        ),
        cannot_say=(ONE_MACHINE, NO_ERRORS),
        completed=iterations,
        counts=(total - failed, failed),
    )


def _endpoint(found: Mapping[str, Any]) -> ImportedBenchmark:
    repetitions = endpoint_figures.repetitions_of(found["repetitions"])
    good = [item for row in repetitions for item in row.answers if item.ok]
    total = sum(len(row.answers) for row in repetitions)
    if not good:
        raise refuse_all_failed(total)
    method = _object(found, "method")
    least = min(len(row.answers) for row in repetitions)
    durations = tuple(item.e2e_ns for item in good)
    spread = endpoint_figures.spread(repetitions)
    load = f"{int(method['concurrency'])} gleichzeitige Anfragen, {int(method['prompt_tokens'])} Eingabewörter, höchstens {int(method['output_tokens'])} Ausgabetoken."
    return _common(
        found,
        metrics=endpoint_figures.metrics(repetitions),
        measurement=_measurement(
            found, {}, counts=(len(repetitions), least), spread=spread, durations_ns=durations
        ),
        says=(
            f"Modell {text_of(method, 'model')} über eine Schnittstelle nach Art von OpenAI.",
            load,
            requests_sentence(len(good), total - len(good)),
        ),
        cannot_say=(NO_SERVER, NO_COST),
        completed=least,
        counts=(len(good), total - len(good)),
    )


def _common(
    found: Mapping[str, Any],
    *,
    metrics: Any,
    measurement: Measurement,
    says: tuple[str, ...],
    cannot_say: tuple[str, ...],
    completed: int,
    counts: tuple[int, int],
) -> ImportedBenchmark:
    return ImportedBenchmark(
        tool=NAME,
        metrics=tuple(metrics),
        what_it_says=says,
        what_it_cannot_say=cannot_say,
        measured_at=iso(found.get("measured_at")),
        measured_until=iso(found.get("measured_until")),
        completed=completed,
        failed=counts[1],
        warnings=tuple(failure_warning(*counts)),
        version=text_of(found, "version", ""),
        measurement=measurement,
    )


def _measurement(
    found: Mapping[str, Any],
    workload: Mapping[str, Any],
    *,
    counts: tuple[int, int],
    spread: float,
    durations_ns: tuple[int, ...],
) -> Measurement:
    """Return what is ours in a result; counts: repetitions, and requests of each. Digest and key come later."""
    return Measurement(
        kind=str(found["kind"]),
        fingerprint=_hex(workload.get("fingerprint", "")),
        model_digest=_hex(workload.get("model_digest", "")),
        sha256="",
        public_key="",
        repetitions=counts[0],
        iterations=counts[1],
        throughput_cv=spread,
        durations_ns=durations_ns,
        environment=_environment(_object(found, "environment")),
        method=tuple((short(key), short(str(value), 120)) for key, value in _object(found, "method").items()),
    )


def _environment(given: Mapping[str, Any]) -> dict[str, str | int]:
    """Return what a machine says of itself; nothing else is kept: a host name or a path does not belong here."""
    for name in FIELDS:
        if type(given.get(name)) is not (int if name in COUNTED else str):
            raise _bad(f"das Feld {name} der Umgebung fehlt oder hat eine andere Form")
    return {name: int(given[name]) if name in COUNTED else short(given[name], MAX_TEXT) for name in FIELDS}


def _whole(row: Any) -> list[int]:
    """Return a list of whole numbers above zero; a request takes time, a process holds memory."""
    if not isinstance(row, list) or not row or any(type(item) is not int or item < 1 for item in row):
        raise _bad("eine Zeit ist keine ganze Zahl über null")
    return row


def _hex(text: Any) -> str:
    """Return a digest of 64 hexadecimal characters, or an empty text."""
    if not isinstance(text, str) or (text and (len(text) != 64 or set(text) - set("0123456789abcdef"))):
        raise _bad("eine Prüfsumme hat eine andere Form")
    return text


def _object(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    if not isinstance(value, dict):
        raise _bad(f"das Feld {key} fehlt")
    return value


def _bad(what: str) -> BenchmarkRefused:
    return BenchmarkRefused("BROKEN_RESULT", _BAD.format(what=what))


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], ImportedBenchmark]]] = {
    "GRAPH": _graph,
    "ENDPUNKT": _endpoint,
}
