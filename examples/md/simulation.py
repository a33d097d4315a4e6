"""From settings to a finished run: set up, propagate, record, save, resume."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax

import verax

from .checkpoints import Checkpoint, Checkpoints, write_atomically
from .integrators import Step, langevin, velocity_verlet, with_forces
from .potential import LennardJones
from .records import COLUMNS, Records
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


class Run:
    """A run in a folder, from its start or from its newest checkpoint to its last step."""

    def __init__(self, settings: Settings, folder: Path, report_every: int, save_every: int):
        self.settings = settings
        self.folder = folder
        self._report_every = report_every
        self._save_every = save_every
        self._step = make_step(settings)
        self._energies = measure(settings)
        self._checkpoints = Checkpoints(folder / "checkpoints")

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self._checkpoints.close()

    def restore(self) -> Checkpoint:
        """The newest checkpoint that can be read; the start of the run if none was saved yet."""
        beginning = start(self.settings)
        return self._checkpoints.newest(like=beginning) or self._begin(beginning)

    def _begin(self, state: State) -> Checkpoint:
        """Step 0 with neighbours and forces; the first repairs happen here."""
        records = Records()
        with records.noting_repairs(0):
            state = verax.propagate(make_update(self.settings), state, 1, progress=False).state
        self._report(0, state, records)
        return Checkpoint(0, state, records)

    def advance(self, begin: Checkpoint, steps: int, progress: bool | None = None) -> Checkpoint:
        """Go on until `steps` steps have been made, counted from the start of the run."""
        # A run that was extended may stand between two reports. Those keep to their multiples.
        to_next_report = -begin.step % self._report_every
        if 0 < to_next_report < steps - begin.step:
            begin = self._leg(begin, to_next_report, progress=False)
        end = self._leg(begin, max(0, steps - begin.step), progress)
        self._checkpoints.save(end)
        return end

    def _leg(self, begin: Checkpoint, steps: int, progress: bool | None) -> Checkpoint:
        records = begin.records

        def look(made: int, state: State) -> None:
            step = begin.step + made
            if step % self._report_every == 0:
                self._report(step, state, records)
            if step % self._save_every == 0:
                self._checkpoints.save(Checkpoint(step, state, records))

        with records.noting_repairs(begin.step):
            run = verax.propagate(
                self._step,
                begin.state,
                steps,
                progress=progress,
                every=min(self._report_every, max(1, steps)),
                callback=look,
            )
        return Checkpoint(begin.step + run.steps, run.state, records)

    def _report(self, step: int, state: State, records: Records) -> None:
        values = {name: float(value) for name, value in self._energies(state).items()}
        values |= {"step": step, "time": step * self.settings.time_step}
        records.energies.append([values[name] for name in COLUMNS])


def store_settings(settings: Settings, folder: Path) -> None:
    """Keep them with the run, for whoever resumes it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "settings.json", json.dumps(asdict(settings), indent=2))


def stored_settings(folder: Path) -> Settings | None:
    """The settings of the run in a folder; None if there is no run."""
    try:
        return Settings(**json.loads((folder / "settings.json").read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise SettingsError(f"{folder / 'settings.json'} cannot be read: {error}") from error
