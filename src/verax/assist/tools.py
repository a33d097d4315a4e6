"""What an assistant may ask about the programs in one folder, its workspace.

Nothing of them runs: files are read by static analysis, and no function is traced, since that would
import it. Nothing outside of the workspace is read, neither by a path nor by a link or an import in
it, and nothing is written to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from verax.audit import view
from verax.audit.baseline import read_baseline, without_known
from verax.audit.causes import one_a_cause
from verax.audit.child import Given
from verax.audit.close import close_names
from verax.audit.command import audit_change, audit_targets
from verax.audit.diff import without_earlier
from verax.audit.errors import UsageError
from verax.audit.finding import Finding
from verax.audit.render import rules, to_agent, to_outline
from verax.audit.report import Flow, Report
from verax.audit.rules.registry import UnknownRuleError, all_rules, code_prefix
from verax.audit.selection import Selection, parse_codes
from verax.audit.settings import Settings, read_settings
from verax.audit.source.engine import STDIN, Options
from verax.audit.source.one_file import Auditor
from verax.audit.source.outcome import Texts, is_within
from verax.audit.source.reading import DEFAULT_MAX_BYTES, UnreadableError
from verax.audit.source.roots import import_roots
from verax.audit.target import STDIN as FROM_STDIN
from verax.audit.target import SourceTarget, to_read

from .pages import page

# Of the functions of a file, where nothing is called as it was asked for.
_MOST_NAMED = 20


class Tools:
    """The tools, for one workspace, which is the working directory of this process.

    All of them raise `UsageError` for what cannot be answered.
    """

    def __init__(self, workspace: str):
        self._workspace = os.path.realpath(workspace)

    def audit(
        self, paths: Sequence[str] = (), diff: str = "", select: str = "", cursor: str = ""
    ) -> str:
        """The findings in files and folders, or those of them that a change brings."""
        settings = self._settings()
        targets = [self._target(path) for path in paths or ["."]]
        options = self._options(settings)
        if diff:
            report, before = audit_change(targets, diff, Given(), options=options)
            report = without_earlier(_selected(report, settings, select), before)
        else:
            report = _selected(audit_targets(targets, Given(), options=options), settings, select)
        if settings.baseline and settings.folder:
            report = self._without_known(report, str(settings.folder / settings.baseline))
        return page(list(_findings(report)), cursor)

    def explain(self, rule: str, cursor: str = "") -> str:
        """What a rule finds and why that matters; of a family, which rules it has."""
        try:
            prefix = code_prefix(rule)
        except UnknownRuleError as error:
            raise UsageError(str(error)) from None
        found = [it for it in all_rules() if it.code.startswith(prefix)]
        text = rules.explain(found[0]) if prefix == found[0].code else rules.to_text(found)
        return page(text.rstrip().split("\n"), cursor)

    def flow(self, path: str, name: str, cursor: str = "") -> str:
        """How data flows through a function, or to and from a variable, of a file."""
        target = self._target(path)
        if os.path.isdir(target.path):
            raise UsageError(f"{path}: is a folder; name the file that {name} is in")
        settings = self._settings()
        options = self._options(settings, sections=True)
        report = _selected(audit_targets([target], Given(), options=options), settings)
        shown = view.focus(replace(report, notes=()), name)
        flows, names = self._flows(str(target.path), name, options)
        if shown.notes and not flows:
            raise UsageError(f"{path}: {_nothing(name, names)}")
        shown = replace(shown, data_flow=flows or shown.data_flow)
        inside = replace(
            report, issues=_in(report.issues, name), warnings=_in(report.warnings, name)
        )
        found = ["\n".join(lines) for lines in to_agent.findings(inside)]
        return page([*found, *to_outline.lines(shown)], cursor)

    def _flows(
        self, file: str, name: str, options: Options
    ) -> tuple[tuple[Flow, ...], tuple[str, ...]]:
        texts = Texts(options.max_bytes, within=options.within)
        auditor = Auditor(import_roots([file], self._workspace), texts)
        try:
            return auditor.flow(file, name)
        except UnreadableError as error:
            raise UsageError(str(error)) from None

    def check_snippet(self, code: str, cursor: str = "") -> str:
        """The findings in a program that is in no file; it may import those of the workspace."""
        settings = self._settings()
        report = audit_targets(
            [to_read(FROM_STDIN)],
            Given(),
            options=self._options(settings),
            stdin=code.encode("utf-8", "backslashreplace"),
        )
        entries = _findings(_selected(report, settings))
        return page([it.replace(STDIN, "snippet") for it in entries], cursor)

    def _target(self, path: str) -> SourceTarget:
        """A path as a target to be read.

        Raises:
            UsageError: It leads out of the workspace, or there is nothing.
        """
        full = os.path.join(self._workspace, path)
        try:
            inside, there = is_within(full, self._workspace), os.path.exists(full)
        except ValueError:  # a NUL in it
            inside, there = True, False
        if not inside:
            raise UsageError(f"{path!r} lies outside of the workspace, {self._workspace}")
        if not there:
            raise UsageError(f"{path!r}: there is no such file or folder in {self._workspace}")
        return to_read(os.path.realpath(full))

    def _without_known(self, report: Report, baseline: str) -> Report:
        """The report without what a baseline knows, if that is the workspace's."""
        inside = is_within(baseline, self._workspace)
        return without_known(report, read_baseline(baseline)) if inside else report

    def _settings(self) -> Settings:
        """The settings of the project, if they are the workspace's, too."""
        settings = read_settings(Path(self._workspace))
        folder = settings.folder
        return settings if folder and is_within(str(folder), self._workspace) else Settings()

    def _options(self, settings: Settings, sections: bool = False) -> Options:
        return Options(
            exclude=settings.exclude,
            base=str(settings.folder or ""),
            max_bytes=settings.max_file_size or DEFAULT_MAX_BYTES,
            sections=sections,
            within=self._workspace,
        )


def _selected(report: Report, settings: Settings, select: str = "") -> Report:
    """The report with those findings that were asked for, or else those that the settings keep."""
    where = f"{settings.file}, [tool.verax]"
    selection = Selection(
        parse_codes([select], "select") or parse_codes(settings.select, f"{where} select"),
        parse_codes(settings.ignore, f"{where} ignore"),
        settings.preview,
    )
    kept = selection.apply(report)
    return replace(kept, notes=(*kept.notes, *selection.silent()))


def _findings(report: Report) -> Iterator[str]:
    """The findings, one an entry; then each remark about the audit; then the summary."""
    shown = one_a_cause(report)
    yield from ("\n".join(lines) for lines in to_agent.findings(shown))
    yield from to_agent.remarks(shown)


def _in(findings: Iterable[Finding], function: str) -> tuple[Finding, ...]:
    own = function.rpartition(".")[2]
    return tuple(it for it in findings if it.place.function.rpartition(".")[2] == own)


def _nothing(name: str, known: Sequence[str]) -> str:
    close = close_names(name, known) or list(known[:_MOST_NAMED])
    return f"nothing is called {name!r}" + f"; there are {', '.join(close)}" * bool(close)
