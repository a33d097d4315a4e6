"""The tree-like sections of a report, made ready for any format.

A node is a few lines of spans, each with the kind of thing that it shows; a format decides what a
kind looks like.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..finding import Place
from ..report import Flow, FlowStep, FlowValue, Report, Tensor, Transformation

Kind = Literal["text", "strong", "code", "place", "tensor", "note"]
Line = tuple[tuple[Kind, str], ...]

_TIMES = "\N{MULTIPLICATION SIGN}"
_MOST_LEAVES = 4  # of one tree, where names are listed
_MOST_VALUES = 12  # of one tree, where each has a line
_LONGEST = 240  # of a user's line of code; what is longer is cut


@dataclass(frozen=True)
class Node:
    """Lines, and the nodes below them."""

    lines: tuple[Line, ...]
    children: tuple[Node, ...] = ()


def flow_tree(flow: Flow) -> Node:
    """The data flow of one entry point."""
    names = flow.value_names()
    file = flow.place.file if flow.place else ""
    head: Line = (("strong", flow.entry), *((("place", str(flow.place)),) if flow.place else ()))
    children: list[Node] = []
    if flow.inputs:
        inputs = tuple(Node((line,)) for line in _values(flow.inputs))
        children.append(Node(((("strong", "inputs"),),), inputs))
    children += [_step(step, file, names) for step in flow.steps]
    if flow.outputs:
        outputs = tuple(Node((line,)) for line in _values(flow.outputs))
        children.append(Node(((("strong", "outputs"),),), outputs))
    return Node((head, *_notes(flow.notes)), tuple(children))


def _step(step: FlowStep, file: str, names: dict[str, str]) -> Node:
    lines: list[Line] = [_head(step.place, file, step.kind, step.text, step.repeat)]
    if len(step.produces) == 1:
        lines.append((*_value(step.produces[0]), *_sources(step, names)))
    else:
        lines += _values(step.produces)
        lines += [_sources(step, names)] * bool(step.consumes)
    consumers = _unique(names.get(it, it) for it in step.consumed_by)
    if consumers:
        lines.append((("note", "used by"), ("code", ", ".join(consumers))))
    own_file = step.place.file if step.place else file
    children = tuple(_step(child, own_file, names) for child in step.children)
    return Node((*lines, *_notes(step.notes)), children)


def _short(place: Place, file: str) -> str:
    """A place, without the file that is named above."""
    if place.file != file:
        return str(place)
    return f"cell {place.cell}, line {place.line}" if place.cell else f"line {place.line}"


def _head(place: Place | None, file: str, kind: str, text: str, repeat: int) -> Line:
    head: list[tuple[Kind, str]] = []
    if place is not None:
        head.append(("place", _short(place, file)))
    if kind != "line":
        head.append(("strong", kind))
    if text:
        shown = _code_line(text)
        head.append(("code", shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"))
    if repeat != 1:
        head.append(("strong", f"{_TIMES} {repeat}"))
    return tuple(head)


def _code_line(text: str) -> str:
    """A statement that may fill several lines, in one; as if it had been short enough."""
    joined = re.sub(r"(?<=[(\[{])\s*\n\s*|,?\s*\n\s*(?=[)\]}])", "", text.strip())
    return re.sub(r"\s*\n\s*", " ", joined)


def _sources(step: FlowStep, names: dict[str, str]) -> Line:
    sources = _unique(names.get(it, it) for it in step.consumes)
    return (("note", "from"), ("code", ", ".join(gathered(sources)))) if sources else ()


def gathered(names: Iterable[str], most: int = _MOST_LEAVES) -> list[str]:
    """Names, with the leaves of a tree together where there are many: `params[…] (64)`."""
    trees: dict[str, list[str]] = {}
    for name in names:
        trees.setdefault(re.split(r"[\[.(]", name, maxsplit=1)[0].strip(), []).append(name)
    found: list[str] = []
    for tree, leaves in trees.items():
        if len(leaves) > most and tree and not tree.startswith(("line ", "the ", "a ")):
            found.append(f"{tree}[…] ({len(leaves)})")
        else:
            found += leaves
    return found


def _values(values: Iterable[FlowValue]) -> list[Line]:
    """A line each; of the many leaves of one tree, the first few and how many more there are."""
    trees: dict[str, list[FlowValue]] = {}
    for value in values:
        trees.setdefault(re.split(r"[\[.(]", value.name, maxsplit=1)[0], []).append(value)
    lines: list[Line] = []
    for tree, leaves in trees.items():
        few = leaves if len(leaves) <= _MOST_VALUES + 1 else leaves[:_MOST_VALUES]
        lines += [_value(it) for it in few]
        if len(few) < len(leaves):
            of = f" of {tree}" if tree else ""
            lines.append((("note", f"… and {len(leaves) - len(few)} more{of}"),))
    return lines


def _value(value: FlowValue) -> Line:
    name: Line = (("code", value.name),) if value.name else ()
    return (*name, *tensor_spans(value.tensor))


def tensor_spans(tensor: Tensor) -> Line:
    """Type and shape, and the values that it can take."""
    spans: Line = (("tensor", str(tensor)),)
    if tensor.weak:
        spans = (*spans, ("note", "weak"))
    return (*spans, ("note", f"in {tensor.range}")) if tensor.range else spans


def _notes(notes: Iterable[str]) -> tuple[Line, ...]:
    return tuple((("note", f"· {note}"),) for note in notes)


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def stack_trees(report: Report) -> tuple[Node, ...]:
    """The transformation stack."""
    return tuple(_transformation(node, "") for node in report.transformation_stack)


def _transformation(node: Transformation, file: str) -> Node:
    head: list[tuple[Kind, str]] = [("strong", node.kind)]
    if node.name:
        head.append(("code", node.name))
    if node.place is not None:
        place = node.place
        head.append(("place", _short(place, file)))
    if node.repeat != 1:
        head.append(("strong", f"{_TIMES} {node.repeat}"))
    lines: list[Line] = [tuple(head)]
    if node.settings:
        lines.append((("code", ", ".join(f"{name}={value}" for name, value in node.settings)),))
    own_file = node.place.file if node.place else file
    children = tuple(_transformation(child, own_file) for child in node.children)
    return Node((*lines, *_notes(node.effects)), children)
