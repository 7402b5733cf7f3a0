"""Measuring an endpoint: against a server in this process that answers as it is told."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pilots.baseline import endpoint_figures, endpoint_load
from pilots.baseline.__main__ import main
from pilots.baseline.endpoint import Answer, Endpoint, EndpointError, address, ask
from pilots.baseline.endpoint_figures import Repetition
from pilots.baseline.importers import BenchmarkRefused, read
from pilots.baseline.measure_statement import result, statement
from tests.pilots.baseline.measured_files import BEGAN, ENDED, environment

Reply = Callable[[BaseHTTPRequestHandler], None]


def event(value: Any) -> bytes:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"data: {text}\n\n".encode()


def piece(text: str, name: str = "content") -> bytes:
    return event({"choices": [{"delta": {name: text}}]})


USAGE = event({"choices": [], "usage": {"completion_tokens": 3}})
GOOD = (
    event({"choices": [{"delta": {"role": "assistant"}}]}),
    piece("a"),
    piece("b"),
    piece("c"),
    USAGE,
    event("[DONE]"),
)


def streams(*parts: bytes, status: int = 200) -> Reply:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.end_headers()
        for part in parts:
            handler.wfile.write(part)
            handler.wfile.flush()

    return reply


@contextmanager
def serving(*replies: Reply) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server on this machine that answers with each reply in turn, the last one for good; and what it was sent."""
    seen: list[dict[str, Any]] = []
    turns = itertools.chain(replies[:-1], itertools.repeat(replies[-1]))
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                seen.append({"path": self.path, "headers": dict(self.headers), "body": json.loads(body)})
                reply = next(turns)
            reply(self)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def endpoint(url: str, **more: Any) -> Endpoint:
    values: dict[str, Any] = {"model": "m", "prompt_tokens": 4, "output_tokens": 8, "timeout_s": 30.0}
    return Endpoint(*address(url), **(values | more))


def steps(*milliseconds: int) -> Callable[[], int]:
    moments = itertools.accumulate(value * 1_000_000 for value in (0, *milliseconds))
    left = itertools.chain(moments, itertools.repeat(10**12))
    return lambda: next(left)


def test_a_stream_gives_first_token_gaps_and_the_tokens_the_server_counted() -> None:
    with serving(streams(*GOOD)) as (url, seen):
        ticks = itertools.count(step=1_000_000)
        found = ask(endpoint(url, api_key="geheim"), lambda: next(ticks))
    assert found.ok
    assert (found.tokens, found.counted, len(found.gaps_ns)) == (3, True, 2)
    assert found.e2e_ns == found.ttft_ns + sum(found.gaps_ns)
    sent = seen[0]
    assert sent["path"] == "/v1/chat/completions"
    assert sent["headers"]["Authorization"] == "Bearer geheim"
    assert sent["body"]["max_tokens"] == 8
    assert sent["body"]["messages"][0]["content"] == "w0 w1 w2 w3"
    assert sent["body"]["stream"] is True


def test_without_a_count_the_pieces_are_counted_and_said_so() -> None:
    with serving(streams(piece("a"), piece("b", "reasoning_content"), event("[DONE]"))) as (url, _seen):
        found = ask(endpoint(url), itertools.count().__next__)
    assert (found.tokens, found.counted) == (2, False)
    shown = endpoint_figures.metrics([Repetition(10**9, (found,))])
    assert {item.note for item in shown if item.key == "throughput_tokens_s"} == {endpoint_figures.PIECES}


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (streams(b"no", status=500), "HTTP_500"),
        (streams(b"no", status=401), "HTTP_401"),
        (streams(event("[DONE]")), "LEER"),
        (streams(piece("")), "ABGEBROCHEN"),
        (streams(piece("a"), piece("b")), "ABGEBROCHEN"),  # ends without saying so
        (streams(event("{")), "ABGEBROCHEN"),
        (streams(event({"error": "out of memory"})), "ABGEBROCHEN"),
        (streams(b"data: \xff\n\n"), "ABGEBROCHEN"),
    ],
)
def test_what_is_no_answer_is_a_failure_with_its_cause(reply: Reply, error: str) -> None:
    with serving(reply) as (url, _seen):
        assert ask(endpoint(url), itertools.count().__next__) == Answer(error)


def test_nobody_listening_is_a_failure() -> None:
    with serving(streams(*GOOD)) as (url, _seen):
        closed = url
    assert ask(endpoint(closed), itertools.count().__next__) == Answer("VERBINDUNG")


def test_an_answer_beyond_its_time_is_a_failure() -> None:
    release = threading.Event()

    def waits(handler: BaseHTTPRequestHandler) -> None:
        streams(piece("a"))(handler)
        release.wait(20)

    with serving(waits) as (url, _seen):
        try:
            assert ask(endpoint(url, timeout_s=0.05), itertools.count().__next__) == Answer("ZEITLIMIT")
        finally:
            release.set()


def test_an_answer_that_trickles_ends_at_the_time_of_its_request() -> None:
    with serving(streams(*GOOD)) as (url, _seen):
        assert ask(endpoint(url, timeout_s=1.0), steps(1001)) == Answer("ZEITLIMIT")


