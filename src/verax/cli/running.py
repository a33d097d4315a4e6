"""`verax run`: run a script as Python does, then audit the functions that it transformed."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from verax.audit.errors import UsageError, described
from verax.audit.output import refuse_source, write_error, write_file, write_stdout
from verax.audit.plain import inert, one_line
from verax.audit.settings import FAIL_ON, FORMATS, Settings, read_settings

if TYPE_CHECKING:
    from verax.audit.frontends.run.script import Ended, Program
    from verax.audit.frontends.run.session import Session
    from verax.audit.report import Report
    from verax.audit.selection import Selection

_EPILOG = """\
examples:
  verax run train.py --lr 3e-4
  verax run -m package.train --lr 3e-4
  verax run --steps 20 --format json -o report.json train.py

The options of verax come before the script, those of the script after it. The script runs as
`python train.py` runs it; the report is written to stderr once it has ended, in whatever way.

exit code:
  that of the script; 1 if that is 0 and there are issues that --fail-on asks for; 2 if the call
  is wrong."""

_NO_FLOW = "not shown for a run: add --flow"


def add_run(commands: Any, run: Any) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "run",
        help="run a script, and audit what it does with JAX",
        description="Run a script as Python does, take note of every function that it jits, maps,\n"
        "differentiates or scans, and audit each on the arguments that it was really called with.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="verax run [OPTION ...] (SCRIPT | -m MODULE) [ARGUMENT ...]",
    )
    _add_options(parser)
    parser.add_argument("-m", dest="module", metavar="MODULE", help="run a module")
    parser.add_argument(
        "program", metavar="SCRIPT", nargs=argparse.REMAINDER, help="the script and its arguments"
    )
    parser.set_defaults(run=run)


def _add_options(parser: argparse.ArgumentParser) -> None:
    watch = parser.add_argument_group("what is watched")
    watch.add_argument(
        "--steps",
        metavar="N",
        type=_count,
        default=0,
        help="end the script after N steps: N calls from the line of its outermost loop",
    )
    watch.add_argument(
        "--signatures",
        metavar="N",
        type=_count,
        default=3,
        help="audit a function for at most N kinds of arguments (default: 3)",
    )
    output = parser.add_argument_group("output")
    output.add_argument("--format", choices=FORMATS, help="of the report (default: text)")
    output.add_argument(
        "-o", dest="output", metavar="FILE", help="write the report to FILE, - for stdout"
    )
    output.add_argument("--flow", action="store_true", help="show how data flows")
    output.add_argument(
        "--no-store",
        dest="store",
        action="store_false",
        help="keep nothing in .verax/ of what was seen",
    )
    add_findings(parser)


def add_findings(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which findings are shown, and which make the command fail."""
    findings = parser.add_argument_group("findings")
    findings.add_argument(
        "--select", metavar="CODES", action="append", help="only these rules (AX,RK001,key-reused)"
    )
    findings.add_argument("--ignore", metavar="CODES", action="append", help="all but these rules")
    findings.add_argument(
        "--preview",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="also what rules report that have been wrong on correct code",
    )
    findings.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        default="never",
        help="exit with 1 for issues of this severity, or for certain ones (default: never)",
    )


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 1")
    return int(text)


_WITH_VALUE = ("--steps", "--signatures", "--format", "-o", "--select", "--ignore", "--fail-on")


