from __future__ import annotations

import json
from pathlib import Path

import pytest

from pilots.cluster import __main__ as main
from pilots.cluster import calibrate, extract, reference, tables
from pilots.cluster.cli import validate
from pilots.cluster.constants import FILE, constants, record
from pilots.cluster.formulas import FORMULAS
from pilots.cluster.predict import predict
from pilots.cluster.reading.inputs import ALLOWED_PARAMS, Question, Refused
from pilots.cluster.reference import load, question_of
from pilots.cluster.validation import splits
from pilots.cluster.validation.assessment import assess, lines_of
from pilots.cluster.validation.gates import COVERAGE_AIM, MEDIAN_AIM
from pilots.cluster.validation.intervals import coverage
from pilots.cluster.validation.report import report
from pilots.cluster.validation.rows import rows_of, scored
from pilots.cluster.validation.statistics import figures
from pilots.cluster.workloads import Family

ROOT = Path(main.__file__).parents[2]
OWN = tables.DATA / "reference.json"


@pytest.fixture(scope="module")
def fresh():
    own = tables.published()
    return assess(own, own, record())


def predicted(text):
    return [
        (line.value, line.lower, line.upper, line.trust)
        for line in lines_of(rows_of(load(text)), [], record())
    ]


def test_predictions_do_not_depend_on_what_was_stripped():
    rows = json.loads(OWN.read_text(encoding="utf-8"))["measured"]
    scrambled = [
        {
            **{name: row[name] for name in ("workload", "unit", "system", "metric")},
            "id": f"x{number}",
            "value": number + 1,
            "source": "none",
            "confidence": "high",
            "params": {"mfu_pct": number, "tracked_throughput": 1, "ttft_p99_ns": 1, "tokens_per_s": 2}
            | {name: value for name, value in row["params"].items() if name.casefold() in ALLOWED_PARAMS},
        }
        for number, row in enumerate(rows)
    ]
    bare = [
        {name: row[name] for name in ("id", "system", "workload", "params", "metric", "unit")} for row in rows
    ]
    before = predicted(json.dumps({"measured": rows}))
    assert sum(line[0] is not None for line in before) > 120
    assert predicted(json.dumps({"measured": scrambled})) == before
    assert predicted(json.dumps({"measured": bare})) == before


def test_no_allowed_parameter_is_an_answer():
    answers = {
        "mfu_pct",
        "hfu_pct",
        "hfu",
        "agg_pflops",
        "tokens_per_s",
        "throughput_in_plus_out",
        "eff_pct",
        "peak_tflops",
    }
    assert not answers & ALLOWED_PARAMS
    assert not {name for name in ALLOWED_PARAMS if name.startswith(("tracked", "ttft", "tpot"))}


def test_gates_that_must_hold_are_reached(fresh):
    must = [gate for gate in fresh.gates if gate.must]
    assert len(must) == 5
    assert [gate.name_de for gate in must if not gate.reached] == []


def test_families_reach_their_aim_but_the_one_the_report_names(fresh):
    by_setting, by_system, _ = fresh.splits
    for split in (by_setting, by_system):
        missed = [family for family, (ours, _) in split.families.items() if ours.median > MEDIAN_AIM]
        assert missed == [Family.COLLECTIVES]
    assert "verfehlt: Kollektive." in report(fresh, record())


def test_all_reduce_from_one_mebibyte_holds_without_its_setting_too(fresh):
    (gate,) = [item for item in fresh.gates if item.name_de.startswith("All-reduce ab 1 MiB, mittel, ")]
    assert gate.reached
    assert not gate.must


def test_a_range_of_sizes_left_out_of_a_known_system_reaches_the_aim(fresh):
    by_range = fresh.splits[2]
    assert list(by_range.families) == [Family.COLLECTIVES]
    ours, _ = by_range.families[Family.COLLECTIVES]
    assert ours.median <= MEDIAN_AIM
    assert by_range.earned(Family.COLLECTIVES)


def test_every_family_is_twice_as_good_as_the_naive_curve(fresh):
    for split in fresh.splits:
        assert [family for family in split.families if split.earned(family) is False] == []


