from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pilots.wafer import __main__ as main
from pilots.wafer import reference
from pilots.wafer.cli import validate
from pilots.wafer.costs.constants import record
from pilots.wafer.cycle import agreement
from pilots.wafer.cycle.agreement import check
from pilots.wafer.reference import load
from pilots.wafer.validation.assessment import assess, lines_of
from pilots.wafer.validation.counted import FILE, Counted, program_of, simulated
from pilots.wafer.validation.model import EMULATOR
from pilots.wafer.validation.report import PLOT_NAME, plot, report
from pilots.wafer.validation.rows import fitted, rows_of
from tests.pilots.wafer.small_model import RECORD, SMALL, entry, file_of, reference_of, summa

ROOT = Path(main.__file__).parents[2]


@pytest.fixture
def small(monkeypatch):
    """The command with the small model and a small calibration file."""
    monkeypatch.setattr(validate, "assess", lambda given, own, _: assess(given, own, RECORD, SMALL))
    own = reference_of(*(summa(f"s{tile}", tile, 64) for tile in (32, 64, 128)))
    monkeypatch.setattr(reference, "published", lambda: own)
    monkeypatch.setattr(agreement, "CASES", agreement.CASES[:2])


@pytest.mark.usefixtures("small")
def test_json_output_is_json_and_exit_code_zero(capsys, tmp_path):
    given = tmp_path / "given.json"
    given.write_text(file_of(summa("a", 16, 64), entry(id="b", unit="furlongs")), encoding="utf-8")
    assert main.main(["validate", "--reference", str(given), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [item["id"] for item in found["entries"]] == ["a", "b"]
    assert "refused" in found["entries"][1]


@pytest.mark.usefixtures("small")
def test_without_json_there_is_a_table_and_without_a_file_the_own_one(capsys):
    assert main.main(["validate"]) == 0
    assert "GEMM" in capsys.readouterr().out


@pytest.mark.usefixtures("small")
def test_write_makes_report_and_plot(tmp_path, capsys):
    assert main.main(["validate", "--write", str(tmp_path / "new")]) == 0
    assert (tmp_path / "new" / "wafer.md").read_text(encoding="utf-8").startswith("# Validierung")
    assert (tmp_path / "new" / PLOT_NAME).read_text(encoding="utf-8").startswith("<svg")
    kept = json.loads((tmp_path / "new" / FILE).read_text(encoding="utf-8"))
    assert [row.counted for row in Counted.from_json(kept).agreement] == [7, 28]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "lässt sich nicht lesen"),
        (b"\xff\xfe", "UTF-8"),
        (b"{}", "Liste „measured“"),
        (b"{", "kein gültiges JSON"),
        (b"[" * 50_000, "kein gültiges JSON"),
    ],
)
def test_a_bad_file_is_one_german_sentence_and_exit_code_two(content, sentence, tmp_path, capsys):
    given = tmp_path / "given.json"
    if content is not None:
        given.write_bytes(content)
    assert main.main(["validate", "--reference", str(given), "--json"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert sentence in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["", "folder"])
def test_a_folder_or_an_odd_name_is_a_sentence(name, tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    assert (
        main.main(
            ["validate", "--reference", str(tmp_path / "folder") if name == "folder" else "/nowhere/at all"]
        )
        == 2
    )
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.usefixtures("small")
def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("x", encoding="utf-8")
    assert main.main(["validate", "--write", str(blocked)]) == 2
    assert "lässt sich nicht schreiben" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [[], ["unknown"], ["validate", "--unknown"], ["validate", "--reference"]]
)
def test_a_wrong_call_is_one_german_sentence_and_exit_code_two(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main.main(arguments)
    assert stopped.value.code == 2
    shown = capsys.readouterr().err
    assert shown.startswith("Der Aufruf ist unvollständig oder falsch")
    assert shown.count("\n") == 1


def test_every_command_has_help(capsys):
    for name, command in main.COMMANDS.items():
        with pytest.raises(SystemExit) as stopped:
            main.main([name, "--help"])
        assert stopped.value.code == 0
        assert command.HELP in capsys.readouterr().out.replace("\n", " ").replace("  ", " ")


def _predicted(text: str):
    known = fitted(rows_of(reference.published(), EMULATOR))
    return [line.prediction for line in lines_of(rows_of(load(text), EMULATOR), known, record(), EMULATOR)]


def test_predictions_do_not_depend_on_what_was_stripped():
    rows = json.loads(reference.OWN.read_text(encoding="utf-8"))["measured"]
    scrambled = [
        {
            **{name: row[name] for name in ("workload", "unit", "system", "metric")},
            "id": f"x{number}",
            "value": number + 1,
            "source": "none",
            "quote": f"{number}",
            "confidence": "measured",
            "params": {"cycles": number, "derived_x": 1, "outlier": True, "fraction_of_peak": 1}
            | {
                name: value
                for name, value in row["params"].items()
                if name.casefold() in reference.ALLOWED_PARAMS
            },
        }
        for number, row in enumerate(rows)
    ]
    bare = [
        {name: row[name] for name in ("id", "system", "workload", "params", "metric", "unit")} for row in rows
    ]
    before = _predicted(file_of(*rows))
    assert sum(item is not None for item in before) > 60
    assert _predicted(file_of(*scrambled)) == before
    assert _predicted(file_of(*bare)) == before


@pytest.fixture(scope="module")
def fresh():
    own = reference.published()
    return assess(own, own, record())


def test_checked_in_report_is_what_the_command_writes(fresh):
    from pilots.wafer.costs.constants import PRIOR

    folder = ROOT / validate.FOLDER
    cycles = Counted.from_json(json.loads((folder / FILE).read_text(encoding="utf-8")))
    assert (folder / "wafer.md").read_text(encoding="utf-8") == report(
        fresh, record(), PRIOR.to_json(), cycles
    )
    assert (folder / PLOT_NAME).read_text(encoding="utf-8") == plot(fresh)


def test_what_our_interpreter_counts_for_entries_of_the_vendors_simulator_is_kept(fresh):
    kept = json.loads((ROOT / validate.FOLDER / FILE).read_text(encoding="utf-8"))["simulator"]
    programs = {line.row.entry.id: program_of(line) for line in simulated(fresh)}
    assert kept == {name: check(case).counted for name, case in programs.items() if case}
    assert set(kept) == {"fabrica.GEMV", "fabrica.GEMM-Collectives-2D"}
    assert len(programs) > len(kept)  # inside one element no wavelet moves


def test_all_predictions_are_finite_and_ordered(fresh):
    for line in fresh.lines:
        if line.prediction:
            found = line.prediction
            assert 0 < found.lower < found.value < found.upper < float("inf"), line.row.entry.id


@pytest.mark.system
def test_command_runs_as_a_module(tmp_path):
    given = tmp_path / "given.json"
    given.write_text("{", encoding="utf-8")
    call = [sys.executable, "-m", "pilots.wafer", "validate", "--reference", str(given)]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 2
    assert done.stderr == "Die Referenzdatei ist kein gültiges JSON (Zeile 1).\n"
