"""Steps of a program gathered into lines of the user's code, nested as calls are.

Each step knows the stack of user frames that made it. Consecutive steps with the same outermost
frame are one line; what lies deeper is inside of that line. Bodies of calls open up in place,
bodies of transformations become a node of their own below the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ...finding import Place
from ..facts import Facts
from ..program import Body, Program, Step, Value
from ..sources import Statement

Path = tuple[Place, ...]


@dataclass(eq=False, slots=True)
class Node:
    """A line, or a transformation below one.

    `own` are the steps that belong to it and to no line inside; `start` and `end` bound all of its
    steps, inner ones too, in the order of the program.
    """

    place: Place | None
    statement: Statement | None
    kind: str = "line"
    text: str = ""
    own: list[Step] = field(default_factory=list[Step])
    children: list[Node] = field(default_factory=list["Node"])
    start: int = 0
    end: int = 0

    @property
    def targets(self) -> tuple[str, ...]:
        """The names that the line assigns."""
        return self.statement.targets if self.statement and self.kind != "branch" else ()


class Order:
    """The position of every step, and how far each value reaches."""

    def __init__(self, program: Program):
        self.steps: list[Step] = []
        self.start: dict[Step, int] = {}
        self.end: dict[Step, int] = {}
        self.last_use: dict[Value, int] = {}
        # For what a body hands to the step around it: where that step is.
        self.handed_to: dict[Value, int] = {}
        self._enter(program.body)
        for value in program.body.outputs:
            self.last_use[value] = len(self.steps) + 1

    def _enter(self, body: Body) -> None:
        for step in body.steps:
            position = len(self.steps)
            self.steps.append(step)
            self.start[step] = position
            for value in step.inputs:
                self._use(value, position)
            for inner in step.bodies:
                self._enter(inner)
                if step.kind != "call":
                    for value in inner.outputs:
                        self.handed_to.setdefault(value, position)
            self.end[step] = len(self.steps)

    def _use(self, value: Value, position: int) -> None:
        if self.last_use.get(value, -1) < position:
            self.last_use[value] = position

    def reaches_beyond(self, value: Value, node: Node) -> bool:
        """Whether something that is not part of a node uses a value."""
        if self.last_use.get(value, -1) >= node.end:
            return True
        return self.handed_to.get(value, node.start) < node.start

    def made_at(self, value: Value) -> int:
        """Where a value is made; inputs and constants before everything."""
        return -1 if value.producer is None else self.start[value.producer]


def lines_of(facts: Facts, order: Order) -> list[Node]:
    """The lines of a whole program."""
    builder = _Lines(facts, order)
    return builder.nodes([(step, step.frames[::-1]) for step in facts.program.body.steps])


Item = tuple[Step, Path]


class _Lines:
    def __init__(self, facts: Facts, order: Order):
        self._facts, self._order = facts, order

    def nodes(self, items: Iterable[Item], owner: Node | None = None) -> list[Node]:
        """Lines for steps whose paths are relative to `owner`, whose own steps are kept there."""
        found: list[Node] = []
        group: list[Item] = []
        line: object = None
        for step, path in self._opened(items):
            if path:
                key = self._line(path[0])
                if group and key != line:
                    found.append(self._node(group))
                    group = []
                line = key
                group.append((step, path))
                continue
            if group:
                found.append(self._node(group))
                group = []
            if owner is not None:
                owner.own.append(step)
            if step.bodies and step.kind != "call":
                found += self._transformation(step)
        if group:
            found.append(self._node(group))
        return found

    def _opened(self, items: Iterable[Item]) -> Iterator[Item]:
        """Steps, with those of a call's body instead of the call where it stands on no line."""
        for step, path in items:
            if not path and step.kind == "call":
                yield from self._opened(self._inside(step.bodies[0], step))
            else:
                yield step, path

    def _inside(self, body: Body, owner: Step) -> Iterator[Item]:
        outer = owner.frames
        for step in body.steps:
            frames = step.frames
            if outer and frames[-len(outer) :] == outer:
                frames = frames[: -len(outer)]
            yield step, frames[::-1]

    def _line(self, place: Place) -> tuple[str, int, str]:
        statement = self._facts.sources.statement(place)
        return (place.file, statement.line if statement else place.line, place.function)

    def _node(self, group: list[Item]) -> Node:
        place = group[0][1][0]
        statement = self._facts.sources.statement(place)
        if statement is not None and statement.line != place.line:
            place = Place(place.file, statement.line, place.column, place.function)
        node = Node(place, statement, text=statement.text if statement else "")
        node.start = self._order.start[group[0][0]]
        node.end = self._order.end[group[-1][0]]
        node.children = self.nodes([(step, self._below(path)) for step, path in group], node)
        if len(node.children) == 1 and node.children[0].kind not in ("line", "branch"):
            only = node.children[0]
            node.kind, node.children = only.kind, only.children
        return node

    def _below(self, path: Path) -> Path:
        """The path inside of a line; a lambda or comprehension in the same line is part of it."""
        line = self._line(path[0])[:2]
        rest = path[1:]
        while rest and self._line(rest[0])[:2] == line:
            rest = rest[1:]
        return rest

    def _transformation(self, step: Step) -> list[Node]:
        bodies = [list(self._inside(body, step)) for body in step.bodies]
        node = Node(step.place, None, kind_of(step), step.bodies[-1].function)
        node.start, node.end = self._order.start[step], self._order.end[step]
        inside = [self.nodes(items, node) for items in bodies]
        if step.kind == "cond":
            for number, (body, lines) in enumerate(zip(step.bodies, inside, strict=True)):
                if lines:
                    branch = Node(body.place, None, "branch", f"{number}: {body.function}")
                    branch.children = lines
                    branch.start, branch.end = lines[0].start, lines[-1].end
                    node.children.append(branch)
        else:
            node.children = [line for lines in inside for line in lines]
        if not node.children and step.kind in ("scan", "while", "cond"):
            return []  # A library's own loop is part of the line that called it.
        return [node]


def kind_of(step: Step) -> str:
    """JAX's word for the transformation behind a step."""
    if step.kind == "map":
        return "vmap"
    if step.kind == "derive":
        return step.detail.kind
    if step.kind == "shard":
        return "pmap" if step.detail.made_by_pmap else "shard_map"
    if step.kind == "call":
        return _CALLS.get(step.primitive, step.primitive)
    return step.kind


_CALLS = {
    "jit": "jit",
    "pjit": "jit",
    "checkpoint": "checkpoint",
    "remat2": "checkpoint",
    "remat": "checkpoint",
    "custom_jvp_call": "custom_jvp",
    "custom_vjp_call": "custom_vjp",
    "custom_vjp_call_jaxpr": "custom_vjp",
    "custom_vmap_call": "custom_vmap",
}
