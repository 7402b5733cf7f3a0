from __future__ import annotations

import gzip
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from pilots.baseline.facts import ev02_imported
from pilots.baseline.importers import BenchmarkRefused, ImportedBenchmark, read
from pilots.baseline.importers.reading import MAX_BYTES
from pilots.baseline.importers.timing import check_latency
from qms.core import canonical

FILES = Path(__file__).parents[1] / "files"
OK = "vllm-0.33.0_serve_ok_20req.json"
FAILED = "vllm-0.33.0_serve_all_failed.json"


def load(name: str) -> bytes:
    return (FILES / name).read_bytes()


def values(benchmark: ImportedBenchmark) -> dict[tuple[str, str | None], float]:
    return {(item.key, item.percentile): float(item.value) for item in benchmark.metrics}


def refusal(data: bytes, name: str = "file.json") -> BenchmarkRefused:
    with pytest.raises(BenchmarkRefused) as caught:
        read(data, name)
    assert caught.value.message_de.endswith(".")
    assert len(caught.value.message_de) < 200
    return caught.value


def vllm(**changes: Any) -> bytes:
    return json.dumps(json.loads(load(OK)) | changes).encode()


def test_file_in_which_every_request_failed_is_refused() -> None:
    error = refusal(load(FAILED))
    assert error.code == "ALL_FAILED"
    assert error.message_de == (
        "Alle 8 Anfragen sind fehlgeschlagen; die Datei enthält keine verwertbaren Messwerte."
    )


def test_milliseconds_of_vllm_stay_milliseconds() -> None:
    found = values(read(load(OK), OK))
    assert found["e2e_latency_ms", "p99"] == pytest.approx(522.421, rel=1e-5)
    assert found["throughput_samples_s", None] == pytest.approx(14.28362, rel=1e-5)
    assert found["throughput_tokens_s", None] == pytest.approx(896.297, rel=1e-5)
    assert found["error_rate", None] == 0


def test_seconds_of_derived_vllm_files_become_milliseconds() -> None:
    found = values(read(load("inferencex_glm5_fp8_tp8_isl1024_osl128_conc16.json"), "x.json"))
    assert found["e2e_latency_ms", "p50"] == pytest.approx(4573.23, rel=1e-5)
    assert found["tpot_ms", "p50"] == pytest.approx(33.6149, rel=1e-5)


def scaled(name: str, factor: float, *, without: tuple[str, ...] = ()) -> bytes:
    found = json.loads(load(name))
    for key in without:
        del found[key]
    return json.dumps(
        {key: item * factor if key.endswith("_ms") else item for key, item in found.items()}
    ).encode()


@pytest.mark.parametrize("name", [OK, "vllm-0.33.0_serve_detailed.json"])
@pytest.mark.parametrize("factor", [0.001, 1000])
def test_another_unit_in_the_fields_of_milliseconds_of_vllm_is_refused(name: str, factor: float) -> None:
    error = refusal(scaled(name, factor))
    assert error.code == "CONTRADICTION"
    assert "ob in Feldern für Millisekunden Sekunden stehen" in error.message_de


def test_without_observed_concurrency_a_burst_is_judged_by_its_size_and_an_arrival_rate_is_not() -> None:
    burst = scaled("vllm-0.33.0_serve_detailed.json", 0.001, without=("max_concurrent_requests",))
    assert refusal(burst).code == "CONTRADICTION"
    paced = scaled(OK, 0.001, without=("max_concurrent_requests",))
    assert values(read(paced, OK))["e2e_latency_ms", "p99"] == pytest.approx(0.522421, rel=1e-5)


@pytest.mark.parametrize(
    ("mean_ms", "most", "refused"),
    [
        (1050, None, False),
        (1050.1, None, True),
        (2, 100, False),
        (1.99, 100, True),
        (0.001, 3, False),
        (None, 100, False),
    ],
)
def test_latency_and_duration_at_their_boundaries(
    mean_ms: float | None, most: int | None, *, refused: bool
) -> None:
    with pytest.raises(BenchmarkRefused) if refused else nullcontext():
        check_latency(mean_ms, 100, 1.0, most)


