"""A report as HTML: a page of its own, or a part of one for a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from ..finding import Confidence, Finding, Place, Verified
from ..plain import inert, one_line, plain
from ..report import Report
from ._boundaries import COLUMNS, boundaries
from ._few import few
from ._places import with_short_files
from ._summary import SECTIONS, labelled, notes_of, remark_on, summary
from ._tree import Line, Node, flow_tree, stack_trees

# Colours are only added to what the page has, so that dark pages stay readable.
_STYLE = """
.verax { font-family: system-ui, sans-serif; line-height: 1.45; max-width: 75em; }
.verax summary { font-size: 1.15em; font-weight: 600; cursor: pointer; margin-top: .8em; }
.verax code, .verax pre { font-family: ui-monospace, monospace; font-size: .95em; }
.verax ul { list-style: none; padding-left: 1.2em; border-left: 1px solid #8884; margin: .1em 0; }
.verax table { border-collapse: collapse; margin: .3em 0 .8em; }
.verax td, .verax th { padding: .1em .8em; text-align: left; border-bottom: 1px solid #8883; }
.verax .place { color: #27c; } .verax .tensor { color: #283; } .verax .note { opacity: .75; }
.verax .finding { border-left: 4px solid #c80; padding-left: .8em; margin: .8em 0; }
.verax .critical { border-color: #c22; } .verax .error { border-color: #c22; }
.verax dl { margin: .2em 0; display: grid; grid-template-columns: max-content 1fr; gap: 0 1em; }
.verax dt { opacity: .75; } .verax dd { margin: 0; white-space: pre-wrap; }
.verax ol { margin: 0; padding-left: 1.2em; }
"""


def render(report: Report) -> str:
    """The report as a whole page, which needs nothing else."""
    title = inert(escape(f"Audit of {one_line(report.target)}"))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n</head>\n<body>\n{fragment(report)}</body>\n</html>\n"
    )


def fragment(report: Report) -> str:
    """The report as one element, for a page that is already there."""
    body = "\n".join(_report(with_short_files(report)))
    return inert(f'<div class="verax">\n<style>{_STYLE}</style>\n{body}\n</div>\n')


def _report(report: Report) -> Iterator[str]:
    yield f"<h1>Audit of <code>{_plain(report.target)}</code></h1>"
    yield f"<p><strong>{escape(summary(report))}</strong></p>"
    parts = (
        [line for flow in report.data_flow for line in _list(flow_tree(flow))],
        [line for node in stack_trees(report) for line in _list(node)],
        list(_shape_trace(report)),
        [line for finding in report.issues for line in _finding(finding)],
        list(_verified(report.verified)),
        [line for finding in report.warnings for line in _finding(finding)],
    )
    for number, (title, lines) in enumerate(zip(SECTIONS, parts, strict=True), 1):
        yield f"<details open><summary>{number}. {title}</summary>"
        yield from lines
        if remark := remark_on(report, title, bool(lines)):
            yield f"<p>{_prose(remark)}</p>"
        yield "</details>"
    notes = notes_of(report)
    if notes:
        yield "<details open><summary>Notes</summary><ul>"
        yield from (f"<li>{_prose(note)}</li>" for note in notes)
        yield "</ul></details>"


def _list(node: Node) -> Iterator[str]:
    yield "<ul>"
    yield from _item(node)
    yield "</ul>"


def _item(node: Node) -> Iterator[str]:
    yield f"<li>{'<br>'.join(_line(line) for line in node.lines)}"
    if node.children:
        yield "<ul>"
        for child in node.children:
            yield from _item(child)
        yield "</ul>"
    yield "</li>"


_TAGS = {"strong": "strong", "code": "code", "tensor": "code"}


def _line(line: Line) -> str:
    parts: list[str] = []
    for kind, text in line:
        tag = _TAGS.get(kind, "span")
        parts.append(f'<{tag} class="{kind}">{_plain(text)}</{tag}>')
    return " ".join(parts)


def _shape_trace(report: Report) -> Iterator[str]:
    for name, place, rows in boundaries(report):
        yield f"<p><strong>{_plain(name)}</strong>{_at(place)}</p>"
        yield f"<table><tr>{''.join(f'<th>{column}</th>' for column in COLUMNS)}</tr>"
        for role, value, before, after in rows:
            cells = [_plain(role)]
            cells += [f"<code>{_plain(text)}</code>" for text in (value, before, after)]
            yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        yield "</table>"


def _finding(finding: Finding) -> Iterator[str]:
    likely = ", likely" if finding.confidence is Confidence.LIKELY else ""
    place = finding.place
    function = f" in <code>{_plain(place.function)}</code>" if place.function else ""
    yield f'<div class="finding {finding.severity}">'
    yield f"<strong>{_plain(finding.code)} {_prose(one_line(finding.title))}</strong><br>"
    yield f'{finding.severity}{likely} at <code class="place">'
    yield f"{_plain(f'{place}:{place.column}')}</code>{function}<dl>"
    for label, text in labelled(finding):
        yield f"<dt>{label}</dt><dd>{_prose(text)}</dd>"
    if finding.evidence:
        steps = [f"<li>{_prose(step.text)}{_at(step.place)}</li>" for step in finding.evidence]
        yield f"<dt>because</dt><dd><ol>{''.join(steps)}</ol></dd>"
    yield "</dl></div>"


def _verified(entries: tuple[Verified, ...]) -> Iterator[str]:
    if entries:
        yield "<ul>"
    for entry, remark in few(entries):
        claim, reason = _prose(entry.claim), _prose(entry.reason)
        yield f"<li>{_plain(entry.code)} <strong>{claim}</strong>{_at(entry.place)}: {reason}</li>"
        if remark:
            yield f'<li class="note">… {_prose(remark)}</li>'
    if entries:
        yield "</ul>"


def _at(place: Place | None) -> str:
    return "" if place is None else f' <code class="place">{_plain(str(place))}</code>'


def _plain(text: str) -> str:
    return escape(plain(text))


def _prose(text: str) -> str:
    """Words, in which `code` between backticks is shown as such."""
    parts = re.split(r"(?<!`)`([^`\n]+)`(?!`)", plain(text))
    return "".join(
        f"<code>{escape(part)}</code>" if at % 2 else escape(part) for at, part in enumerate(parts)
    )
