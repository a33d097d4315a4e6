"""What rules can ask of a program that the interpreter has gone through."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeVar

from ..finding import Evidence, Place
from .events import Call, Event, KeyUse, Record
from .frame import Frame
from .graph import Node
from .machine import Interpreter
from .parameters import NamedFunction
from .project import Module
from .remember import walked
from .text import text_of
from .unknown import attributes_in, names_in
from .values import Data, Value

_Event = TypeVar("_Event", bound=Event)


# The same thing on the other side of a boundary, or on one way of several.
_OTHER_SIDES = frozenset(("turn", "carry", "lane", "primal", "slice", "join"))


class SourceFacts:
    """The facts of one root."""

    def __init__(self, machine: Interpreter, module: Module):
        self.machine = machine
        self.module = module

    @property
    def record(self) -> Record:
        """All events."""
        return self.machine.record

    def events(self, kind: type[_Event]) -> list[_Event]:
        """The events of a class, each place and context in the order of the run."""
        return self.machine.record.of(kind)

    @cached_property
    def frames(self) -> list[Frame]:
        """Every run of every function, of the file and of what it calls in others."""
        return [frame for runs in self.record.runs.values() for frame in runs]

    @cached_property
    def own_frames(self) -> list[Frame]:
        """Every run of the functions that the file defines."""
        return [frame for frame in self.frames if frame.module is self.module]

    def is_whole(self, place: Place) -> bool:
        """Whether the functions that a place is in were gone through to their end."""
        return not self.record.is_lost and not _is_in(place, self._left)

    @cached_property
    def _left(self) -> dict[ast.AST, str]:
        """The functions of which a run was left in the middle, or no run is known at all.

        One that was called beyond a limit is whole if it was gone through for others.
        """
        runs, left = self.record.runs, self.record.left
        return {
            function: file
            for function, file in self.record.unknown.items()
            if not runs.get(function) or not left.isdisjoint(runs[function])
        }

    def is_known(self, place: Place | None) -> bool:
        """Whether that holds of what may call them as well, so that no run of them is missing."""
        if self.record.is_lost:
            return False
        unknown = self._unseen
        if not unknown:
            return True
        return place is not None and not _is_in(place, unknown)

    @cached_property
    def _unseen(self) -> dict[ast.AST, str]:
        """The functions that are not gone through to their end, and all that they may call."""
        functions: dict[str, list[ast.AST]] = {}
        for it in walked(self.module.syntax) if self.record.unknown else ():
            if isinstance(it, NamedFunction):
                functions.setdefault(it.name, []).append(it)
        found = dict(self.record.unknown)
        pending = list(found)
        for function in pending:
            for name in names_in(function) | attributes_in(function):
                new = [it for it in functions.get(name, ()) if it not in found]
                found.update(dict.fromkeys(new, self.module.path))
                pending += new
        return found

    def functions(self) -> list[tuple[NamedFunction, list[Frame]]]:
        """The functions that the file defines by a statement, each with its runs."""
        return self._functions

    @cached_property
    def _functions(self) -> list[tuple[NamedFunction, list[Frame]]]:
        return [
            (function, runs)
            for function, runs in self.record.runs.items()
            if isinstance(function, NamedFunction) and runs and runs[0].module is self.module
        ]

    @cached_property
    def calls_by_name(self) -> dict[str, list[Call]]:
        """The calls of functions outside of the project by full name, in the order of the run."""
        found: dict[str, list[Call]] = {}
        for call in self.record.of(Call):
            found.setdefault(call.name, []).append(call)
        return found

    def calls(self, names: Iterable[str]) -> Iterator[Call]:
        """The calls of some functions, by their full names, in the order of these."""
        for name in sorted(names):
            yield from self.calls_by_name.get(name, ())

    def name_of(self, value: Value) -> str:
        """What to call a value: its own name, or the expression that makes it."""
        if not isinstance(value, Data):
            return "the value"
        node = value.node
        while node.operation in _OTHER_SIDES and node.inputs:
            node = node.inputs[0]
        if node.operation == "field" and node.inputs:
            return f"{self.name_of(Data(node.inputs[0]))}.{node.label}"
        if node.operation in ("parameter", "argument") and node.label:
            return node.label
        target = _unpacked_target(node)
        if target is not None:
            return text_of(target)
        if isinstance(node.syntax, ast.expr):
            return text_of(node.syntax)
        return node.label or "the value"

    def key_use_in_words(self, use: KeyUse) -> str:
        """How a key is consumed."""
        if use.by == "jax.random.split":
            return "split"
        if use.is_certain:
            return "drawn from"
        name = use.by.rpartition(".")[2]
        return f"given to `{name}`" if name else "given to another function"

    def places_apart(self, first: Event, second: Event) -> tuple[Place, Place]:
        """Where two events are, in the innermost call that holds them both.

        Two draws in one helper, which is called twice, are apart where it is called. What happens
        in a function that is written inside of that call's own is told where it happens.
        """
        chain = first.frame.calls_to(first.syntax)
        others = dict(second.frame.calls_to(second.syntax))
        for frame, syntax in chain:
            other = others.get(frame)
            if other is not None:
                if first.syntax is second.syntax:
                    return frame.place(syntax), frame.place(other)
                return _inside(frame, syntax, first), _inside(frame, other, second)
        return first.place, second.place

    def why_traced(self, frame: Frame, value: Value) -> tuple[Evidence, ...]:
        """Which transformation makes a value a tracer, and by which calls the code is reached."""
        found: list[Evidence] = []
        for region in frame.region.chain() if frame.region is not None else ():
            if region.kind != "loop":
                found.append(Evidence(f"inside of `{region.kind}`", region.place))
        return tuple(found)


def _is_in(place: Place, functions: Mapping[ast.AST, str]) -> bool:
    """Whether a place is in one of some functions, each with its file."""
    return any(
        it.lineno <= place.line <= (it.end_lineno or it.lineno)
        if isinstance(it, (ast.stmt, ast.expr))
        else not place.function
        for it, file in functions.items()
        if file == place.file
    )


def _unpacked_target(node: Node) -> ast.expr | None:
    """What takes this part of something in `a, b = something`."""
    syntax = node.syntax
    if node.operation != "item" or not isinstance(syntax, (ast.Tuple, ast.List)):
        return None
    if not isinstance(syntax.ctx, ast.Store) or not node.label.isdigit():
        return None
    number = int(node.label)
    return syntax.elts[number] if number < len(syntax.elts) else None


def _inside(frame: Frame, syntax: ast.AST, event: Event) -> Place:
    """Where an event is to be told: at its own place if a call's function holds that."""
    function, line = frame.function, getattr(event.syntax, "lineno", 0)
    same_file = event.frame.module is frame.module
    if same_file and isinstance(function, ast.stmt):
        holds = function.lineno <= line <= (function.end_lineno or 0)
        return event.place if holds else frame.place(syntax)
    return frame.place(syntax)
