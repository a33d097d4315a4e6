"""Something that a jitted function has read while it was traced, and that changes afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...source.captures import content
from ...source.events import Fact, Made, Mutation
from ...source.queries.loops.repetition import (
    common_loops,
    in_one_loop,
    is_made_inside,
    loops_of,
    root_of,
    surrounds,
)
from ...source.values import Constant, Data, Instance, Mapping, Sequence, leaves
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.captures import Capture
    from ...source.facts import SourceFacts
    from ...source.frame import Frame, Region
    from ...source.values import Class, Value


_NOTHING = ("NoneType", None)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Reads that find something else at a later call than at the first."""
    calls = [fact for fact in facts.events(Fact) if fact.kind == "captured"]
    own = _set_while_tracing(facts)
    calls = [_without(it, own) for it in calls]
    yield from _changed_between_calls(facts, calls)
    # Of very many changes few are left, and each of these is compared with each read.
    every = facts.events(Mutation)
    changes = [it for it in every if it.target is not None and not it.frame.is_staged]
    for call in calls:
        yield from _changed_by_loops(changes, call)
        yield from _changed_by_methods(facts, call)


def _without(call: Fact, own: set[tuple[Class, str]]) -> Fact:
    """A call without what traced code sets itself: what it reads is what it has set."""
    captures = [
        it
        for it in call.data["captures"]
        if not isinstance(it.holder, Instance) or (it.holder.cls, it.read.attribute) not in own
    ]
    return Fact(call.syntax, call.frame, call.kind, {**call.data, "captures": captures})


def _set_while_tracing(facts: SourceFacts) -> set[tuple[Class, str]]:
    return {
        (it.target.cls, _attribute(it))
        for it in facts.events(Mutation)
        if it.frame.is_staged and isinstance(it.target, Instance)
    }


def _changed_between_calls(facts: SourceFacts, calls: list[Fact]) -> Iterator[Finding]:
    first: dict[object, Capture] = {}
    for call in calls:
        transformed, owner = call.data["transformed"], call.data["owner"]
        for capture in call.data["captures"]:
            key = (transformed, owner, root_of(call.frame), capture.frame, capture.read.text)
            before = first.setdefault(key, capture)
            # What is `None` at first is often filled in before the function is called for real.
            known = before.content not in (None, _NOTHING) and capture.content is not None
            if known and before.content != capture.content and not _is_tracer(capture.value):
                change = _change(facts, call, capture)
                yield _finding(capture, change or call.place, Confidence.CERTAIN)


def _is_tracer(value: Value) -> bool:
    """Whether tracing has left a value behind, which is worse, and told of by itself."""
    return any(leaf.traced for leaf in leaves(value))


def _changed_by_loops(changes: list[Mutation], call: Fact) -> Iterator[Finding]:
    """A loop around the call changes what the function has read in its first turn."""
    transformed, owner = call.data["transformed"], call.data["owner"]

    # For another object, which is a static argument, the function is traced again.
    made = [transformed, *([owner.node] if isinstance(owner, Instance) else [])]

    def is_kept(loop: Region) -> bool:
        return not any(is_made_inside(it, loop) for it in made)

    for capture in call.data["captures"]:
        value = capture.value
        loops = loops_of(value.node) if isinstance(value, Data) else []
        if any(surrounds(loop, call) and is_kept(loop) for loop in loops):
            yield _finding(capture, call.place, Confidence.CERTAIN)
            continue
        for change in changes:
            if not _changes(change, capture) or _is_put_back(change, capture):
                continue
            reached = common_loops(change, call.frame, call.syntax)
            if any(map(is_kept, reached)) or in_one_loop(call, change):
                yield _finding(capture, change.place, Confidence.CERTAIN)
                break


def _changes(change: Mutation, capture: Capture) -> bool:
    """Whether a change is one of what was read: an attribute, an item, a list that grows."""
    value, target = capture.value, change.target
    if change.how == "global" and not capture.read.path:
        is_same = capture.frame.module.frame is change.frame.module.frame
        return is_same and capture.read.name == change.name
    if isinstance(value, Data) and isinstance(target, Data) and change.how == "item":
        return value.node is target.node
    if isinstance(target, (Sequence, Mapping)) and target is value:
        return True  # It grows, or loses something.
    return target is capture.holder and _part_changed(change) == capture.read.path[-1]


def _is_put_back(change: Mutation, capture: Capture) -> bool:
    """Whether a change writes the very constant that the function has read."""
    return isinstance(change.value, Constant) and content(change.value) == capture.content


def _part_changed(change: Mutation) -> tuple[str, object] | None:
    """The attribute or the key that a change is of, as a read would name it."""
    if change.how == "attribute" and isinstance(change.syntax, ast.Attribute):
        return "attribute", change.syntax.attr
    index = change.syntax.slice if isinstance(change.syntax, ast.Subscript) else None
    return ("key", index.value) if isinstance(index, ast.Constant) else None


def _changed_by_methods(facts: SourceFacts, call: Fact) -> Iterator[Finding]:
    """Another method changes what a jitted one, or a function inside of one, has read of `self`."""
    owner = call.data["owner"]
    if isinstance(owner, Instance) and _has_own_hash(owner.cls):
        return
    for change in facts.events(Mutation):
        target = change.target
        if not isinstance(target, Instance):
            continue
        for capture in call.data["captures"]:
            holder = owner if isinstance(owner, Instance) else _own_object(capture)
            if holder is None or target.cls is not holder.cls:
                continue
            is_read = capture.read.path[:1] == (("attribute", _attribute(change)),)
            if not is_read or capture.read.name != "self" or _is_filled_later(facts, change):
                continue
            if _is_later(facts, change):
                yield _finding(capture, change.place, Confidence.LIKELY)


