"""`verax hook`: what an assistant or git has run after a change, or before a commit.

Its exit code is for those: 2 is what the common assistants show to their model, and what stops a
commit; 1 is a wrong call, which they show to their user. A failure of verax itself, or a file that
cannot be read, is one line on stderr and 0: the change is not at fault, and nobody who waits for an
edit or a commit can mend verax. `verax audit` in CI, which fails for such things, comes after.
"""

from __future__ import annotations

import argparse
import os
import select
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verax.audit.errors import UsageError, described
from verax.audit.output import ReaderGoneError, write_error, write_stderr
from verax.audit.settings import FAIL_ON, Settings, read_settings

if TYPE_CHECKING:
    from verax.assist.hook import Change

_SILENT, WRONG, _FOUND = 0, 1, 2

# An event is there at once, or none comes: whoever has started us may have left a pipe open.
_PATIENCE = 1.0  # seconds
_LARGEST = 32_000_000  # bytes; an event may hold a file before and after it was edited
_PIECE = 65_536
# So many findings are shown: a model reads them all, whenever it edits the file.
_MOST = 20

_EPILOG = """\
exit code:
  0  nothing to say: no JAX in the change, no finding that it brings, or none that counts for
     --fail-on; also if verax itself failed, which one line on stderr tells
  1  the call is wrong
  2  the change brings findings, which stderr tells

examples:
  verax hook                         in .git/hooks/pre-commit: the files that are staged
  verax hook train.py model.py       these files
  verax hook < event.json            what an assistant has changed"""


def add_hook(commands: Any) -> None:
    """Add the command to those of the command line."""
    hook = commands.add_parser(
        "hook",
        help="audit what has changed, for assistants and git",
        description="Audit what a change brings: the files given, those of the JSON event that an\n"
        "assistant writes to standard input, or else those that are staged in git.\n"
        "Nothing of them is run.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    hook.add_argument("paths", metavar="FILE", nargs="*", help="a file that has changed")
    hook.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        help="the least severity that makes the exit code 2, as for `verax audit` (default: error)",
    )
    hook.set_defaults(run=_hook)


def _hook(options: argparse.Namespace) -> int:
    try:
        return _run(options.paths, options.fail_on)
    except UsageError as error:
        write_error(str(error))
        return WRONG
    except ReaderGoneError:
        raise
    except Exception as error:
        write_error(f"verax itself failed, and the change was not audited: {described(error)}")
        return _SILENT


def _run(paths: list[str], fail_on: str | None) -> int:
    from verax.assist.hook import of_concern

    event = b"" if paths else _standard_input()
    try:
        change = _of_event(event) if event.strip() else _given(paths)
    except ValueError as error:
        write_error(f"standard input describes no event ({error}); nothing was audited")
        return _SILENT
    if not change.files:
        return _SILENT
    settings = read_settings(_here())
    return _told(of_concern(change, settings), settings, fail_on)


def _given(paths: list[str]) -> Change:
    from verax.assist.hook import Change, staged_files

    try:
        return Change(tuple(paths)) if paths else staged_files()
    except UsageError as error:
        raise UsageError(f"{error}; name the files that have changed") from None


def _of_event(text: bytes) -> Change:
    """The files of an event, which names them, and its settings, relative to its own folder."""
    from verax.assist.event import parse_event
    from verax.assist.hook import Change, changed_files

    event = parse_event(text)
    if event.repeated:
        return Change(())
    if os.path.isdir(event.folder):
        os.chdir(event.folder)
    return changed_files() if event.files is None else Change(event.files)


def _told(change: Change, settings: Settings, fail_on: str | None) -> int:
    if not change.files:
        return _SILENT
    from verax.assist.hook import audit_change
    from verax.audit.command import fails
    from verax.audit.render.to_agent import findings

    from .arguments import DEFAULT_FAIL_ON  # which imports this module

    answer = audit_change(change, settings)
    if answer.problems:
        first, *others = answer.problems
        write_error(first + f" (and {len(others)} more)" * bool(others))
    report = answer.report
    if report is None or not report.findings:
        return _SILENT
    count = len(report.findings)
    head = f"verax: this change brings {count} finding{'s' * (count != 1)}"
    lines = [line for finding in islice(findings(report), _MOST) for line in finding]
    if count > _MOST:
        lines.append(f"and {count - _MOST} more, which `verax audit` shows")
    foot = "`verax explain CODE` says more. To suppress a finding: `# verax: ignore[CODE] reason`"
    write_stderr("\n".join((head, *lines, foot)) + "\n")
    return _FOUND if fails(report, fail_on or settings.fail_on or DEFAULT_FAIL_ON) else _SILENT


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError(f"the working directory cannot be read: {error.strerror}") from None


def _standard_input() -> bytes:
    """What comes from standard input; nothing, where nobody writes to it."""
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError):
        return b""  # it is nothing of the system's
    data = b""
    while len(data) < _LARGEST and _is_readable(descriptor):
        piece = os.read(descriptor, _PIECE)
        if not piece:
            break
        data += piece
    return data


def _is_readable(descriptor: int) -> bool:
    try:
        readable, _, _ = select.select([descriptor], [], [], _PATIENCE)
        return bool(readable)
    except (OSError, ValueError):
        return True  # on Windows one can wait for sockets only
