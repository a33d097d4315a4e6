"""Audit real programs, and compare with what is known about them.

    make programs [ARGS='ppo sac'] [ARGS='--jobs 1']

Beside this file are programs of well-known libraries, in `classics` programs of our own, written as
the single-file implementations of the field are. Each has an `entry`, its `inputs()` and perhaps
`AXES`; those of our own also have a `check()`, which runs them and asserts that what they do is
right. In `defects` are edits that break them.

Each program is audited by both engines, as a user would have it, with all rules in preview. Every
finding and every verified entry has a judgement in `src/verax/audit/record.json`. What is new (+),
gone (-), unread (?) or reported by default although it is false (!) is listed and fails, as does a
defect of which more or less is reported than its file says, a check, and a program that cannot be
audited. With `--write`, entries that are new become unread, those that are gone are forgotten, and
the files of defects say what is reported.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from guard.audits import ROOT, Outcome, gone_through
from guard.defects import write_found
from guard.pins import differences, pinned_again

from verax.audit import record

HERE = Path(__file__).parent
DEFECTS = HERE / "defects"
COMPILED = ROOT / "build" / "programs"
DEVICES = 2
THREADS = 16


def programs() -> dict[str, Path]:
    own = HERE / "classics"
    files = [*HERE.glob("*.py"), *own.glob("*.py")]
    return {file.stem: file for file in sorted(files, key=_name) if file != Path(__file__)}


def _name(file: Path) -> str:
    return file.stem


def set_up_jax() -> None:
    """Several devices for the programs that share their work among them, and nothing twice.

    A program is compiled for its audit, again for that of each defect, and for its check: compiled
    code is kept, also for the next run, unless JAX is told already where to keep it.
    """
    devices = f"--xla_force_host_platform_device_count={DEVICES}"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {devices}".strip()
    # A collective keeps a thread for each device until all have arrived, and several may run at
    # once: with the threads of two processors they wait for each other forever.
    os.environ.setdefault("NPROC", str(THREADS))
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(COMPILED))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def outcomes(chosen: dict[str, Path], jobs: int) -> Iterator[Outcome]:
    """What comes of each program, in a process of its own that has JAX already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["jax", "guard.audits"])
    with ProcessPoolExecutor(jobs, context, max_tasks_per_child=1) as pool:
        running = {
            pool.submit(gone_through, file, DEFECTS / f"{name}.toml", _is_own(file)): name
            for name, file in chosen.items()
        }
        for done in as_completed(running):
            if done.exception() is None:
                yield done.result()
            else:
                problem = f"its process has ended: {done.exception()!r}"
                yield Outcome(running[done], 0, problems=[problem])


def _is_own(file: Path) -> bool:
    return file.parent.name == "classics"


def judged(outcome: Outcome, pinned: dict[str, Any]) -> list[str]:
    """All that is not as it is known to be."""
    lines = [f"! {outcome.name}: {problem}" for problem in outcome.problems]
    if not outcome.problems:
        lines += differences(outcome.name, outcome.entries, pinned)
    for defect, found in zip(outcome.defects, outcome.found, strict=False):
        about = f"{outcome.name}: defect {defect.what!r}"
        more = [it for code in found if code not in defect.found for it in found[code]]
        lines += [f"+ {about}: {it.shown}" for it in more]
        less = [code for code in defect.found if code not in found]
        lines += [f"- {about}: {code} is not reported" for code in less]
    return lines


def show(outcome: Outcome, lines: list[str], progress: str) -> None:
    verdict = "FAILED" if lines else "ok"
    found, verified = len(outcome.entries.findings), len(outcome.entries.verified)
    defects = f", {sum(map(bool, outcome.found))} of {len(outcome.found)} defects"
    print(
        f"{progress} {outcome.name:22} {verdict:7} {outcome.steps:4} lines, {found:2} findings, "
        f"{verified:3} verified{defects * bool(outcome.defects)}, {outcome.seconds:5.1f} s",
        *(line.replace("\n", "\n      ") for line in lines),
        sep="\n    ",
        flush=True,
    )


def write(outcome: Outcome, data: dict[str, Any]) -> None:
    """Bring what is known of a program up to date."""
    if outcome.problems:
        return
    pinned = data["programs"].get(outcome.name, {})
    again = pinned_again(outcome.entries, pinned)
    data["programs"][outcome.name] = {"lines": outcome.lines, **again}
    if outcome.defects:
        write_found(DEFECTS / f"{outcome.name}.toml", [[*found] for found in outcome.found])


def totals(all_of_them: list[Outcome]) -> str:
    codes = [it for outcome in all_of_them for it in outcome.found]
    found = [[it for of_code in one.values() for it in of_code] for one in codes]
    by_default = sum(any(not it.preview for it in findings) for findings in found)
    more = sum(map(bool, found)) - by_default
    seeded = sum(len(outcome.defects) for outcome in all_of_them)
    return f"seeded defects: {by_default} of {seeded} found, {more} more with --preview"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", metavar="PROGRAM", nargs="*", help="(default: all)")
    parser.add_argument("--write", action="store_true", help="bring the record up to date")
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=int,
        default=os.cpu_count() or 1,
        help="programs at once (default: %(default)s, one for each processor)",
    )
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error(f"--jobs is {options.jobs}; at least one program is audited at once")
    known = programs()
    for name in options.programs:
        if name not in known:
            parser.error(f"there is no program {name}; there are {', '.join(known)}")
    chosen = {name: known[name] for name in options.programs or known}

    data = record.read()
    done: list[Outcome] = []
    failed: list[str] = []
    set_up_jax()
    for outcome in outcomes(chosen, options.jobs):
        lines = judged(outcome, data["programs"].get(outcome.name, {}))
        done.append(outcome)
        show(outcome, lines, f"{len(done):{len(str(len(chosen)))}}/{len(chosen)}")
        failed += [outcome.name] * bool(lines)
        if options.write:
            write(outcome, data)
    gone = data["programs"].keys() - known
    for name in sorted(gone):
        print(f"- {name}: there is no such program, but it is on record")
    if options.write:
        data["programs"] = {name: it for name, it in data["programs"].items() if name in known}
        record.write(data)
    print(totals(done))
    print(f"{len(done) - len(failed)} of {len(done)} programs are as they are known to be")
    if failed:
        print(f"FAILED: {', '.join(sorted(failed))}")
    sys.exit(bool(failed or gone))


if __name__ == "__main__":
    main()
