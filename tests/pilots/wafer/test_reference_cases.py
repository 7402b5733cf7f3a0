from __future__ import annotations

import pytest

from pilots.graph import known_models
from pilots.graph.ir import DType
from pilots.wafer.reading.inputs import Refused
from pilots.wafer.reading.quantities import to_cycles, to_unit
from pilots.wafer.reference import case_of, question_of
from pilots.wafer.workloads import (
    Collective,
    Decode,
    EndToEnd,
    Family,
    Fft,
    Gemm,
    Gemv,
    LocalProduct,
    Prefill,
    Stencil,
    Training,
)
from tests.pilots.wafer.small_model import one

F16, F32 = DType.FLOAT16, DType.FLOAT32
WAFERLLM = "CS-2 (WSE-2) WaferLLM"
LLAMA = known_models.find("LLaMA3-8B")
LLAMA_13B = known_models.find("LLaMA2-13B")
SIMULATOR = "SDK simulator WSE-2"
MHZ_1100 = 1_100_000_000

# system, workload, params, unit -> workload read
READ = [
    ("CS-2", "SUMMA GEMM fp32, M=K=N=P*tile", {"P": 750, "tile": 6}, "us", Gemm("SUMMA", 4500, 4500, 4500, 750, F32)),
    ("CS-2", "Cannon GEMM fp32, M=K=N=P*tile", {"P": 8, "tile": 2}, "us", Gemm("CANNON", 16, 16, 16, 8, F32)),
    (WAFERLLM, "MeshGEMM f16 [4K,4K]x[4K,4K]", {"cores": "720x720"}, "ms", Gemm("MESH_GEMM", 4096, 4096, 4096, 720, F16)),
    (WAFERLLM, "MeshGEMM [2K,4K]x[4K,8K]", {"cores": "480^2"}, "ms", Gemm("MESH_GEMM", 2048, 4096, 8192, 480, F16)),
    (WAFERLLM, "MeshGEMM 2K", {"cores": "600×600"}, "us", Gemm("MESH_GEMM", 2048, 2048, 2048, 600, F16)),
    (WAFERLLM, "Cannon GEMM 8192 on 540x540 cores", {}, "us", Gemm("CANNON", 8192, 8192, 8192, 540, F16)),
    ("CS-2", "SUMMA GEMM bf16 512x256x128", {"P": 16}, "us", Gemm("SUMMA", 512, 256, 128, 16, DType.BFLOAT16)),
    ("CS-2", "SUMMA GEMM", {"P": 16, "M": 64, "K": 32, "N": 128}, "cycles", Gemm("SUMMA", 64, 32, 128, 16, F32)),
    ("CS-3", "GEMM-Collectives-2D (x)", {"P": "4, Mt=Kt=Nt=14 per commands"}, "cycles", Gemm("SUMMA", 56, 56, 56, 4, F32)),
    ("CS-2", "SUMMA GEMM M=K=N=96", {"P": 8}, "us", Gemm("SUMMA", 96, 96, 96, 8, F32)),
    (SIMULATOR, "local GEMM fp32 (fmacs in for-loops) excl. reduce", {"width": 16, "height": 12, "N": 768, "K": 768, "M": 64},
     "cycles", LocalProduct("LOOP", 64, 48, 64, 1, F32)),
    (SIMULATOR, "single-tile matvec fp32 N x N (@map fmacs)", {"N": 10, "padded": 12, "iters": 10}, "cycles",
     LocalProduct("MAP", 12, 10, 1, 10, F32)),
    (SIMULATOR, "single-tile matvec fp32 30x30", {}, "cycles", LocalProduct("LOOP", 30, 30, 1, 1, F32)),
    (WAFERLLM, "MeshGEMV f16 [1,32K]x[32K,32K]", {}, "ms", Gemv(32768, 32768, 0, F16)),
    (WAFERLLM, "MeshGEMV f16 [1,8K]x[8K,16K]", {"cores": "512x512"}, "ms", Gemv(8192, 16384, 512, F16)),
    ("CS-3", "GEMV 4x4 grid 32x16", {}, "cycles", Gemv(16, 32, 4, F32)),
    (WAFERLLM, "LLaMA3-8B prefill, seq 4096", {"cores": "480x480"}, "tokens/s", Prefill(LLAMA, 4096, 1, 480)),
    (WAFERLLM, "LLaMA2-13B prefill, 2K tokens, batch 4", {}, "tokens/s", Prefill(LLAMA_13B, 2048, 4, 0)),
    (WAFERLLM, "LLaMA2-13B decode, 4K ctx, batch 1", {"cores": "420x420"}, "tokens/s", Decode(LLAMA_13B, 4096, 1, 420)),
    (WAFERLLM, "LLaMA3-8B decode, context 8192", {"P": 360}, "ms", Decode(LLAMA, 8192, 1, 360)),
    (WAFERLLM, "LLaMA2-13B end-to-end in/out 2048/128", {"cores": "660^2 prefill/360^2 decode"}, "tokens/s",
     EndToEnd(LLAMA_13B, 2048, 128, 660, 360)),
    (WAFERLLM, "LLaMA3-8B end-to-end in/out 4K/4K", {"cores": "600x600"}, "tokens/s", EndToEnd(LLAMA, 4096, 4096, 600, 600)),
    ("CS-2", "Reduce two-phase 1D, 512 PEs, 4 KB", {}, "us", Collective("reduce", "two-phase", 512, 1, 1024)),
    ("CS-2", "Reduce chain", {"P": 64, "B": 256}, "cycles", Collective("reduce", "chain", 64, 1, 256)),
    ("CS-2", "AllReduce 2D 512x512 tree, 256 wavelets", {}, "us", Collective("allreduce", "tree", 512, 512, 256)),
    ("CS-2", "All-reduce ring", {"P": 32, "bytes": 10}, "us", Collective("allreduce", "ring", 32, 1, 3)),
    ("CS-2", "snake reduce on 64x32 PEs, 1KB", {}, "cycles", Collective("reduce", "snake", 64, 32, 256)),
    ("CS-2", "2D broadcast", {"P": 512, "B": 1}, "cycles", Collective("broadcast", "", 512, 512, 1)),
    ("CS-2", "star reduce P=8 B=16", {}, "cycles", Collective("reduce", "star", 8, 1, 16)),
    ("CS-2", "all-to-all on 16x8 PEs", {"words": 2}, "cycles", Collective("all_to_all", "", 16, 8, 2)),
    ("CS-1", "BiCGStab 7-pt 600x595x1536 mixed fp16/32", {}, "PFLOP/s", Stencil("BICGSTAB", 7, 600, 595, 1536, 44, True)),
    ("CS-2", "25-pt stencil 3D wave fp32 755x994x1000", {}, "s", Stencil("WAVE", 25, 755, 994, 1000, 0, False)),
    ("CS-2", "25-pt stencil 3D wave fp32", {}, "TFLOP/s", Stencil("WAVE", 25, 750, 994, 1000, 0, False)),
    ("CS-3", "7pt-Stencil 5x5 zDim=16", {}, "cycles", Stencil("JACOBI", 7, 5, 5, 16, 0, False)),
    ("CS-3", "7-pt stencil", {"width": 8, "height": 4, "zDim": 2}, "cycles", Stencil("JACOBI", 7, 8, 4, 2, 0, False)),
    ("CS-2", "3D FFT 256^3 complex fp32 on 256x256 PEs", {}, "us", Fft(256)),
    ("CS-2", "3D FFT 64x64x64 complex fp32", {}, "us", Fft(64)),
    ("ALCF CS-3 (num_csx default)", "GPT-J 6B train", {"batch": 60, "MSL": "1024 in modelzoo config (assumed)"}, "samples/s",
     Training(known_models.find("GPT-J-6B"), 60, 1024, False)),
    ("ALCF CS-3", "GPT-3 111M eval", {}, "samples/s", Training(known_models.find("GPT-3-111M"), 120, 2048, True)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("system", "workload", "params", "unit", "expected"), READ, ids=[item[1] for item in READ]
)
def test_entry_of_known_style_is_read(system, workload, params, unit, expected):
    found = question_of(one(system=system, workload=workload, params=params, unit=unit))
    assert not isinstance(found, Refused), found.reason_de
    assert found.case.workload == expected
    assert found.case.clock_hz == (MHZ_1100 if system == WAFERLLM else 0)


# system, workload, params, metric, unit -> family, part of the reason
REFUSED = [
    ("A100x8 SGLang", "LLaMA3-8B decode, 4K ctx", {}, "rate", "tokens/s", Family.DECODE, "GPU-Zeile"),
    ("A100 vs CS-2", "LLaMA3-8B decode, 4K ctx", {}, "ratio", "x", Family.DECODE, "Vergleich zweier Systeme"),
    ("CS-3 service", "Llama3.1-8B", {}, "decode rate", "tokens/s", Family.DECODE, "Gehosteter Dienst"),
    ("CS-2 T10", "LLaMA3-8B decode, 4K ctx", {}, "rate", "tokens/s", Family.DECODE, "Anderer Übersetzer"),
    ("CS-4", "LLaMA3-8B decode, 4K ctx", {}, "rate", "tokens/s", Family.DECODE, "Maschine wse-4"),
    ("a laptop", "LLaMA3-8B decode, 4K ctx", {}, "rate", "tokens/s", Family.DECODE, "nennt keine Generation"),
    ("CS-2", "LLaMA3-8B decode", {}, "rate", "tokens/s", Family.DECODE, "Länge der Sequenz"),
    ("CS-2", "Nobody-3B decode, 4K ctx", {}, "rate", "tokens/s", Family.DECODE, "Modells Nobody-3B"),
    ("CS-2", "prefill, 4K ctx", {}, "rate", "tokens/s", Family.PREFILL, "Modell ist nicht angegeben"),
    ("CS-2", "LLaMA3-8B decode, 4K ctx", {"cores": "480x360"}, "rate", "tokens/s", Family.DECODE, "nicht quadratisch"),
    ("CS-2", "LLaMA3-8B decode, 4K ctx", {"batch": 0}, "rate", "tokens/s", Family.DECODE, "nicht zwischen 1 und"),
    ("CS-2", "LLaMA3-8B end-to-end", {}, "TPR", "tokens/s", Family.DECODE, "Eingabe und Ausgabe"),
    ("CS-2", "LLaMA3-8B decode, 4K ctx", {}, "rate", "samples/s", Family.DECODE, "passt nicht zu dieser Art"),
    ("CS-2", "LLaMA3-8B decode, 4K ctx", {}, "tokens", "tokens", Family.DECODE, "Länge eines Kontexts"),
    ("CS-2", "SUMMA GEMM", {"P": 4}, "time", "us", Family.GEMM, "Größe der Matrizen"),
    ("CS-2", "GEMM fp32 64x64x64", {}, "time", "us", Family.GEMM, "Verfahren des Matrixprodukts"),
    ("CS-2", "MeshGEMM [4K,4K]x[2K,4K]", {}, "time", "us", Family.GEMM, "inneren Seiten"),
    ("CS-2", "MeshGEMM 4K", {"cores": "480x360"}, "time", "us", Family.GEMM, "nicht quadratisch"),
    ("CS-2", "MeshGEMM 4K", {}, "efficiency", "%", Family.GEMM, "Anteil oder Wirkungsgrad"),
    ("CS-3", "GEMM-1PE 16x16x16 naive", {}, "cycles_send", "cycles", Family.GEMM, "skalare Schleifen"),
    ("CS-2", "SUMMA GEMM", {"P": 4, "tile": 2**40}, "time", "us", Family.GEMM, "nicht zwischen 1 und"),
    ("CS-2", "SUMMA GEMM", {"P": 4, "tile": 4, "clock_GHz": 0}, "time", "us", Family.GEMM, "Takt muss"),
    ("5000x CS-2", "SUMMA GEMM", {"P": 4, "tile": 4}, "time", "us", Family.GEMM, "Zahl der Systeme"),
    ("CS-2", "Reduce / AllReduce vs vendor", {}, "speedup", "x", Family.COLLECTIVES, "mehrere Läufe"),
    ("CS-2", "Reduce chain", {"P": 64}, "cycles", "cycles", Family.COLLECTIVES, "Länge der Nachricht"),
    ("CS-2", "broadcast model error", {}, "error", "%", Family.COLLECTIVES, "fremden Modells"),
    ("CS-2", "Reduce chain P=4 B=4", {}, "rate", "TFLOP/s", Family.COLLECTIVES, "passt nicht"),
    ("CS-2", "start skew", {}, "cycles", "cycles", None, "keiner der angesagten Familien"),
    ("CS-2", "stencil via SpaDA/GT4Py->CSL", {}, "performance", "TFLOP/s", Family.STENCIL, "Zahl der Punkte"),
    ("CS-2", "7-pt stencil 5x5", {}, "cycles", "cycles", Family.STENCIL, "Tiefe der Spalten"),
    ("CS-3 silicon", "7pt-Stencil run-to-run cycles_send", {}, "cycles", "cycles", Family.STENCIL, "Streuung gleicher Läufe"),
    ("64x CS-3", "stencil Domain Translation", {}, "rate", "timesteps/s", Family.STENCIL, "Größe der Teilgebiete"),
    ("64x CS-3", "stencil Domain Translation", {}, "efficiency", "GFLOP/J", Family.STENCIL, "Wirkungsgrad"),
    ("CS-2", "3D FFT 100^3 complex fp32", {}, "time", "us", Family.COLLECTIVES, "Zweierpotenz"),
    ("CS-2", "3D FFT 64x64x32 complex fp32", {}, "time", "us", Family.COLLECTIVES, "würfelförmig"),
    ("CS-2", "3D FFT 64^3 complex fp16", {}, "time", "us", Family.COLLECTIVES, "fp32"),
    ("CS-2", "FFT-1D 64", {}, "time", "us", Family.COLLECTIVES, "dreidimensionale"),
    ("CS-3", "ViT-B/16 train", {}, "throughput", "samples/s", Family.TRAINING, "keine eines Sprachmodells"),
    ("CS-3", "GPT-3 111M compile job wall time", {}, "time", "s", None, "Übersetzungs- oder Startzeit"),
    ("CS-2 x48", "TLR-MVM seismic", {}, "sustained bandwidth", "PB/s", None, "Dünn besetzte"),
    ("16x CS-2", "Andromeda", {}, "dense performance", "PFLOP/s", None, "keiner der angesagten Familien"),
    ("CS-3", "Conjugate-Gradient 5x5 max_ite=2", {}, "cycles_send", "cycles", Family.STENCIL, "Lösungsverfahren"),
    ("CS-3", "Game-of-Life", {}, "cycles_send", "cycles", None, "keinen Kernel"),
    ("CS-3", "MeshGEMV 4K", {}, "power", "kW", Family.GEMV, "Leistungsaufnahme"),
    ("CS-3", "MeshGEMV 4K", {}, "bandwidth", "PB/s", Family.GEMV, "Bandbreite"),
    ("CS-3", "MeshGEMV 4K", {}, "resident weight bytes", "B", Family.GEMV, "Speichermenge"),
    ("CS-3", "MeshGEMV [1,4K]x[4K,4K]", {}, "time", "fortnights", Family.GEMV, "Einheit"),
]  # fmt: skip


@pytest.mark.parametrize("row", REFUSED, ids=[f"{item[0]}: {item[1]} {item[3]}" for item in REFUSED])
def test_entry_is_refused_with_its_reason(row):
    system, workload, params, metric, unit, family, reason = row
    found = case_of(one(system=system, workload=workload, params=params, metric=metric, unit=unit))
    assert isinstance(found, Refused)
    assert (found.family, reason in found.reason_de) == (family, True), found.reason_de
    assert found.reason_de.endswith(".")


@pytest.mark.parametrize(
    "workload",
    [
        "",
        "(",
        "=",
        "x" * 900,
        "SUMMA GEMM " + "9" * 400,
        "GEMM [,]x[,]",
        "MeshGEMV ∞",
        "7 points " + "1x" * 400 + "y",
    ],
)
@pytest.mark.parametrize("unit", ["us", "TFLOP/s", "tokens/s", ""])
def test_odd_texts_are_refused_and_never_raise(workload, unit):
    found = question_of(one(workload=workload, unit=unit, params={}))
    assert isinstance(found, Refused) or "stencil_grid" in found.gaps


@pytest.mark.parametrize("value", ["", "x", -1, 0, 1.5, "1e9", "4x4x4", 10**30, "9" * 100])
@pytest.mark.parametrize("name", ["P", "tile", "M", "batch", "cores", "clock_GHz", "systems", "width"])
def test_odd_params_never_raise(name, value):
    question_of(one(params={"P": 4, "tile": 4, name: value}))
    question_of(one(workload="LLaMA3-8B decode, 4K ctx", params={name: value}, unit="tokens/s"))


@pytest.mark.parametrize(
    ("system", "systems"),
    [
        ("64x CS-3", 64),
        ("CS-2 x48", 48),
        ("16 x CS-2", 16),
        ("ALCF CS-3 (num_csx=4)", 4),
        ("ALCF CS-3 (num_csx default)", 1),
        ("CS-3", 1),
    ],
)
def test_number_of_systems(system, systems):
    assert case_of(one(system=system)).systems == systems


@pytest.mark.parametrize(
    ("workload", "unit", "params", "value", "cycles"),
    [
        ("SUMMA GEMM", "us", {"P": 4, "tile": 8, "clock_GHz": 0.85}, 10.0, 8500),
        ("SUMMA GEMM", "ms", {"P": 4, "tile": 8, "clock_GHz": 1.1}, 10.0, 11_000_000),
        ("SUMMA GEMM", "cycles", {"P": 4, "tile": 8}, 10.0, 10),
        ("SUMMA GEMM", "GFLOP/s", {"P": 4, "tile": 8, "clock_GHz": 1}, 65.536, 1000),
        ("LLaMA3-8B prefill, seq 1000", "tokens/s", {"clock_GHz": 1}, 2e6, 500_000),
        ("LLaMA3-8B decode, 4K ctx, batch 8", "tokens/s", {"clock_GHz": 1}, 1000, 8_000_000),
        ("LLaMA3-8B end-to-end in/out 2048/128", "tokens/s", {"clock_GHz": 1}, 128, 1_000_000_000),
        ("GPT-3 111M train", "samples/s", {"clock_GHz": 1, "batch": 10}, 100, 100_000_000),
        ("7-pt stencil 8x8x8", "timesteps/s", {"clock_GHz": 1}, 1e6, 1000),
        ("BiCGStab 7-pt 8x8x8", "cycles", {"max_ite": 20}, 40_000, 2000),
        ("BiCGStab 7-pt 8x8x8", "timesteps/s", {"max_ite": 20, "clock_GHz": 1}, 1e6, 1000),
    ],
)
def test_units_go_to_cycles_and_back(workload, unit, params, value, cycles):
    question = question_of(one(workload=workload, unit=unit, params=params))
    assert to_cycles(value, question) == pytest.approx(cycles)
    assert to_unit(cycles, question) == pytest.approx(value)


def test_rate_per_request_is_that_of_one_sequence():
    workload = {
        "workload": "LLaMA3-8B decode, 4K ctx, batch 8",
        "unit": "tokens/s",
        "params": {"clock_GHz": 1},
    }
    assert to_cycles(100, question_of(one(**workload, metric="throughput per request"))) == pytest.approx(1e7)
    assert to_cycles(100, question_of(one(**workload, metric="throughput"))) == pytest.approx(8e7)


def test_many_systems_share_the_operations():
    stencil = {"workload": "7-pt stencil 640x10x10", "unit": "TFLOP/s"}
    one_system = question_of(one(system="CS-3", **stencil))
    many = question_of(one(system="64x CS-3", **stencil))
    assert many.case.workload.nx == one_system.case.workload.nx / 64
    assert to_unit(1000, many) == pytest.approx(to_unit(1000, one_system))


def test_gaps_are_named():
    found = question_of(one(system=WAFERLLM, workload="MeshGEMV [1,16K]x[16K,16K]", params={}, unit="ms"))
    assert found.gaps == ("clock", "grid", "dtype")
    free = question_of(
        one(system="CS-3", workload="7-pt stencil, power-unconstrained", params={}, unit="PFLOP/s")
    )
    assert free.gaps == ("clock_unconstrained", "stencil_grid", "flops")
    assert free.case.clock_hz == MHZ_1100
