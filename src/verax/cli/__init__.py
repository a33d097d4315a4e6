"""The command line: what its commands do, their output and exit codes.

Nothing slow is imported before it is needed, so that `verax --help` answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from verax.audit.errors import UsageError, described
from verax.audit.garbage import last_collections
from verax.audit.output import (
    ReaderGoneError,
    open_standard_streams,
    refuse_source,
    write_error,
    write_file,
    write_note,
    write_stdout,
    write_traceback,
)
from verax.audit.plain import inert, one_line
from verax.audit.settings import Settings, read_settings

from . import hook, running
from .arguments import DEFAULT_FAIL_ON, parser
from .signals import ended_by_signals

if TYPE_CHECKING:
    from verax.audit.baseline import Baseline
    from verax.audit.diff import Before
    from verax.audit.report import Report
    from verax.audit.source.engine import Options

# Exit codes; `arguments` and docs/ci.md say what they mean. The last two are those of a shell for
# a process that is ended by an interrupt, or because nobody reads what it writes.
FINE, FOUND, NOT_AUDITED, FAILED, INTERRUPTED, UNREAD_OUTPUT = 0, 1, 2, 3, 130, 141

# So many problems are named on stderr; the report names all.
_NAMED = 3

_NO_FLOW = "not shown for folders: audit one file, or add --flow"
# Formats that hold findings alone.
_LISTS = ("concise", "agent", "github", "sarif")


def run() -> None:
    """Run a command as all that this process does."""
    open_standard_streams()
    if sys.argv[1:2] == ["run"]:
        # The program that runs has Python to itself, as without us.
        sys.exit(main())
    with last_collections(), ended_by_signals():
        code = main()
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        rest: list[str] = []
        if arguments[:1] == ["run"]:
            own, rest = running.divided(arguments[1:])
            arguments = ["run", *own]
        options = parser(_audit, _explain, _rules).parse_args(arguments)
        options.arguments = rest
        return options.run(options)
    except UsageError as error:
        write_error(str(error))
        return hook.WRONG if list(arguments[:1]) == ["hook"] else NOT_AUDITED
    except ReaderGoneError:
        return UNREAD_OUTPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        write_error(f"verax itself failed: {described(error)}")
        return FAILED


def _audit(options: argparse.Namespace) -> int:
    """An audit; whatever ends it early is told in its format, too, where that is for a host."""
    try:
        settings = read_settings(_here())
        options.format = options.format or settings.format or "text"
        return _audit_with(options, settings)
    except UsageError as error:
        if options.format == "github":
            from verax.audit.render.to_github import error_command

            write_stdout(error_command(str(error)))
        raise
    except ReaderGoneError:
        raise
    except Exception as error:
        from verax.audit.report import Report, failure_of, noted

        options.format = options.format or "text"  # it may have come from the settings
        if options.verbose:
            write_traceback()
        failed = noted(Report(", ".join(options.targets)), failure_of(error))
        _write(options, _rendered(options, failed))
        return _exit_code(failed, options, "never")


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError(f"the working directory cannot be read: {error.strerror}") from None


def _audit_with(options: argparse.Namespace, settings: Settings) -> int:
    from verax.audit.baseline import without_known
    from verax.audit.causes import one_a_cause
    from verax.audit.command import with_unread_allowed
    from verax.audit.diff import without_earlier
    from verax.audit.selection import Selection, parse_codes

    _complete(options)
    selection = Selection(
        parse_codes(*_codes(options.select, "--select", settings.select, "select", settings)),
        parse_codes(*_codes(options.ignore, "--ignore", settings.ignore, "ignore", settings)),
        settings.preview if options.preview is None else options.preview,
    )
    baseline = _baseline(options, settings)
    sections = _shows_flow(options)
    report, before = _report(options, settings, _source_options(options, settings, sections))
    if not sections and options.format not in _LISTS:
        report = replace(report, omitted=_NO_FLOW)
    if settings.allow_unread if options.allow_unread is None else options.allow_unread:
        report = with_unread_allowed(report)
    report = selection.apply(report)
    report = replace(report, notes=(*report.notes, *selection.silent()))
    if options.write_baseline:
        _write_baseline(report, options.write_baseline)
        return _exit_code(report, options, "never")
    if baseline is not None:
        report = without_known(report, baseline, _paths(options), selection.keeps)
    if before is not None:
        report = without_earlier(report, before)
    if options.verbose:
        notes = (*report.notes, *map(str, report.unfollowed))
        report = replace(report, notes=notes, unfollowed=())
    _write(options, _rendered(options, one_a_cause(report)))
    return _exit_code(report, options, options.fail_on or settings.fail_on or DEFAULT_FAIL_ON)


def _write(options: argparse.Namespace, text: str) -> None:
    if options.output and options.output != "-":
        write_file(options.output, text)
    else:
        write_stdout(text)


def _exit_code(report: Report, options: argparse.Namespace, fail_on: str) -> int:
    """The exit code; what could not be audited is told on stderr."""
    from verax.audit.command import fails, not_audited

    problems = not_audited(report)
    for it in problems[:_NAMED]:
        write_error(str(it))
    if len(problems) > _NAMED:
        write_error(f"and {len(problems) - _NAMED} more, which the report names")
    if report.failures:
        return FAILED
    if problems:
        write_error("not all was audited; leave it out by --exclude, or allow it: --allow-unread")
        return NOT_AUDITED
    return FOUND if fails(report, fail_on) else FINE


def _complete(options: argparse.Namespace) -> None:
    """Fill in what one option says for another; complain where two contradict each other."""
    if options.diff is not None and options.write_baseline:
        raise UsageError("--write-baseline writes all findings; leave out --diff")
    if options.inputs and options.specs:
        raise UsageError("--inputs gives all arguments; leave out --in, or --inputs")
    if not options.targets:
        if options.diff is None:
            raise UsageError(
                "name a file or a folder to audit, as in `verax audit src/`; see verax audit --help"
            )
        options.targets = ["."]
    _need_function(options)
    _keep_sources(options)


def _keep_sources(options: argparse.Namespace) -> None:
    """Complain of an output that would replace what is audited."""
    from verax.audit.command import files_of

    for option, file in (("-o", options.output), ("--write-baseline", options.write_baseline)):
        if file and file != "-":
            refuse_source(file, option, files_of(options.targets))


def _need_function(options: argparse.Namespace) -> None:
    """Complain of inputs for which there is no function."""
    from verax.audit.target import FunctionTarget, parse_target

    given = {"--in": options.specs, "--dim": options.dims}
    given |= {"--inputs": options.inputs, "--axes": options.axes}
    named = next((option for option, value in given.items() if value), None)
    if named is None:
        return
    targets = [parse_target(target) for target in options.targets]
    if not any(isinstance(target, FunctionTarget) for target in targets):
        file = next((it.text for it in targets if it.text.endswith(".py")), "file.py")
        raise UsageError(f"{named} is for a function that is traced; name it, as in {file}:step")


def _report(
    options: argparse.Namespace, settings: Settings, source: Options
) -> tuple[Report, Before | None]:
    """The report, and with --diff what was there before."""
    from verax.audit.child import DEFAULT_TIMEOUT, DEFAULT_TRACE_TIMEOUT, Given
    from verax.audit.command import audit_change, audit_targets
    from verax.audit.specs import parse_dims

    tracing = options.trace_timeout or settings.trace_timeout or DEFAULT_TRACE_TIMEOUT
    dims = parse_dims(options.dims)
    given = Given(options.specs, dims, options.inputs, options.axes, trace_timeout=tracing)
    timeout = options.timeout or DEFAULT_TIMEOUT
    if options.diff is not None:
        return audit_change(options.targets, options.diff, given, timeout, source)
    return audit_targets(options.targets, given, timeout, source), None


def _write_baseline(report: Report, file: str) -> None:
    from verax.audit.baseline import as_baseline

    write_file(file, as_baseline(report, file), "--write-baseline")
    count = len(report.findings)
    write_stdout(inert(one_line(f"{file}: {count} finding{'s' * (count != 1)}") + "\n"))


def _baseline(options: argparse.Namespace, settings: Settings) -> Baseline | None:
    from verax.audit.baseline import read_baseline

    file = options.baseline
    if file is None and settings.baseline and settings.folder:
        file = os.path.relpath(settings.folder / settings.baseline)
    return None if file is None or options.write_baseline else read_baseline(file)


def _shows_flow(options: argparse.Namespace) -> bool:
    """Whether to show how data flows, which for a folder is more than anybody reads."""
    if options.format in _LISTS:
        return False
    wanted = options.flow or options.focus is not None or options.depth is not None
    return wanted or options.format == "json" or not any(map(os.path.isdir, _paths(options)))


def _paths(options: argparse.Namespace) -> list[str]:
    from verax.audit.command import paths_of

    return paths_of(options.targets)


def _source_options(options: argparse.Namespace, settings: Settings, sections: bool) -> Options:
    from verax.audit.source.engine import Options
    from verax.audit.source.reading import DEFAULT_MAX_BYTES

    return Options(
        exclude=(*settings.exclude, *options.exclude),
        base=str(settings.folder or ""),
        max_bytes=settings.max_file_size or DEFAULT_MAX_BYTES,
        jobs=options.jobs,
        cache=options.cache,
        sections=sections,
        observed=_observed(options),
    )


def _observed(options: argparse.Namespace) -> dict[str, str]:
    """What runs that were started here have kept of the files' functions.

    An earlier version of a file is not what has run: with --diff both are read alike, without it.
    """
    from verax.audit.frontends.run import FOLDER

    if not options.observed or options.diff is not None or not os.path.isdir(FOLDER):
        return {}
    from verax.audit.frontends.run.since import parameters_by_file
    from verax.audit.frontends.run.store import read_store

    seen, problems = read_store("")
    for problem in problems:
        write_note(f"{problem}; it is left out")
    return parameters_by_file(seen, "")


def _codes(
    given: list[str] | None, option: str, set_: tuple[str, ...], key: str, settings: Settings
) -> tuple[Sequence[str], str]:
    """The codes that count, and where they were written; the command line wins."""
    if given is not None:
        return given, option
    return set_, f"{settings.file}, [tool.verax] {key}"


def _rendered(options: argparse.Namespace, report: Report) -> str:
    from importlib import import_module

    from verax.audit import view

    format: str = options.format
    if options.focus is not None and format not in _LISTS:
        report = view.focus(report, options.focus)
    if options.depth is not None:
        report = view.to_depth(report, options.depth)
    if format == "text":
        from verax.audit.render import to_terminal

        return inert(to_terminal.render(report, color=_in_color(options)))
    return import_module(f"verax.audit.render.to_{format}").render(report)


def _in_color(options: argparse.Namespace) -> bool:
    if options.color != "auto":
        return options.color == "always"
    wanted = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return wanted and not options.output and sys.stdout is not None and sys.stdout.isatty()


def _explain(options: argparse.Namespace) -> int:
    from verax.audit.render import rules
    from verax.audit.rules.registry import UnknownRuleError, all_rules, code_prefix

    try:
        prefix = code_prefix(options.rule)
    except UnknownRuleError as error:
        raise UsageError(str(error)) from None
    found = [rule for rule in all_rules() if rule.code.startswith(prefix)]
    write_stdout(rules.explain(found[0]) if prefix == found[0].code else rules.to_text(found))
    return FINE


def _rules(options: argparse.Namespace) -> int:
    from verax.audit.render import rules
    from verax.audit.rules.registry import all_rules

    render = {"text": rules.to_text, "json": rules.to_json, "markdown": rules.to_markdown}
    write_stdout(render[options.format](all_rules()))
    return FINE
