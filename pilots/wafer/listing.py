"""A program as text a person can read."""

from __future__ import annotations

from pilots.wafer.machine import Machine
from pilots.wafer.predict import predict
from pilots.wafer.program import Program, pe_bytes


def listing(program: Program, machine: Machine) -> str:
    """Return the kernel listing: one block per stage with place, tiles, memory, colors and cycles."""
    prediction = predict(program, machine, batch=program.micro_batch)
    lines = [
        f"program {program.digest()[:16]}  machine {machine.id}  dtype {program.dtype.value}  mode RESIDENT",
        f"micro-batch {program.micro_batch} samples, {prediction.device_cycles} cycles",
    ]
    for stage, cost in zip(program.stages, prediction.stages, strict=True):
        rect = stage.rect
        sums = " + ".join(f"{value} {name}" for name, value in cost.terms)
        lines += [
            "",
            f"stage {stage.index}  {stage.kernel.value}  [{stage.m} x {stage.k}] x [{stage.k} x {stage.n}]",
            f"  place   x {rect.x}, y {rect.y}, {rect.width} x {rect.height} = {rect.pes} PEs",
            f"  tile    m {stage.tile_m}, k {stage.tile_k}, n {stage.tile_n}",
            f"  then    {', '.join(f'{op} {name}'.strip() for op, name in stage.epilogue) or 'nothing'}",
            f"  colors  {', '.join(f'{number} {purpose}' for purpose, number in stage.colors)}",
            f"  sram    {pe_bytes(stage, program, machine)} of {machine.sram_bytes_per_pe.value} B per PE",
            f"  cycles  {cost.cycles} = {sums}  {cost.calibration.value}",
        ]
    return "\n".join(lines) + "\n"
