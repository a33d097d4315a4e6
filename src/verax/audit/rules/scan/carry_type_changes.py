"""A loop whose body hands on a carry of another type than it was given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...finding import Engine, Evidence, Finding, Place, Severity
from ...source.events import Loop
from ...source.queries.arrays import are_declared
from ...source.queries.loops.bodies import (
    behind,
    body_frame,
    instead_of_pair,
    paired_leaves,
    pairs,
    shown_shape,
)
from ...source.queries.loops.carries import begun_at, structure_changed_at
from ...source.queries.loops.carry_shapes import ends_otherwise, has_other_size, is_paired, reshapes
from ...source.queries.loops.clashing_starts import clashing_starts
from ...source.queries.loops.growing import growth
from ...source.queries.names import local_name, names_of
from ...source.queries.structures.structure import difference
from ...source.shapes.dims import differ
from ...source.shapes.dtypes import is_weak, kind, strong
from ...source.values import Constant, Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.values import Value
    from ...trace.facts import Facts

_MISMATCH = re.compile(
    r"The input carry (?:component )?(?P<name>\S+) has type (?P<given>\S+\]) but the corresponding "
    r"output carry component has type (?P<handed>\S+?\]),"
)
_STRUCTURE = re.compile(r"The input carry (?:component )?(?P<name>\S+) is a")


@dataclass(frozen=True)
class _Mismatch:
    """One leaf of a carry: what it was, what it became, and where both were made."""

    name: str
    given: str
    handed_on: str
    given_at: Place | None = None
    handed_on_at: Place | None = None
    grows: bool = False


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kinds "carry", "not a pair" and "lengths"."""
    failure = facts.failure
    if failure is None or failure.kind != "carry":
        return
    found = _mismatch(facts)
    loop = failure.details["loop"]
    if found is None:
        name = _STRUCTURE.search(failure.text)
        which = f" at `{name['name']}`" if name else ""
        yield RULE.finding(
            failure.place,
            current=f"the body of the {loop} returns a carry of another structure than it got"
            f"{which}{_structures(facts)}",
            expected="the carry has the same structure in and out",
            fix="Return the carry as it came: the same tuples, dicts and classes, with new leaves.",
            evidence=failure.calls(),
        )
        return
    at_init = not found.grows and found.given_at is not None
    evidence = [
        Evidence(f"enters as {found.given}", found.given_at),
        Evidence(f"is handed on as {found.handed_on}", found.handed_on_at),
        Evidence(f"the {loop}", failure.place),
    ]
    yield RULE.finding(
        (found.given_at if at_init else found.handed_on_at) or failure.place,
        current=f"the carry `{found.name}` of the {loop} enters as {found.given} and is handed on "
        f"as {found.handed_on}",
        expected="a carry keeps its shape and dtype from one iteration to the next",
        fix=_fix(found),
        evidence=(*(it for it in evidence if it.place is not None), *failure.calls()),
    )


def _fix(found: _Mismatch) -> str:
    if found.grows:
        return (
            "Keep the size: drop the oldest entry, write into an array of full size with its `at` "
            "property, or return each step's value as the second result, which scan stacks."
        )
    if _dtype(found.given) != _dtype(found.handed_on):
        dtype = _dtype(found.handed_on)
        return (
            f"Start the carry with `dtype=jnp.{dtype}`, or cast what the body returns to "
            f"`jnp.{_dtype(found.given)}`."
        )
    return (
        f"Give the loop a first carry of the shape that the body returns, {found.handed_on}, or "
        "correct the axis that the body adds or drops."
    )


def _dtype(text: str) -> str:
    return text.partition("[")[0]


def _mismatch(facts: Facts) -> _Mismatch | None:
    """The first leaf whose type changes, from what was kept of the failing loop."""
    said = _MISMATCH.search(facts.failure.text if facts.failure else "")
    given = {path: value for role, path, value in facts.program.marked if role == "given"}
    handed_on = {path: value for role, path, value in facts.program.marked if role == "handed on"}
    for path, before in given.items():
        after = handed_on.get(path)
        if after is None or (before.shape == after.shape and before.dtype == after.dtype):
            continue
        if said is not None and not _is_said(said, before, after):
            continue
        name = said["name"] if said is not None else path or "carry"
        return _Mismatch(
            name,
            _type(before),
            _type(after),
            before.producer.place if before.producer is not None else None,
            after.producer.place if after.producer is not None else None,
            _grows(before.shape, after.shape) and _made_from(after, before),
        )
    return None if said is None else _Mismatch(said["name"], said["given"], said["handed"])


