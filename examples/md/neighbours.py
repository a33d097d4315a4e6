"""A list of neighbours, found with cells, kept in buffers that grow.

Space is divided into cells at least as wide as the list reaches, so that an atom's neighbours
are in its own cell or in one of the 26 around it. The list reaches further than the potential by
a skin: it stays complete until an atom has moved by half of it, and is rebuilt only then.

How the list is stored. Atoms are put in an order, the ones with most neighbours first. Row k has
the k-th neighbour of each atom that has so many; these atoms come first, so a row has no gaps.
All rows lie one after the other in a single buffer:

    atoms in order   A B C D     row 0  a b c d
    their counts     3 3 2 1     row 1  a b c         edges: a b c d a b c a b
                                 row 2  a b

Three sizes are not known beforehand, and each is a capacity with an assertion: how many atoms a
cell holds, how many rows there are, and how many edges.

A trajectory does not depend on the sizes, to the last bit. Every loop below runs over what was
found and not over what there is room for, and its body has shapes of the number of atoms only; so
the same operations happen in the same order, however large the buffers are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

import verax

if TYPE_CHECKING:
    from .state import State

Lanes = tuple[Array, ...]  # one array for each of x, y, z; or one for each sum
BITS = 32  # of a word; a bit for each atom of a cell says whether it is a neighbour
BLOCK = 2048  # how many atoms share one turn through the rows: few enough for the cache


@verax.dataclass
class NeighbourList:
    """Neighbours of each atom, and the room there is for them."""

    reference: Array  # (atom, xyz): where atoms were when the list was built
    order: Array  # (atom,): atoms, the ones with most neighbours first
    count: Array  # (atom,): how many neighbours each has, in that order
    row_start: Array  # (row,): where a row begins among the edges
    edges: Array  # (edge + atom,): atoms; a row is read at full width, hence the extra room

    reach: float = verax.field(static=True)
    skin: float = verax.field(static=True)
    cells_per_side: int = verax.field(static=True)
    cell_room: int = verax.field(static=True, default=4)
    row_room: int = verax.field(static=True, default=8)
    edge_room: int = verax.field(static=True, default=64)

    def __post_init__(self):
        # A repair raises a size; the buffer follows here, and keeps what it holds.
        atoms = self.order.shape[-1]
        object.__setattr__(self, "row_start", _resized(self.row_start, self.row_room))
        object.__setattr__(self, "edges", _resized(self.edges, self.edge_room + atoms))

    @classmethod
    def empty(cls, position: Array, edge: float, reach: float, skin: float) -> NeighbourList:
        """A list that is out of date, so that it is built at first use."""
        atoms = len(position)
        nothing = jnp.zeros(atoms, jnp.int32)
        return cls(
            reference=jnp.full_like(position, jnp.inf),
            order=nothing,
            count=nothing,
            row_start=nothing[:0],
            edges=nothing,
            reach=reach,
            skin=skin,
            cells_per_side=max(1, math.floor(edge / reach)),
        )


def _resized(buffer: Array, size: int) -> Array:
    """The buffer with zeros appended, or cut, to a size. Lanes of a batch stand in front."""
    missing = size - buffer.shape[-1]
    if missing <= 0:
        return buffer[..., :size]
    return jnp.pad(buffer, [(0, 0)] * (buffer.ndim - 1) + [(0, missing)])


CELL_ROOM = verax.lens(lambda state: state.neighbours.cell_room)
ROW_ROOM = verax.lens(lambda state: state.neighbours.row_room)
EDGE_ROOM = verax.lens(lambda state: state.neighbours.edge_room)


def with_neighbours(state: State, systems: str | None = None) -> State:
    """The state with a list that is complete, rebuilt if an atom has moved too far.

    Args:
        state: A system of atoms.
        systems: The name of the axis, if several systems are batched. All lists are then rebuilt
            together when one must be: a choice for each would compute both, every time.
    """
    moved = jnp.sum((state.position - state.neighbours.reference) ** 2, axis=-1)
    outdated = jnp.max(moved) > (state.neighbours.skin / 2) ** 2
    if systems is not None:
        outdated = lax.pmax(outdated.astype(jnp.int32), systems) > 0
    return lax.cond(outdated, rebuilt, lambda state: state, state)


def rebuilt(state: State) -> State:
    """The state with a new list, and with positions back inside the box."""
    state = replace(state, position=state.position % state.box)
    cells = _sort_into_cells(state)
    words, first = _find_neighbours(state, cells)
    return replace(state, neighbours=_write_edges(state, cells, words, first))


# Cells.


@verax.dataclass
class _Cells:
    atoms: Array  # (atom,): cell after cell
    cell: Array  # (atom,): in which cell each of those is
    start: Array  # (cell,): where a cell begins among the atoms
    size: Array  # (cell,): how many atoms it has


def _sort_into_cells(state: State) -> _Cells:
    side = state.neighbours.cells_per_side
    # An atom at the upper face may be rounded into a cell that does not exist.
    place = jnp.clip(jnp.floor(state.position * (side / state.box)).astype(jnp.int32), 0, side - 1)
    cell = (place[:, 0] * side + place[:, 1]) * side + place[:, 2]
    atoms = jnp.argsort(cell, stable=True).astype(jnp.int32)
    size = jnp.zeros(side**3, jnp.int32).at[cell].add(1)
    verax.LensCapacity(state.neighbours.cell_room, CELL_ROOM).generate_assertion(jnp.max(size))
    return _Cells(atoms, cell[atoms], (jnp.cumsum(size) - size).astype(jnp.int32), size)


def _surroundings(side: int) -> np.ndarray:
    """(direction, cell): each cell and the cells around it, none twice also in a small box."""
    place = np.stack(np.unravel_index(np.arange(side**3), (side,) * 3))
    steps = {tuple(s % side for s in step) for step in itertools.product((-1, 0, 1), repeat=3)}
    around = [(place + np.array(step)[:, None]) % side for step in sorted(steps)]
    return np.stack([np.ravel_multi_index(tuple(one), (side,) * 3) for one in around])


def _find_neighbours(state: State, cells: _Cells) -> tuple[Array, Array]:
    """For each atom, in the order of cells: words of bits, and the atom that bit 0 stands for.

    Both are (word, atom). Every cell around an atom has as many words as the room of a cell needs.
    """
    room = state.neighbours.cell_room
    words_per_cell = -(-room // BITS)
    around = jnp.asarray(_surroundings(state.neighbours.cells_per_side), jnp.int32)
    fullest = jnp.minimum(jnp.max(cells.size), room)
    place = tuple(state.position[cells.atoms].T)
    itself = jnp.arange(len(cells.atoms), dtype=jnp.int32)

    def one_word(number: Array) -> tuple[Array, Array]:
        other = around[number // words_per_cell][cells.cell]
        offset = number % words_per_cell * BITS
        first, left = cells.start[other] + offset, cells.size[other] - offset

        def one_bit(bit: Array, word: Array) -> Array:
            candidate = first + bit
            apart = _shortest(state.box, place, tuple(axis[candidate] for axis in place))
            near = sum(axis * axis for axis in apart) < state.neighbours.reach**2
            near &= (bit < left) & (candidate != itself)
            return word | (near.astype(jnp.uint32) << bit.astype(jnp.uint32))

        bits = jnp.clip(fullest - offset, 0, BITS)
        return lax.fori_loop(0, bits, one_bit, jnp.zeros_like(first, jnp.uint32)), first

    return lax.map(one_word, jnp.arange(len(around) * words_per_cell, dtype=jnp.int32))


# Rows.


def _write_edges(state: State, cells: _Cells, words: Array, first: Array) -> NeighbourList:
    """The list itself: takes bit after bit from the words, one of each atom for every row."""
    old = state.neighbours
    count = jnp.sum(lax.population_count(words), axis=0).astype(jnp.int32)
    rank = jnp.argsort(-count, stable=True)
    count, words, first = count[rank], words[:, rank], first[:, rank]
    rows = jnp.max(count)
    verax.LensCapacity(old.row_room, ROW_ROOM).generate_assertion(rows)
    verax.LensCapacity(old.edge_room, EDGE_ROOM).generate_assertion(jnp.sum(count))

    length = jnp.sum(count[None, :] > jnp.arange(old.row_room)[:, None], axis=1)
    row_start = (jnp.cumsum(length) - length).astype(jnp.int32)
    following, lane = _next_word_with_bits(words), jnp.arange(len(count))

    def one_row(row: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        number, word, edges = carry
        number = jnp.where(word == 0, following[number, lane], number)
        word = jnp.where(word == 0, words[number, lane], word)
        lowest = lax.population_count((word & -word) - 1).astype(jnp.int32)
        neighbour = cells.atoms[first[number, lane] + lowest]
        edges = lax.dynamic_update_slice(edges, neighbour, (row_start[row],))
        return number, word & (word - 1), edges

    start = (jnp.zeros_like(count), words[0], old.edges)
    *_, edges = lax.fori_loop(0, jnp.minimum(rows, old.row_room), one_row, start)
    return replace(
        old,
        reference=state.position,
        order=cells.atoms[rank],
        count=count,
        row_start=row_start,
        edges=edges,
    )


def _next_word_with_bits(words: Array) -> Array:
    """(word, atom): the number of the next word that is not 0. The last one stands for none."""
    numbers = jnp.arange(len(words), dtype=jnp.int32)

    def backwards(after: Array, number: Array) -> tuple[Array, Array]:
        return jnp.where(words[number] != 0, number, after), after

    none = jnp.full_like(words[0], len(words) - 1, jnp.int32)
    return lax.scan(backwards, none, numbers, reverse=True)[1]


# Sums.


def sum_over_neighbours(
    state: State, contribution: Callable[[Lanes, Array], Lanes], sums: int
) -> Lanes:
    """For each atom, the sums of what its neighbours contribute, (atom,) each.

    Args:
        state: A system of atoms, whose list is complete.
        contribution: From the vector that points from a neighbour to an atom, one array for each
            of x, y, z, and whether there is such a neighbour, to what it adds; 0 if there is not.
        sums: How many arrays `contribution` returns.
    """
    near = state.neighbours
    atoms = len(near.order)
    size = min(BLOCK, atoms)
    everywhere = tuple(state.position.T)

    def one_block(number: Array, totals: Lanes) -> Lanes:
        # The last block is moved back to fit, so it meets some atoms again: to the same result.
        begin = jnp.minimum(number * size, atoms - size)
        count = lax.dynamic_slice(near.count, (begin,), (size,))
        here = lax.dynamic_slice(near.order, (begin,), (size,))
        place = tuple(axis[here] for axis in everywhere)

        def one_row(row: Array, block: Lanes) -> Lanes:
            other = lax.dynamic_slice(near.edges, (near.row_start[row] + begin,), (size,))
            apart = _shortest(state.box, place, tuple(axis[other] for axis in everywhere))
            added = contribution(apart, row < count)
            return tuple(total + one for total, one in zip(block, added, strict=True))

        zero = (jnp.zeros(size, state.position.dtype),) * sums
        block = lax.fori_loop(0, count[0], one_row, zero)
        return tuple(
            lax.dynamic_update_slice(total, part, (begin,))
            for total, part in zip(totals, block, strict=True)
        )

    zero = (jnp.zeros(atoms, state.position.dtype),) * sums
    totals = lax.fori_loop(0, -(-atoms // size), one_block, zero)
    table = jnp.stack(totals, axis=-1)
    return tuple(jnp.zeros_like(table).at[near.order].set(table).T)


def _shortest(box: Array, here: Lanes, there: Lanes) -> Lanes:
    """From there to here, across the boundary if that is shorter."""
    return tuple(
        apart - box * jnp.round(apart / box)
        for apart in (one - other for one, other in zip(here, there, strict=True))
    )
