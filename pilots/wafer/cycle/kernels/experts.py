"""The feed-forward part of a mixture of experts: three matrix-vector products for every row and expert it was sent to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Final

import numpy as np

from pilots.wafer.costs.kernels import ELEMENT_OPS, ONE_PASS, Setting
from pilots.wafer.cycle import lines
from pilots.wafer.cycle.image import Image, Position
from pilots.wafer.cycle.instructions import Instruction, local, milli_of, receive, send
from pilots.wafer.cycle.kernels.base import Wavelets, joined, start_up, tiles, vector_milli
from pilots.wafer.cycle.kernels.heads import Area, area
from pilots.wafer.cycle.lines import Line, Programs
from pilots.wafer.handlers.base import Array, Inputs, text, wide
from pilots.wafer.handlers.experts import ACTIVATIONS
from pilots.wafer.numerics_products import chained_product
from pilots.wafer.program import Call

ROWS: Final = 0  # color of hidden numbers along the rows; those of both reductions and their ways back follow


@dataclass(frozen=True, slots=True)
class _Product:
    """A matrix-vector product: weights [experts, k, n] of one element, where its part of the vector and the sums lie."""

    weights: Area
    left: Area
    sums: Area
    cuts: int  # tiles of k, down the columns
    color: int  # first one of its reduction; the way back has the last one

    def apply(self, row: int, expert: int, memory: Array) -> None:
        """Multiply a part of the vector with the weights of an expert; k sums from zero."""
        left = self.left.of(memory)[:, row, None, :]
        weights = self.weights.of(memory)[:, expert]
        self.sums.of(memory)[:] = chained_product(left, weights, left.shape[-1])[:, 0]


@dataclass(frozen=True, slots=True)
class _Experts:
    """Image, sizes of the features and of what is hidden, gates, the three products, result of each row."""

    image: Image
    at: Setting
    activation: str
    hidden: int
    gates: Area
    gate: _Product
    up: _Product
    down: _Product
    result: Area

    def activate(self, memory: Array) -> None:
        """Make hidden numbers of both products."""
        gate, up = self.gate.sums.of(memory), self.up.sums.of(memory)
        gate[:] = np.multiply(ACTIVATIONS[self.activation](gate), up)

    def add(self, row: int, expert: int, memory: Array) -> None:
        """Add what an expert says about a row, times its gate."""
        part = np.multiply(self.gates.of(memory)[:, row, expert, None], self.down.sums.of(memory))
        result = self.result.of(memory)[:, row]
        np.add(result, part, out=result)

    def work(self, function: Callable[[Array], None], milli: int) -> list[Instruction]:
        """Let an element apply a function to its memory."""
        return local(self.image.function(function), milli)


def expert_ffn(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """For each row the experts with a gate, one after the other; a row without one costs nothing.

    Who is sent where is known when the program is laid down. Hidden numbers lie on the columns as results and are
    needed on the rows: their owners broadcast them along each row. The model's `launch` and `realign` of every product
    are waited for.
    """
    gates = wide(inputs[1])
    on = _experts(call, inputs, at)
    pairs = [(int(row), int(expert)) for expert, row in np.argwhere(gates.T)]
    first, second, third = (_meet(on, item) for item in (on.gate, on.up, on.down))
    moves = [_moves(on, y, len(pairs)) for y in range(on.image.height)]
    activate = on.work(on.activate, _activation_milli(on))
    steps: list[list[list[Instruction]]] = [[[] for _ in row] for row in moves]
    for row, expert in pairs:
        gate, up = _multiply(on, on.gate, row, expert), _multiply(on, on.up, row, expert)
        down = _multiply(on, on.down, 0, expert)
        add = on.work(partial(on.add, row, expert), vector_milli(on.down.sums.numbers, (2, 0), at))
        for y, along in enumerate(moves):
            for x, move in enumerate(along):
                steps[y][x] += gate + first[y] + up + second[y] + activate + move + down + third[y] + add
    for y, along in enumerate(steps):
        for x, program in enumerate(along):
            on.image.program((y, x), program)

    def collect(memory: Array) -> Array:
        parts = on.result.of(memory[0]).reshape(1, on.image.width, -1)
        return joined(parts, *on.result.shape, *inputs[0].shape)

    return Wavelets(on.image, collect)


def _experts(call: Call, inputs: Inputs, at: Setting) -> _Experts:
    """Lay rows, gates and weights down."""
    x, gates, w_gate, w_up, w_down = (wide(item) for item in inputs)
    (rows, width), hidden = x.shape, w_gate.shape[2]
    high, broad = call.rect.height, call.rect.width
    outer, inner = -(-width // high), -(-hidden // high)  # tiles of k of both kinds of products
    down = (-(-width // outer), -(-hidden // inner))
    along = max(-(-size // -(-size // broad)) for size in (hidden, width))
    colors = 1 + sum(lines.colors_of(lines.two_sided(item)) + 1 for item in set(down))
    image = Image(at.machine, along, max(down), colors=colors)
    parts = tiles(x, rows, outer, 1, image.height).swapaxes(0, 1)
    left = area(image, rows, outer, values=np.broadcast_to(parts, (image.height, along, parts.shape[2])))
    inside = area(image, 1, inner)
    second = ROWS + 1 + (0 if len(set(down)) == 1 else lines.colors_of(lines.two_sided(down[0])) + 1)

    def product(weights: Array, held: Area, cuts: int, first: int) -> _Product:
        k, n = held.shape[1], -(-weights.shape[2] // broad)
        cut = np.stack([tiles(item, k, n, image.height, along) for item in weights], axis=2)
        own = area(image, len(weights), k, n, values=cut)
        return _Product(own, held, area(image, n), cuts, first)

    return _Experts(
        image=image,
        at=at,
        activation=text(call, "activation"),
        hidden=hidden,
        gates=area(image, *gates.shape, values=gates[None, None]),
        gate=product(w_gate, left, down[0], ROWS + 1),
        up=product(w_up, left, down[0], ROWS + 1),
        down=product(w_down, inside, down[1], second),
        result=area(image, rows, -(-width // broad)),
    )


def _multiply(on: _Experts, product: _Product, row: int, expert: int) -> list[Instruction]:
    """Return the start of a product and its arithmetic."""
    _, k, n = product.weights.shape
    cycles = k * (on.at.constants.gemv_dispatch + ceil(n * on.at.fma_cycles))
    return start_up(on.at, k) + on.work(partial(product.apply, row, expert), milli_of(cycles))


def _activation_milli(on: _Experts) -> int:
    numbers, ops = on.gate.sums.numbers, ELEMENT_OPS.get(on.activation, ONE_PASS)
    return vector_milli(numbers, ops, on.at) + vector_milli(numbers, ONE_PASS, on.at)


def _meet(on: _Experts, product: _Product) -> Programs:
    """Return how the sums of a product meet in each column and go back to all of its elements."""
    messages, sums = lines.two_sided(product.cuts), product.sums
    own, whole = Line(on.image, "y", product.cuts), Line(on.image, "y", on.image.height)
    stores = lines.storing(product.cuts)
    there = lines.reduce(own, messages, sums.address, sums.numbers, first=product.color, stores=stores)
    color = product.color + lines.colors_of(messages)
    back = lines.spread(whole, lines.root_of(messages), sums.address, sums.numbers, color)
    there += [[] for _ in range(whole.length - own.length)]
    return [first + second for first, second in zip(there, back, strict=True)]


@dataclass(frozen=True, slots=True)
class _Piece:
    """Hidden numbers that a column owns and a row needs: owner, first number there, first number here, how many."""

    owner: int
    source: int
    target: int
    count: int


def _pieces(on: _Experts, y: int) -> list[_Piece]:
    """Return what the elements of a row need, in order."""
    own, needed = on.gate.sums.numbers, on.down.left.numbers
    first, until = y * needed, min(on.hidden, (y + 1) * needed)
    found = []
    for owner in range(on.image.width):
        low, high = max(first, owner * own), min(until, (owner + 1) * own)
        if low < high:
            found.append(_Piece(owner, low - owner * own, low - first, high - low))
    return found


def _moves(on: _Experts, y: int, times: int) -> Programs:
    """Set the routes of hidden numbers along a row, for so many rounds, and return what each place does in one."""
    pieces, line = _pieces(on, y), Line(on.image, "x", on.image.width, across=y)
    copies = [_copy(on, piece) for piece in pieces]
    found: Programs = []
    for place in range(line.length):
        steps: list[Instruction] = []
        for piece, copy in zip(pieces, copies, strict=True):
            address = on.down.left.address + piece.target
            if piece.owner == place:
                steps += copy + (send(ROWS, address, piece.count) if line.length > 1 else [])
            else:
                steps += receive(ROWS, address, piece.count)
        if pieces and line.length > 1:
            line.image.route(line.at(place), ROWS, *_positions(line, place, pieces, times))
        found.append(steps)
    return found


def _copy(on: _Experts, piece: _Piece) -> list[Instruction]:
    """Return how an owner puts a piece where it needs it itself."""

    def apply(memory: Array) -> None:
        part = on.gate.sums.of(memory)[:, piece.source : piece.source + piece.count]
        on.down.left.of(memory)[:, 0, piece.target : piece.target + piece.count] = part

    return on.work(apply, vector_milli(piece.count, ONE_PASS, on.at))


def _positions(line: Line, place: int, pieces: list[_Piece], times: int) -> list[Position]:
    """Return the positions of a place of a row: from whoever owns the next piece to all behind it."""
    forwards, backwards = line.side(0, 1), line.side(1, 0)
    on, back = forwards if place + 1 < line.length else "", backwards if place else ""
    found: list[Position] = []
    for piece in pieces:
        held = piece.count if len(pieces) > 1 else 0  # a single owner keeps its turn for ever
        if piece.owner == place:
            found.append(("R", on + back, held))
        else:
            before = piece.owner < place
            found.append((backwards, on + "R", held) if before else (forwards, back + "R", held))
    return found if len(pieces) == 1 else found * times
