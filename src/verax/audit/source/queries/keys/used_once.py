"""Functions in which each random key is used once, whatever way is taken through them.

That is a matter of names: a key that its function names only once on every way, to draw from it, to
split it or to hand it on, cannot be used twice there. Where a key comes from has to be known, so
that no two names mean the same one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...events import KeyUse
from ...frame import Frame
from ...graph import Node
from ...values import Data, Function, nodes_of
from .reuse import LOOPS, MAPS, repeated
from .single_use import names_once

if TYPE_CHECKING:
    from ...facts import SourceFacts

# Where a key may come from without being another one by another name.
_KNOWN = frozenset(
    "parameter argument item element field lane slice carry turn primal join jax.random.split "
    "jax.random.key jax.random.fold_in".split()
)


@dataclass(frozen=True)
class OwnKeys:
    """A function, from one line to another, and the names of the keys that it uses."""

    name: str
    place: Place
    last_line: int
    keys: tuple[str, ...]

    def __contains__(self, place: Place | None) -> bool:
        """Whether a place is in the function."""
        if place is None or place.file != self.place.file:
            return False
        return self.place.line <= place.line <= self.last_line


def used_once(facts: SourceFacts) -> Iterator[OwnKeys]:
    """The functions of a file that use each of their keys once."""
    uses: dict[ast.AST, list[KeyUse]] = {}
    for use in facts.events(KeyUse):
        if use.frame.function is not None and use.frame.module is facts.module:
            uses.setdefault(use.frame.function, []).append(use)
    again = {use.frame.function for use, _ in repeated(facts, LOOPS | MAPS)}
    for syntax, events in uses.items():
        if not isinstance(syntax, (ast.FunctionDef, ast.AsyncFunctionDef)) or syntax in again:
            continue
        keys = _names(events)
        holders = _holders(events, facts.record.runs[syntax]) if keys else {}
        if keys and names_once(syntax, {*keys, *holders}):
            frame = events[0].frame
            last_line = syntax.end_lineno or syntax.lineno
            named = dict.fromkeys((*keys, *(name for name, is_key in holders.items() if is_key)))
            yield OwnKeys(frame.name, frame.place(syntax), last_line, tuple(named))


def _names(uses: list[KeyUse]) -> list[str]:
    """The names of the keys that are used; none unless it is known which key each of them is."""
    own = [use for use in uses if use.is_certain]
    if any(use.before for use in uses) or not all(_is_known(use.key.node) for use in own):
        return []
    names = list(dict.fromkeys(name for use in own for name in _written(use)))
    return names if all(names) else []


def _written(use: KeyUse) -> list[str]:
    """The name of a used key; empty for one that has none of its own, such as `self.key`."""
    call = use.syntax
    if not isinstance(call, ast.Call):
        return [""]
    named = [it.value for it in call.keywords if it.arg == "key"]
    key = next(iter((*call.args[:1], *named)), None)
    while isinstance(key, ast.Subscript):
        key = key.value
    if isinstance(key, ast.Call):
        return []  # made here, and nobody else's
    return [key.id if isinstance(key, ast.Name) else ""]


def _is_known(node: Node) -> bool:
    return all(it.operation in _KNOWN for it in _sources(node))


def _sources(node: Node) -> Iterator[Node]:
    """What a key is a part of, or was split from; not what only chooses it."""
    seen: set[Node] = set()
    pending = [node]
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            yield node
            pending += node.inputs if node.operation == "join" else node.inputs[:1]


def _holders(uses: Iterable[KeyUse], frames: Iterable[Frame]) -> dict[str, bool]:
    """All names under which a function has a key, or something that holds one.

    Each comes with whether it is a key itself.
    """
    sources = {node for use in uses for node in _sources(use.key.node)}
    found: dict[str, bool] = {}
    for frame in frames:
        for name, value in (*frame.environment.items(), *frame.given.items()):
            if isinstance(value, Function):
                continue
            nodes = [value.node] if isinstance(value, Data) else nodes_of(value)
            if any(node.is_key or node in sources for node in nodes):
                found[name] = isinstance(value, Data) and value.node.is_key
    return found
