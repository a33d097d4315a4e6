"""The abstract interpreter: it goes through a program as Python would, with values unknown.

Functions are followed into their callees with the arguments at hand, so that one helper is judged
apart for each way in which it is called. What bounds the cost: a function is run a limited number
of times for one root, and a loop's body at most twice.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..finding import Place
from .calls import CALLS, call_expression
from .demand import defer
from .events import Conversion, Event, KeyUse, Record, Test
from .expressions import EXPRESSIONS
from .frame import Frame, Site
from .graph import Node, variation
from .imports import Pending
from .limits import DEFAULT, Limits
from .project import Module, Project
from .remember import size_of
from .statements import STATEMENTS
from .unknown import Reach, leave_unknown
from .values import (
    Constant,
    Data,
    External,
    Function,
    Mapping,
    Sequence,
    Value,
    is_bounded,
    leaves,
    nodes_of,
)
from .work import spend

# Functions of one decorator that are inside of each other.
WRAPPERS = 3
# Syntax that counts as a further statement where it runs again: one line can hold very much.
NODES_OF_STATEMENT = 32

# What it costs to evaluate an expression, compared with looking at a node.
STEPS_OF_EXPRESSION = 10

# Operations on arrays and numbers: containers do not subtract, and have no sine.
ON_ARRAYS = frozenset("- * / // ** @ < <= > >= & | ~ %".split()) | frozenset(
    f"jax.numpy.{it}"
    for it in "where sum mean any all exp log sqrt abs square clip maximum minimum logical_not "
    "logical_and logical_or isnan isfinite sin cos tanh".split()
)

_EXPRESSIONS: dict[type[ast.AST], Callable[[Any, Frame, Any], Value]] = {
    **EXPRESSIONS,
    ast.Call: call_expression,
}


class Interpreter:
    """Runs the code of a project on abstract values and keeps a record of what happens."""

    def __init__(self, project: Project, limits: Limits = DEFAULT):
        self.project = project
        self.limits: Limits = limits
        self.record: Record = Record()
        # The keys that were consumed on the path that led here, with their last use.
        self.used: dict[Node, KeyUse] = {}
        # How many conditions and loops are around what runs now.
        self.control: int = 0
        # How many of these decide, by what is not known, whether it runs at all.
        self.choices: int = 0
        # How often what runs now runs, where turns of loops are gone through one by one.
        self.turns: int = 1
        # What a module of flax's linen is applied with, and in which frame.
        self.variables: tuple[Value, Frame] | None = None
        # The trees whose structures were taken, by these.
        self.structures: dict[Node, Value] = {}
        # What is like another thing but for some fields: the other one, and these.
        self.replaced: dict[Node, tuple[Data, dict[str, Value]]] = {}
        # What is somewhere computed with as only arrays and numbers can be.
        self.used_as_arrays: set[Node] = set()
        # What functions can reach whose calls are not followed.
        self.reached: dict[tuple[ast.AST, Frame], Reach] = {}
        # Whether every call is followed, also one that has told nothing so far.
        self.is_thorough: bool = False
        self._runs: Counter[ast.AST] = Counter()
        self._statements = 0
        self._is_cut = False
        self._is_on_host = False
        self._root: Frame | None = None
        # Where it is: at a statement, as a frame runs it.
        self._position: tuple[Frame, ast.stmt] | None = None
        self._allowed = limits.statements
        self._end_of_root = limits.statements
        self._end_with_keys = limits.statements
        self._end_of_file = limits.statements

    def start_file(self, module: Module) -> None:
        """Start a new file: what it may cost depends on its size."""
        lines = module.text.count("\n")
        allowed = self.limits.statements + self.limits.statements_of_line * lines
        self._end_of_file = self._statements + allowed

    def start_root(self, on_host: bool = False, root: Frame | None = None) -> None:
        """Start a new root, that runs in `root` if there is a frame of its own for it.

        Functions may be run again.
        """
        self._root = root
        limits = self.limits
        self._start(limits.statements_on_host if on_host else limits.statements, on_host)

    def _start(self, statements: int, on_host: bool = False) -> None:
        self._runs.clear()
        self._is_cut = False
        self._is_on_host = on_host
        self._allowed = statements
        self._end_of_root = self._statements + statements
        self._end_with_keys = self._statements + max(statements, self.limits.statements_with_keys)
        self.used = {}

    def start_observed(self, root: Frame) -> None:
        """Start a call that was observed, which is not at the cost of what runs in any case."""
        self.is_thorough = False
        self.start_root(root=root)
        self._end_of_file = max(self._end_of_file, self._end_of_root)

    def start_example(self) -> None:
        """Start what a file gives as an example: it does not depend on what ran before."""
        self.is_thorough = True
        self._start(self.limits.statements_of_example)
        self._end_of_file = max(self._end_of_file, self._end_of_root)

    # --- code

    def run_module(self, module: Module) -> Frame:
        """The names of a root, by running its body."""
        frame = self.project.ran(module)
        self.execute_apart(frame, module.syntax.body)
        self.reached.clear()  # Names stood for less before.
        return frame

    def names_of(self, module: Module) -> Frame:
        """The names of a module that is imported."""
        frame = module.frame
        if frame is None:
            frame = self.project.ran(module)
            defer(self, frame)
        return frame

    def execute_apart(self, frame: Frame, body: Iterable[ast.stmt]) -> None:
        """Run statements of a module, whatever runs now."""
        used, self.used = self.used, {}
        control, self.control = self.control, 0
        choices, self.choices = self.choices, 0
        before = self._statements
        self.execute(frame, body)
        # It runs once, whoever is the first to ask for it.
        spent = self._statements - before
        self._end_of_root += spent
        self._end_with_keys += spent
        self.used, self.control, self.choices = used, control, choices

    def evaluate(self, frame: Frame, syntax: ast.expr) -> Value:
        """The value of an expression."""
        spend(STEPS_OF_EXPRESSION)
        handler = _EXPRESSIONS.get(syntax.__class__)
        if handler is None:
            return self.opaque("expression", Site(frame, syntax), ())  # of a later Python
        return handler(self, frame, syntax)

    def execute(self, frame: Frame, body: Iterable[ast.stmt]) -> bool:
        """Run statements; false if they never reach their end."""
        around = (self.control, self.choices, frame.region, frame.breaks)
        # What a root runs itself is in proportion to the file.
        cost = frame is not self._root
        for statement in body:
            self._statements += cost
            self._position = (frame, statement)
            handler = STATEMENTS.get(statement.__class__)
            try:
                if handler is not None and handler(self, frame, statement) is False:
                    return False
            except RecursionError:
                control, choices, frame.region, frame.breaks = around
                self.leave_off(frame.place(statement), control, choices)
                leave_unknown(self, frame, statement)
        return True

    def leave_off(self, place: Place, control: int = 0, choices: int = 0) -> None:
        """Go on after something that is nested too deeply to be gone through."""
        self.control, self.choices = control, choices
        self.record.too_deep[place] = None

    def give_up(self, reason: str) -> None:
        """Nothing more is run: what was left may do anything to anything."""
        self.record.is_lost = True
        if self._position is not None:
            frame, statement = self._position
            self.record.leave_out(frame, statement, reason, on_host=False)

    def call(
        self, site: Site, callee: Value, args: list[Value], keywords: dict[str, Value]
    ) -> Value:
        """The result of a call."""
        handler = CALLS.get(callee.__class__)
        if handler is None:
            return self.opaque("call", site, (callee, *args, *keywords.values()))
        return handler(self, site, callee, args, keywords)

    def may_run(self, function: Function, site: Site, given: tuple[Value, ...]) -> bool:
        """Whether the interpreter can afford to follow a call."""
        limit = self._limit(function, site, given)
        if limit and not self._is_cut:
            self._is_cut = True
            self.record.leave_out(site.frame, site.syntax, limit, self._is_on_host)
        return not limit

    def start_run(self, function: Function) -> None:
        """Count a call that is followed."""
        syntax = function.syntax
        self._runs[syntax] += 1
        if syntax in self.record.runs:
            # The first run is in proportion to the file, further ones are not.
            self._statements += size_of(syntax) // NODES_OF_STATEMENT

    def is_running(self, function: Function, site: Site) -> bool:
        """Whether a call goes on with what it is inside of, and may not come to an end.

        What a decorator makes of two functions are two functions, although it is written once.
        """
        running = [it for it in site.frame.callers() if it.function is function.syntax]
        return len(running) >= WRAPPERS or any(it.outer is function.frame for it in running)

    def _limit(self, function: Function, site: Site, given: tuple[Value, ...]) -> str:
        """Which limit is reached, if one is, so that a call is not followed."""
        if site.frame.depth >= self.limits.depth:
            return f"more than {self.limits.depth} nested calls"
        runs = self.limits.runs_of_example if self.is_thorough else self.limits.runs
        if self._runs[function.syntax] >= runs:
            return f"more than {runs} calls of `{function.name}`"
        if self._statements >= self._end_of_file:
            return "too many statements in all functions of the file together"
        if self._statements < self._end_of_root or (
            self._statements < self._end_with_keys
            and any(isinstance(it, Data) and it.node.is_key for it in given)
        ):
            return ""
        if self._is_on_host:
            return f"more than {self._allowed} statements outside of transformations"
        return f"more than {self._allowed} statements"

    # --- names

    def lookup(self, frame: Frame, name: str) -> Value | None:
        """The value of a name, where a frame can see it."""
        scope: Frame | None = frame
        while scope is not None:
            value = scope.environment.get(name)
            if value is not None:
                if isinstance(value, Pending):
                    value = value.resolve(self)
                if value is not None:
                    return value
            scope = scope.outer
        return None

    # --- values

    def opaque(
        self,
        operation: str,
        site: Site,
        operands: Iterable[Value],
        traced: bool | None = None,
        type: str = "",
    ) -> Data:
        """Something that is made from values in a way that is not known."""
        inputs = tuple(node for value in operands for node in nodes_of(value))
        node = Node(operation, inputs, site.syntax, site.frame, variation(inputs))
        return Data(node, traced, type=type)

    def array(
        self,
        operation: str,
        site: Site,
        operands: Iterable[Value],
        is_jax: bool = True,
        shape: object = None,
        dtype: str | None = None,
    ) -> Data:
        """An array that an operation makes: a tracer if an operand is one, or under staging."""
        inputs: list[Node] = []
        given = tuple(operands)
        traced: bool | None = is_jax and site.frame.is_staged
        on_arrays = operation in ON_ARRAYS
        for value in given:
            if value.__class__ is Constant:
                continue
            if on_arrays and isinstance(value, Data) and not value.is_array:
                self.used_as_arrays.add(value.node)
            for leaf in leaves(value):
                inputs.append(leaf.node)
                if not traced and leaf.traced is not False:
                    traced = leaf.traced
        node = Node(operation, tuple(inputs), site.syntax, site.frame, variation(inputs))
        node.shape = shape
        node.dtype = dtype
        node.operands = given
        if is_jax or traced or not site.frame.module.has_other_arrays:
            return Data(node, traced, True)
        is_known = any(isinstance(it, Data) and it.is_array for it in given)
        return Data(node, traced, is_known or operation.startswith("numpy."))

    def bounded(self, site: Site, value: Value) -> Value:
        """A value as it is, or only its origin if it is too large to go through its parts."""
        if not isinstance(value, (Sequence, Mapping)) or is_bounded(value):
            return value
        return self.opaque("container", site, (value,))

    def tuple_of(self, *items: Value) -> Sequence:
        """A tuple of Python's."""
        return Sequence("tuple", list(items))

    # --- events

    def test(self, site: Site, kind: str, value: Value) -> bool | None:
        """Python decides by a value: what it decides, if that is known."""
        if isinstance(value, Data):
            if value.traced:
                self.record.add(Test(site.syntax, site.frame, kind, value))
            return None
        if isinstance(value, Constant):
            try:
                return bool(value.value)
            except Exception:
                return None
        if isinstance(value, External):
            # It may be a function or a setting.
            return False if value.name == "typing.TYPE_CHECKING" else None
        if isinstance(value, Sequence) and value.items is not None and value.kind != "slice":
            return bool(value.items)
        return True if isinstance(value, Function) else None

    def convert(self, site: Site, kind: str, value: Value) -> None:
        """A value has to be one of Python's."""
        if any(leaf.traced for leaf in leaves(value)):
            self.record.add(Conversion(site.syntax, site.frame, kind, value))

    def note(self, event: Event) -> None:
        """Keep an event."""
        self.record.add(event)

    def use_key(self, site: Site, key: Value, by: str, is_certain: bool = True) -> None:
        """A key is consumed."""
        for leaf in leaves(key):
            node, region = leaf.node, site.frame.region
            node.is_key = node.is_key or is_certain
            whole = node.whole()
            seed = _seed(whole)
            before = self.used.get(node) or self.used.get(whole) or self._used_in_part(node, whole)
            before = before or self._used_of_seed(whole, seed)
            use = KeyUse(site.syntax, site.frame, leaf, by, before, region, is_certain)
            self.used[node] = self.used[whole] = self.used[seed] = use
            self.record.add(use)

    def _used_of_seed(self, key: Node, seed: Node) -> KeyUse | None:
        """The use of a key that the same function has made of the same seed.

        What other functions make of it may be meant to be alike: an evaluation, say.
        """
        use = self.used.get(seed)
        is_other = use is not None and use.key.node.whole().frame is not key.frame
        return None if is_other else use

    def _used_in_part(self, node: Node, whole: Node) -> KeyUse | None:
        """The use of one of some keys before that of all of them, or of all before that of one."""
        if node is not whole and node.operation != "carry":
            items = (it for it in (whole.children or {}).values() if it.operation == "item")
            return next((self.used[it] for it in items if it in self.used), None)
        keys = node.inputs[0] if node.operation == "item" and node.inputs else None
        use = self.used.get(keys) if keys is not None else None
        return use if use is not None and use.key.node is not keys else None


def _seed(key: Node) -> Node:
    """The seed that a key is made of, or else the key itself."""
    is_made = key.operation == "jax.random.key" and len(key.inputs) == 1
    return key.inputs[0] if is_made else key
