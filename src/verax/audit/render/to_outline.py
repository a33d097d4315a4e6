"""How data flows, and under which transformations, as plain lines: for what pays for each word."""

from __future__ import annotations

from collections.abc import Iterator

from ..plain import inert, one_line
from ..report import Report
from ._places import with_short_files
from ._tree import Node, flow_tree, stack_trees

_INDENT = "  "


def render(report: Report) -> str:
    """The first two sections of a report, one line a step, indented by what it is inside of."""
    return inert("".join(f"{line}\n" for line in lines(report)))


def lines(report: Report) -> Iterator[str]:
    """The same, line by line."""
    short = with_short_files(report)
    for flow in short.data_flow:
        if flow.inputs or flow.steps or flow.outputs:
            yield from _node(flow_tree(flow), "")
    stack = stack_trees(short)
    if stack:
        yield "transformations"
    for node in stack:
        yield from _node(node, _INDENT)


def _node(node: Node, indent: str) -> Iterator[str]:
    """A node with its lines as one, and those below it."""
    texts = (one_line(" ".join(text for _, text in line)) for line in node.lines)
    yield indent + " ".join(text for text in texts if text)
    for child in node.children:
        yield from _node(child, indent + _INDENT)
