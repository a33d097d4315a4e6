"""`verax report` and `verax combine`: show and merge the records of runs in `.verax/`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verax.audit.errors import UsageError
from verax.audit.output import refuse_source, write_file, write_stdout
from verax.audit.plain import inert, one_line
from verax.audit.settings import FORMATS, read_settings

from .running import add_findings, rendered, selection_of

if TYPE_CHECKING:
    from verax.audit.frontends.run.observations import Observations
    from verax.audit.report import Report

_REPORT = """\
exit code:
  0  there is no issue that counts for --fail-on
  1  there is such an issue
  2  the call is wrong, or a file is none that a run has left"""


def add_report(commands: Any) -> None:
    """Add the arguments of `verax report`."""
    parser = commands.add_parser(
        "report",
        help="show the report of an earlier run",
        description="Show the report of the latest run that is kept in .verax/, or one report of\n"
        "all runs in the files that are named.",
        epilog=_REPORT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_files(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--format", choices=FORMATS, help="of the report (default: text)")
    output.add_argument("-o", dest="output", metavar="FILE", help="write to FILE, not to stdout")
    add_findings(parser)
    parser.set_defaults(run=report)


def add_combine(commands: Any) -> None:
    """Add the arguments of `verax combine`."""
    parser = commands.add_parser(
        "combine",
        help="merge the records of several runs",
        description="Write one file with all that several files in .verax/ hold, those that are\n"
        "named or else all of them. The order does not matter, and nothing is counted twice.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_files(parser)
    parser.add_argument(
        "-o", dest="output", metavar="FILE", help="write to FILE, not to a new one in .verax/"
    )
    parser.add_argument(
        "--remove", action="store_true", help="remove the files that were united, once it is done"
    )
    parser.set_defaults(run=combine)


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="*", help="such as .verax/run-….json")


def report(options: argparse.Namespace) -> int:
    """Show a report again; returns the exit code."""
    from verax.audit.command import fails
    from verax.audit.frontends.run.store import read_all

    settings = read_settings(Path.cwd())
    selection = selection_of(options, settings)
    if options.output and options.output != "-":
        refuse_source(options.output, "-o", options.files)
    seen = read_all(options.files or _files()[:1])
    found = selection.apply(_report_of(seen))
    text = rendered(options, found, sys.stdout)
    if options.output and options.output != "-":
        write_file(options.output, text)
    else:
        write_stdout(text)
    return int(fails(found, options.fail_on))


def _report_of(seen: Observations) -> Report:
    """One report of all runs, which says what has changed since."""
    from verax.audit.causes import one_a_cause
    from verax.audit.frontends.run.since import changed
    from verax.audit.report import merged

    found = replace(merged(seen.reports()), omitted="how data flows is not kept")
    names = changed(seen, os.getcwd())
    if names:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        note = f"changed since then: {', '.join(names[:_NAMED])}{more}"
        found = replace(found, notes=(note, *found.notes))
    return one_a_cause(found)


_NAMED = 3


def combine(options: argparse.Namespace) -> int:
    """Unite files; returns the exit code."""
    from verax.audit.frontends.run.store import read_all, write
    from verax.audit.frontends.run.stored_json import to_json

    files: Sequence[str] = options.files or _files()
    seen = read_all(files)
    if options.output == "-":
        raise UsageError("-o -: combine writes a file; name one, or leave out -o")
    if options.output:
        refuse_source(options.output, "-o", ())
        write_file(options.output, to_json(seen))
        made = options.output
    else:
        made = write(seen, os.getcwd())
    if options.remove:
        _remove([it for it in files if not os.path.samefile(it, made)])
    count = len(seen.runs)
    write_stdout(inert(one_line(f"{made}: {count} run{'s' * (count != 1)}")) + "\n")
    return 0


def _remove(files: Sequence[str]) -> None:
    for file in dict.fromkeys(files):
        try:
            os.unlink(file)
        except OSError as error:
            raise UsageError(f"{file}: cannot be removed: {error.strerror}") from None


def _files() -> list[str]:
    """All files of the store here, the latest first.

    Raises:
        UsageError: There is none.
    """
    from verax.audit.frontends.run.store import files_in

    found = files_in("")
    if not found:
        raise UsageError("no run is kept here in .verax/; start a program with `verax run` first")
    return found