def test_intervals_cover_what_they_promise(fresh):
    families = [[item for item in fresh.held if item.held.row.case.family is family] for family in Family]
    for rows in (list(fresh.held), list(fresh.ranges), *families):
        found = coverage(rows)
        assert COVERAGE_AIM[0] <= found.share <= COVERAGE_AIM[1]


def test_entries_of_the_calibration_are_judged_without_the_table_made_of_them(fresh):
    seen = {item.family: item.ours for item in fresh.results if item.sample == "in der Kalibrierung"}
    rows = [line.row for line in fresh.lines if line.seen and line.row.scored]
    rows = [row for row in rows if row.case.family is Family.COLLECTIVES]
    own = [[row for row in rows if row.case.key == key] for key in sorted({row.case.key for row in rows})]
    alone = [error for part in own for error in splits.errors(part, constants())]
    assert seen[Family.COLLECTIVES] == figures(alone)


def test_a_new_entry_of_a_known_system_uses_its_table():
    rows = rows_of(tables.published())
    known = [row for row in rows if row.entry.id.startswith("all_reduce_dgx")]
    (line,) = lines_of([known[-1]], [], record())
    with_table = predict(known[-1].case)
    assert line.value == pytest.approx(known[-1].question.value(with_table.seconds))
    assert line.trust == with_table.trust


def test_rows_that_count_operations_say_which(fresh):
    counts = {line.row.entry.id: line.row.question.counts for line in fresh.lines if line.row.question}
    assert counts["megatron2021_1T_tflops"] == "HFU"
    assert counts["megatron_h100_70B"] == "MFU"
    assert counts["mlperf_mfu_l405b_512xH100"] == "MFU"
    assert counts["megatron2021_1T_step_s"] == ""


def test_utilisation_falls_with_scale(fresh):
    by_id = {line.row.entry.id: line for line in fresh.lines}
    assert by_id["mlperf_mfu_l405b_8192xH100"].value < by_id["mlperf_mfu_l405b_512xH100"].value


def test_checked_in_report_is_what_the_command_writes(fresh):
    assert (ROOT / validate.FOLDER / validate.REPORT).read_text(encoding="utf-8") == report(fresh, record())


def test_checked_in_calibration_is_what_the_command_prints(fresh):
    found = calibrate.calibrate(tables.published(), [item.held for item in fresh.held])
    assert FILE.read_text(encoding="utf-8") == calibrate.text(found)


def test_all_predictions_are_finite_and_ordered(fresh):
    for line in fresh.lines:
        if line.value is not None:
            assert 0 < line.lower < line.value < line.upper < float("inf"), line.row.entry.id


def test_every_constant_has_a_starting_value_with_a_reason():
    for formula in FORMULAS.values():
        assert all(value > 0 and reason for value, reason in formula.prior.values())


def test_answers_that_ended_early_and_contexts_too_long_are_not_scored():
    rows = rows_of(tables.published())
    early = [row for row in rows if row.unscored.startswith("schneller als")]
    assert len(early) == 12
    assert all(row.entry.params["model"] == "Qwen2-7B" for row in early)
    assert sum("mehr, als" in row.refused for row in rows) == 20


def test_rows_of_own_tables_are_all_read():
    rows = rows_of(tables.published())
    assert len(rows) == 1830
    assert len(scored(rows)) == 1706


def entry(**fields):
    base = {
        "id": "a",
        "system": "8x H200",
        "workload": "nccl-tests all_reduce",
        "metric": "busbw",
        "unit": "GB/s",
        "params": {},
    }
    return base | fields


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"params": {"gpus": 8, "size_bytes": 1024}}, "collectives/NCCL"),
        ({"workload": "GEMM", "unit": "TFLOP/s", "params": {"m": 1, "n": 2, "k": 3}}, "operators/16 Bit"),
        (
            {"workload": "Llama-3-8B fp16 vLLM in=out=128", "unit": "s", "params": {"batch": 2}},
            "serving/vLLM 2024",
        ),
        (
            {"workload": "Llama 3.1 8B offline max throughput ISL/OSL 1000/1000", "unit": "tokens/s"},
            "offline/TensorRT-LLM 1.0",
        ),
        (
            {"workload": "MPT-7b FSDP training seq 2048", "unit": "tokens/s/GPU", "params": {"gpus": 8}},
            "training/FSDP",
        ),
    ],
)
def test_entries_are_read_by_what_they_say(fields, key):
    found = question_of(load(json.dumps({"measured": [entry(**fields)]})).entries[0])
    assert isinstance(found, Question)
    assert found.case.key == key
    assert found.value(found.seconds(3.5)) == pytest.approx(3.5)