def divided(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments of `verax run`, up to its program, and those of the program.

    argparse would take options of a module's program for ours.
    """
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        if argument == "-m":
            return list(arguments[: at + 2]), list(arguments[at + 2 :])
        if argument == "--":
            return [*arguments[:at], *arguments[at + 1 : at + 2]], list(arguments[at + 2 :])
        if not argument.startswith("-"):
            return list(arguments[: at + 1]), list(arguments[at + 1 :])
        at += 2 if argument in _WITH_VALUE else 1
    return list(arguments), []


def run(options: argparse.Namespace) -> int:
    """Run the program, then audit what it did; returns the exit code."""
    # What the program reads at import must be as it would be without us: nothing imports JAX here.
    from verax.audit.frontends.run.script import module, script
    from verax.audit.frontends.run.session import Session

    settings = read_settings(Path.cwd())
    selection = selection_of(options, settings)
    if options.output and options.output != "-":
        refuse_source(options.output, "-o", options.program[:1])
        options.output = os.path.abspath(options.output)
    here = os.getcwd()
    if options.module:
        program = module(options.module, options.arguments)
    elif options.program:
        program = script(options.program[0], options.arguments)
    else:
        raise UsageError("name a script, as in `verax run train.py`; see verax run --help")
    session = Session(signatures=options.signatures, steps=options.steps)
    session.start()
    try:
        ended = program.run()
    finally:
        session.stop()
    if session.is_forked:
        return ended.code  # The program forked this process, which has no report of its own.
    failed = _report(options, selection, session, program, ended, here)
    if ended.interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return ended.code or int(failed)


def selection_of(options: argparse.Namespace, settings: Settings) -> Selection:
    """What `add_findings` has read, and else the project's settings."""
    from verax.audit.selection import Selection, parse_codes

    def codes(given: list[str] | None, option: str, set_: tuple[str, ...], key: str) -> Any:
        where = option if given is not None else f"{settings.file}, [tool.verax] {key}"
        return parse_codes(given if given is not None else set_, where)

    return Selection(
        codes(options.select, "--select", settings.select, "select"),
        codes(options.ignore, "--ignore", settings.ignore, "ignore"),
        settings.preview if options.preview is None else options.preview,
    )


def _report(
    options: argparse.Namespace,
    selection: Selection,
    session: Session,
    program: Program,
    ended: Ended,
    here: str,
) -> bool:
    """Write the report; returns whether `--fail-on` asks for another exit code.

    The program has ended: whatever goes wrong here changes nothing of what it did.
    """
    from verax.audit.command import fails

    try:
        os.chdir(here)  # Files are shown relative to where the program was started.
        report = _audited(options, session, program, ended)
        if options.store:
            _store(session, report, here)
        report = selection.apply(report)
        _write(options, rendered(options, report, sys.stderr))
        return fails(report, options.fail_on)
    except UsageError as error:
        write_error(str(error))
    except Exception as error:
        write_error(f"verax itself failed after the program had ended: {error!r}")
    return False


def _audited(
    options: argparse.Namespace, session: Session, program: Program, ended: Ended
) -> Report:
    from verax.audit.causes import one_a_cause
    from verax.audit.frontends.run.auditing import report_of
    from verax.audit.report import findings_only

    report = report_of(
        session,
        f"{program.name}, as it ran",
        files=frozenset((program.file,)),
        progress=_progress if sys.stderr.isatty() else None,
    )
    if not options.flow:
        report = replace(findings_only(report), omitted=_NO_FLOW)
    notes = report.notes
    if ended.by_steps:
        notes = (f"the program was ended after {options.steps} steps", *notes)
    elif ended.interrupted:
        notes = ("the program was interrupted", *notes)
    elif ended.code:
        notes = (f"the program ended with exit code {ended.code}", *notes)
    return one_a_cause(replace(report, notes=notes))


def _progress(done: int, total: int, name: str) -> None:
    """One line on a terminal, which is gone at the end."""
    text = f"verax: auditing {done + 1} of {total}: {name}" if done < total else ""
    sys.stderr.write("\r\x1b[K" + inert(one_line(text))[:79])
    sys.stderr.flush()


def _store(session: Session, report: Report, here: str) -> None:
    """Keep what was seen for later audits. A failure is one line on stderr."""
    if session.recorder is None:
        return
    try:
        from verax.audit.frontends.run.keeping import observations_of
        from verax.audit.frontends.run.store import write

        write(observations_of(session.recorder, report, session.started), here)
    except UsageError as error:
        write_error(str(error))
    except Exception as error:
        write_error(f"what was seen could not be kept: {described(error)}")


def rendered(options: argparse.Namespace, report: Report, stream: TextIO | None) -> str:
    """The report in the format that was asked for; `stream` is where it goes without `-o`."""
    from importlib import import_module

    if (options.format or "text") == "text":
        from verax.audit.render import to_terminal

        in_color = "NO_COLOR" not in os.environ and not options.output
        in_color = in_color and stream is not None and stream.isatty()
        return inert(to_terminal.render(report, color=in_color))
    return import_module(f"verax.audit.render.to_{options.format}").render(report)


def _write(options: argparse.Namespace, text: str) -> None:
    if options.output == "-":
        write_stdout(text)
    elif options.output:
        write_file(options.output, text)
    else:
        sys.stdout.flush()
        sys.stderr.write(text)
        sys.stderr.flush()
