"""A report as text for a terminal, or for a file."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from .. import view
from ..finding import Confidence, Finding, Severity, Verified
from ..plain import one_line, plain
from ..report import Report
from ._boundaries import boundaries
from ._few import few
from ._places import with_short_files
from ._summary import SECTIONS, compiled_lines, labelled, notes_of, remark_on, summary
from ._tree import Kind, Line, Node, flow_tree, stack_trees

_STYLES: dict[Kind, str] = {
    "text": "",
    "strong": "bold",
    "code": "default",
    "place": "cyan",
    "tensor": "green",
    "note": "dim",
}
_SEVERITIES = {Severity.CRITICAL: "bold red", Severity.ERROR: "red", Severity.MINOR: "yellow"}


def render(
    report: Report,
    *,
    width: int | None = None,
    color: bool = False,
    depth: int | None = None,
    focus: str | None = None,
) -> str:
    """The report as text.

    Args:
        report: What to show.
        width: Columns to use; by default those of the terminal, or 80 where there is none.
        color: Whether to write the commands by which terminals change colour.
        depth: How many levels of steps inside steps to show; by default all.
        focus: Show only the data flow that has to do with this name.
    """
    if focus is not None:
        report = view.focus(report, focus)
    if depth is not None:
        report = view.to_depth(report, depth)
    out = io.StringIO()
    console = Console(
        file=out,
        width=width or shutil.get_terminal_size((80, 24)).columns,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        markup=False,
        highlight=False,
        emoji=False,
        _environ={},  # the arguments decide, not variables
    )
    console.print(Group(*_report(with_short_files(report), console.width)))
    # Tables fill their lines with spaces, which show as soon as somebody copies them.
    text = "\n".join(line.rstrip() for line in out.getvalue().split("\n"))
    return re.sub(r"\n{3,}", "\n\n", text)


def _report(report: Report, width: int) -> Iterator[RenderableType]:
    yield Text(plain(report.target), "bold")
    parts = (
        _trees(flow_tree(flow) for flow in report.data_flow),
        _trees(stack_trees(report)),
        list(_shape_trace(report, width)),
        [_finding(it) for it in report.issues],
        [_verified(*it) for it in few(report.verified)],
        [_finding(it) for it in report.warnings],
    )
    for number, (title, part) in enumerate(zip(SECTIONS, parts, strict=True), 1):
        yield Text(f"\n{number}. {title}", "bold underline")
        remark = remark_on(report, title, bool(part))
        shown = [*part, Text(remark, "dim")] if remark else part
        yield Padding(Group(*shown), (0, 0, 0, 2))
    if report.compiled:
        yield Text("\nCompilations", "bold underline")
        yield Padding(Group(*_compilations(report)), (0, 0, 0, 2))
    notes = notes_of(report)
    if notes:
        yield Text("\nNotes", "bold underline")
        for note in notes:
            yield _item("· ", Text(plain(note)))
    yield Text(f"\n{summary(report)}", "bold")


def _compilations(report: Report) -> Iterator[RenderableType]:
    for it in report.compiled:
        name, times, reasons = compiled_lines(it)
        head = Text(f"{plain(name)}  ", "bold").append(times, "default")
        yield head.append(f"  {plain(str(it.place))}", "cyan") if it.place else head
        for reason, where in reasons:
            yield _item("  again: ", Text(plain(reason)).append(f"  {plain(where)}", "cyan"))


def _trees(nodes: Iterable[Node]) -> list[RenderableType]:
    return [_tree(node) for node in nodes]


def _tree(node: Node) -> Tree:
    # Below the head, lines are set in: at a glance, each step is one block.
    head, *rest = node.lines
    lines: list[RenderableType] = [_text(head)]
    lines += [Padding(_text(line), (0, 0, 0, 2)) for line in rest]
    tree = Tree(Group(*lines), guide_style="dim")
    for child in node.children:
        tree.children.append(_tree(child))
    return tree


def _text(line: Line) -> Text:
    return Text("  ").join(Text(plain(text), _STYLES[kind]) for kind, text in line)


def _shape_trace(report: Report, width: int) -> Iterator[RenderableType]:
    for name, place, rows in boundaries(report):
        head = Text(plain(name), "bold")
        if place is not None:
            head.append(f"  {plain(str(place))}", "cyan")
        yield head
        shown = [tuple(plain(cell) for cell in row) for row in rows]
        columns = [max(len(cell) for cell in column) for column in zip(*shown, strict=True)]
        # Two columns of margin on the left, two between columns, and an arrow.
        fits = 4 + sum(columns) + 2 * len(columns) + 1 <= width
        rows_of = _in_columns(shown) if fits else _below_each_other(shown, width)
        yield Padding(rows_of, (0, 0, 0, 2))


def _in_columns(rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for style in ("dim", "", "green", "", "green"):
        table.add_column(style=style, no_wrap=True)
    for role, value, before, after in rows:
        table.add_row(*(Text(cell) for cell in (role, value, before, "→", after)))
    return table


def _below_each_other(rows: Iterable[tuple[str, ...]], width: int) -> Group:
    parts: list[RenderableType] = []
    for role, value, before, after in rows:
        parts.append(Text.assemble((role, "dim"), "  ", value))
        if len(before) + len(after) + 12 <= width:
            parts.append(Text.assemble("    ", (before, "green"), "  →  ", (after, "green")))
        else:
            parts += [_item("    ", Text(before, "green")), _item("  → ", Text(after, "green"))]
    return Group(*parts)


def _finding(finding: Finding) -> RenderableType:
    head = Text()
    head.append(f"{finding.code} {finding.severity}", _SEVERITIES[finding.severity])
    if finding.confidence is Confidence.LIKELY:
        head.append(" (likely)", "dim")
    head.append(f"  {one_line(finding.title)}", "bold")
    where = Text(plain(f"{finding.place}:{finding.place.column}"), "cyan")
    if finding.place.function:
        where.append(f"  in {plain(finding.place.function)}", "dim")
    parts: list[RenderableType] = [where]
    for label, text in labelled(finding):
        parts.append(_item(f"{label:<10}", Text(plain(text))))
    for number, step in enumerate(finding.evidence, 1):
        text = Text(plain(step.text))
        if step.place is not None:
            text.append(f"  {plain(str(step.place))}", "cyan")
        parts.append(_item(f"{'because' if number == 1 else '':<10}", _item(f"{number}. ", text)))
    return Group(head, Padding(Group(*parts), (0, 0, 1, 2)))


def _verified(verified: Verified, remark: str) -> RenderableType:
    text = Text(one_line(verified.claim))
    if verified.place is not None:
        text.append(f"  {plain(str(verified.place))}", "cyan")
    text.append(f"\n{plain(verified.reason)}", "dim")
    if remark:
        text.append(f"\n… {remark}", "dim")
    return _item(f"✓ {verified.code}  ", text)


def _item(label: str, content: RenderableType) -> Table:
    """A label, and what it belongs to, set in by the label's width."""
    table = Table.grid(padding=0)
    table.add_column(style="dim", width=len(label), no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Text(label), content)
    return table
