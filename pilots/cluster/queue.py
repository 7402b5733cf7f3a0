"""A queue before a language model: requests arrive, wait, are batched continuously, and leave. Discrete events, seeded.

First come, first served. A request is admitted when a place, and cache for its whole length, are free; so nothing is
preempted. Prompts join the next step up to a budget of tokens; longer ones take several steps (chunked prefill). Model
time only, never wall time (EM-05).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import ceil
from random import Random
from typing import Final

from pilots.cluster.errors import RequestError
from pilots.cluster.step_times import StepTimes
from pilots.cluster.validation.statistics import percentile

MAX_REQUESTS: Final = 1_000_000
WARM_UP: Final = 0.1  # share of requests cut off at the start
MIN_FOR_P99: Final = 1000  # below, a 99th percentile is not reliable (POL-56)
MIN_WINDOW_S: Final = 600.0  # S032, S071


@dataclass(frozen=True, slots=True)
class Load:
    """rate: arrivals per second; burstiness: shape of the gamma distribution of gaps, 1 = Poisson, 0 = constant gaps."""

    rate: float
    requests: int
    prompt: int
    answer: int
    seed: int
    burstiness: float = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What the engine allows: sequences and prompt tokens per step, cache in tokens, waiting requests."""

    sequences: int
    batched_tokens: int
    cache_tokens: int
    waiting: int = 100_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """Seconds of the requests after warm-up, in order of arrival; rejected of all; window of model time in seconds."""

    ttft: tuple[float, ...]
    tpot: tuple[float, ...]
    e2e: tuple[float, ...]
    wait: tuple[float, ...]
    rejected: int
    window_s: float
    tokens_per_s: float
    cache_share: float

    def percentile(self, values: Sequence[float], share: float) -> float:
        """Return a percentile of one of the series; raises RequestError without any request."""
        if not values:
            sentence = "Keine Anfrage wurde beantwortet; bitte Last oder Grenzen ändern."
            raise RequestError("no request completed", message_de=sentence)
        return percentile(values, share)

    @property
    def reliable_p99(self) -> bool:
        """Say whether sample and window carry a 99th percentile (POL-56)."""
        return len(self.ttft) >= MIN_FOR_P99 and self.window_s >= MIN_WINDOW_S


class _Run:
    """The state of one simulation; times in seconds, contexts and cache in tokens."""

    def __init__(self, load: Load, limits: Limits, times: StepTimes) -> None:
        self.load, self.limits, self.times = load, limits, times
        self.now, self.step, self.context, self.cache, self.busiest = 0.0, 0, 0, 0, 0
        self.waiting: deque[int] = deque()
        self.running: list[tuple[int, int]] = []  # step of the last token, request
        self.arrivals = _arrivals(load)
        self.next = 0
        self.admitted, self.first, self.last = ([0.0] * load.requests for _ in range(3))
        self.rejected: set[int] = set()

    def arrive(self) -> None:
        """Take in what has arrived by now."""
        while self.next < len(self.arrivals) and self.arrivals[self.next] <= self.now:
            need = self.load.prompt + self.load.answer
            if len(self.waiting) >= self.limits.waiting or need > self.limits.cache_tokens:
                self.rejected.add(self.next)
            else:
                self.waiting.append(self.next)
            self.next += 1

    def admit(self) -> list[int]:
        """Return the requests whose prompts join the next step."""
        chosen: list[int] = []
        prompt, need = self.load.prompt, self.load.prompt + self.load.answer
        while self.waiting and len(self.running) + len(chosen) < self.limits.sequences:
            if chosen and (len(chosen) + 1) * prompt > self.limits.batched_tokens:
                break
            if self.cache + need > self.limits.cache_tokens:
                break
            self.cache += need
            chosen.append(self.waiting.popleft())
            self.admitted[chosen[-1]] = self.now
        self.busiest = max(self.busiest, self.cache)
        return chosen

    def prompts(self, chosen: list[int]) -> None:
        """Run the steps that read new prompts; running requests get a token in each."""
        steps = max(1, ceil(len(chosen) * self.load.prompt / self.limits.batched_tokens))
        self.advance(steps, extra=len(chosen) * self.times.prompt_seconds(self.load.prompt))
        for request in chosen:
            self.first[request] = self.now
            self.context += self.load.prompt + 1
            heappush(self.running, (self.step + self.load.answer - 1, request))

    def answers(self) -> None:
        """Run steps until a request ends or the next one arrives."""
        steps = self.running[0][0] - self.step
        if self.next < len(self.arrivals) and len(self.running) < self.limits.sequences:
            gap = self.arrivals[self.next] - self.now
            steps = min(steps, max(1, ceil(gap / self.seconds())))
        self.advance(max(steps, 0), extra=0.0)

    def seconds(self) -> float:
        """Return the time of the next step of the running batch."""
        return self.times.steps[len(self.running)] + self.times.per_context * self.context

    def advance(self, steps: int, *, extra: float) -> None:
        """Run `steps` steps; contexts grow by a token per sequence and step."""
        count = len(self.running)
        grown = self.times.per_context * count * steps * (steps - 1) / 2
        self.now += steps * (self.seconds() if count else 0.0) + grown + extra
        if not count:
            self.now += steps * self.times.steps[0]
        self.step += steps
        self.context += count * steps

    def leave(self) -> None:
        """Let the requests go whose last token is out."""
        while self.running and self.running[0][0] <= self.step:
            _, request = heappop(self.running)
            self.last[request] = self.now
            self.context -= self.load.prompt + self.load.answer
            self.cache -= self.load.prompt + self.load.answer