def test_failed_requests_are_counted_and_warned_about() -> None:
    benchmark = read(load("vllm-0.33.0_serve_detailed.json"), "x.json")
    assert (benchmark.completed, benchmark.failed) == (11, 1)
    assert values(benchmark)["error_rate", None] == pytest.approx(1 / 12, rel=1e-5)
    assert "1 von 12 Anfragen sind fehlgeschlagen." in benchmark.warnings


def test_nanoseconds_of_loadgen_become_milliseconds() -> None:
    found = values(read(load("loadgen6.0_SingleStream_mlperf_log_summary.txt"), "x.txt"))
    assert found["e2e_latency_ms", "p90"] == pytest.approx(4.20084, rel=1e-5)
    assert found["throughput_samples_s", None] == 239.35


@pytest.mark.parametrize("stem", ["loadgen6.0_Server_tok", "loadgen6.0_SingleStream", "loadgen6.0_Offline"])
def test_summary_and_detail_of_one_run_agree(stem: str) -> None:
    summary = values(read(load(f"{stem}_mlperf_log_summary.txt"), "x.txt"))
    detail = values(read(load(f"{stem}_mlperf_log_detail.txt"), "x.txt"))
    assert summary.keys() == detail.keys()
    assert all(summary[key] == pytest.approx(detail[key], rel=1e-3) for key in summary)


def test_detail_names_time_count_and_verdict_of_the_tool() -> None:
    benchmark = read(load("loadgen6.0_Server_tok_mlperf_log_detail.txt"), "x.txt")
    assert (benchmark.completed, benchmark.valid) == (144, False)
    assert benchmark.measured_at == "2026-11-30T00:09:38Z"
    assert any("INVALID" in text for text in benchmark.warnings)


def test_percentiles_without_a_known_count_are_not_reliable() -> None:
    benchmark = read(load("v4.1_H100x8_llama2-70b-99_Server_mlperf_log_summary.txt"), "x.txt")
    assert benchmark.completed is None
    assert not any(item.reliable for item in benchmark.metrics if item.percentile)


def test_offline_latency_is_not_taken_for_a_request_latency() -> None:
    benchmark = read(load("loadgen6.0_Offline_mlperf_log_detail.txt"), "x.txt")
    assert not any(item.key == "e2e_latency_ms" for item in benchmark.metrics)
    assert any("Offline" in text for text in benchmark.what_it_cannot_say)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "EMPTY"),
        (b"  \n", "EMPTY"),
        (b"{" + b" " * MAX_BYTES, "TOO_LARGE"),
        (gzip.compress(b"0" * 1000, mtime=0), "UNKNOWN_FORMAT"),
        (b"BZh91AY&SY", "COMPRESSED"),
        (b"PK\x03\x04rest", "TRUNCATED"),
        (vllm().replace(b"mock-llama", b"mock\xff"), "NOT_TEXT"),
        (b"hello", "UNKNOWN_FORMAT"),
        (b"[1, 2]", "UNKNOWN_FORMAT"),
        (vllm(duration=1)[:-40], "NOT_JSON"),
        (vllm(nested=json.loads("[" * 13 + "]" * 13)), "TOO_DEEP"),
        (vllm()[:-1] + b', "completed": 20}', "DUPLICATE_KEY"),
        (vllm().replace(b'"duration": 1.4', b'"duration": NaN, "d": 1.4'), "NOT_FINITE"),
        (vllm().replace(b'"duration": 1.4', b'"duration": -Infinity, "d": 1.4'), "NOT_FINITE"),
        (vllm().replace(b'"duration": 1.4', b'"duration": 1e999, "d": 1.4'), "BAD_NUMBER"),
        (vllm(duration=-1), "BAD_NUMBER"),
        (vllm(duration="1.4"), "NOT_A_NUMBER"),
        (vllm(duration=True), "NOT_A_NUMBER"),
        (vllm(duration=0), "BAD_NUMBER"),
        (vllm(completed=19.5), "NOT_A_COUNT"),
        (vllm(completed=0, failed=0, num_prompts=0), "EMPTY"),
        (vllm(completed=0, failed=20, request_throughput=0), "ALL_FAILED"),
        (vllm(failed=3), "CONTRADICTION"),
        (vllm(request_throughput=99), "CONTRADICTION"),
        (vllm(p99_e2el_ms=1), "CONTRADICTION"),
        (vllm(completed=None), "MISSING_FIELD"),
    ],
)
def test_hostile_file_is_refused_with_one_clear_sentence(data: bytes, code: str) -> None:
    assert refusal(data).code == code


