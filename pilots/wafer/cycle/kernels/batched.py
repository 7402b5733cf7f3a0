"""Products of a batch, one after the other: each pair of factors runs as a product of its own on the same elements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pilots.wafer.costs.kernels import Setting, one_of_batch
from pilots.wafer.cycle.kernels.base import Build, Wavelets
from pilots.wafer.cycle.sequence import sequence
from pilots.wafer.handlers.base import Array, Inputs
from pilots.wafer.program import Call


def batched(product: Build) -> Build:
    """Return what builds left [b, m, k] times right [b, k, n] from what builds one product; one launch starts them all."""

    def build(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
        left, right = inputs
        if left.ndim != 3 or right.ndim != 3 or len(left) != len(right):
            raise ValueError(f"{left.shape} times {right.shape} are no products")
        single = one_of_batch(call, left.shape[1])
        later = replace(at, constants=replace(at.constants, launch=0.0))
        parts = [
            product(single, pair, later if index else at)
            for index, pair in enumerate(zip(left, right, strict=True))
        ]
        image, offsets = sequence([part.image for part in parts])

        def collect(memory: Array) -> Array:
            ends = (*offsets[1:], image.words)
            return np.stack(
                [
                    part.collect(memory[..., start:end])
                    for part, start, end in zip(parts, offsets, ends, strict=True)
                ]
            )

        return Wavelets(image, collect)

    return build
