"""Tables whose columns a person names: nothing is guessed, and a column in two units is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from pilots.baseline.__main__ import main
from pilots.baseline.importers import BenchmarkRefused
from pilots.baseline.mapping import SUCCESS, Column, Layout, read_table, table_of

FILES: Final = Path(__file__).parent / "files"
PLAIN: Final = Layout("KOMMA", "PUNKT", headed=True)
GERMAN: Final = Layout("SEMIKOLON", "KOMMA", headed=True)
LATENCY: Final = Column(0, "e2e_latency_ms", "s")


def values(text: str, *columns: Column, layout: Layout = PLAIN) -> dict[str, float]:
    found = read_table(text.encode(), layout, columns)
    return {f"{item.key} {item.percentile or ''}".strip(): float(item.value) for item in found.metrics}


def refusal(text: str, *columns: Column, layout: Layout = PLAIN) -> str:
    with pytest.raises(BenchmarkRefused) as caught:
        read_table(text.encode(), layout, columns)
    return caught.value.message_de


def test_a_column_of_seconds_becomes_percentiles_in_milliseconds():
    found = read_table(b"latency\n0.10\n0.20\n0.30\n", PLAIN, [LATENCY])
    assert [(item.percentile, float(item.value), item.n) for item in found.metrics] == [
        ("p50", 200.0, 3),
        ("p95", 300.0, 3),
        ("p99", 300.0, 3),
    ]
    assert not found.metrics[2].reliable
    assert found.what_it_says == ("Spalte latency: e2e_latency_ms in s, 3 Werte.",)


def test_german_numbers_are_read_where_they_are_asked_for():
    assert values(
        "Dauer;Leistung\n0,10;300,5\n0,30;310,5\n", LATENCY, Column(1, "power_watts", "W"), layout=GERMAN
    ) == {
        "e2e_latency_ms p50": 100.0,
        "e2e_latency_ms p95": 300.0,
        "e2e_latency_ms p99": 300.0,
        "power_watts": 305.5,
    }


@pytest.mark.parametrize(
    ("cell", "layout"),
    [("1.234,5", GERMAN), ("0.5", GERMAN), ("0,5", Layout("TAB", "PUNKT", headed=True)), ("NaN", PLAIN)],
)
def test_a_number_of_another_notation_is_refused_with_its_line(cell: str, layout: Layout):
    assert refusal(f"a\n{cell}\n", LATENCY, layout=layout).startswith("Zeile 2, Spalte a: ")


def test_a_unit_in_the_cell_must_be_that_of_the_column():
    column = Column(0, "e2e_latency_ms", "ms")
    assert values("a\n0.1900ms\n0.21 ms\n", column)["e2e_latency_ms p50"] == 0.19
    sentence = refusal("a\n0.1900ms\n190us\n", column)
    assert sentence == "Zeile 3, Spalte a nennt die Einheit us, die Spalte ist in ms."


def test_a_column_mixing_watts_and_milliwatts_is_refused():
    assert "Einheit mW" in refusal("a\n250 W\n250000 mW\n", Column(0, "power_watts", "W"))


@pytest.mark.parametrize(
    ("key", "unit", "text", "expected"),
    [
        ("peak_memory_bytes", "GiB", "a\n1\n2\n", 2 * 2**30),
        ("peak_memory_bytes", "MB", "a\n1\n2\n", 2e6),
        ("gpu_busy_share", "%", "a\n50\n100\n", 0.75),
        ("power_watts", "mW", "a\n1000\n3000\n", 2),
        ("throughput_tokens_s", "1/s", "a\n10\n30\n", 20),
        ("eval_score", "", "a\n0.5\n0.7\n", 0.6),
    ],
)
def test_each_figure_has_its_own_summary_and_unit(key: str, unit: str, text: str, expected: float):
    assert values(text, Column(0, key, unit)) == {key: pytest.approx(expected)}


@pytest.mark.parametrize(
    ("key", "unit"), [("e2e_latency_ms", ""), ("e2e_latency_ms", "W"), ("power_watts", "s")]
)
def test_a_unit_that_does_not_fit_is_refused(key: str, unit: str):
    assert "Bitte nennen Sie für die Spalte a eine dieser Einheiten" in refusal(
        "a\n1\n", Column(0, key, unit)
    )


def test_only_good_requests_count_and_the_error_rate_stands_beside():
    found = read_table(
        b"a,ok\n1,1\n9,0\n3,true\n", PLAIN, [Column(0, "e2e_latency_ms", "ms"), Column(1, SUCCESS)]
    )
    assert (found.completed, found.failed) == (2, 1)
    rows = {item.key: item for item in found.metrics}
    assert rows["error_rate"].n == 3
    assert max(float(item.value) for item in found.metrics) == 3
    assert "1 von 3 Anfragen sind fehlgeschlagen." in found.warnings


def test_a_table_in_which_everything_failed_has_no_figure():
    sentence = refusal("a,ok\n1,0\n2,0\n", LATENCY, Column(1, SUCCESS))
    assert sentence == "Alle 2 Anfragen sind fehlgeschlagen; die Datei enthält keine verwertbaren Messwerte."


def test_empty_cells_are_no_zeros():
    found = read_table(b"a,b\n1,5\n,5\n\n3,5\n", PLAIN, [Column(0, "power_watts", "W")])
    assert (float(found.metrics[0].value), found.metrics[0].n) == (2.0, 2)
    assert "Spalte a: 1 leere Zellen zählen nicht mit." in found.warnings


REFUSED: Final[dict[str, tuple[str, tuple[Column, ...], Layout, str]]] = {
    "comma twice": ("a\n1\n", (LATENCY,), Layout("KOMMA", "KOMMA", headed=True), "Das Komma trennt entweder"),
    "no rows": ("a\n", (LATENCY,), PLAIN, "Die Tabelle enthält keine Messwerte."),
    "ragged": ("a,b\n1\n", (LATENCY,), PLAIN, "Zeile 2 der Tabelle hat 1 statt 2 Zellen"),
    "nothing named": ("a\n1\n", (), PLAIN, "Bitte ordnen Sie mindestens einer Spalte eine Größe zu."),
    "only success": ("a\n1\n", (Column(0, SUCCESS),), PLAIN, "Bitte ordnen Sie mindestens einer Spalte"),
    "twice": ("a,b\n1,2\n", (LATENCY, Column(1, "e2e_latency_ms", "ms")), PLAIN, "Zwei Spalten sind als"),
    "no such column": ("a\n1\n", (Column(1, "power_watts", "W"),), PLAIN, "Die Tabelle hat keine Spalte 2."),
    "no such figure": ("a\n1\n", (Column(0, "preis", "EUR"),), PLAIN, "Die Größe preis gibt es nicht."),
    "empty column": ("a,b\n,1\n", (LATENCY,), PLAIN, "Die Spalte a enthält keinen Wert."),
    "no success": (
        "a,b\n1,ja\n",
        (LATENCY, Column(1, SUCCESS)),
        PLAIN,
        "Zeile 2, Spalte b: Der Erfolg ist weder 1 noch 0.",
    ),
    "share": ("a\n101\n", (Column(0, "gpu_busy_share", "%"),), PLAIN, "liegt über 100 Prozent"),
    "negative": ("a\n-1\n", (LATENCY,), PLAIN, "keinen möglichen Messwert"),
    "binary": ("a\n1\0\n", (LATENCY,), PLAIN, "keine Tabelle in UTF-8"),
    "wide": (",".join("a" * 61) + "\n" + ",".join("1" * 61) + "\n", (LATENCY,), PLAIN, "mehr als 60 Spalten"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_does_not_fit_is_refused_with_one_sentence(name: str):
    text, columns, layout, sentence = REFUSED[name]
    assert sentence in refusal(text, *columns, layout=layout)


def test_a_table_without_headings_has_numbered_columns():
    found = read_table(b"1\t2\n3\t4\n", Layout("TAB", "PUNKT", headed=False), [Column(1, "power_watts", "W")])
    assert float(found.metrics[0].value) == 3.0
    assert found.what_it_says == ("Spalte 2: power_watts in W, 2 Werte.",)


def test_a_real_table_of_another_project_is_read():
    data = (FILES / "argonne_llm_bench_subset.csv").read_bytes()
    names = table_of(data, PLAIN).names
    assert len(names) > 1


def run_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    file = tmp_path / "messung.csv"
    file.write_text("Dauer;ok\n0,1;1\n0,3;1\n", encoding="utf-8")
    code = main(["import", str(file), *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_the_command_reads_a_mapped_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    given = (
        "--separator",
        "SEMIKOLON",
        "--decimal",
        "KOMMA",
        "--map",
        "Dauer=e2e_latency_ms:s",
        "--map",
        "2=success",
    )
    code, out, _err = run_command(tmp_path, capsys, *given)
    assert code == 0
    assert "Antwortzeit p50: 100 ms (n = 2; nicht belastbar)" in out
    assert "Fehlerquote: 0 % (n = 2)" in out


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("--map", "Dauer=e2e_latency_ms:s"), "Bitte nennen Sie mit --separator und --decimal"),
        (("--map", "Dauer"), "ist keine Zuordnung"),
        (("--map", "Zeit=e2e_latency_ms:s"), "keine Spalte Zeit; sie hat: Dauer, ok."),
        (("--map", "3=e2e_latency_ms:s"), "keine Spalte 3"),
        (("--map", "0=e2e_latency_ms:s"), "keine Spalte 0"),
    ],
)
def test_the_command_refuses_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: tuple[str, ...], sentence: str
):
    layout = () if "--separator" in sentence else ("--separator", "SEMIKOLON", "--decimal", "KOMMA")
    code, out, err = run_command(tmp_path, capsys, *layout, *given)
    assert (code, out) == (2, "")
    assert sentence in err
