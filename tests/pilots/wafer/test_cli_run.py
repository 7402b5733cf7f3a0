"""Files of `run` and `predict`: whatever is wrong with them is one German sentence, and no file is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pilots.wafer import __main__ as main
from pilots.wafer import functional

RUN = ["run", "--mlp", "4-4", "--batch", "2", "--machine", "lab-8x8"]
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-05,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that must be refused and return its last line on standard error."""
    assert main.main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    sentences = [line for line in shown.err.splitlines() if "/" not in line or " " in line.strip()]
    assert sentences[-1].endswith(".")
    assert "Traceback" not in shown.err
    return sentences[-1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"name": "a", "version": 1}', "ist kein Zwischenstand eines Laufs"),
        (b"{}", "ist kein Zwischenstand eines Laufs"),
        (b"[1, 2]", "ist kein Zwischenstand eines Laufs"),
        (b'"text"', "ist kein Zwischenstand eines Laufs"),
        (b"", "ist kein Zwischenstand eines Laufs"),
        (b'{"format": ', "ist kein Zwischenstand eines Laufs"),
        (b"[" * 50_000, "ist kein Zwischenstand eines Laufs"),
        (b'{"format": ' + b"[" * 900 + b"]" * 900 + b"}", ""),
        (b'{"format": "other-1", "run_key": "x"}', "gehört zu einem anderen Lauf"),
        (b'{"format": 1.5}', ""),
        (b"\xff\xfe", "ist kein UTF-8-Text"),
    ],
)
def test_a_foreign_state_is_refused_and_left_as_it_is(
    content: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state.json"
    state.write_bytes(content)
    assert words in refused([*RUN, "--state", str(state)], capsys)
    assert state.read_bytes() == content
    assert list(tmp_path.iterdir()) == [state]


def test_a_folder_is_no_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "lässt sich nicht lesen" in refused([*RUN, "--state", str(tmp_path)], capsys)


def test_a_state_that_cannot_be_written_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "config.json"
    model.write_text(json.dumps(CONFIG), encoding="utf-8")
    run = ["run", "--config", str(model), "--machine", "lab-8x8", "--prompt", "4", "--tokens", "3"]
    state = tmp_path / "missing" / "state.json"
    assert "lässt sich nicht schreiben" in refused([*run, "--state", str(state)], capsys)
    assert sorted(tmp_path.iterdir()) == [model]


class Stopped(Exception):
    """The process ends here."""


def test_a_state_continues_its_own_run_and_goes_away_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, state = tmp_path / "config.json", tmp_path / "state.json"
    model.write_text(json.dumps(CONFIG), encoding="utf-8")
    run = ["run", "--config", str(model), "--machine", "lab-8x8", "--prompt", "4", "--tokens", "6", "--json"]
    assert main.main(run) == 0
    whole = json.loads(capsys.readouterr().out)["result_digest"]
    stops(monkeypatch)
    with pytest.raises(Stopped):
        main.main([*run, "--state", str(state)])
    saved = state.read_bytes()
    assert "anderen Lauf" in refused([*run, "--seed", "2", "--state", str(state)], capsys)
    assert state.read_bytes() == saved
    monkeypatch.undo()
    assert main.main([*run, "--state", str(state)]) == 0
    assert json.loads(capsys.readouterr().out)["result_digest"] == whole
    assert sorted(tmp_path.iterdir()) == [model]


def stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """End a run after its first interim state."""
    generate = functional.generate

    def stopped(*arguments: Any, on_checkpoint: Any, **more: Any) -> Any:
        def save(state: dict[str, Any]) -> None:
            on_checkpoint(state)
            raise Stopped

        return generate(*arguments, on_checkpoint=save, **more)

    monkeypatch.setattr(functional, "generate", stopped)


@pytest.mark.parametrize("name", ["missing/map.png", ""])
def test_a_map_that_cannot_be_written_is_a_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "config.json"
    model.write_text(json.dumps(CONFIG), encoding="utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    predict = ["predict", "--config", str(model), "--machine", "lab-8x8", "--context", "16", "--map"]
    assert "lässt sich nicht schreiben" in refused([*predict, str(folder / name)], capsys)
    assert list(folder.iterdir()) == []


def test_a_map_replaces_a_file_as_a_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, target = tmp_path / "config.json", tmp_path / "map.png"
    model.write_text(json.dumps(CONFIG), encoding="utf-8")
    target.write_bytes(b"old")
    predict = ["predict", "--config", str(model), "--machine", "lab-8x8", "--context", "16", "--map"]
    assert main.main([*predict, str(target)]) == 0
    assert target.read_bytes().startswith(b"\x89PNG")
    assert sorted(tmp_path.iterdir()) == [model, target]
    capsys.readouterr()
