"""A run in a folder: propagate, record, save, resume."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path

import verax

from .checkpoints import Checkpoint, Checkpoints, write_atomically
from .records import COLUMNS, Records
from .simulation import Settings, SettingsError, make_step, make_update, measure, start
from .state import State


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
        update, note = make_update(self.settings), partial(records.note, steps_before=0)
        state = verax.propagate(update, state, 1, progress=False, on_repair=note).state
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

        run = verax.propagate(
            self._step,
            begin.state,
            steps,
            progress=progress,
            every=min(self._report_every, max(1, steps)),
            callback=look,
            on_repair=partial(records.note, steps_before=begin.step),
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
