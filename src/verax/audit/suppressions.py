"""Findings that the user has answered: `# verax: ignore[CODE] reason` in their line.

`# verax: ignore-file[CODE] reason`, anywhere in a file, answers those of the whole file.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from .finding import Finding, Place
from .report import Report
from .source import reading
from .source.reading import SourceText, UnreadableError

_COMMENT = re.compile(
    r"#\s*verax:\s*(?P<word>ignore(?:-file)?)(?![\w-])\s*(\[(?P<codes>[^\]]*)\])?"
)


@dataclass(frozen=True)
class Suppression:
    """One code that a comment names, and what codes begin with that it means."""

    place: Place
    code: str
    prefix: str
    whole_file: bool

    def covers(self, finding: Finding) -> bool:
        """Whether it names the code of a finding in its line, or in its file."""
        here, there = self.place, finding.place
        same_line = (here.cell, here.line) == (there.cell, there.line)
        return (self.whole_file or same_line) and finding.code.startswith(self.prefix)

    def __str__(self) -> str:
        return f"`# verax: ignore{'-file' * self.whole_file}[{self.code}]`"


@dataclass(frozen=True)
class Suppressions:
    """The comments of one file, and what is wrong with them."""

    comments: tuple[Suppression, ...] = ()
    notes: tuple[str, ...] = ()

    def covering(self, finding: Finding) -> tuple[Suppression, ...]:
        """The comments that answer a finding."""
        return tuple(comment for comment in self.comments if comment.covers(finding))


def suppressions_in(source: SourceText) -> Suppressions:
    """The suppressions in a program's text."""
    found: list[Suppression] = []
    notes: list[str] = []
    for line, comment in _comments(source.text):
        match = _COMMENT.search(comment)
        if match is None:
            continue
        cell, line_there = source.position(line)
        place = Place(source.path, line_there, cell=cell)
        word = match["word"]
        codes = [code.strip() for code in (match["codes"] or "").split(",") if code.strip()]
        if not codes:
            notes.append(
                f"{place}: `# verax: {word}` names no code and suppresses nothing; "
                f"write `# verax: {word}[CODE] reason`"
            )
        for code in codes:
            try:
                prefix = _prefix(code)
            except LookupError as error:
                notes.append(f"{place}: `# verax: {word}[{code}]`: {error}")
            else:
                found.append(Suppression(place, code, prefix, word == "ignore-file"))
    return Suppressions(tuple(found), tuple(notes))


def without_suppressed(
    report: Report,
    audited: Collection[str] = (),
    read: Callable[[str], SourceText] = reading.read,
) -> Report:
    """The report without findings that comments answer, and a note of how many.

    Notes say which comments name unknown codes and, in the files `audited`, which of them answer
    nothing although the source engine has looked for what they name.
    """
    files = sorted({finding.place.file for finding in report.findings} | set(audited))
    by_file = {file: _of_file(file, read) for file in files}
    used: set[Suppression] = set()

    def remaining(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        left: list[Finding] = []
        for finding in findings:
            covering = by_file[finding.place.file].covering(finding)
            used.update(covering)
            if not covering:
                left.append(finding)
        return tuple(left)

    issues, warnings = remaining(report.issues), remaining(report.warnings)
    notes = [note for file in files for note in by_file[file].notes]
    notes += [
        f"{comment.place}: {comment} answers no finding"
        for file in files
        if file in audited
        for comment in by_file[file].comments
        if comment not in used and _is_looked_for(comment.prefix)
    ]
    gone = len(report.findings) - len(issues) - len(warnings)
    if gone:
        notes.append(f"{gone} finding{'s' * (gone != 1)} suppressed by `# verax: ignore`")
    return replace(report, issues=issues, warnings=warnings, notes=(*report.notes, *notes))


def _prefix(code: str) -> str:
    """What the codes begin with that a comment means.

    Raises:
        UnknownRuleError: It means no rule.
    """
    from .rules.registry import code_prefix  # all rules are slow to load, and comments are rare

    return code_prefix(code)


def _is_looked_for(prefix: str) -> bool:
    """Whether the source engine has a rule for it; only a trace could tell of the others."""
    from .rules.registry import all_rules

    return any(rule.source is not None for rule in all_rules() if rule.code.startswith(prefix))


def _comments(text: str) -> list[tuple[int, str]]:
    if "verax:" not in text:
        return []
    found: list[tuple[int, str]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found.append((token.start[0], token.string))
    except (tokenize.TokenError, SyntaxError):
        pass  # what stands above the error counts
    return found


def _of_file(file: str, read: Callable[[str], SourceText]) -> Suppressions:
    try:
        return suppressions_in(read(file))
    except UnreadableError:
        return Suppressions()  # a cell of a running notebook, or a file that is gone