def test_figures_count_good_requests_and_the_error_rate_all() -> None:
    good = Answer("", 10_000_000, 30_000_000, (10_000_000, 10_000_000), 3, counted=True)
    shown = endpoint_figures.metrics([Repetition(100_000_000, (good, good, Answer("HTTP_500"), good))])
    values = {(item.key, item.percentile): (float(item.value), item.n) for item in shown}
    assert values["throughput_samples_s", None] == (30, 1)
    assert values["throughput_tokens_s", None] == (90, 1)
    assert values["ttft_ms", "p50"] == (10, 3)
    assert values["tpot_ms", "p50"] == (10, 3)
    assert values["itl_ms", "p99"] == (10, 6)
    assert values["e2e_latency_ms", "p95"] == (30, 3)
    assert values["error_rate", None] == (0.25, 4)
    assert not any(item.reliable for item in shown if item.percentile)


def test_counts_are_fixed_and_one_round_warms_up() -> None:
    with serving(streams(*GOOD)) as (url, seen):
        load = endpoint_load.Load(requests=6, concurrency=3, repetitions=2)
        told: list[tuple[int, int]] = []
        found = endpoint_load.measure(
            endpoint(url),
            load,
            clock_ns=itertools.count(step=1000).__next__,
            on_progress=lambda *at: told.append(at),
        )
    assert len(seen) == 3 + 2 * 6
    assert [len(row.answers) for row in found] == [6, 6]
    assert told == [(index, 12) for index in range(1, 13)]


@pytest.mark.parametrize(
    "change",
    [
        {"requests": 0},
        {"concurrency": 0},
        {"concurrency": 257, "requests": 300},
        {"concurrency": 7},
        {"repetitions": 21},
        {"requests": 5000},
        {"output_tokens": 8193},
        {"output_tokens": 0},
        {"prompt_tokens": 0},
        {"timeout_s": 0.5},
        {"requests": 1000, "output_tokens": 200},
    ],
)
def test_impossible_counts_are_refused_before_anything_is_sent(change: dict[str, Any]) -> None:
    counts = {"requests": 6, "concurrency": 3, "repetitions": 5}
    load = endpoint_load.Load(**{name: change.get(name, value) for name, value in counts.items()})
    more = {name: value for name, value in change.items() if name not in counts}
    with serving(streams(*GOOD)) as (url, seen), pytest.raises(EndpointError):
        endpoint_load.measure(
            endpoint(url, **more), load, clock_ns=itertools.count().__next__, on_progress=lambda *at: None
        )
    assert seen == []


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:80", "ftp://x/", "http://", "http://u:p@x/v1", "http://x:99999/", "http://x/?a"]
)
def test_an_address_is_a_plain_base_url(url: str) -> None:
    with pytest.raises(EndpointError):
        address(url)


def command(url: str, out: Path, *more: str) -> list[str]:
    return [
        *("measure", "--endpoint", url, "--model-name", "m", "--prompt-tokens", "4", "--output-tokens", "8"),
        *("--requests", "4", "--concurrency", "2", "--repeat", "2", "--out", str(out), *more),
    ]


def test_the_command_writes_a_result_the_importer_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "m.json"
    with serving(*([streams(*GOOD)] * 2), streams(b"", status=503), streams(*GOOD)) as (url, _seen):
        assert main(command(url, out)) == 0
    shown = capsys.readouterr().out
    assert "Fehlerquote: 12,5 % (n = 8)" in shown
    assert "Weniger als 5 × 200 (POL-02): G3-3 wird damit nicht erfüllt." in shown
    run = read(out.read_bytes(), "m.json")
    assert run.measurement is not None
    assert (run.measurement.kind, run.measurement.repetitions, run.measurement.iterations) == (
        "ENDPUNKT",
        2,
        4,
    )
    assert run.measurement.fingerprint == ""
    assert "7 von 8 Anfragen waren erfolgreich." in run.what_it_says
    assert "127.0.0.1" not in out.read_text()


def test_when_everything_failed_there_is_no_latency_no_throughput_and_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "m.json"
    with serving(streams(b"", status=500)) as (url, _seen):
        assert main(command(url, out)) == 1
    assert "weder Antwortzeit noch Durchsatz" in capsys.readouterr().out
    assert [row["key"] for row in json.loads(out.read_bytes())["statement"]["metrics"]] == ["error_rate"]
    with pytest.raises(BenchmarkRefused, match="ALL_FAILED"):
        read(out.read_bytes(), "m.json")


def test_the_key_comes_from_the_named_variable_and_never_stands_in_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEIN_ZUGANG", "geheim-4711")
    out = tmp_path / "m.json"
    with serving(streams(*GOOD)) as (url, seen):
        assert main(command(url, out, "--api-key-env", "MEIN_ZUGANG")) == 0
        assert main(command(url, out, "--api-key-env", "GIBT_ES_NICHT")) == 2
    assert {item["headers"]["Authorization"] for item in seen} == {"Bearer geheim-4711"}
    assert "geheim" not in out.read_text() + "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row["answers"][0].update(e2e_ns=1),
        lambda row: row["answers"][0].update(ttft_ns=0),
        lambda row: row["answers"].clear(),
        lambda row: row.update(wall_ns=1),
        lambda row: row["answers"][0].update(tokens="3"),
    ],
)
def test_times_that_do_not_add_up_are_refused(change: Callable[[dict[str, Any]], Any]) -> None:
    good = Answer("", 10, 30, (10, 10), 3, counted=True)
    at = endpoint("http://127.0.0.1/v1")
    part = endpoint_load.statement_part(at, endpoint_load.Load(1, 1, 1), (Repetition(100, (good,)),))
    found = statement(part, environment=environment(), began_at=BEGAN, ended_at=ENDED)
    assert read(result(found, None), "m.json").completed == 1
    change(found["repetitions"][0])
    with pytest.raises(BenchmarkRefused, match="BROKEN_RESULT"):
        read(result(found, None), "m.json")
