"""`python -m pilots.baseline import`: what it prints, its exit codes and its sentences."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pilots.baseline.__main__ import main
from pilots.baseline.cli.read_file import Progress

ROOT = Path(__file__).parents[3]
FILES = Path(__file__).parent / "files"


def test_command_says_what_a_file_says_and_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(FILES / "vllm-0.33.0_serve_detailed.json")]) == 0
    shown = capsys.readouterr().out
    assert "Durchsatz: 68,7372 Anfragen/s (n = 11)" in shown
    assert "Zeit bis zum ersten Token p99: 54,4253 ms (n = 11; nicht belastbar)" in shown
    assert "Fehlerquote: 8,33333 % (n = 12)" in shown
    assert "Die Datei nennt weder Hardware noch Treiber noch Topologie." in shown
    assert "Hinweis: 1 von 12 Anfragen sind fehlgeschlagen." in shown


def test_json_holds_every_run_with_axes_and_the_digest_of_the_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = FILES / "sglang-0.4_h200x8_llama_405b_online.jsonl"
    assert main(["import", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert [run["completed"] for run in found["runs"]] == [300, 600, 1200, 2400, 1200, 2400]
    axes = {"assurance": "EINGEREICHT", "origin": "EIGEN", "provenance": "GEMESSEN"}
    assert all(item["axes"] == axes for run in found["runs"] for item in run["metrics"])


def test_one_run_of_several_is_chosen_by_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FILES / "sglang-0.4_h200x8_llama_405b_online.jsonl")
    assert main(["import", path, "--run", "2", "--json"]) == 0
    assert [run["completed"] for run in json.loads(capsys.readouterr().out)["runs"]] == [600]
    assert main(["import", path, "--run", "9"]) == 2
    assert "bitte nennen Sie die Nummer des Laufs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("vllm-0.33.0_serve_all_failed.json", "Alle 8 Anfragen sind fehlgeschlagen"),
        ("meta-llama--Meta-Llama-3.1-8B_config.json", "Das ist die Konfiguration eines Modells"),
        ("torch-2.14_cpu_trace.json.gz", "Die Spur enthält keine Arbeit eines Beschleunigers"),
        ("missing.json", "lässt sich nicht lesen."),
        ("", "ist ein Ordner; bitte packen Sie ihn als ZIP"),
    ],
)
def test_refusal_is_one_sentence_and_exit_code_2(
    name: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(FILES / name)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert sentence in shown.err
    assert shown.err.endswith(".\n")


def test_file_on_the_command_line_may_be_larger_than_an_upload(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = (FILES / "vllm-0.33.0_serve_ok_20req.json").read_bytes()
    path = tmp_path / "large.json"
    path.write_bytes(data + b" " * (9 * 2**20))
    assert main(["import", str(path)]) == 0
    path.write_bytes(data + b" " * (33 * 2**20))
    assert main(["import", str(path)]) == 2
    assert "Die Datei ist größer als 32 MiB." in capsys.readouterr().err


def test_progress_is_shown_for_large_files_only(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    for done in range(0, 200, 10):
        progress(done * 2**20, 200 * 2**20)
    progress.end()
    assert capsys.readouterr().err == "\r70 von 200 MiB gelesen\r140 von 200 MiB gelesen\n"
    Progress().end()
    assert capsys.readouterr().err == ""


def test_wrong_call_is_one_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pilots.baseline", "import"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("Der Aufruf ist unvollständig oder falsch")
