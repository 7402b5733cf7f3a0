"""One request to an OpenAI-compatible endpoint, streamed: when each piece of the answer arrived."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from itertools import pairwise
from typing import Any, Final
from urllib.parse import urlsplit

MAX_ANSWER: Final = 16 * 2**20  # bytes of one answer
MAX_TOKENS: Final = 8192
DONE: Final = "[DONE]"
HTTP_OK: Final = 200
# Why a request failed, as it stands in the result.
REFUSED, TIMEOUT, CONNECTION, BROKEN, EMPTY = "HTTP", "ZEITLIMIT", "VERBINDUNG", "ABGEBROCHEN", "LEER"


class EndpointError(ValueError):
    """The address or a count of a measurement is not usable; `message_de` is one German sentence."""

    def __init__(self, message_de: str) -> None:
        super().__init__(message_de)
        self.message_de = message_de


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask and what: host, port and path of `chat/completions`, model, prompt words, output tokens.

    timeout_s: of one request from connecting to its last byte; api_key: "" for none, never part of a result.
    """

    secure: bool
    host: str
    port: int | None
    path: str
    model: str
    prompt_tokens: int
    output_tokens: int
    timeout_s: float
    api_key: str = ""

    def body(self) -> bytes:
        """Return the request: a prompt of so many short words, a fixed length of answer, no randomness."""
        words = " ".join(f"w{index % 10}" for index in range(self.prompt_tokens))
        return json.dumps(
            {
                "model": self.model,
                "messages": [{"role": "user", "content": words}],
                "max_tokens": self.output_tokens,
                "temperature": 0,
                "stream": True,
                "stream_options": {"include_usage": True},
            }
        ).encode()

    def headers(self) -> dict[str, str]:
        """Return the headers of a request."""
        plain = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        return plain | ({"Authorization": f"Bearer {self.api_key}"} if self.api_key else {})


@dataclass(frozen=True, slots=True)
class Answer:
    """One request. error: "" for a good one; times in nanoseconds since it was sent.

    gaps_ns: between pieces of the answer; tokens: as the server counted them, else the number of pieces (counted False).
    """

    error: str = ""
    ttft_ns: int = 0
    e2e_ns: int = 0
    gaps_ns: tuple[int, ...] = ()
    tokens: int = 0
    counted: bool = False

    @property
    def ok(self) -> bool:
        """Whether the request brought an answer."""
        return not self.error


def address(url: str) -> tuple[bool, str, int | None, str]:
    """Return (TLS, host, port, path of chat/completions) of a base URL; raises EndpointError."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.username:
        raise EndpointError(
            "Die Adresse der Schnittstelle ist unbrauchbar; erwartet wird zum Beispiel http://127.0.0.1:8000/v1."
        )
    return parts.scheme == "https", parts.hostname, port, f"{parts.path.rstrip('/')}/chat/completions"


def ask(endpoint: Endpoint, clock_ns: Callable[[], int]) -> Answer:
    """Send one request and read its answer to the end; what goes wrong is the answer's `error`, never an exception."""
    kind = HTTPSConnection if endpoint.secure else HTTPConnection
    connection = kind(endpoint.host, endpoint.port, timeout=endpoint.timeout_s)
    start = clock_ns()
    try:
        connection.request("POST", endpoint.path, endpoint.body(), endpoint.headers())
        response = connection.getresponse()
        if response.status != HTTP_OK:
            return Answer(f"{REFUSED}_{response.status}")
        return _read(response, connection, endpoint, start, clock_ns)
    except TimeoutError:
        return Answer(TIMEOUT)
    except OSError:
        return Answer(CONNECTION)
    except (HTTPException, ValueError):
        return Answer(BROKEN)
    finally:
        connection.close()


def _read(
    response: HTTPResponse,
    connection: HTTPConnection,
    endpoint: Endpoint,
    start: int,
    clock_ns: Callable[[], int],
) -> Answer:
    """Return the times of the pieces of a stream; a stream without its end is no answer."""
    moments: list[int] = []
    stated, ended = 0, False
    for text in _events(response, connection, endpoint, start, clock_ns):
        now = clock_ns()
        if text == DONE:
            ended = True
            break
        event = json.loads(text)
        if not isinstance(event, dict) or "error" in event:
            return Answer(BROKEN)
        if _has_text(event):
            moments.append(now)
        stated = _completion_tokens(event) or stated
    if not ended:
        return Answer(BROKEN)
    if not moments:
        return Answer(EMPTY)
    gaps = tuple(later - earlier for earlier, later in pairwise(moments))
    tokens = stated if 0 < stated <= MAX_TOKENS else len(moments)
    return Answer(
        ttft_ns=moments[0] - start,
        e2e_ns=moments[-1] - start,
        gaps_ns=gaps,
        tokens=tokens,
        counted=tokens == stated,
    )


def _events(
    response: HTTPResponse,
    connection: HTTPConnection,
    endpoint: Endpoint,
    start: int,
    clock_ns: Callable[[], int],
) -> Iterator[str]:
    """Yield the data of server-sent events; raises TimeoutError beyond the time of the request, ValueError if too long."""
    rest, seen = b"", 0
    while True:
        left = endpoint.timeout_s - (clock_ns() - start) / 1e9
        if left <= 0:
            raise TimeoutError
        if connection.sock is not None:
            connection.sock.settimeout(left)
        chunk = response.read1(65_536)
        if not chunk:
            return
        seen += len(chunk)
        if seen > MAX_ANSWER:
            raise ValueError("answer too long")
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].strip().decode("utf-8")


def _has_text(event: dict[str, Any]) -> bool:
    """Say whether an event carries a piece of the answer, of what a model thinks or says."""
    choices = event.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return False
    delta = choices[0].get("delta")
    return isinstance(delta, dict) and any(
        isinstance(delta.get(name), str) and delta[name] for name in ("content", "reasoning_content")
    )


def _completion_tokens(event: dict[str, Any]) -> int:
    usage = event.get("usage")
    found = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return found if type(found) is int and found > 0 else 0
