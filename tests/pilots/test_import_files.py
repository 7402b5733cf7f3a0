"""Several files of one run handed in as the baseline, and what becomes of a profiler trace."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any, Final

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from pilots.models import Run
from qms.core import canonical, store
from qms.evidence.models import EvidenceItem
from tests.walk import World, address, nothing_but, platform, recorded, screen, world

__all__ = ["world"]
STAGE: Final = "classified"
pytestmark = pytest.mark.django_db
FILES: Final = Path(__file__).parent / "baseline" / "files"
LOAD, QUALITY = "vllm-0.33.0_serve_ok_20req.json", "lm-eval-0.4.13_toy_results.json"
TRACE, SWEEP = "nccl_world128_sampled_rank0.json.gz", "sglang-0.4_h200x8_llama_405b_online.jsonl"


def load(name: str) -> bytes:
    return (FILES / name).read_bytes()


def post(world: World, *files: tuple[bytes, str], **fields: str) -> Any:
    sent = [SimpleUploadedFile(name, data) for data, name in files]
    data = {"file": sent, "platform": platform("DISKRET-4GPU"), "only_file": "1"} | fields
    return world.browser("pl01").post(address("pilot_baseline", world.workload_id), data)


def named(*names: str) -> list[tuple[bytes, str]]:
    return [(load(name), name) for name in names]


def test_files_of_one_run_are_one_baseline_with_all_files_kept(world: World):
    with recorded("NACHWEIS_EINGEREICHT", "NACHWEIS_EINGEREICHT", "LAUF_BEENDET"):
        answer = post(world, *named(LOAD, QUALITY, TRACE))
    assert answer.status_code == 302
    item = EvidenceItem.objects.get(type="EV-02")
    facts = item.facts()
    assert [row["name"] for row in facts["files"]] == [LOAD, QUALITY, TRACE]
    assert facts["raw_sha256"] == item.raw_sha256
    with zipfile.ZipFile(io.BytesIO(store.get(item.raw_sha256))) as kept:
        for row, name in zip(facts["files"], kept.namelist(), strict=True):
            data = kept.read(name)
            assert data == load(row["name"])
            assert canonical.sha256_hex(data) == row["sha256"]
    keys = {row["key"] for row in facts["metrics"]}
    assert {"throughput_samples_s", "eval_score", "comm_share"} < keys
    assert "gpu_busy_share" not in keys
    shown = screen(world.browser("pl01").get(answer["Location"]))
    for text in (
        "Erkannte Dateien",
        LOAD,
        QUALITY,
        TRACE,
        "vLLM",
        "lm-evaluation-harness",
        "PyTorch-Profiler",
    ):
        assert text in shown
    assert "getrennt von der Last aufgenommen" in shown


def test_a_trace_becomes_a_profile_with_what_it_cannot_tell_left_open(world: World):
    post(world, *named(LOAD, TRACE))
    item = EvidenceItem.objects.get(type="EV-01")
    facts = item.facts()
    assert facts["schema"] == "qms.profile/1"
    assert facts["mem_stall_share"] is None
    busy = next(row["value"] for row in facts["metrics"] if row["key"] == "gpu_busy_share")
    assert float(facts["comm_share"]) == pytest.approx(336_033 / 1_222_847, rel=1e-4)
    assert float(facts["compute_share"]) == pytest.approx(float(busy) - float(facts["comm_share"]))
    assert store.get(item.raw_sha256) == load(TRACE)
    assert item.raw_name == TRACE
    assert facts["platform"]["profile"] == "DISKRET-4GPU"


def test_a_trace_alone_does_not_replace_the_baseline(world: World):
    post(world, *named(LOAD))
    answer = post(world, *named(TRACE))
    assert answer.status_code == 302
    assert EvidenceItem.objects.get(type="EV-02").replaced_by is None
    assert EvidenceItem.objects.get(type="EV-01").raw_name == TRACE


def test_telemetry_alone_does_not_replace_a_baseline(world: World):
    assert post(world, *named(LOAD)).status_code == 302
    assert post(world, *named("L40S_driver595.prom")).status_code == 422
    assert EvidenceItem.objects.get(type="EV-02").replaced_by is None


def test_telemetry_beside_the_load_is_part_of_the_baseline(world: World):
    assert post(world, *named(LOAD, "L40S_driver595.prom")).status_code == 302
    keys = {row["key"] for row in EvidenceItem.objects.get(type="EV-02").facts()["metrics"]}
    assert {"throughput_samples_s", "power_watts"} <= keys


REFUSED: Final[dict[str, tuple[list[tuple[bytes, str]], str]]] = {
    "twice": (
        [(load(LOAD), "a.json"), (load(LOAD), "b.json")],
        "Dieselbe Datei ist zweimal dabei; bitte wählen Sie sie einmal.",
    ),
    "another run": (
        [(load(LOAD), "a.json"), (load("vllm-0.33.0_serve_detailed.json"), "b.json")],
        "a.json und b.json nennen",
    ),
    "unknown": (
        [(load(LOAD), "a.json"), (b"<html></html>", "b.html")],
        "b.html: Das Format der Datei ist unbekannt",
    ),
    "telemetry alone": (
        [(load("L40S_driver595.prom"), "a.prom")],
        "DCGM-Exporter sagt nicht, wie schnell der Workload lief",
    ),
    "nvidia-smi alone": (
        [(load("constructed_2gpu_units_1s.csv"), "a.csv")],
        "Weder Durchsatz noch Antwortzeit steht darin",
    ),
    "a score alone": ([(load(QUALITY), "a.json")], "lm-evaluation-harness sagt nicht, wie schnell"),
    "telemetry and a trace": (
        [(load("L40S_driver595.prom"), "a.prom"), (load(TRACE), TRACE)],
        "bitte reichen Sie auch die Messdatei der Last desselben Laufs ein",
    ),
    "several runs": (
        [(load(QUALITY), "a.json"), (load(SWEEP), "b.jsonl")],
        "b.jsonl: Die Datei enthält 6 Läufe; bitte nennen Sie die Nummer des Laufs",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_are_not_one_run_are_refused_by_name(world: World, name: str):
    files, sentence = REFUSED[name]
    with nothing_but("NACHWEIS_VERWEIGERT", id="EV-02"):
        page = post(world, *files)
    assert page.status_code == 422
    assert sentence in screen(page)
    assert not Run.objects.exists()


def test_the_number_means_the_file_that_holds_several_runs(world: World):
    answer = post(world, (load(QUALITY), "a.json"), (load(SWEEP), "b.jsonl"), number="2")
    assert answer.status_code == 302
    assert Run.objects.get().parameters == {"files": ["a.json", "b.jsonl"], "run": 2}


def test_a_sixth_file_is_refused_at_its_field(world: World):
    files = [(load(LOAD) + b" " * count, f"{count}.json") for count in range(6)]
    with nothing_but(""):
        page = post(world, *files)
    assert page.status_code == 422
    assert "Bitte wählen Sie höchstens fünf Dateien eines Laufs." in screen(page)


def test_five_files_of_eight_mebibytes_fit_into_one_request(world: World):
    url, browser = address("pilot_baseline", world.workload_id), world.browser("pl01")
    most = 5 * 8 * 2**20 + 2**20
    for announced, refused in ((most, False), (most + 1, True)):
        answer = browser.generic("POST", url, b"", CONTENT_LENGTH=str(announced))
        assert (answer.status_code == 413) is refused


def test_the_form_says_its_limit_before_anything_is_sent(world: World):
    page = world.browser("pl01").get(address("pilot_baseline", world.workload_id)).content.decode()
    assert 'data-max-bytes="8388608"' in page
    assert "multiple" in page


def look(world: World, *files: tuple[bytes, str], who: str = "pl01", **fields: str) -> Any:
    sent = [SimpleUploadedFile(name, data) for data, name in files]
    data = {"file": sent, "platform": platform("DISKRET-4GPU"), "look": "1"} | fields
    return world.browser(who).post(address("pilot_baseline", world.workload_id), data)


def test_files_can_be_looked_at_before_they_become_evidence(world: World):
    with nothing_but(""):
        answer = look(world, *named(LOAD, QUALITY))
    assert answer.status_code == 200
    shown = screen(answer)
    for text in (
        "Erkannt, noch nichts gespeichert",
        "Zum Übernehmen wählen Sie die Dateien bitte noch einmal",
        LOAD,
        QUALITY,
        "vLLM",
        "Durchsatz",
        "Was die Datei nicht sagen kann",
    ):
        assert text in shown
    assert not Run.objects.exists()
    assert not EvidenceItem.objects.exists()
    assert post(world, *named(LOAD, QUALITY)).status_code == 302


@pytest.mark.parametrize("name", REFUSED)
def test_a_look_says_what_would_be_refused_and_leaves_no_event(world: World, name: str):
    files, sentence = REFUSED[name]
    with nothing_but(""):
        answer = look(world, *files)
    assert answer.status_code == 422
    assert sentence in screen(answer)


@pytest.mark.parametrize(
    ("files", "fields", "sentence"),
    [
        ([], {}, "Bitte wählen Sie eine Datei."),
        ([(load(LOAD), LOAD)], {"platform": ""}, "Bitte nennen Sie die Plattform"),
        ([(load(LOAD), f"{place}.json") for place in range(6)], {}, "höchstens fünf Dateien"),
    ],
)
def test_a_look_has_the_limits_of_handing_in(
    world: World, files: list[tuple[bytes, str]], fields: dict[str, str], sentence: str
):
    answer = look(world, *files, **fields)
    assert answer.status_code == 422
    assert sentence in screen(answer)


def test_who_may_not_hand_in_may_not_look(world: World):
    with nothing_but("ZUGRIFF_VERWEIGERT"):
        answer = look(world, *named(LOAD), who="au01")
    assert answer.status_code == 403