def simulate(load: Load, limits: Limits, times: StepTimes) -> Outcome:
    """Return what happens to every request of a load; raises RequestError for a load that cannot be."""
    _check(load, limits, times)
    run = _Run(load, limits, times)
    while run.next < load.requests or run.waiting or run.running:
        run.arrive()
        chosen = run.admit()
        if chosen:
            run.prompts(chosen)
        elif run.running:
            run.answers()
        elif run.next < load.requests:
            run.now = run.arrivals[run.next]
        run.leave()
    return _outcome(run)


def _outcome(run: _Run) -> Outcome:
    load = run.load
    kept = [i for i in range(int(load.requests * WARM_UP), load.requests) if i not in run.rejected]
    window = run.now - run.arrivals[kept[0]] if kept else 0.0
    each = max(1, load.answer - 1)
    return Outcome(
        tuple(run.first[i] - run.arrivals[i] for i in kept),
        tuple((run.last[i] - run.first[i]) / each for i in kept),
        tuple(run.last[i] - run.arrivals[i] for i in kept),
        tuple(run.admitted[i] - run.arrivals[i] for i in kept),
        len(run.rejected),
        window,
        len(kept) * load.answer / window if window else 0.0,
        run.busiest / run.limits.cache_tokens,
    )


def _arrivals(load: Load) -> list[float]:
    source = Random(load.seed)  # noqa: S311 - a seeded model of arrivals, no secret
    now, found = 0.0, []
    for _ in range(load.requests):
        gap = source.gammavariate(load.burstiness, 1 / load.burstiness) if load.burstiness else 1.0
        now += gap / load.rate
        found.append(now)
    return found


def _check(load: Load, limits: Limits, times: StepTimes) -> None:
    fine = load.rate > 0 and 1 <= load.requests <= MAX_REQUESTS and load.prompt >= 1 and load.answer >= 1
    fine &= (
        load.burstiness >= 0
        and limits.sequences >= 1
        and limits.batched_tokens >= 1
        and limits.cache_tokens >= 1
    )
    if not fine or limits.sequences >= len(times.steps):
        sentence = (
            "Die Last ist nicht gültig: Rate, Zahl der Anfragen, Längen und Grenzen müssen über null liegen."
        )
        raise RequestError(f"{load} {limits}", message_de=sentence)
