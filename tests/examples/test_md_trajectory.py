"""Trajectories of the molecular dynamics example: sizes do not matter, energy is kept."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import jax
import numpy as np
import pytest

import verax
from examples.md.simulation import make_step, measure
from examples.md.state import State

Runs = Callable[[str], Any]
both = pytest.mark.parametrize("ensemble", ["nve", "langevin"])


# A step that no other test has compiled.
own_step = make_step.__wrapped__


@contextmanager
def optimised() -> Iterator[None]:
    """Compile with the optimisations that the suite does without: for thousands of steps.

    They round otherwise, so that such a step is for one test alone.
    """
    jax.config.update("jax_disable_most_optimizations", False)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", True)


def bits(state: State) -> dict[str, bytes]:
    """All that moves, to the last bit. The list's buffers have other lengths, so not those."""
    values = {
        "position": state.position,
        "velocity": state.velocity,
        "force": state.force,
        "key": jax.random.key_data(state.key),
    }
    return {name: np.asarray(value).tobytes() for name, value in values.items()}


def test_buffers_that_start_too_small_are_repaired(from_small_buffers: Runs):
    run = from_small_buffers("nve")
    changes = [change for repair in run.begin.repairs for change in repair.changes]
    grown = {change.where.rpartition(".")[2] for change in changes}
    assert {"cell_room", "row_room", "edge_room"} <= grown
    # A buffer overflows in the middle of the run, too.
    assert [repair.step for repair in run.end.repairs if repair.step > 0]
    assert run.end.steps == 300


@both
def test_the_trajectory_is_bit_for_bit_that_of_ample_buffers(
    ensemble: str, from_small_buffers: Runs, from_ample_buffers: Runs
):
    small, ample = from_small_buffers(ensemble), from_ample_buffers(ensemble)
    assert small.end.repairs
    assert ample.begin.repairs == ample.end.repairs == ()
    assert bits(small.end.state) == bits(ample.end.state)


def test_the_list_is_rebuilt_now_and_then(from_ample_buffers: Runs):
    run = from_ample_buffers("nve")
    references = []
    verax.propagate(
        make_step(run.settings),
        run.end.state,
        100,
        every=1,
        callback=lambda _, state: references.append(np.asarray(state.neighbours.reference)),
    )
    assert 3 <= sum((one != other).any() for one, other in pairwise(references)) <= 30


def test_nve_keeps_its_energy_over_ten_thousand_steps(from_ample_buffers: Runs):
    # The force jumps at the cutoff, so energy is not kept exactly; it must not run away.
    run = from_ample_buffers("nve")
    energies = measure(run.settings)
    totals = [float(energies(run.end.state)["total"])]
    with optimised():
        verax.propagate(
            own_step(run.settings),
            run.end.state,
            10_000,
            every=500,
            callback=lambda _, state: totals.append(float(energies(state)["total"])),
        )
    drift = (np.array(totals) - totals[0]) / run.settings.atoms
    assert len(drift) == 21
    assert np.abs(drift).max() < 2e-3  # of epsilon an atom, whose kinetic energy is about 1.5


def test_the_heat_bath_sets_the_temperature(from_ample_buffers: Runs):
    # Atoms start on a lattice, so half of the kinetic energy is lost to the potential at once.
    alone = from_ample_buffers("nve")
    assert measure(alone.settings)(alone.end.state)["temperature"] < 1.1
    run = from_ample_buffers("langevin")
    energies, seen = measure(run.settings), []
    with optimised():
        verax.propagate(
            own_step(run.settings),
            run.end.state,
            3000,
            every=20,
            callback=lambda _, state: seen.append(float(energies(state)["temperature"])),
        )
    assert np.mean(seen[50:]) == pytest.approx(run.settings.temperature, rel=0.03)


def test_an_atom_that_moves_too_far_ends_the_run(from_ample_buffers: Runs):
    run = from_ample_buffers("nve")
    state = replace(run.end.state, velocity=1000 * run.end.state.velocity)
    with pytest.raises(FloatingPointError, match=r"an atom would move by \d+ in one step"):
        verax.propagate(make_step(run.settings), state, 10)
