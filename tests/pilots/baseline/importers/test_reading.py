"""The strict reading layer at its limits: sizes, gzip, duplicate keys, NaN, rows, streams."""

from __future__ import annotations

import gzip
import io
import zipfile

import pytest

from pilots.baseline.importers import BenchmarkRefused, Source, read, read_all, reading
from pilots.baseline.importers.json_stream import LIMIT, Elements
from tests.pilots.baseline.importers.judged import load
from tests.pilots.baseline.importers.mutations import BOMB

MIB = 2**20


def refusal(data: bytes) -> str:
    with pytest.raises(BenchmarkRefused) as caught:
        read(data, "any")
    return caught.value.code


def packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def test_bomb_is_refused_while_it_unpacks() -> None:
    assert len(BOMB) < MIB
    source = Source(lambda: io.BytesIO(BOMB), len(BOMB), 1 << 40, 1 << 40)
    chunks = source.chunks()
    seen = sum(len(next(chunks)) for _ in range(12))
    with pytest.raises(BenchmarkRefused) as caught:
        seen += sum(map(len, chunks))
    assert caught.value.code == "BOMB"
    assert seen <= reading.MAX_RATIO * len(BOMB) + reading.HEAD_BYTES


def test_bomb_inside_a_known_format_is_refused() -> None:
    start = b'{"duration": 1, "completed": 1, "request_throughput": 1, "x": "'
    assert refusal(packed(start + b"0" * (64 * MIB) + b'"}')) in {"BOMB", "TOO_LARGE"}


@pytest.mark.parametrize("cut", [1, 5, 12, 100])
def test_gzip_that_breaks_off_is_refused(cut: int) -> None:
    whole = packed(load("vllm-0.33.0_serve_ok_20req.json"))
    assert refusal(whole[:-cut]) == "TRUNCATED"


def test_gzip_of_several_members_is_one_file() -> None:
    data = load("vllm-0.33.0_serve_ok_20req.json")
    halves = packed(data[:900]) + packed(data[900:])
    assert read(halves, "x") == read(data, "x")


def test_upload_has_its_limit_and_learns_of_the_command() -> None:
    data = load("vllm-0.33.0_serve_ok_20req.json")
    assert read(data + b" " * (reading.MAX_BYTES - len(data)), "x").completed == 20
    with pytest.raises(BenchmarkRefused) as caught:
        read(data + b" " * (reading.MAX_BYTES - len(data) + 1), "x")
    assert caught.value.message_de == (
        "Die Datei ist größer als 8 MiB; größere Dateien liest „python -m pilots.baseline import“."
    )


def test_name_of_a_file_decides_nothing() -> None:
    data = load("vllm-0.33.0_serve_ok_20req.json")
    assert read(data, "mlperf_log_summary.txt") == read(data, "x.csv")


def test_utf8_mark_is_allowed_and_other_encodings_are_named() -> None:
    data = load("vllm-0.33.0_serve_ok_20req.json")
    assert read(b"\xef\xbb\xbf" + data, "x") == read(data, "x")
    assert refusal(data.decode().encode("utf-16")) == "UNKNOWN_FORMAT"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"a": 1, "a": 1}', "DUPLICATE_KEY"),
        ('{"a": NaN}', "NOT_FINITE"),
        ('{"a": [Infinity]}', "NOT_FINITE"),
        ('{"a": 1', "NOT_JSON"),
        ("[" * 13 + "]" * 13, "TOO_DEEP"),
        ("[" + "1," * reading.MAX_VALUES + "1]", "TOO_LARGE"),
    ],
)
def test_json_outside_of_its_limits_is_refused(text: str, code: str) -> None:
    with pytest.raises(BenchmarkRefused) as caught:
        reading.parse_json(text)
    assert caught.value.code == code


def test_infinity_is_allowed_only_where_a_format_writes_it() -> None:
    assert reading.parse_json('{"request_rate": Infinity}', constants=("request_rate",)) == {
        "request_rate": None
    }
    with pytest.raises(BenchmarkRefused):
        reading.parse_json('{"duration": Infinity}', constants=("request_rate",))


def test_rows_and_cells_of_a_table_are_bounded() -> None:
    assert len(reading.csv_rows("a,b\n" * reading.MAX_LINES)) == reading.MAX_LINES
    for text in ("a,b\n" * (reading.MAX_LINES + 1), "a," * reading.MAX_CELLS + "a"):
        with pytest.raises(BenchmarkRefused) as caught:
            reading.csv_rows(text)
        assert caught.value.code == "TOO_LARGE"
    with pytest.raises(BenchmarkRefused) as caught:
        reading.csv_rows('a,"b\n')
    assert caught.value.code == "NOT_CSV"


