"""What is known of a thing, worked out once and kept with it."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from .work import spend, uncounted

_Thing = TypeVar("_Thing")
_Known = TypeVar("_Known")


def remembered(make: Callable[[_Thing], _Known]) -> Callable[[_Thing], _Known]:
    """A function that remembers its result in what it is asked about: it is gone when that is.

    Several rules ask one after the other about the same syntax, or the same program.
    """
    key = f"{make.__module__}.{make.__name__}"

    def ask(thing: _Thing) -> _Known:
        known: dict[str, Any] = thing.__dict__
        try:
            return known[key]
        except KeyError:
            pass
        if isinstance(thing, ast.AST):
            with uncounted():
                result = make(thing)
        else:
            result = make(thing)
        known[key] = result
        return result

    ask.__doc__ = make.__doc__
    return ask


# Fields that hold names, numbers and markers, but no code.
_PLAIN_FIELDS = frozenset(
    "arg asname attr conversion ctx id is_async kind kwd_attrs level module op ops rest simple str "
    "tag type_comment type_ignores".split()
)
_PLAIN_NODES = (ast.Constant, ast.Global, ast.Nonlocal, ast.MatchSingleton)
_fields_with_code: dict[type[ast.AST], tuple[str, ...]] = {}


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    found = (
        () if kind in _PLAIN_NODES else tuple(it for it in kind._fields if it not in _PLAIN_FIELDS)
    )
    _fields_with_code[kind] = found
    return found


def children(node: ast.AST) -> list[ast.AST]:
    """As `ast.iter_child_nodes`, without contexts and operators."""
    found: list[ast.AST] = []
    kind = node.__class__
    names = _fields_with_code.get(kind)
    for name in _fields(kind) if names is None else names:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [it for it in value if isinstance(it, ast.AST)]  # pyright: ignore
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


@remembered
def size_of(node: ast.AST) -> int:
    """How many nodes a piece of syntax has."""
    known = node.__dict__.get(_SPAN)
    if known is not None:
        return known.end - known.start
    count, pending = 0, [node]
    while pending:
        count += 1
        pending.extend(children(pending.pop()))
    return count


def walked(node: ast.AST) -> list[ast.AST]:
    """All code in a piece of syntax, itself first, in the order of the text.

    What it holds is a part of what is found around it, and is taken from there if somebody has
    asked for that.
    """
    known = _span_of(node)
    spend(known.end - known.start)
    return known.walk.nodes[known.start : known.end]


def _span_of(node: ast.AST) -> _Span:
    known = node.__dict__.get(_SPAN)
    if known is None:
        _walk(node, _Walk())
        known = node.__dict__[_SPAN]
    return known


_Kind = TypeVar("_Kind", bound=ast.AST)


def each(node: ast.AST, *kinds: type[_Kind]) -> list[_Kind]:
    """All code of some classes in a piece of syntax, in the order of the text.

    It is looked up, and not looked for: what a function does not hold costs nothing to ask about.
    """
    known = _span_of(node)
    nodes: list[Any] = known.walk.nodes
    if len(kinds) > _FEW_KINDS:
        spend(known.end - known.start)
        return [it for it in nodes[known.start : known.end] if isinstance(it, kinds)]
    positions = known.positions(kinds[0])
    for kind in kinds[1:]:
        positions += known.positions(kind)
    spend(len(positions))
    return [nodes[at] for at in (sorted(positions) if len(kinds) > 1 else positions)]


# To look up more takes longer than to go through all.
_FEW_KINDS = 4


class _Walk:
    """All code in some piece of syntax, and at which positions there is which kind of it."""

    def __init__(self) -> None:
        self.nodes: list[ast.AST] = []

    @cached_property
    def by_kind(self) -> dict[type[ast.AST], list[int]]:
        """The positions of each kind, once the walk has ended."""
        found: dict[type[ast.AST], list[int]] = defaultdict(list)
        for at, node in enumerate(self.nodes):
            found[node.__class__].append(at)
        for kind in list(found):
            if kind.__module__ != ast.__name__:  # One of ours, for a special case of Python's.
                whole = kind.__mro__[1]
                found[whole] = sorted([*found[whole], *found[kind]])
        return dict(found)


class _Span:
    """Where in a walk the code of a part is."""

    __slots__ = ("end", "start", "walk")

    def __init__(self, walk: _Walk, start: int, end: int):
        self.walk: _Walk = walk
        self.start: int = start
        self.end: int = end

    def positions(self, kind: type[ast.AST]) -> list[int]:
        """Where the part holds code of a kind."""
        found = self.walk.by_kind.get(kind, [])
        return found[bisect_left(found, self.start) : bisect_left(found, self.end)]


_SPAN = "verax span"


def _walk(node: ast.AST, walk: _Walk) -> None:
    found = walk.nodes
    start = len(found)
    found.append(node)
    kind = node.__class__
    names = _fields_with_code.get(kind)
    for name in _fields(kind) if names is None else names:
        value: Any = getattr(node, name, None)
        for it in value if value.__class__ is list else (value,):
            # Names and constants, which half of all are, hold nothing more.
            if _fields_with_code.get(it.__class__) == ():
                found.append(it)
            elif isinstance(it, ast.AST):
                _walk(it, walk)
    node.__dict__[_SPAN] = _Span(walk, start, len(found))
