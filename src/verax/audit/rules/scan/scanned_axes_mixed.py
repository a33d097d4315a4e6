"""Arrays that are scanned together along axes with different names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.axes import names_of
from ...source.events import Loop
from ...source.queries.arrays import array_in_words
from ...source.queries.loops.scanned_rows import scans_over_rows
from ...source.values import leaves
from .._rule import Rule, Verdict
from ..axis._clashes import clashes_at

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Names that a scan pairs, in what it scans or in what it carries."""
    yield from clashes_at(
        facts,
        RULE,
        {"scanned", "carry"},
        expected=_EXPECTED,
        fix=_FIX,
    )


_EXPECTED = (
    "everything that is scanned has the same leading axis, and a carry keeps the meaning of its "
    "axes"
)
_FIX = (
    "pass what does not vary along {one} by closure (or in the carry) instead of in `xs`, or bring "
    "{one} to the front of all of them"
)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Scans of arrays whose leading axes have different names."""
    from ...words import is_sequence

    yield from _rows(facts)
    for loop in facts.events(Loop):
        first: dict[str, str] = {}
        for leaf in leaves(loop.xs) if loop.xs is not None else ():
            name = (names_of(leaf.node.shape) or ("",))[0]
            if name and name not in first:
                first[name] = array_in_words(facts, leaf)
        if len(first) < 2:
            continue
        one, other = sorted(first, key=lambda name: not is_sequence(name))[:2]
        yield RULE.finding(
            loop.place,
            current=f"axes {one} and {other} are scanned together: {first[one]} and {first[other]}",
            expected=_EXPECTED,
            fix=_FIX.format(one=one, other=other),
            engine=Engine.SOURCE,
        )


def _rows(facts: SourceFacts) -> Iterator[Finding]:
    """Scans that cannot run, since they step over the axis that the carry has rows for."""
    for loop, scanned, carry in scans_over_rows(facts):
        yield RULE.finding(
            loop.place,
            current=f"the scan steps over axis 0 of {array_in_words(facts, scanned)}, which is as "
            f"long as the first axis of its carry {array_in_words(facts, carry)}; what is left of "
            "it does not fit the carry",
            expected=_EXPECTED,
            fix="bring the axis to step over to the front with `jnp.swapaxes`",
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="SC001",
    name="scanned-axes-mixed",
    title="A scan pairs axes with different meanings",
    family="scan",
    severity=Severity.CRITICAL,
    exact="the names are declared, and the trace follows each to the operation that pairs them",
    explanation="""\
A scan cuts all of its `xs` along their leading axes. When one of them is a weight matrix, or has
batch in front where the others have time, each step sees a row of it that has nothing to do with
the step; equal sizes hide that. The same holds for a carry whose axes change their meaning from
one iteration to the next.""",
    wrong="""\
import jax
import jax.numpy as jnp

AXES = {"w": "hid hid", "drive": "time hid"}


def entry(w, drive):
    def step(h, inp):
        x_t, w_t = inp
        return jnp.tanh(w_t @ h + x_t), None

    return jax.lax.scan(step, jnp.ones(4), (drive, w))[0]


def inputs():
    return jnp.ones((4, 4)), jnp.ones((4, 4))
""",
    right="""\
import jax
import jax.numpy as jnp

AXES = {"w": "hid hid", "drive": "time hid"}


def entry(w, drive):
    def step(h, x_t):
        return jnp.tanh(w @ h + x_t), None

    return jax.lax.scan(step, jnp.ones(4), drive)[0]


def inputs():
    return jnp.ones((4, 4)), jnp.ones((4, 4))
""",
    trace=check,
    source=check_source,
)
