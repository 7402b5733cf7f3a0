"""A model small enough to check by hand: cycles = constant x operations / elements."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import exp, log

from pilots.wafer.features import features
from pilots.wafer.fitting import CannotPredict
from pilots.wafer.reference import Entry, Reference, load
from pilots.wafer.validation.model import Model
from pilots.wafer.workloads import Fft


@dataclass(frozen=True)
class OneConstant:
    value: float

    def to_json(self):
        return {"value": repr(self.value)}


def load_per_element(case):
    known = features(case)
    return known.operations / known.pes


def fit(samples):
    if not samples:
        return OneConstant(1.0)
    total = sum(sample.weight for sample in samples)
    mean = sum(s.weight * log(s.cycles / load_per_element(s.case)) for s in samples) / total
    return OneConstant(exp(mean))


def cycles(case, constants):
    if isinstance(case.workload, Fft):
        raise CannotPredict("no", message_de="Das kleine Modell kennt keine Transformation.")
    return constants.value * load_per_element(case)


SMALL = Model(fit, cycles, OneConstant(1.0), lambda data: OneConstant(float(data["value"])))
RECORD = {
    "constants": {"value": "1"},
    "factors": {"generation": "2", "unknown": "4"},
    "families": {},
}


def entry(**changes) -> dict:
    return {
        "id": "a",
        "system": "CS-2 (WSE-2)",
        "workload": "SUMMA GEMM fp32, M=K=N=P*tile",
        "params": {"P": 4, "tile": 8, "dtype": "f32", "clock_GHz": 0.85},
        "metric": "time",
        "value": 10.0,
        "unit": "us",
        "source": "somewhere",
        "quote": "it took 10.0",
        "confidence": "measured",
    } | changes


def file_of(*entries: dict) -> str:
    return json.dumps({"measured": list(entries)})


def reference_of(*entries: dict) -> Reference:
    return load(file_of(*entries))


def one(**changes) -> Entry:
    return reference_of(entry(**changes)).entries[0]


def summa(name: str, tile: int, grid: int, error: float = 1.0) -> dict:
    """An entry whose published cycles are `error` times 3 x operations / elements."""
    side = tile * grid
    published = 3 * 2 * side**3 / grid**2 * error
    params = {"P": grid, "tile": tile, "dtype": "f32"}
    return entry(id=name, params=params, value=published, unit="cycles", metric="cycles")