def pieces(text: str, size: int) -> list[bytes]:
    data = text.encode()
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_stream_gives_the_same_elements_however_it_is_cut(size: int) -> None:
    text = '{"a": "ü\\"", "events": [ {"x": 1.25} ,2.5e3, "]}", []], "big": {"b": 1}, "z": 12 }\n'
    found = Elements(pieces(text, size), "events")
    assert list(found) == [{"x": 1.25}, 2500.0, "]}", []]
    assert found.others == {"a": 'ü"', "z": 12}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"events": [1, 2}', "NOT_JSON"),
        ('{"events": [1 2]}', "NOT_JSON"),
        ('{"events": [1, 2]', "NOT_JSON"),
        ('{"events": []} x', "NOT_JSON"),
        ('{"events": [], "events": []}', "DUPLICATE_KEY"),
        ('{"events": [{"a": 1, "a": 2}]}', "DUPLICATE_KEY"),
        ('{"events": [NaN]}', "NOT_FINITE"),
        ('{"other": []}', "MISSING_FIELD"),
        ('{"events": [' + "[" * 100_000, "NOT_JSON"),
        ('{"events": ["' + "x" * (LIMIT + 2 * MIB) + '"]}', "NOT_JSON"),
        ("[]", "NOT_JSON"),
    ],
)
def test_stream_that_is_no_such_object_is_refused(text: str, code: str) -> None:
    with pytest.raises(BenchmarkRefused) as caught:
        list(Elements(pieces(text, MIB), "events"))
    assert caught.value.code == code


def test_stream_of_a_large_trace_is_held_in_a_small_window() -> None:
    event = b'{"ph": "X", "cat": "kernel", "name": "k", "ts": %d, "dur": 2, "args": {"device": 0}},'
    total = 40 * MIB

    def chunks():  # noqa: ANN202
        yield b'{"traceEvents": ['
        sent = index = 0
        while sent < total:
            block = b"".join(event % (index + number) for number in range(10_000))
            index, sent = index + 10_000, sent + len(block)
            yield block
        yield b'{"ph": "M"}]}'

    elements = Elements(chunks(), "traceEvents")
    longest = count = 0
    for _event in elements:
        count += 1
        longest = max(longest, len(elements._text))
    assert count > 400_000
    assert longest < 3 * MIB


def archive(*members: tuple[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            file.writestr(name, content)
    return target.getvalue()


RUN = "mlruns/1/" + "a" * 32
META = (f"{RUN}/meta.yaml", b"run_name: r\nstart_time: 1795997382302\nstatus: 3\n")
RATE = (f"{RUN}/metrics/tokens_per_second", b"1795997382324 100.0 0\n1795997382325 102.0 1\n")


def test_packed_folder_of_a_run_is_read() -> None:
    found = read(archive(META, RATE), "x")
    assert (found.label, found.valid) == ("r", True)
    assert [(item.key, float(item.value), item.n) for item in found.metrics] == [
        ("throughput_tokens_s", 101.0, 2)
    ]


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ((("other.txt", b"x"),), "UNKNOWN_FORMAT"),
        ((RATE,), "MISSING_FIELD"),
        ((META,), "NO_FIGURES"),
        ((META, (RATE[0], b"1795997382324 100.0\n")), "TRUNCATED"),
        ((META, (RATE[0], b"\xff")), "NOT_TEXT"),
        ((META, (RATE[0], b"0" * (MIB + 1))), "BOMB"),
        ((META, *((f"{RUN}/metrics/{index}", b"0" * MIB) for index in range(20))), "BOMB"),
        (tuple((f"{index}", b"") for index in range(10_001)), "TOO_LARGE"),
    ],
)
def test_packed_folder_outside_of_its_limits_is_refused(
    members: tuple[tuple[str, bytes], ...], code: str
) -> None:
    assert refusal(archive(*members)) == code


def test_several_runs_of_a_folder_are_several_runs() -> None:
    second = [(name.replace("a" * 32, "b" * 32), content) for name, content in (META, RATE)]
    assert len(read_all(Source.of_bytes(archive(META, RATE, *second)))) == 2