def _own_object(capture: Capture) -> Instance | None:
    """The object of the method inside of which a function was written that reads of it."""
    scope: Frame | None = capture.frame
    while scope is not None and "self" not in scope.environment:
        scope = scope.outer
    found = None if scope is None else scope.environment["self"]
    return found if isinstance(found, Instance) else None


def _has_own_hash(cls: Class) -> bool:
    """Whether objects that have changed may count as other ones, and be traced again."""
    return cls.find("__hash__") is not None or cls.find("__eq__") is not None


def _is_filled_later(facts: SourceFacts, change: Mutation) -> bool:
    """Whether an attribute is `None` until it is set once."""
    return any(
        isinstance(it.value, Constant) and it.value.value is None
        for it in facts.events(Mutation)
        if _attribute(it) == _attribute(change)
    )


def _is_later(facts: SourceFacts, change: Mutation) -> bool:
    """Whether a method changes an object that is in use: not while it is made or set up."""
    frame = change.frame
    if isinstance(change.target, Instance) and change.target.made_in is frame:
        return False
    setters = [it.function for it in frame.callers() if it.function is not None]
    names = [getattr(it, "name", "") for it in setters]
    if frame.is_staged or any(it in ("__init__", "setup", "__post_init__") for it in names):
        return False
    if _is_for_new_ones(facts, frame.function):
        return False
    if isinstance(change.value, Constant) and change.value.value is None:
        return False
    if not isinstance(frame.function, ast.FunctionDef) or _is_built_up(facts, frame.function):
        return False
    # A method that applies the transformation anew knows what it does.
    return not any(made.frame.function is frame.function for made in facts.events(Made))


def _is_for_new_ones(facts: SourceFacts, method: ast.AST | None) -> bool:
    """Whether a method is called only on objects that its callers have just made."""
    runs = facts.record.runs.get(method, ()) if method is not None else ()
    called = [it for it in runs if it.caller is not None and it.called_at is not None]
    owners = [next(iter(it.given.values()), None) for it in called]
    return bool(called) and all(
        isinstance(owner, Instance) and owner.made_in is run.caller
        for owner, run in zip(owners, called, strict=True)
    )


def _is_built_up(facts: SourceFacts, method: ast.FunctionDef) -> bool:
    """Whether a method is for objects that are being made, or fills in what is missing."""
    if any(
        isinstance(node, ast.Compare) and any(isinstance(op, ast.Is) for op in node.ops)
        for node in ast.walk(method)
    ):
        return True
    runs = facts.record.runs.get(method, ())
    for frame in runs:
        callers = [getattr(it.function, "name", "") for it in frame.callers()]
        if "__init__" in callers:
            return True
    called = [it for it in runs if it.called_at is not None]
    return method.name.startswith("_") and bool(called) and all(map(_is_of_new_object, called))


def _is_of_new_object(frame: Frame) -> bool:
    """Whether the caller of a method has just made the object that it is called of."""
    owner = frame.given.get("self")
    return isinstance(owner, Instance) and owner.made_in is frame.caller


def _attribute(change: Mutation) -> str:
    if change.how == "attribute" and isinstance(change.syntax, ast.Attribute):
        return change.syntax.attr
    return "?"


def _change(facts: SourceFacts, call: Fact, capture: Capture) -> Place | None:
    """Where what was read is changed, as far as it is an attribute of an object."""
    found: Place | None = None
    for change in facts.events(Mutation):
        if change.frame.is_staged or root_of(change.frame) is not root_of(call.frame):
            continue
        if change.target is capture.holder and _attribute(change) == capture.read.attribute:
            found = change.place
    return found


def _finding(capture: Capture, change: Place, confidence: Confidence) -> Finding:
    read = capture.read
    place = capture.frame.place(read.syntax)
    return RULE.finding(
        place,
        current=f"`{read.text}` is read while the function is traced, and kept; at line "
        f"{change.line} it has changed, which the compiled function does not see",
        expected="what changes between calls is an argument",
        fix=f"Pass `{read.text}` to the jitted function as an argument.",
        evidence=(Evidence(f"`{read.text}` is something else by then", change),),
        engine=Engine.SOURCE,
        confidence=confidence,
    )


RULE = Rule(
    code="JT103",
    name="stale-capture",
    title="Compiled function keeps an old value",
    family="jit",
    severity=Severity.CRITICAL,
    explanation="""\
A jitted function is traced at its first call, and what it reads from outside of its arguments, a
global, a variable of an enclosing function, an attribute of a static `self`, is a constant from
then on. When that changes, the compiled function goes on with the old value.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(x):
    scale = 1.0

    @jax.jit
    def scaled(x):
        return x * scale

    first = scaled(x)
    scale = 2.0
    return first, scaled(x)

def inputs():
    return (jnp.ones(3),)
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(x):
    @jax.jit
    def scaled(x, scale):
        return x * scale

    first = scaled(x, 1.0)
    return first, scaled(x, 2.0)

def inputs():
    return (jnp.ones(3),)
""",
    source=check_source,
)