def _is_said(said: re.Match[str], before: Any, after: Any) -> bool:
    return (_type(before), _type(after)) == (said["given"].lstrip("~"), said["handed"].lstrip("~"))


def _type(value: Any) -> str:
    return f"{value.dtype}[{','.join(map(str, value.shape))}]"


def _grows(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    return len(before) == len(after) and before != after


def _made_from(after: Any, before: Any) -> bool:
    """Whether the step that makes the new carry takes the old one: then it changes its size."""
    return after.producer is not None and before in after.producer.inputs


def _structures(facts: Facts) -> str:
    for seen in facts.traced.observations:
        if seen.kind == "carry types":
            return f": {seen.data.given_structure} in, {seen.data.handed_on_structure} out"
    return ""


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Report carries that change for certain."""
    for loop in facts.events(Loop):
        yield from _changes(facts, loop)


def _changes(facts: SourceFacts, loop: Loop) -> Iterator[Finding]:
    if loop.kind == "scan" and instead_of_pair(loop.returned) is not None:
        return  # What is taken for its carry is none.
    changed = difference(loop.carry_in, loop.carry_out) or _lost(loop)
    if changed is None:
        yield from _changed_leaves(facts, loop)
    else:
        yield RULE.finding(
            structure_changed_at(facts, loop),
            current=f"the body of the {loop.kind} returns a carry of another structure than it "
            f"got: {changed}",
            expected="the carry has the same structure in and out",
            fix="return the carry as it came: the same tuples, dicts and classes, with new leaves",
            evidence=(Evidence("the loop is here", loop.place),),
            engine=Engine.SOURCE,
        )


def _lost(loop: Loop) -> str | None:
    """What becomes of a carry that a body without a result hands on."""
    nothing = isinstance(loop.carry_out, Constant) and loop.carry_out.value is None
    is_simple = loop.kind in ("fori_loop", "while_loop") and isinstance(loop.carry_in, Data)
    return "a value becomes None" if nothing and is_simple else None


def _changed_leaves(facts: SourceFacts, loop: Loop) -> Iterator[Finding]:
    initial = {id(inside): it for it, inside in pairs(loop.initial, loop.carry_in)}
    clashing = clashing_starts(facts).keys()
    for before, after in paired_leaves(loop.carry_in, loop.carry_out):
        one, other = before.node.shape, after.node.shape
        if not clashing.isdisjoint(behind(after) if clashing else ()):
            continue  # What the body makes of it is not known: it fails.
        if are_declared([before, after]):
            pass  # It may be the annotation that is wrong.
        elif isinstance(one, tuple) and isinstance(other, tuple):
            resized = len(one) == len(other) and any(map(differ, one, other))
            if resized or len(one) != len(other):
                grows = (
                    reshapes(before, after)
                    or is_paired(facts, before, after)
                    or (resized and not has_other_size(loop, before, after))
                )
                yield _changed_leaf(facts, loop, before, after, grows)
                continue
            if None in (*one, *other) and growth(after.node, before.node):
                yield _changed_leaf(facts, loop, before, after, grows=True)
                continue
        elif ends_otherwise(one, other) or growth(after.node, before.node):
            yield _changed_leaf(facts, loop, before, after, grows=True)
            continue
        if _changes_dtype(before, after, initial.get(id(before))):
            yield _changed_leaf(
                facts, loop, before, after, grows=False, narrows=_narrows(before, after)
            )


def _changes_dtype(before: Data, after: Data, initial: Value | None) -> bool:
    """Whether the dtype changes; a number of Python's starts as whatever it becomes."""
    one, other = before.node.dtype, after.node.dtype
    if one is None or other is None or is_weak(one) or not isinstance(initial, Data):
        return False
    first, second = strong(one) or "", strong(other) or ""
    if not all(it == "bool" or it[-1:].isdigit() for it in (first, second)):
        # Of one, only the kind is known: NumPy's integers are none of JAX's floats.
        return kind(first) != kind(second) and None not in (kind(first), kind(second))
    return first.replace("64", "32") != second.replace("64", "32")


def _narrows(before: Data, after: Data) -> bool:
    """Whether the body hands on booleans or integers where it got numbers that hold more.

    No arithmetic with the carry gives these: it is the body that is wrong, not the start. Nor is
    half precision chosen by chance; something in the body has more.
    """
    if before.node.dtype in _HALF and after.node.dtype == "float32":
        return True
    first, second = (str(it.node.dtype).strip("~0123456789") for it in (before, after))
    kinds = ("bool", "uint", "int", "float", "complex")
    return first in kinds and second in kinds and kinds.index(second) < kinds.index(first)


_HALF = frozenset(("bfloat16", "float16"))
_COUNTERS = frozenset("count counts counter step steps index idx cursor iteration episodes".split())


def _is_counter(before: Data, after: Data, names: set[str]) -> bool:
    """Whether a number is called a counter: it starts as an integer because it is one.

    What is multiplied in each turn counts nothing: the size of a step is one that has a fraction.
    """
    if after.node.operation in ("*", "/", "**"):
        return False
    words = {word for name in names for word in re.split(r"\W+", name)[-1].lower().split("_")}
    return str(before.node.dtype).lstrip("~u").startswith("int") and not words.isdisjoint(_COUNTERS)


def _changed_leaf(
    facts: SourceFacts, loop: Loop, before: Data, after: Data, grows: bool, narrows: bool = False
) -> Finding:
    starts = begun_at(loop, before)
    given = f"{before.node.dtype or 'an array'} {shown_shape(before.node.shape)}"
    handed_on = f"{after.node.dtype or 'one'} {shown_shape(after.node.shape)}"
    body = body_frame(facts, loop)
    name = local_name(facts, body, before, after)
    names = names_of(facts, before.node, body) | names_of(facts, after.node, body)
    narrows = narrows or _is_counter(before, after, names)
    found = _Mismatch(name, given, handed_on, starts, after.node.place, grows)
    evidence = (
        Evidence(f"enters as {given}", starts),
        Evidence(f"is handed on as {handed_on}", after.node.place),
        Evidence(f"the {loop.kind}", loop.place),
    )
    return RULE.finding(
        (after.node.place if grows or narrows else starts or after.node.place) or loop.place,
        current=f"the carry `{found.name}` of the {loop.kind} enters as {given} and is handed on "
        f"as {handed_on}",
        expected="a carry keeps its shape and dtype from one iteration to the next",
        fix=_fix(found) if grows else _fix_of_first(before, after),
        evidence=tuple(it for it in evidence if it.place is not None),
        engine=Engine.SOURCE,
    )


def _fix_of_first(before: Data, after: Data) -> str:
    if before.node.shape == after.node.shape or after.node.shape is None:
        return f"start from {after.node.dtype}, or cast what the body returns"
    return (
        f"give the loop a first carry of the shape that the body returns, "
        f"{shown_shape(after.node.shape)}, or correct the axis that the body adds or drops"
    )


RULE = Rule(
    code="SC201",
    name="carry-type-changes",
    title="Carry changes its type",
    family="scan",
    severity=Severity.ERROR,
    preview=True,
    exact="JAX raises while it traces the program",
    explanation="""\
A loop is compiled once for all iterations: what its body hands on has to have the structure, the
shapes and the dtypes of what it got. Usually the first carry lacks an axis (no batch), starts as
an integer, or the body appends to it.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(w, x):
    def step(h, x_t):
        return jnp.tanh(h + x_t @ w), None

    h0 = jnp.zeros(w.shape[1])
    return jax.lax.scan(step, h0, x)[0]

def inputs():
    return jnp.ones((3, 5)), jnp.ones((6, 4, 3))
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(w, x):
    def step(h, x_t):
        return jnp.tanh(h + x_t @ w), None

    h0 = jnp.zeros((x.shape[1], w.shape[1]))
    return jax.lax.scan(step, h0, x)[0]

def inputs():
    return jnp.ones((3, 5)), jnp.ones((6, 4, 3))
""",
    trace=check,
    source=check_source,
)
