"""Runs of the molecular dynamics example that several tests look at. Compiling takes longest."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest

import verax
from examples.md.simulation import Settings, make_step, make_update, start
from examples.md.state import State, with_room
from verax import Propagation

ENSEMBLES = {
    name: Settings(atoms=300, density=0.6, ensemble=name, time_step=0.004)
    for name in ("nve", "langevin")
}


class Run(NamedTuple):
    settings: Settings
    begin: Propagation[State]
    end: Propagation[State]


def begin(settings: Settings, room: tuple[int, int, int] | None) -> Propagation[State]:
    state = start(settings)
    state = state if room is None else with_room(state, *room)
    return verax.propagate(make_update(settings), state, 1)


@cache
def _run(ensemble: str, room: tuple[int, int, int] | None) -> Run:
    settings = ENSEMBLES[ensemble]
    first = begin(settings, room)
    return Run(settings, first, verax.propagate(make_step(settings), first.state, 300))


AMPLE = (128, 333, 50_001)


@pytest.fixture(scope="session")
def from_small_buffers() -> Callable[[str], Run]:
    return lambda ensemble: _run(ensemble, None)


@pytest.fixture(scope="session")
def from_ample_buffers() -> Callable[[str], Run]:
    return lambda ensemble: _run(ensemble, AMPLE)