@pytest.mark.parametrize(
    "fields",
    [
        {"system": "Abakus"},
        {"unit": "furlongs"},
        {"workload": "resnet50 Offline", "params": {"accelerators": 8}},
        {"workload": "gpt3 MLPerf training", "metric": "time_to_train"},
        {"workload": "llama2-70b-99 Interactive", "params": {"accelerators": 8}},
        {"workload": "GEMM", "params": {"m": -1, "n": 2, "k": 3}},
        {"workload": "opt-6.7b fp16 vLLM in=out=2048", "unit": "s"},
        {"workload": "etwas anderes"},
    ],
)
def test_what_is_not_known_is_refused_with_a_reason(fields):
    found = question_of(load(json.dumps({"measured": [entry(**fields)]})).entries[0])
    assert isinstance(found, Refused)
    assert found.reason_de


def test_json_output_is_json_in_the_order_of_the_file(capsys, tmp_path, monkeypatch):
    few = reference.Reference(tables.published().entries[-200:])
    monkeypatch.setattr(tables, "published", lambda: few)
    given = tmp_path / "given.json"
    rows = [entry(params={"gpus": 8, "size_bytes": 2**20}), entry(id="b", unit="furlongs")]
    given.write_text(json.dumps({"measured": rows}), encoding="utf-8")
    assert main.main(["validate", "--reference", str(given), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [item["id"] for item in found["entries"]] == ["a", "b"]
    assert found["entries"][0]["lower"] < found["entries"][0]["predicted"] < found["entries"][0]["upper"]
    assert "refused" in found["entries"][1]
    assert found["summary"]["leave_one_setting_out"]["operators"]["twice_as_good"] is True


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "lässt sich nicht lesen"),
        (b"\xff\xfe", "UTF-8"),
        (b"{}", "Liste „measured“"),
        (b"{", "kein gültiges JSON"),
        (b"[" * 50_000, "kein gültiges JSON"),
        (b'{"measured": [{"id": "a"}]}', "workload"),
        (b'{"measured": [{"id": "a", "workload": "b", "value": NaN}]}', "keine endliche Zahl"),
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


def test_extract_keeps_figures_and_drops_quotations():
    full = {
        "hardware": [],
        "measured": [
            entry(value=1, quote="lang", source="s", confidence="high", params={"note": "x", "gpus": 8})
        ],
    }
    (kept,) = extract.extract(full)["measured"]
    assert "quote" not in kept
    assert kept["params"] == {"gpus": 8}
    assert reference.load(json.dumps({"measured": [kept]})).entries[0].number == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "--model", "Llama-3-8B"],
        ["predict", "--model", "Llama-3-8B", "--json", "--rate", "0.5", "--requests", "50"],
        ["predict", "--kind", "gemm"],
        ["predict", "--kind", "allreduce", "--topology", "DISKRET-4GPU", "--gpus", "4"],
    ],
)
def test_predict_answers(arguments, capsys):
    assert main.main(arguments) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["predict"], "--config"),
        (["predict", "--model", "Llama-3-70B"], "es fehlen"),
        (["predict", "--model", "opt-6.7b", "--prompt", "2048"], "Kontext"),
        (["predict", "--model", "Llama-3-8B", "--batch", "0"], "--batch"),
        (["predict", "--model", "Llama-3-8B", "--device", "x"], "nicht bekannt"),
        (["predict", "--kind", "gemm", "--rate", "1"], "Warteschlange"),
        (["calibrate", "--extract", "/nirgends"], "lesen"),
    ],
)
def test_a_question_without_answer_is_one_german_sentence(arguments, sentence, capsys):
    assert main.main(arguments) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert shown.err.count("\n") == 1
