"""Something outside of a traced function that it changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.classes import base_names
from ...source.events import Mutation
from ...source.queries.blame import is_outside, wrongly_called_at
from ...source.queries.boundaries import LOOPS, REPEATED, crossed, holds_tracer, passed_as_it_is
from ...source.queries.lost.changed_copies import ChangedCopy, changed_copies
from ...source.queries.putting_back import is_put_back, part_of
from ...source.queries.syntax import statement_around
from ...source.text import text_of
from ...source.values import Class, Data, Function, Instance, Mapping, Partial, Sequence
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Call
    from ...source.facts import SourceFacts
    from ...source.frame import Frame, Region

# Their modules thread what is assigned to them through transformations, or do so on purpose.
_WITH_STATE = ("flax.", "haiku.", "objax.", "equinox.nn.State")
_STORES = frozenset("append appendleft extend extendleft add put put_nowait update insert".split())
_COUNTING = frozenset(("collections.Counter.update", "collections.Counter.subtract"))


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Tracers that are stored outside, and counters that tracing moves on once."""
    for change in facts.events(Mutation):
        if change.frame.region is None or _is_of_context(change) or _is_left_to_setter(change):
            continue
        regions = _regions(facts, change)
        if not regions:
            continue
        if holds_tracer(change.value):
            if not is_put_back(facts, change, regions[-1]):
                yield _finding(facts, change, regions[-1], is_tracer=True)
        elif any(it.kind in (LOOPS if _takes(change) else REPEATED) for it in regions) and (
            _takes(change) or _counts(change)
        ):
            yield _finding(facts, change, regions[-1], is_tracer=False)
    for call in facts.calls(filter(_stores, facts.calls_by_name)):
        regions = _regions_of_store(call)
        if regions and any(holds_tracer(value) for value in call.args[1:]):
            yield _finding(facts, call, regions[-1], is_tracer=True)
        elif call.name in _COUNTING and any(it.kind in REPEATED for it in regions):
            yield _finding(facts, call, regions[-1], is_tracer=False)
    told: set[ast.AST] = set()
    for copy in changed_copies(facts):
        if copy.change.syntax not in told:
            told.add(copy.change.syntax)
            yield _lost(copy)


def _is_of_context(change: Mutation) -> bool:
    """Whether a context notes down that tracing is inside of it, and takes that back."""
    return change.frame.name.endswith(("__enter__", "__exit__"))


def _is_left_to_setter(change: Mutation) -> bool:
    """Whether a property is assigned to, whose setter changes what there is to change."""
    target = change.target
    found = target.cls.find(part_of(change)) if isinstance(target, Instance) else None
    return isinstance(found, Partial) and "setter" in found.keywords


def _regions(facts: SourceFacts, change: Mutation) -> list[Region]:
    """The transformations between a change and where the changed thing was made."""
    frame, target = change.frame, change.target
    if change.how == "global":
        return crossed(frame, frame.module.frame)
    if change.how == "nonlocal":
        return crossed(frame, _scope(frame, change.name))
    if isinstance(target, Data) and target.type.startswith("collections."):
        return crossed(frame, target.node.frame) if target.node.frame else []
    if isinstance(target, Data) and target.traced is False and change.how == "item":
        return crossed(frame, target.node.frame) if target.node.frame else []
    if isinstance(target, (Class, Function)):
        return crossed(frame, target.frame)
    if not isinstance(target, (Sequence, Mapping, Instance)):
        return []
    if isinstance(target, Instance) and (_keeps_state(target) or _is_made(target, frame)):
        return []
    if change.made_in is not None:
        return crossed(frame, change.made_in)
    regions = crossed(frame, None)
    owner = passed_as_it_is(facts, regions, target) if regions else None
    return regions if owner is not None else []


def _stores(name: str) -> bool:
    kind, _, method = name.rpartition(".")
    return method in _STORES and kind.startswith(("collections.", "queue."))


def _regions_of_store(call: Call) -> list[Region]:
    owner = call.args[0] if call.args else None
    node = owner.node if isinstance(owner, Data) else None
    while node is not None and node.operation == "item" and node.inputs:
        node = node.inputs[0]
    return crossed(call.frame, node.frame) if node is not None and node.frame is not None else []


def _is_made(target: Instance, frame: Frame) -> bool:
    """Whether an object is changed by its own constructor."""
    return any(
        getattr(it.function, "name", "") == "__init__" and target in it.given.values()
        for it in frame.callers()
    )


def _keeps_state(target: object) -> bool:
    return isinstance(target, Instance) and any(
        name.startswith(_WITH_STATE) for name in base_names(target.cls)
    )