def test_nesting_is_accepted_at_the_limit() -> None:
    assert read(vllm(nested=json.loads("[" * 11 + "]" * 11)), "x.json").completed == 20


def test_deep_bomb_and_huge_numbers_end_quickly() -> None:
    head = vllm()[:-1]
    assert refusal(head + b', "x": ' + b"[" * 500_000).code == "TOO_DEEP"
    assert refusal(head + b', "x": ' + b"9" * 5000 + b"}").code == "NOT_JSON"


SERVER = load("loadgen6.0_Server_tok_mlperf_log_summary.txt").decode()
DETAIL = load("loadgen6.0_Server_tok_mlperf_log_detail.txt").decode()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (SERVER.replace("PerformanceOnly", "AccuracyOnly"), "NOT_PERFORMANCE"),
        (SERVER.replace("Scenario : Server", "Scenario : MultiStream"), "SCENARIO"),
        (SERVER.replace("Completed samples per second    : 47.05", ""), "MISSING_FIELD"),
        (SERVER.replace(": 47.05", ": 0"), "ALL_FAILED"),
        (SERVER.replace(": 47.05", ": nan"), "BAD_NUMBER"),
        (SERVER.replace(": 47.05", ": -1"), "BAD_NUMBER"),
        (SERVER.replace(": 47.05", ": much"), "NOT_A_NUMBER"),
        (SERVER.replace(": 11870635", ": 1"), "CONTRADICTION"),
        (SERVER + "Completed tokens per second: 5\n", "CONTRADICTION"),
        (DETAIL + "stray line\n", "NOT_THIS_TOOL"),
        (DETAIL + ":::MLLOG {}\n", "MISSING_FIELD"),
        (DETAIL + ":::MLLOG {\n", "NOT_JSON"),
        (DETAIL + ':::MLLOG {"key": "result_query_count", "value": 1}\n', "CONTRADICTION"),
        (DETAIL + ':::MLLOG {"key": "a", "key": "b", "value": 1}\n', "DUPLICATE_KEY"),
        (DETAIL.replace('"value": 47.0548', '"value": "47"'), "NOT_A_NUMBER"),
        (DETAIL + "\n" * 200_001, "TOO_LARGE"),
    ],
)
def test_hostile_loadgen_log_is_refused(text: str, code: str) -> None:
    assert refusal(text.encode(), "x.txt").code == code


def test_imported_facts_are_canonical_and_say_that_nothing_was_repeated() -> None:
    facts = ev02_imported(
        read(load(OK), OK),
        run_id="r",
        platform={"kind": "GPU_CLUSTER"},
        fingerprint="f",
        model_digest="m",
        measured_at="2026-01-01T00:00:00Z",
        raw_sha256="0" * 64,
    )
    assert canonical.loads(canonical.dumps(facts)) == facts
    assert (facts["source"], facts["repetitions"], facts["throughput_cv"]) == ("IMPORT", 1, None)
    assert facts["measured_at"] == "2026-11-30T00:25:02"


def test_importer_does_not_know_the_role_of_a_run() -> None:
    facts = {
        role: ev02_imported(
            read(load(OK), OK),
            run_id="r",
            platform={},
            fingerprint="",
            model_digest="m",
            measured_at="2026-01-01T00:00:00Z",
            raw_sha256="0" * 64,
            role=role,
        )
        for role in ("BASELINE", "ZIEL")
    }
    assert {role: item["role"] for role, item in facts.items()} == {"BASELINE": "BASELINE", "ZIEL": "ZIEL"}
    assert facts["BASELINE"] | {"role": "ZIEL"} == facts["ZIEL"]


def test_facts_name_tool_and_version() -> None:
    run = read(load("v5.1_B200x8_llama2-70b-99_Interactive_mlperf_log_detail.txt.gz"), "x")
    facts = ev02_imported(
        run, run_id="r", platform={}, fingerprint="", model_digest="m", measured_at="", raw_sha256="0" * 64
    )
    assert facts["tool"] == "MLPerf LoadGen 5.0.25"
    assert facts["measured_at"] == "2025-07-21T05:55:58Z"
