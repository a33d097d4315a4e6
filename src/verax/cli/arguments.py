"""The arguments of the command line, and what is wrong with them in one line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn

from verax.audit.errors import UsageError
from verax.audit.output import write_stdout
from verax.audit.settings import FAIL_ON, FORMATS

from .hook import add_hook
from .mcp import add_mcp
from .running import add_run, run
from .stored import add_combine, add_report

Run = Callable[[argparse.Namespace], int]

DEFAULT_FAIL_ON = "error"


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and where to read more."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")

    def print_help(self, file: object = None) -> None:
        write_stdout(self.format_help())


def parser(audit: Run, explain: Run, rules: Run) -> argparse.ArgumentParser:
    """What understands the arguments, and sets `run` to the command that they name."""
    top = _Parser(
        prog="verax",
        description="A safety net for JAX programs.",
        epilog="A first look at a codebase, without importing or running any of it: "
        "verax audit src/",
    )
    top.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    _add_audit(commands, audit)
    add_run(commands, run)
    add_report(commands)
    add_combine(commands)
    explaining = commands.add_parser(
        "explain",
        help="everything about one rule",
        description="What a rule finds and why that matters, with a wrong and a right program.",
    )
    explaining.add_argument(
        "rule",
        metavar="CODE",
        help="its code (RK001) or its name (key-reused); the rules of a family for RK or prng",
    )
    explaining.set_defaults(run=explain)
    listing = commands.add_parser(
        "rules",
        help="what the auditor looks for",
        description="All rules: code, name, severity and what they find.",
    )
    listing.add_argument(
        "--format", choices=("text", "json", "markdown"), default="text", help="(default: text)"
    )
    listing.set_defaults(run=rules)
    add_hook(commands)
    add_mcp(commands)
    return top


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from verax import __version__

        write_stdout(f"verax {__version__}\n")
        parser.exit()


_EPILOG = """\
examples:
  verax audit src/                            read a folder; nothing of it runs
  verax audit src/ --format concise           one line a finding
  verax audit train.py:step --inputs example  also trace step(*example())
  verax audit --diff main                     only what a change breaks

exit code:
  0    all was audited, and there is no issue that counts for --fail-on
  1    all was audited, and there is such an issue
  2    the call is wrong, or something could not be audited (see --allow-unread)
  3    verax itself failed
  130  it was interrupted
  141  nobody reads the output any more

Settings can also stand in [tool.verax] of pyproject.toml."""


def _add_audit(commands: argparse._SubParsersAction[_Parser], run: Run) -> None:
    audit = commands.add_parser(
        "audit",
        help="audit files, folders and functions",
        description="Read files without importing them, trace functions on example inputs, and\n"
        "report what they do, what is wrong with them, and what was proved right.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    audit.add_argument(
        "targets",
        metavar="TARGET",
        nargs="*",
        help="a file, a notebook, a folder or a module to read, - for standard input; or "
        "file.py:function or package.module:function, which is also imported and traced",
    )
    files = audit.add_argument_group("files")
    files.add_argument(
        "--exclude",
        metavar="PATTERN",
        action="append",
        default=[],
        help="leave out files and folders below a TARGET, by a pattern as in .gitignore; may be "
        "repeated",
    )
    files.add_argument("--jobs", metavar="N", type=_jobs, help="processes (default: one a core)")
    files.add_argument(
        "--no-cache", dest="cache", action="store_false", help="read everything anew"
    )
    files.add_argument(
        "--no-observed",
        dest="observed",
        action="store_false",
        help="leave out what runs have kept in .verax/ of what functions were called with",
    )
    files.add_argument(
        "--allow-unread",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="go on without files that cannot be read (default: the exit code is 2 then)",
    )
    inputs = audit.add_argument_group(
        "inputs of a function",
        "a parameter without one has its default, or what jaxtyping says of it",
    )
    inputs.add_argument(
        "--in",
        dest="specs",
        metavar="NAME=SPEC",
        action="append",
        default=[],
        help="an input: 'x=f32[batch=8,time=16]', 'x=u8[h=84,w=84] in 0..255', 'key=key[]', "
        "'params.w=f32[4,32]', 'steps=3'; may be repeated",
    )
    inputs.add_argument(
        "--dim",
        dest="dims",
        metavar="NAME=SIZE",
        action="append",
        default=[],
        help="the size of an axis that is given by name; may be repeated",
    )
    inputs.add_argument(
        "--inputs",
        metavar="NAME",
        help="a value or function of the module that gives all arguments, as a tuple or dict",
    )
    inputs.add_argument(
        "--axes",
        metavar="NAME",
        help="a dict of the module from parameter to axis names ('batch time feat')",
    )
    inputs.add_argument(
        "--timeout",
        metavar="S",
        type=_seconds,
        default=None,
        help="seconds that the import may take, and the making of inputs (default: 60)",
    )
    inputs.add_argument(
        "--trace-timeout",
        metavar="S",
        type=_seconds,
        default=None,
        help="seconds that the trace of a function may take (default: 600)",
    )
    output = audit.add_argument_group("output")
    output.add_argument(
        "--format",
        choices=FORMATS,
        help="text (the default) for people, concise for one line a finding, agent for coding "
        "assistants, json for all there is, sarif and github for hosts of code",
    )
    output.add_argument(
        "-o", dest="output", metavar="FILE", help="write to a file instead of to stdout"
    )
    output.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="name all functions that were not followed to their end, and why",
    )
    output.add_argument("--flow", action="store_true", help="show how data flows, also for folders")
    output.add_argument(
        "--depth", metavar="N", type=_depth, help="show only N levels of steps inside of steps"
    )
    output.add_argument(
        "--focus", metavar="NAME", help="show only the data flow around a variable or function"
    )
    output.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="auto (the default): on a terminal, unless NO_COLOR is set",
    )
    findings = audit.add_argument_group("findings")
    findings.add_argument(
        "--select",
        metavar="CODES",
        action="append",
        help="only these rules: codes, their beginnings, or names (AX,RK001,key-reused)",
    )
    findings.add_argument("--ignore", metavar="CODES", action="append", help="all but these rules")
    findings.add_argument(
        "--preview",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="also what rules report that have been wrong on correct code (default: they are "
        "silent)",
    )
    findings.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        help="the least severity that makes the exit code 1, or certain for issues of any severity "
        f"that are not only likely (default: {DEFAULT_FAIL_ON})",
    )
    findings.add_argument(
        "--diff",
        metavar="REV",
        help="only what is new since the work has left the git revision REV, also in files that "
        "have not changed; without a TARGET, in the working directory",
    )
    findings.add_argument(
        "--baseline", metavar="FILE", help="leave out what was known when FILE was written"
    )
    findings.add_argument(
        "--write-baseline",
        metavar="FILE",
        help="write all findings to FILE, for --baseline, instead of reporting them",
    )
    audit.set_defaults(run=run)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return seconds


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes")
    return int(text)


def _depth(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of levels")
    return int(text)
