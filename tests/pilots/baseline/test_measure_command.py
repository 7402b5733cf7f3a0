"""`python -m pilots.baseline measure` and `keygen`: processes, exit codes, sentences."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pilots.baseline import measure_graph, measure_worker, signature
from pilots.baseline.__main__ import main
from pilots.baseline.importers import read
from pilots.baseline.measure import MeasureError
from pilots.baseline.measure_graph import Counts, Process, take_turns
from pilots.baseline.measure_source import Source
from pilots.graph.capture import to_bytes
from tests.pilots.graph.captures import perceptron

ROOT = Path(__file__).parents[3]


def test_a_tiny_model_is_measured_in_fresh_processes_and_signed(tmp_path: Path) -> None:
    key, out = tmp_path / "key.pem", tmp_path / "messung.json"
    made = subprocess.run(
        [sys.executable, "-m", "pilots.baseline", "keygen", "--out", str(key)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    card = made.stdout.splitlines()[-1]
    public = signature.read_card(card)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    ran = subprocess.run(
        [sys.executable, "-m", "pilots.baseline", "measure", "--model", "4-6-2", "--out", str(out), "--key", str(key)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Streuung des Durchsatzes:" in ran.stdout
    run = read(out.read_bytes(), "messung.json")
    assert run.measurement is not None
    assert (run.measurement.public_key, run.measurement.repetitions, run.measurement.iterations) == (
        public,
        5,
        200,
    )
    assert len(run.measurement.durations_ns) == 1000
    found = json.loads(out.read_bytes())["statement"]
    assert len(found["peak_memory_bytes"]) == len(found["warm_up_ns"]) == 5
    assert all(1 <= len(row) <= 20 for row in found["warm_up_ns"])


def test_a_capture_is_measured_on_its_own_example(tmp_path: Path) -> None:
    path = tmp_path / "modell.wgraph"
    path.write_bytes(to_bytes(perceptron()))
    model = Source(path=str(path)).load()
    assert model.batch == 4
    assert model.facts["source"]["kind"] == "AUFZEICHNUNG"
    worker = Process(Source(path=str(path)))
    try:
        assert worker.warm_up()["blas_threads"] in {0, 1}
        assert len(worker.turn(3)["durations_ns"]) == 3
        assert set(worker.end()["outputs"]) == set(model.graph.outputs)
    finally:
        worker.close()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "genau eines von --graph, --model und --endpoint"),
        (["--model", "4-6-2", "--graph", "x"], "genau eines von --graph, --model und --endpoint"),
        (["--model", "4"], "Ein Modell hat 2 bis 32 Schichtbreiten"),
        (["--model", "4-6-2", "--batch", "0"], "Stapelgröße"),
        (["--model", "4-6-2", "--repeat", "4"], "Nötig sind 5 bis 20 Wiederholungen mit mindestens 200"),
        (["--model", "4-6-2", "--iterations", "199"], "mindestens 200 Durchläufen (POL-02)"),
        (["--model", "4-6-2", "--iterations", "20000"], "zusammen höchstens 50000"),
        (["--graph", "gibt-es-nicht.wgraph"], "gibt-es-nicht.wgraph lässt sich nicht lesen"),
        (["--graph", __file__], "."),
        (["--model", "4-6-2", "--key", __file__], "ist kein Schlüssel von „keygen“."),
        (["--endpoint", "http://127.0.0.1:9/v1"], "--model-name, --prompt-tokens und --output-tokens"),
    ],
)
def test_a_refusal_is_one_sentence_exit_code_2_and_no_file(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "messung.json"
    assert main(["measure", *arguments, "--out", str(out)]) == 2
    shown = capsys.readouterr().err
    assert sentence in shown
    assert shown.count("\n") == 1
    assert not out.exists()


def test_a_key_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "key.pem"
    path.write_text("alt")
    assert main(["keygen", "--out", str(path)]) == 2
    assert "ein Schlüssel wird nie überschrieben" in capsys.readouterr().err
    assert path.read_text() == "alt"


class Told:
    """A repetition that answers as it is told."""

    def __init__(self, durations: Callable[[int], int] = lambda _index: 1000, **more: Any) -> None:
        self.turns: list[int] = []
        self.durations, self.more = durations, more

    def warm_up(self) -> dict[str, Any]:
        return {"warm_up_ns": [self.more.get("warm", 1000)], "blas_threads": 1}

    def turn(self, count: int) -> dict[str, Any]:
        self.turns.append(count)
        return {"durations_ns": [self.durations(index) for index in range(count)], "failed": 0}

    def end(self) -> dict[str, Any]:
        return {"peak_memory_bytes": 5, "outputs": {"y": self.more.get("output", "a")}}


def test_repetitions_take_turns_of_twenty_and_the_last_turn_is_what_is_left() -> None:
    rows = [Told(), Told()]
    told: list[tuple[int, int]] = []
    found = take_turns(rows, 45, lambda done, total: told.append((done, total)))
    assert [row.turns for row in rows] == [[20, 20, 5]] * 2
    assert told == [(40, 90), (80, 90), (90, 90)]
    assert [len(row) for row in found.durations_ns] == [45, 45]


def test_repetitions_that_compute_different_things_have_no_result() -> None:
    with pytest.raises(MeasureError) as caught:
        take_turns([Told(), Told(output="b")], 20, lambda *_at: None)
    assert "haben Verschiedenes berechnet" in caught.value.message_de


@pytest.mark.parametrize(("warm", "refused"), [(14_400_000_000, False), (14_400_000_001, True)])
def test_more_than_four_hours_are_refused_after_the_first_repetition_is_warm(
    warm: int, refused: bool
) -> None:
    rows = [Told(warm=warm) for _ in range(5)]
    if refused:
        with pytest.raises(MeasureError, match="hours"):
            take_turns(rows, 200, lambda *_at: None)
    assert all(not row.turns for row in rows)


@pytest.mark.parametrize(("counts", "good"), [((5, 200), True), ((4, 200), False), ((5, 199), False), ((20, 2500), True), ((20, 2501), False), ((21, 200), False)])  # fmt: skip
def test_counts_at_their_limits(counts: tuple[int, int], good: bool) -> None:
    if good:
        Counts(*counts).check()
    else:
        with pytest.raises(MeasureError):
            Counts(*counts).check()


def test_a_process_that_dies_leaves_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(MeasureError) as caught:
        measure_graph.measure_in_processes(Source(text="4-6-2"), Counts(), lambda *_at: None)
    assert "Ein Prozess der Messung ist abgebrochen" in caught.value.message_de


def test_warming_up_ends_after_a_minute() -> None:
    ticks = iter(range(0, 10**13, 20_000_000_000))
    repetition = measure_worker.Repetition(Source(text="4-6-2").load(), ticks.__next__)
    assert len(repetition.warm_up()["warm_up_ns"]) == 4
