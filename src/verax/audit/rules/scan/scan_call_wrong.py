"""A scan whose inputs disagree in length, or whose body does not return a pair."""

from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...trace.facts import Facts
from .._rule import Rule


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kinds "lengths" and "not a pair"."""
    failure = facts.failure
    if failure is None or failure.kind not in ("lengths", "not a pair"):
        return
    details, operands = failure.details, failure.operands_in_words()
    if failure.kind == "not a pair":
        current = f"the body of the scan returns {details['got']}"
        expected = "a body returns a pair: the next carry, and what is stacked (or None)"
        fix = "Return `carry, None` where nothing is to be stacked."
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


RULE = Rule(
    code="SC202",
    name="scan-call-wrong",
    title="Scan cannot step over its inputs",
    family="scan",
    severity=Severity.ERROR,
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
)
