"""Run Lennard-Jones molecular dynamics whose buffers start far too small and grow as needed.

Ctrl-C, or a power cut, at any moment: `--resume` goes on from the last checkpoint, to the same
trajectory as without the interruption.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .simulation import Settings


def parser() -> argparse.ArgumentParser:
    """The command line. Settings that are not given have no value: a resumed run has its own."""
    made = argparse.ArgumentParser(
        prog="python -m examples.md", description=__doc__, argument_default=argparse.SUPPRESS
    )
    run = made.add_argument_group("run")
    run.add_argument("--out", type=Path, required=True, metavar="DIR", help="where files go")
    run.add_argument("--steps", type=int, default=1000, help="how many in all; default 1000")
    run.add_argument("--resume", action="store_true", default=False, help="go on with DIR's run")
    run.add_argument("--report-every", type=int, default=10, metavar="STEPS", help="default 10")
    run.add_argument("--save-every", type=int, default=500, metavar="STEPS", help="default 500")
    system = made.add_argument_group("system, in units of sigma, epsilon and the atoms' mass")
    system.add_argument("--atoms", type=int, help="default 4000")
    system.add_argument("--ensemble", help="nve (default) or langevin")
    for name, meaning in {
        "density": "atoms in a unit of volume, default 0.8442",
        "temperature": "at the start, and of the heat bath; default 1.44",
        "time-step": "default 0.004",
        "friction": "of the heat bath, default 1",
        "cutoff": "of the potential, default 2.5",
        "skin": "by which the list of neighbours reaches further, default 0.4",
    }.items():
        system.add_argument(f"--{name}", type=float, metavar="X", help=meaning)
    system.add_argument("--seed", type=int, help="of all random numbers, default 0")
    system.add_argument("--double", action="store_true", help="compute with 64 bits")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 done, 1 failed while running, 2 asked for wrongly, 130 interrupted."""
    options = parser().parse_args(arguments)
    # After the arguments are known to be fine: JAX takes a second to import.
    from .checkpoints import CheckpointError, DamagedCheckpointWarning
    from .simulation import SettingsError

    try:
        _check(options)
        settings = _settings(options)
        with warnings.catch_warnings():
            warnings.simplefilter("always", DamagedCheckpointWarning)
            warnings.showwarning = lambda message, *_, **__: _say(f"warning: {message}")
            return _run(settings, options)
    except SettingsError as error:
        _say(f"error: {error}")
        return 2
    except (CheckpointError, FloatingPointError, OSError) as error:
        _say(f"error: {str(error).splitlines()[0]}")
        return 1
    except KeyboardInterrupt:
        _say(f"interrupted; --resume --out {options.out} goes on from the last checkpoint")
        return 130


def _check(options: argparse.Namespace) -> None:
    from .simulation import SettingsError

    for name in ("report_every", "save_every"):
        if getattr(options, name) < 1:
            raise SettingsError(f"--{name.replace('_', '-')} must be at least 1")
    if options.steps < 0:
        raise SettingsError(f"--steps cannot be negative, and is {options.steps}")
    if options.save_every % options.report_every:
        raise SettingsError(
            f"--save-every {options.save_every} must be a multiple of --report-every "
            f"{options.report_every}"
        )
    if options.out.exists() and not options.out.is_dir():
        raise SettingsError(f"--out {options.out} is a file, and must be a folder")


def _settings(options: argparse.Namespace) -> Settings:
    """Of the run in the folder, or of a new one, which are then stored there."""
    from .run import store_settings, stored_settings
    from .simulation import Settings, SettingsError

    names = [field.name for field in fields(Settings)]
    given = {name: value for name, value in vars(options).items() if name in names}
    before = stored_settings(options.out)
    if not options.resume:
        if before is not None:
            raise SettingsError(
                f"{options.out} has a run already: go on with it by --resume, or name another --out"
            )
        settings = Settings(**given)
        store_settings(settings, options.out)
        return settings
    if before is None:
        raise SettingsError(f"{options.out} has no run to resume; leave out --resume to start one")
    for name, value in given.items():
        if value != asdict(before)[name]:
            raise SettingsError(
                f"the run in {options.out} has {name} {asdict(before)[name]} and cannot go on "
                f"with {value}; leave out --{name.replace('_', '-')}, or start anew"
            )
    return before


def _run(settings: Settings, options: argparse.Namespace) -> int:
    import jax

    from .records import as_sentence
    from .run import Run

    jax.config.update("jax_enable_x64", settings.double)
    with Run(settings, options.out, options.report_every, options.save_every) as run:
        begin = run.restore()
        if begin.step:
            _say(f"resumed at step {begin.step}")
        if begin.step > options.steps:
            _say(f"--steps {options.steps} were made already; nothing to do")
        try:
            end = run.advance(begin, options.steps)
        finally:
            begin.records.write(options.out)
    _say(f"step {end.step}; {len(end.records.repairs)} repairs:")
    for repair in end.records.repairs:
        _say(f"  {as_sentence(repair)}")
    _plot(end.records, options.out)
    return 0


def _plot(records: Any, folder: Path) -> None:
    written = ["energies.csv", "repairs.json"]
    try:
        records.plot(folder)
        written.append("energies.png")
    except ImportError:
        _say("no plot, because matplotlib is not installed: pip install 'verax[md]'")
    _say(f"in {folder}: {', '.join(written)}")


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
