"""Several files of one run: what they say together, and which do not belong together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from pilots.baseline import joining
from pilots.baseline.importers import BenchmarkRefused, ImportedBenchmark, read
from pilots.baseline.importers.figures import metric
from pilots.baseline.joining import Part, join
from qms.core.values import Unit

FILES: Final = Path(__file__).parent / "files"
LOAD, POWER = "vllm-0.33.0_serve_ok_20req.json", "constructed_2gpu_units_1s.csv"
QUALITY, TRACE = "lm-eval-0.4.13_toy_results.json", "nccl_world128_sampled_rank0.json.gz"


def part(name: str) -> Part:
    return Part(name, read((FILES / name).read_bytes(), name))


def made(name: str, key: str = "throughput_samples_s", value: float = 2.0, **changes: object) -> Part:
    unit = Unit.WATTS if key == "power_watts" else Unit.SAMPLES_PER_SECOND
    found = ImportedBenchmark("Werkzeug", (metric(key, value, unit, 5),), ("sagt",), ("schweigt",))
    return Part(name, replace(found, **changes))


def at(name: str, start: str, end: str | None = None, key: str = "power_watts") -> Part:
    return made(name, key, measured_at=start, measured_until=end)


def test_load_memory_quality_and_trace_are_one_run():
    same_day = replace(part(POWER).benchmark, measured_at="2026-11-30T00:30:00", measured_until=None)
    joined = join([part(LOAD), Part(POWER, same_day), part(QUALITY), part(TRACE)])
    keys = {item.key for item in joined.benchmark.metrics}
    assert {"throughput_samples_s", "ttft_ms", "peak_memory_bytes", "power_watts", "eval_score"} < keys
    assert joined.main == 0
    assert joined.benchmark.completed == 20
    assert joined.keys[3] == ("comm_share",)
    busy = [item for item in joined.benchmark.metrics if item.key == "gpu_busy_share"]
    assert [item.note for item in busy] == [
        "Anteil der Zeit, in der ein Kernel lief; keine Rechenausnutzung (MFU)"
    ]


def test_load_is_the_main_file_wherever_it_stands():
    assert join([part(QUALITY), part(LOAD)]).main == 1


def test_one_file_says_what_it_says():
    alone = part(LOAD)
    assert join([alone]).benchmark == alone.benchmark


def test_sentences_name_their_file():
    joined = join([part(LOAD), part(QUALITY)])
    assert all(text.startswith((f"{LOAD}: ", f"{QUALITY}: ")) for text in joined.benchmark.what_it_says)


def test_same_figure_with_different_values_names_both_files():
    with pytest.raises(
        BenchmarkRefused, match=r"a\.json und b\.json nennen den Durchsatz in Anfragen verschieden"
    ) as caught:
        join([made("a.json", value=2.0), made("b.json", value=2.1)])
    assert caught.value.code == "CONTRADICTION"


def test_same_figure_with_the_same_value_counts_once():
    assert len(join([made("a.json"), made("b.json")]).benchmark.metrics) == 1


def test_percentiles_of_one_figure_come_from_one_file():
    found = metric("ttft_ms", 3.0, Unit.MILLISECONDS, 5, percentile="p50")
    other = metric("ttft_ms", 9.0, Unit.MILLISECONDS, 5, percentile="p95")
    with pytest.raises(BenchmarkRefused, match="die Zeit bis zum ersten Token verschieden"):
        join([made("a", metrics=(found,)), made("b", metrics=(other,))])


def test_scores_of_different_tasks_are_different_figures():
    scores = [metric("eval_score", 0.5, Unit.NONE, 5, note=note) for note in ("a: acc", "b: acc")]
    joined = join([made("a", metrics=(scores[0],)), made("b", metrics=(scores[1],))])
    assert len(joined.benchmark.metrics) == 2


@pytest.mark.parametrize(
    ("start", "together"),
    [
        ("2026-11-30T01:00:00Z", True),  # the last second of the other
        ("2026-11-30T01:00:01Z", False),
        ("2026-11-30T15:00:00", True),  # no zone: at most UTC+14
        ("2026-11-30T15:00:01", False),
        ("2026-11-29T12:00:00", True),  # no zone: at least UTC-12
        ("2026-11-29T11:59:59", False),
    ],
)
def test_times_decide_whether_files_are_of_one_run(start: str, together: bool):
    load = at("last", "2026-11-30T00:00:00Z", "2026-11-30T01:00:00Z", "throughput_samples_s")
    power = at("leistung", start, start)
    if together:
        join([load, power])
        return
    with pytest.raises(BenchmarkRefused, match="last und leistung wurden zu verschiedenen Zeiten") as caught:
        join([load, power])
    assert caught.value.code == "OTHER_TIME"


@pytest.mark.parametrize(
    ("start", "together"), [("2026-12-01T01:00:00Z", True), ("2026-12-01T01:00:01Z", False)]
)
def test_a_run_of_unknown_length_may_have_lasted_a_day(start: str, together: bool):
    load = at("last", "2026-11-30T00:00:00Z", "2026-11-30T01:00:00Z", "throughput_samples_s")
    power = at("leistung", start)
    if together:
        join([load, power])
    else:
        with pytest.raises(BenchmarkRefused, match="verschiedenen Zeiten"):
            join([load, power])


def test_scores_are_measured_at_another_time():
    score = metric("eval_score", 0.5, Unit.NONE, 5, note="a: acc")
    later = made("b", metrics=(score,), measured_at="2027-05-01T00:00:00Z")
    joined = join([at("a", "2026-11-30T00:00:00Z", None, "throughput_samples_s"), later])
    assert joined.notes == ("b wurde getrennt von der Last aufgenommen; die Zeit wird nicht verglichen.",)


def test_a_missing_zone_and_a_missing_time_are_said():
    joined = join([at("a", "2026-11-30T00:00:00", None, "throughput_samples_s"), made("b", "power_watts")])
    assert "a nennt keine Zeitzone" in joined.notes[0]
    assert "b nennt keinen Messzeitpunkt" in joined.notes[1]
    assert set(joined.notes) <= set(joined.benchmark.warnings)


def test_a_year_no_calendar_has_is_no_time():
    join([at("a", "0001-01-01T00:00:00Z", None, "throughput_samples_s"), at("b", "2026-11-30T00:00:00Z")])


@pytest.mark.parametrize("count", [0, joining.MAX_FILES + 1])
def test_a_run_has_one_to_five_files(count: int):
    with pytest.raises(BenchmarkRefused, match="1 bis 5 Dateien"):
        join([made(str(index), "power_watts", index) for index in range(count)])
