"""What the interpreter notes down while it goes through a program, for the rules to read."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..finding import Place
from ..report import Unfollowed
from .frame import Frame, Region
from .graph import Node
from .text import text_of
from .values import Class, Data, Function, Instance, Transformed, Value
from .work import spend


@dataclass(slots=True, eq=False)
class Event:
    """Something that happens at a piece of syntax.

    Nobody changes one; they are not frozen since so many are made, which that makes slow.
    """

    syntax: ast.AST
    frame: Frame

    @property
    def place(self) -> Place:
        """Where it happens."""
        return self.frame.place(self.syntax)

    @property
    def text(self) -> str:
        """The syntax, as written by Python."""
        return text_of(self.syntax)


@dataclass(slots=True, eq=False)
class Test(Event):
    """A value decides what Python does next: in `if`, `while`, `assert`, `and` or `not`."""

    kind: str
    value: Data


@dataclass(slots=True, eq=False)
class Conversion(Event):
    """A value is needed as one of Python's: `float(x)`, `x.item()`, `range(n)`, `np.sum(x)`."""

    kind: str
    value: Value


@dataclass(slots=True, eq=False)
class Mutation(Event):
    """Something is changed in place: a container, an attribute, a global, an array.

    `target` is what is changed, `name` how it is written, `how` the operation (`append`,
    `attribute`, `item`, `global`, `nonlocal`), `value` what is stored, `before` what was there, as
    far as it is known. `made_in` is where the target was made, or what it lived in by then: it may
    be kept elsewhere later.
    """

    target: Value | None
    name: str
    how: str
    value: Value | None = None
    before: Value | None = None
    made_in: Frame | None = field(init=False)

    def __post_init__(self) -> None:
        self.made_in = getattr(self.target, "made_in", None)


@dataclass(slots=True, eq=False)
class KeyUse(Event):
    """A random key is consumed.

    `by` is the full name of the function, `before` an earlier use of the same key on this path,
    `region` the innermost transformation or loop around the use. Whether a function outside of the
    project consumes what it is given, or whether that is a key, need not be certain.
    """

    key: Data
    by: str
    before: KeyUse | None = None
    region: Region | None = None
    is_certain: bool = True


@dataclass(slots=True, eq=False)
class Call(Event):
    """A call of something outside of the project, by its full name."""

    name: str
    args: list[Value]
    keywords: dict[str, Value]
    result: Value


@dataclass(slots=True, eq=False)
class Applied(Event):
    """A transformed function is called: the boundary of a transformation.

    `args` are the arguments outside, `inner` the values of the function's parameters inside,
    `result` what the function returned inside, `outside` what comes out.
    """

    transformed: Transformed
    args: list[Value]
    keywords: dict[str, Value]
    inner: dict[str, Value]
    result: Value
    outside: Value
    region: Region


@dataclass(slots=True, eq=False)
class Loop(Event):
    """A `scan`, `while_loop`, `fori_loop` or `map` runs its body.

    `carry_in` and `carry_out` are the body's carry as it enters and leaves, `initial` the carry
    from outside; `xs` what is scanned, `slices` the body's share of it, `stacked` its outputs.
    """

    kind: str
    body: Value
    region: Region
    initial: Value | None = None
    carry_in: Value | None = None
    carry_out: Value | None = None
    xs: Value | None = None
    slices: Value | None = None
    stacked: Value | None = None
    length: Value | None = None
    returned: Value | None = None
    outside: Value | None = None
    options: dict[str, Value] = field(default_factory=dict[str, Value])


@dataclass(slots=True, eq=False)
class Made(Event):
    """A transformation is applied to a function, which gives another function."""

    transformed: Transformed
    in_loop: bool = False


@dataclass(slots=True, eq=False)
class Fact(Event):
    """Anything else that a part of the library wants to tell, by its kind."""

    kind: str
    data: dict[str, Any]


_Event = TypeVar("_Event", bound=Event)


class Record:
    """All events, by their class, in the order in which they happened."""

    def __init__(self) -> None:
        self._events: dict[type[Event], list[Any]] = defaultdict(list)
        # How many there are, without those that are everywhere.
        self.count: int = 0
        # Functions whose run has left no event.
        self.quiet: set[ast.AST] = set()
        # Functions that were run, by their syntax, with the frames of their runs.
        self.runs: dict[ast.AST, list[Frame]] = defaultdict(list)
        # Statements that were left in the middle.
        self.too_deep: dict[Place, None] = {}
        # The first call that was not followed, and why, by the function that everything began in.
        self.unfollowed: dict[ast.AST | None, Unfollowed] = {}
        # What came of such calls, the runs that were left in the middle by one, and the functions
        # that are not known in all their runs, each with its file.
        self.open_ends: dict[Node, None] = {}
        self.left: set[Frame] = set()
        self.unknown: dict[ast.AST, str] = {}
        self.is_lost: bool = False  # whether that may be said of all functions
        self.classes: list[Class] = []
        # An object of each class, as its constructor leaves it.
        self.objects: dict[Class, Instance] = {}
        self.defined: list[Function] = []
        # What states of training are made with, to apply a model: by the class of the model.
        self.apply_functions: dict[Class, Value] = {}
        # The models of nnx that were split into several states, by what else came of that.
        self.split_models: dict[Node, Instance] = {}

    def add(self, event: Event) -> None:
        """Note an event."""
        kind = type(event)
        self._events[kind].append(event)
        if kind is not Call and kind is not Mutation:
            self.count += 1

    def leave_out(self, frame: Frame, call: ast.AST, reason: str, on_host: bool) -> None:
        """Note that a call is not followed, at the line of the function that began it all."""
        inside = [it for it in frame.callers() if it.function is not None]
        root = inside[-1] if inside else frame
        if len(inside) > 1:
            call = inside[-2].called_at or call
        known = self.unfollowed.get(root.function)
        if known is None or (known.on_host and not on_host):
            self.unfollowed[root.function] = Unfollowed(root.place(call), reason, on_host)

    def marks(self) -> dict[type[Event], int]:
        """How many events of each class there are."""
        return {kind: len(events) for kind, events in self._events.items()}

    def rewind(self, marks: dict[type[Event], int]) -> None:
        """Forget the events since some marks were taken."""
        for kind, events in self._events.items():
            del events[marks.get(kind, 0) :]

    def of(self, kind: type[_Event]) -> list[_Event]:
        """The events of a class."""
        found = self._events[kind]
        spend(len(found))
        return found
