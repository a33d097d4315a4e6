"""A report as Markdown, for a comment on a change or for a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..finding import Confidence, Evidence, Finding, Place, Verified
from ..plain import inert, one_line, plain
from ..report import Report
from ._boundaries import COLUMNS, boundaries
from ._few import few
from ._places import with_short_files
from ._summary import SECTIONS, compiled_lines, labelled, notes_of, remark_on, summary
from ._tree import Kind, Line, Node, flow_tree, stack_trees


def render(report: Report) -> str:
    """The report as GitHub's Markdown."""
    text = "\n".join(_report(with_short_files(report))).rstrip() + "\n"
    return inert(re.sub(r"\n{3,}", "\n\n", text))


def _report(report: Report) -> Iterator[str]:
    yield f"# Audit of {_code(report.target)}"
    yield f"\n**{summary(report)}**"
    parts = (
        [line for flow in report.data_flow for line in _list(flow_tree(flow))],
        [line for node in stack_trees(report) for line in _list(node)],
        list(_shape_trace(report)),
        [line for finding in report.issues for line in _finding(finding)],
        [line for it in few(report.verified) for line in _verified(*it)],
        [line for finding in report.warnings for line in _finding(finding)],
    )
    for number, (title, lines) in enumerate(zip(SECTIONS, parts, strict=True), 1):
        yield f"\n## {number}. {title}\n"
        yield from lines
        if remark := remark_on(report, title, bool(lines)):
            yield _prose(remark)
    if report.compiled:
        yield "\n## Compilations\n"
        yield from _compilations(report)
    notes = notes_of(report)
    if notes:
        yield "\n## Notes\n"
        yield from (f"- {_prose(note)}" for note in notes)


def _compilations(report: Report) -> Iterator[str]:
    for it in report.compiled:
        name, times, reasons = compiled_lines(it)
        yield f"- {_code(name)} ({_prose(str(it.place or ''))}): {times}"
        yield from (f"  - again: {_prose(why)} {_prose(where)}" for why, where in reasons)


def _list(node: Node, indent: str = "") -> Iterator[str]:
    head, *rest = node.lines
    yield f"{indent}- {_line(head)}"
    # A line break inside of a list's item is two spaces at the end of a line in Markdown, which
    # editors remove; a tag is not.
    for line in rest:
        yield f"{indent}  <br>{_line(line)}"
    for child in node.children:
        yield from _list(child, f"{indent}  ")


def _line(line: Line) -> str:
    return " ".join(_span(kind, text) for kind, text in line)


def _span(kind: Kind, text: str) -> str:
    if kind in {"code", "tensor"}:
        return _code(text)
    shown = _prose(text)
    return {"strong": f"**{shown}**", "note": f"*{shown}*"}.get(kind, shown)


def _shape_trace(report: Report) -> Iterator[str]:
    for name, place, rows in boundaries(report):
        yield f"**{_prose(name)}**{_at(place)}\n"
        yield f"| {' | '.join(COLUMNS)} |"
        yield f"|{' --- |' * len(COLUMNS)}"
        for role, value, before, after in rows:
            cells = (_prose(role), _code(value), _code(before), _code(after))
            # A bar ends a cell, even inside of code.
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
        yield ""


def _finding(finding: Finding) -> Iterator[str]:
    yield f"### {finding.code} {_prose(finding.title)}\n"
    likely = ", likely" if finding.confidence is Confidence.LIKELY else ""
    function = f" in {_code(finding.place.function)}" if finding.place.function else ""
    where = _code(f"{finding.place}:{finding.place.column}")
    yield f"**{finding.severity}**{likely} at {where}{function}\n"
    for label, text in labelled(finding):
        yield f"- **{label}:**{_block(text)}"
    if finding.evidence:
        yield "- **because:**"
        yield from _evidence(finding.evidence)
    yield ""


def _evidence(steps: Iterable[Evidence]) -> Iterator[str]:
    for number, step in enumerate(steps, 1):
        yield f"    {number}. {_prose(step.text)}{_at(step.place)}"


def _verified(verified: Verified, remark: str) -> Iterator[str]:
    claim, reason = _prose(verified.claim), _prose(verified.reason)
    yield f"- {verified.code} **{claim}**{_at(verified.place)}: {reason}"
    if remark:
        yield f"- *… {_prose(remark)}*"


def _at(place: Place | None) -> str:
    return "" if place is None else f" ({_code(str(place))})"


def _block(text: str) -> str:
    """Text that may hold several lines, which are then taken for code."""
    first, *rest = plain(text).rstrip().split("\n")
    if not rest:
        return f" {_prose(first)}"
    fence = "`" * max(3, _longest_ticks(text) + 1)
    body = "\n".join(f"    {line}".rstrip() for line in (first, *rest))
    return f"\n\n    {fence}\n{body}\n    {fence}"


def _code(text: str) -> str:
    """Text as it is, between so many backticks that none of its own ends it."""
    shown = one_line(text)
    if not shown:
        return ""
    ticks = "`" * (_longest_ticks(shown) + 1)
    space = " " * (shown[0] == "`" or shown[-1] == "`")
    return f"{ticks}{space}{shown}{space}{ticks}"


def _longest_ticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


_CODE = re.compile(r"(?<!`)(`[^`\n]+`)(?!`)")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$@])")


def _prose(text: str) -> str:
    """Words, in which only `code` between backticks has a meaning of its own."""
    parts = _CODE.split(one_line(text))
    return "".join(
        part if at % 2 else _SPECIAL.sub(r"\\\1", part).replace("&", "&amp;")
        for at, part in enumerate(parts)
    )
