"""Values that a line assigns and that reach no output, where they were evidently meant to.

Dead values are common in correct code. One is told only where the name is never read again, and
where something says that it should have been: the value that it was made from is used later, where
the new one would fit, or a parameter has no effect because of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ....finding import Place
from ....words import words_of
from ...frame import Frame
from ...graph import Node, sources
from ...looping import assigned_names
from ...operations import ARITHMETIC, JOINS, MODULES
from ...parameters import NamedFunction, positional
from ...remember import each
from ...values import Data, Sequence, Value, nodes_of
from ..names import named_parts
from ..nodes import position_in
from ..reads import Reads, reads_of
from .dropped_states import named_parts_of
from .elementwise import is_made_anew, versions_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

_COMPUTED = ARITHMETIC | {"@", "stack"}


@dataclass(frozen=True)
class Dropped:
    """A value that is computed and dropped.

    `instead` is the name of what is used in its place, at `used_at`; else `lost` is a parameter
    that has no effect, and `used_at` is where values are merged without it.
    """

    name: str
    place: Place
    instead: str = ""
    lost: str = ""
    used_at: Place | None = None


def dropped_values(facts: SourceFacts) -> Iterator[Dropped]:
    """All such values, in every run of every function."""
    for function, runs in facts.functions():
        yield from _unread_copies(function, runs[0])
        candidates: set[tuple[ast.stmt, str]] | None = None
        for frame in runs:
            if candidates is None:
                candidates = _unread_statements(function, frame)
            if candidates and frame.returns and not frame.yields:
                yield from _of_run(function, frame, candidates)


def _unread_copies(function: NamedFunction, frame: Frame) -> Iterator[Dropped]:
    """`moved = state.replace(force=force)` that nothing reads, while `state` is used on."""
    for statement, _ in frame.steps:
        call = statement.value if isinstance(statement, ast.Assign) else None
        if not isinstance(statement, ast.Assign) or not isinstance(call, ast.Call):
            continue
        target, old = statement.targets[0], _copied(call)
        if not old or not isinstance(target, ast.Name) or target.id.startswith("_"):
            continue
        reads = reads_of(function)
        if target.id == old or reads.after(statement, target.id):
            continue
        later = [it for it in reads.lines.get(old, ()) if it.lineno > (call.end_lineno or 0)]
        if later and not reads.around(statement):
            first = min(later, key=lambda it: (it.lineno, it.col_offset))
            yield Dropped(target.id, frame.place(statement), old, used_at=frame.place(first))


def _copied(call: ast.Call) -> str:
    """The name of a record that is copied with other fields; text is replaced by position."""
    called = call.func
    if not isinstance(called, ast.Attribute) or called.attr not in ("replace", "_replace"):
        return ""
    is_copy = bool(call.keywords) and not call.args
    return called.value.id if is_copy and isinstance(called.value, ast.Name) else ""


def _unread_statements(function: NamedFunction, frame: Frame) -> set[tuple[ast.stmt, str]]:
    """Statements, each with a name that gets a value there which nothing reads."""
    found: set[tuple[ast.stmt, str]] = set()
    if not any(_is_computed(part) for _, value in frame.steps for part in _parts(value)):
        return found
    reads = reads_of(function)
    for statement, _ in frame.steps:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        for name in _target_names(statement.targets[0]):
            if not name.startswith("_") and not reads.after(statement, name):
                found.add((statement, name))
    return found


def _parts(value: Value) -> tuple[Value, ...]:
    """A value, or the values of a tuple that is taken apart."""
    if isinstance(value, Sequence) and value.items is not None:
        return tuple(value.items)
    return (value,)


def _target_names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple):
        yield from (it.id for it in target.elts if isinstance(it, ast.Name))


def _of_run(
    function: NamedFunction, frame: Frame, candidates: set[tuple[ast.stmt, str]]
) -> Iterator[Dropped]:
    live = live_in(frame)
    reads = reads_of(function)
    names, lost = Names(frame), _Lost(function, frame, live, reads)
    for statement, value in frame.steps:
        if not isinstance(statement, ast.Assign):
            continue
        for target, part in named_parts_of(statement.targets[0], value):
            name = target.id if isinstance(target, ast.Name) else ""
            if (statement, name) not in candidates:
                continue
            if not isinstance(part, Data) or not _is_computed(part) or part.node in live:
                continue
            found = _replaced(frame, live, reads, statement, names, name, part)
            yield from found
            if not found and target is statement.targets[0]:
                yield from lost.behind(statement, name, part)


def live_in(frame: Frame) -> set[Node]:
    """Everything that what a function returns is made from."""
    return sources(node for _, value in frame.returns for node in nodes_of(value))


def _is_computed(value: Value) -> bool:
    if not isinstance(value, Data):
        return False
    node = value.node
    if node.is_key or value.traced is False or not (value.is_array or _is_of_leaves(node)):
        return False
    if node.dtype is not None and node.dtype.startswith(("bool", "key")):
        return False
    module = node.operation.rpartition(".")[0]
    return module in MODULES or node.operation in _COMPUTED


def _is_of_leaves(node: Node) -> bool:
    """Whether it stands for the leaves of a tree, each of them computed in the same way."""
    return node.frame is not None and isinstance(node.frame.function, ast.Lambda)


def _replaced(
    frame: Frame,
    live: set[Node],
    reads: Reads,
    statement: ast.stmt,
    names: Names,
    name: str,
    value: Data,
) -> list[Dropped]:
    """The value that this one is a version of, where it is used afterwards by its name."""
    # Of several results some are often of no use.
    together = {it.id for it in each(statement, ast.Name) if _is_bound(it)}
    for source, is_clear in versions_of(value.node):
        old = names.of(source, but=name)
        if old is None or not _fits(value.node, source) or old in together:
            continue
        if not is_clear and not value.node.shape and not _share_words(name, old):
            continue
        if not reads.after(statement, old.partition(".")[0]):
            continue
        if is_made_anew(live, source, value.node):
            continue
        used = _used_after(frame, live, source, statement)
        used = used or _kept_after(frame, source, statement)
        if used is not None:
            return [Dropped(name, frame.place(statement), old, used_at=used)]
    return []


def _is_bound(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


class Names:
    """What a function calls its values, and the fields of a state that it is given."""

    def __init__(self, frame: Frame):
        self._own: dict[Node, list[str]] = {}
        self._fields: dict[Node, str] = {}
        # A parameter may have got another value since.
        for key, it in (*frame.given.items(), *frame.environment.items()):
            if isinstance(it, Data):
                self._own.setdefault(it.node, []).append(key)
                for child in (it.node.children or {}).values():
                    if child.operation == "field":
                        self._fields.setdefault(child, f"{key}.{child.label}")
            elif key in frame.given:
                for field, part in named_parts(it):
                    self._fields.setdefault(part, f"{key}.{field}")

    def of(self, node: Node, but: str) -> str | None:
        """What a value is called by the last name for it, but for one name."""
        own = (it for it in reversed(self._own.get(node, ())) if it != but)
        return next(own, None) or self._fields.get(node)


def _kept_after(frame: Frame, source: Node, statement: ast.stmt) -> Place | None:
    """Where a field is returned as it was, in a state whose other fields are new."""
    for syntax, value in frame.returns:
        if not isinstance(syntax, ast.Return) or syntax.lineno <= statement.lineno:
            continue
        nodes = nodes_of(value)
        if source in nodes or any(_keeps(it, source) for it in nodes):
            return frame.place(syntax)
    return None


def _keeps(node: Node, field: Node) -> bool:
    """Whether a node is `state.replace(…)` with other fields than this one."""
    call = node.syntax
    if node.operation not in (".replace", "._replace") or not isinstance(call, ast.Call):
        return False
    is_owner = field.operation == "field" and field.inputs == node.inputs[:1]
    return is_owner and field.label not in [it.arg for it in call.keywords]


# One size of something is not a version of another.
_SIZES = frozenset("dim dims size sizes num len length count shape".split())


def _share_words(one: str, other: str) -> bool:
    shared = set(words_of(one)).intersection(words_of(other))
    return bool(shared) and _SIZES.isdisjoint(words_of(one))


def _fits(value: Node, source: Node) -> bool:
    """Whether a value could stand where its source does."""
    if source.is_key or _is_size(source):
        return False
    if isinstance(value.shape, tuple) and isinstance(source.shape, tuple):
        return bool(value.shape == source.shape and value.shape)
    return True


def _is_size(node: Node) -> bool:
    """Whether something is the size of an array, here or as an annotation says."""
    while node.operation in ("item", "turn") and node.inputs:
        node = node.inputs[0]
    syntax = node.syntax.annotation if isinstance(node.syntax, ast.arg) else None
    return node.operation == "static" or (isinstance(syntax, ast.Name) and syntax.id == "int")


def _used_after(frame: Frame, live: set[Node], source: Node, statement: ast.stmt) -> Place | None:
    """Where a value is first used after a statement by something that matters."""
    positions = [
        position_in(frame, node)
        for node in live
        if source in node.inputs and node.operation not in ("item", "field", "static", "join")
    ]
    return _first_after(frame, statement, positions)


def _first_after(
    frame: Frame, statement: ast.stmt, positions: list[ast.expr | ast.stmt | None]
) -> Place | None:
    end = statement.end_lineno or statement.lineno
    later = [it for it in positions if it is not None and it.lineno > end]
    if not later:
        return None
    return frame.place(min(later, key=lambda it: (it.lineno, it.col_offset)))


class _Lost:
    """The parameters of a function from which nothing is made that it returns."""

    def __init__(self, function: NamedFunction, frame: Frame, live: set[Node], reads: Reads):
        self._frame = frame
        self._live = live
        self._names: dict[Node, tuple[int, str]] = {}
        for number, argument in enumerate(positional(function)):
            name = argument.arg
            given: Value | None = frame.environment.get(name)
            if name in ("self", "cls") or name.startswith("_") or reads.count(name) != 1:
                continue
            if not isinstance(given, Data) or given.node.is_key or given.node in live:
                continue
            if name not in assigned_names(function):
                self._names.setdefault(given.node, (number, name))

    def behind(self, statement: ast.stmt, name: str, value: Data) -> Iterator[Dropped]:
        """The first of them that a value is made from, if it is missing somewhere."""
        made_from = value.node.ancestors() if self._names else ()
        found = [self._names[it] for it in made_from if it in self._names]
        # Where values are put together after the statement, there the lost one is missing.
        merge = _first_after(self._frame, statement, self._merges) if found else None
        if merge is not None:
            _, lost = min(found)
            yield Dropped(name, self._frame.place(statement), lost=lost, used_at=merge)

    @cached_property
    def _merges(self) -> list[ast.expr | ast.stmt | None]:
        return [position_in(self._frame, node) for node in self._live if _is_merge(node)]


def _is_merge(node: Node) -> bool:
    if node.operation in JOINS:
        return True
    return node.operation in ("+", "*") and len(node.inputs) >= 2
