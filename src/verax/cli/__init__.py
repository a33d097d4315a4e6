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

from verax.audit.errors import UsageError
from verax.audit.garbage import last_collections
from verax.audit.settings import Settings, read_settings

from .arguments import DEFAULT_FAIL_ON, parser
from .signals import ended_by_signals

if TYPE_CHECKING:
    from verax.audit.baseline import Baseline
    from verax.audit.diff import Before
    from verax.audit.report import Report
    from verax.audit.source.engine import Options

# Exit codes.
FINE, FOUND, WRONG_CALL, INTERRUPTED = 0, 1, 2, 130

_NO_FLOW = "not shown for folders: audit one file, or add --flow"
# Formats that hold findings alone.
_LISTS = ("concise", "github", "sarif")


def run() -> None:
    """Run a command as all that this process does."""
    with last_collections(), ended_by_signals():
        code = main()
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    try:
        options = parser(_audit, _explain, _rules).parse_args(arguments)
        return options.run(options)
    except UsageError as error:
        text = " ".join(str(error).split("\n"))
        print(f"verax: error: {text}", file=sys.stderr)
        return WRONG_CALL
    except KeyboardInterrupt:
        return INTERRUPTED


def _audit(options: argparse.Namespace) -> int:
    from verax.audit.baseline import without_known
    from verax.audit.causes import one_a_cause
    from verax.audit.command import fails, unread_targets
    from verax.audit.diff import without_earlier
    from verax.audit.output import write_file, write_stdout
    from verax.audit.selection import Selection, parse_codes

    _complete(options)
    settings = read_settings(Path.cwd())
    selection = Selection(
        parse_codes(*_codes(options.select, "--select", settings.select, "select", settings)),
        parse_codes(*_codes(options.ignore, "--ignore", settings.ignore, "ignore", settings)),
        settings.preview if options.preview is None else options.preview,
    )
    baseline = _baseline(options, settings)
    format = options.format or settings.format or "text"
    sections = _shows_flow(options, format)
    report, before = _report(options, settings, _source_options(options, settings, sections))
    if not sections and format not in _LISTS:
        report = replace(report, omitted=_NO_FLOW)
    report = selection.apply(report)
    report = replace(report, notes=(*report.notes, *selection.silent()))
    if options.write_baseline:
        return _write_baseline(report, options.write_baseline)
    if baseline is not None:
        report = without_known(report, baseline, _paths(options), selection.keeps)
    if before is not None:
        report = without_earlier(report, before)
    if options.verbose:
        notes = (*report.notes, *map(str, report.unfollowed))
        report = replace(report, notes=notes, unfollowed=())
    text = _rendered(options, one_a_cause(report), format)
    if options.output and options.output != "-":
        write_file(options.output, text)
    else:
        write_stdout(text)
    unread = unread_targets(report, options.targets)
    for it in unread:
        print(f"verax: error: {it}", file=sys.stderr)
    if unread:
        return WRONG_CALL
    fail_on = options.fail_on or settings.fail_on or DEFAULT_FAIL_ON
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


def _write_baseline(report: Report, file: str) -> int:
    from verax.audit.baseline import as_baseline
    from verax.audit.output import write_file, write_stdout

    write_file(file, as_baseline(report, file), "--write-baseline")
    count = len(report.findings)
    write_stdout(f"{file}: {count} finding{'s' * (count != 1)}\n")
    return FINE


def _baseline(options: argparse.Namespace, settings: Settings) -> Baseline | None:
    from verax.audit.baseline import read_baseline

    file = options.baseline
    if file is None and settings.baseline and settings.folder:
        file = os.path.relpath(settings.folder / settings.baseline)
    return None if file is None or options.write_baseline else read_baseline(file)


def _shows_flow(options: argparse.Namespace, format: str) -> bool:
    """Whether to show how data flows, which for a folder is more than anybody reads."""
    if format in _LISTS:
        return False
    wanted = options.flow or options.focus is not None or options.depth is not None
    return wanted or format == "json" or not any(map(os.path.isdir, _paths(options)))


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
    )


def _codes(
    given: list[str] | None, option: str, set_: tuple[str, ...], key: str, settings: Settings
) -> tuple[Sequence[str], str]:
    """The codes that count, and where they were written; the command line wins."""
    if given is not None:
        return given, option
    return set_, f"{settings.file}, [tool.verax] {key}"


def _rendered(options: argparse.Namespace, report: Report, format: str) -> str:
    from importlib import import_module

    from verax.audit import view

    if options.focus is not None and format not in _LISTS:
        report = view.focus(report, options.focus)
    if options.depth is not None:
        report = view.to_depth(report, options.depth)
    if format == "text":
        from verax.audit.render import to_terminal

        return to_terminal.render(report, color=_in_color(options))
    return import_module(f"verax.audit.render.to_{format}").render(report)


def _in_color(options: argparse.Namespace) -> bool:
    if options.color != "auto":
        return options.color == "always"
    wanted = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return wanted and not options.output and sys.stdout.isatty()


def _explain(options: argparse.Namespace) -> int:
    from verax.audit.output import write_stdout
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
    from verax.audit.output import write_stdout
    from verax.audit.render import rules
    from verax.audit.rules.registry import all_rules

    render = {"text": rules.to_text, "json": rules.to_json, "markdown": rules.to_markdown}
    write_stdout(render[options.format](all_rules()))
    return FINE
