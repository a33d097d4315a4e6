"""A scan whose inputs disagree in length, or whose body does not return a pair."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.classes import innermost_function
from ...source.events import Loop
from ...source.queries.loops.bodies import (
    body_frame,
    instead_of_pair,
    leading_size,
    returned_at,
    shown_shape,
)
from ...source.shapes.dims import differ
from ...source.values import Constant, leaves
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.values import Value
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kinds "lengths" and "not a pair"."""
    failure = facts.failure
    if failure is None or failure.kind not in ("lengths", "not a pair"):
        return
    details, operands = failure.details, failure.operands_in_words()
    if failure.kind == "not a pair":
        current = f"the body of the scan returns {details['got']}"
        expected = "a body returns a pair: the next carry, and what is stacked (or None)"
        fix = "Return the carry and `None` where nothing is to be stacked."
    elif "length" in details:
        current = f"the scan has length={details['length']}, and inputs of {details['leading']}"
        expected = "`length` is the leading size of what is scanned"
        fix = "Leave `length` out; it follows from the inputs."
    else:
        current = f"the scan gets inputs with the leading sizes {details['sizes']}"
        expected = "all that is scanned has the same leading axis, the one to step over"
        fix = "Bring the axis to step over to the front (`jnp.moveaxis`), and close over the rest."
    yield RULE.finding(
        failure.place,
        current=current + (f"; {operands}" if operands else ""),
        expected=expected,
        fix=fix,
        evidence=failure.calls(),
    )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Report scans whose lengths disagree, and bodies that return no pair."""
    for loop in facts.events(Loop):
        if loop.kind == "scan":
            yield from _lengths(facts, loop)
            yield from _no_pair(facts, loop)


def _is_open(call: ast.AST) -> bool:
    """Whether a call hands on arguments that it does not name: `scan(body, *args, **options)`."""
    return isinstance(call, ast.Call) and (
        any(isinstance(it, ast.Starred) for it in call.args)
        or any(it.arg is None for it in call.keywords)
    )


def _lengths(facts: SourceFacts, loop: Loop) -> Iterator[Finding]:
    sizes = [
        (f"`{facts.name_of(leaf)}`", leading_size(leaf.node))
        for leaf in leaves(loop.xs or Constant(None))
    ]
    length = loop.length.value if isinstance(loop.length, Constant) else None
    if length is not None:
        sizes.insert(0, ("`length`", length))
    for name, size in sizes[1:]:
        if differ(size, sizes[0][1]):
            first = f"{sizes[0][0]} has {_shown(sizes[0][1])}"
            yield RULE.finding(
                loop.place,
                current=f"the scan gets inputs of different lengths: {first}, and {name} has "
                f"{_shown(size)}",
                expected="all that is scanned has the same leading axis, the one to step over",
                fix="bring the axis to step over to the front (`jnp.moveaxis`), close over what is "
                "the same in each step, and leave `length` out where there are inputs",
                engine=Engine.SOURCE,
            )
            return
    if _is_nothing(loop.xs) and _is_nothing(loop.length) and not _is_open(loop.syntax):
        yield RULE.finding(
            loop.place,
            current="the scan has neither inputs nor a length",
            expected="`xs` or `length` says how many iterations there are",
            fix="give the scan a `length`, or inputs to scan over",
            engine=Engine.SOURCE,
        )


def _shown(size: object) -> str:
    return shown_shape((size,)).strip("(),")  # type: ignore[arg-type]


def _is_nothing(value: Value | None) -> bool:
    return value is None or (isinstance(value, Constant) and value.value is None)


def _no_pair(facts: SourceFacts, loop: Loop) -> Iterator[Finding]:
    frame = body_frame(facts, loop)
    got = instead_of_pair(loop.returned)
    if innermost_function(loop.body) is None or frame is None or got is None or frame.yields:
        return
    yield RULE.finding(
        returned_at(facts, loop) or loop.place,
        current=f"the body of the scan returns {got}",
        expected="a body returns a pair: the next carry, and what is stacked (or None)",
        fix="return the carry and `None` where nothing is to be stacked",
        evidence=(Evidence("the scan is here", loop.place),),
        engine=Engine.SOURCE,
    )


RULE = Rule(
    code="SC202",
    name="scan-call-wrong",
    title="Scan cannot step over its inputs",
    family="scan",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
    explanation="""\
`jax.lax.scan` steps over the leading axis of everything in `xs`, which must be equally long, and
its body returns the next carry and a slice of the output.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(w, x):
    return jax.lax.scan(lambda h, it: (h + it[0] @ it[1], None), 0.0, (x, w))[0]

def inputs():
    return jnp.ones((3, 3)), jnp.ones((6, 3))
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(w, x):
    return jax.lax.scan(lambda h, x_t: (h + x_t @ w, None), jnp.zeros(3), x)[0]

def inputs():
    return jnp.ones((3, 3)), jnp.ones((6, 3))
""",
    trace=check,
    source=check_source,
)