def _scope(frame: Frame, name: str) -> Frame | None:
    scope = frame.outer
    while scope is not None and name not in scope.environment:
        scope = scope.outer
    return scope


def _takes(change: Mutation) -> bool:
    """Whether one element is taken out of a list."""
    return change.how == "pop" and isinstance(change.target, Sequence)


def _counts(change: Mutation) -> bool:
    """Whether the new value is made from the old one, as a counter's is."""
    if any(word in change.name.lower() for word in ("trace", "compil", "cache")):
        return False  # It is meant to count how often Python comes by.
    if change.frame.yields:
        return False  # A context says where tracing is, and takes it back.
    statement = statement_around(change.frame, change.syntax)
    if isinstance(statement, ast.AugAssign):
        return statement.target is change.syntax
    if isinstance(statement, ast.Assign) and change.syntax in statement.targets:
        made_of = _made_of(change.frame, statement.value)
        return any(_reads_old(node, change.syntax) for node in made_of)
    return False


def _made_of(frame: Frame, expression: ast.expr) -> Iterator[ast.AST]:
    """The parts of an expression, and of those that gave the names in it their values."""
    yield from ast.walk(expression)
    names = {it.id for it in ast.walk(expression) if isinstance(it, ast.Name)}
    for step, _ in frame.steps:
        target = step.targets[0] if isinstance(step, ast.Assign) else None
        if isinstance(step, ast.Assign) and isinstance(target, ast.Name) and target.id in names:
            yield from ast.walk(step.value)


_READERS = frozenset(("get", "pop", "setdefault"))


def _reads_old(node: ast.AST, changed: ast.AST) -> bool:
    """Whether an expression is what is about to be changed: `counts[k]`, or `counts.get(k, 0)`."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        return text_of(node) == text_of(changed)
    if not isinstance(node, ast.Call) or not isinstance(changed, ast.Subscript) or not node.args:
        return False
    called = node.func
    if not isinstance(called, ast.Attribute) or called.attr not in _READERS:
        return False
    is_same = text_of(called.value) == text_of(changed.value)
    return is_same and text_of(node.args[0]) == text_of(changed.slice)


def _finding(
    facts: SourceFacts, event: Mutation | Call, region: Region, is_tracer: bool
) -> Finding:
    text, kind = event.text, region.kind
    return RULE.finding(
        wrongly_called_at(facts, event, is_outside(facts)),
        current=f"`{text}` keeps a traced value outside of the `{kind}` that traces it, where it "
        "has no value"
        if is_tracer
        else f"`{text}`, which lives outside of the `{kind}`, is changed while Python traces the "
        "function: once, and not each time it runs",
        expected="a traced function changes nothing but its own local values",
        fix="Return the value, and store it where the function is called; what changes from one "
        "turn to the next belongs in the carry or in the arguments.",
        evidence=(
            Evidence("what is changed", event.place),
            Evidence(f"inside of `{region.kind}`", region.place),
        ),
        engine=Engine.SOURCE,
        confidence=Confidence.CERTAIN if is_tracer else Confidence.LIKELY,
    )


def _lost(copy: ChangedCopy) -> Finding:
    kind = copy.applied.transformed.kind
    return RULE.finding(
        copy.change.place,
        current=f"`{copy.change.text}` changes a copy: `{copy.argument}` was taken apart and put "
        f"together for the `{kind}`, and nothing reads it after",
        expected="a traced function returns what it has changed",
        fix=f"Return `{copy.argument}`, and take it from the result of the call.",
        evidence=(Evidence("it is called here", copy.applied.place),),
        engine=Engine.SOURCE,
    )


RULE = Rule(
    code="JT101",
    name="side-effect",
    title="Traced function changes something outside",
    family="jit",
    severity=Severity.CRITICAL,
    explanation="""\
Python goes through a jitted function, or the body of a `scan`, once, to learn what it computes;
only that computation runs afterwards. A list that is appended to, a global, an attribute of `self`
or a counter changes once and not each time, and what is stored there is a tracer, which has no
value. Arguments are taken apart into leaves and put together again inside: a dict or an object
there is a copy, and what is changed in it is lost unless it is returned.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(xs):
    seen = []

    @jax.jit
    def total(x):
        seen.append(jnp.max(x))
        return x.sum()

    return [total(x) for x in xs]

def inputs():
    return (jnp.ones((2, 3)),)
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(xs):
    seen = []

    @jax.jit
    def total(x):
        return x.sum(), jnp.max(x)

    totals = []
    for x in xs:
        value, largest = total(x)
        totals.append(value)
        seen.append(largest)
    return totals, seen

def inputs():
    return (jnp.ones((2, 3)),)
""",
    source=check_source,
)
