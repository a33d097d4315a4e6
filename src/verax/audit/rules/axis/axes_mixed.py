"""Two axes with different names meet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from .._rule import Rule, Verdict
from ._clashes import clashes_at, clashes_read

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts

_EXPECTED = "{one} meets {one}, and {other} meets {other}"
_FIX = (
    "move or insert an axis of one operand so that {other} lines up with {other}: "
    "`jnp.swapaxes`, `jnp.expand_dims`, or another `axis` or `out_axes`"
)
_KINDS = frozenset("elementwise contraction concatenation update branch declared indexed".split())


def check(facts: Facts) -> Iterator[Verdict]:
    """Declared names that an operation makes one axis."""
    from ...trace.axes.apart import never_meet

    yield from clashes_at(facts, RULE, _KINDS, expected=_EXPECTED, fix=_FIX)
    suspicious = facts.axes.clashes or facts.axes.reshuffles or facts.traced.failure is not None
    names = frozenset[str]() if suspicious else never_meet(facts.axes)
    if len(names) > 1:
        yield RULE.verified(
            f"axes {', '.join(sorted(names))} never meet each other",
            "every operation between two arrays pairs axes of the same name",
            facts.traced.place,
        )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Names that an operation makes one axis."""
    for clash in clashes_read(facts):
        one, other = clash.names
        yield RULE.finding(
            clash.place,
            current=f"axes {one} and {other} {clash.how}: {clash.arrays}",
            expected=_EXPECTED.format(one=one, other=other),
            fix=_FIX.format(one=one, other=other),
            evidence=clash.evidence,
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="AX001",
    name="axes-mixed",
    title="Axes with different meanings are paired",
    family="axis",
    severity=Severity.CRITICAL,
    exact="the names are declared, and the trace follows each to the operation that pairs them",
    proves_all=True,
    explanation="""\
Follows every declared axis through the program and reports where an operation pairs two of them:
adding a `(batch, time)` array to a `(time, feat)` one, contracting time against hidden units,
joining arrays whose other axes disagree, looking up steps by `jnp.arange(batch)`. Where a `vmap`, a
reduction or a transposition elsewhere put one of them there, that line is reported as well: the fix
may belong there.

JAX only compares sizes. Where two axes happen to have the same size, or broadcasting makes them
fit, such an operation runs and computes something else than what was meant.

Names come from `axes=` (or `AXES` on the command line), from jaxtyping annotations and from
`verax.axes`. Axes without a name take the name of those that they meet first.""",
    wrong="""\
import jax.numpy as jnp

AXES = {"x": "batch time feat", "mask": "batch time"}


def entry(x, mask):
    return (x * mask).sum(axis=1)  # (batch, time) lines up with (time, feat)


def inputs():
    return jnp.ones((4, 4, 4)), jnp.ones((4, 4))
""",
    right="""\
import jax.numpy as jnp

AXES = {"x": "batch time feat", "mask": "batch time"}


def entry(x, mask):
    return (x * mask[..., None]).sum(axis=1)


def inputs():
    return jnp.ones((4, 4, 4)), jnp.ones((4, 4))
""",
    trace=check,
    source=check_source,
)
