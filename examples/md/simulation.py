"""From settings to the functions that a run is made of: start, update, step, measure."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from .integrators import Step, langevin, velocity_verlet, with_forces
from .potential import LennardJones
from .state import State, initial_state, kinetic_energy, temperature_of

ENSEMBLES = ("nve", "langevin")


class SettingsError(ValueError):
    """What was asked for cannot be simulated. The message says why and what would work."""


@dataclass(frozen=True)
class Settings:
    """What makes a run the one it is: equal settings give equal trajectories."""

    atoms: int = 4000
    ensemble: str = "nve"
    density: float = 0.8442
    temperature: float = 1.44
    time_step: float = 0.004
    friction: float = 1.0
    cutoff: float = 2.5
    skin: float = 0.4
    seed: int = 0
    double: bool = False

    def __post_init__(self):
        if self.ensemble not in ENSEMBLES:
            raise SettingsError(f"ensemble is one of {', '.join(ENSEMBLES)}, not {self.ensemble!r}")
        for name in ("atoms", "density", "temperature", "time_step", "cutoff", "skin"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"{name} must be positive, not {getattr(self, name)}")
        if self.friction < 0:
            raise SettingsError(f"friction cannot be negative, and is {self.friction}")
        edge = (self.atoms / self.density) ** (1 / 3)
        if edge < 2 * self.reach:
            fitting = int(self.density * (2 * self.reach) ** 3) + 1
            raise SettingsError(
                f"a box of {self.atoms} atoms is {edge:.2f} wide, and must be at least twice "
                f"cutoff + skin = {self.reach:g}, or an atom would meet another one's image as "
                f"well; at this density take {fitting} atoms or more"
            )

    @property
    def reach(self) -> float:
        """How far the list of neighbours reaches."""
        return self.cutoff + self.skin


def make_update(settings: Settings, systems: str | None = None) -> Step:
    """Brings neighbours and forces up to date. `systems` is the name of a batch's axis, if any."""
    return _update(settings.cutoff, systems)


# The same function for the same arguments: one that JAX has not seen is compiled anew.
@functools.cache
def _update(cutoff: float, systems: str | None) -> Step:
    return with_forces(LennardJones(cutoff), systems)


@functools.cache
def make_step(settings: Settings, systems: str | None = None) -> Step:
    """One step of time, from a state with forces that are up to date."""
    update = make_update(settings, systems)
    if settings.ensemble == "nve":
        return velocity_verlet(settings.time_step, update)
    return langevin(settings.time_step, settings.temperature, settings.friction, update)


def start(settings: Settings) -> State:
    """The state at step 0, before neighbours and forces are known."""
    return initial_state(
        settings.atoms,
        settings.density,
        settings.temperature,
        settings.reach,
        settings.skin,
        settings.seed,
    )


def measure(settings: Settings) -> Callable[[State], dict[str, Any]]:
    """A compiled function from a state to its energies."""
    return _measure(settings.cutoff)


@functools.cache
def _measure(cutoff: float) -> Callable[[State], dict[str, Any]]:
    potential = LennardJones(cutoff)

    @jax.jit
    def energies(state: State) -> dict[str, Any]:
        kinetic, stored = kinetic_energy(state.velocity), potential.energy(state)
        return {
            "potential": stored,
            "kinetic": kinetic,
            "total": stored + kinetic,
            "temperature": temperature_of(state.velocity),
        }

    return energies
