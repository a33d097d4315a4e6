"""A derivative with respect to an argument that cannot have one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.events import Applied
from ...source.library.options import DERIVATIVES, argument_numbers
from ...source.queries.gradients.flatness import is_integer
from ...source.queries.gradients.losses import is_given_openly
from ...source.values import Constant, Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kinds "integer argument" and "argnums"."""
    failure = facts.failure
    if failure is None or failure.kind not in ("integer argument", "argnums"):
        return
    text = failure.statement.text if failure.statement else "the derivative"
    operands = failure.operands_in_words()
    if failure.kind == "argnums":
        details = failure.details
        what = f"argument {details['argnums']}, but fewer than {details['needed']} are positional"
        fix = _COUNT
    else:
        what = f"an argument of {failure.details['dtype']}"
        fix = _CHOOSE
    yield RULE.finding(
        failure.place,
        current=f"`{text}` differentiates with respect to {what}"
        + (f"; {operands}" if operands else ""),
        expected="derivatives are taken with respect to real or complex arrays",
        fix=fix,
        evidence=failure.calls(),
    )


_COUNT = "Count positional arguments from zero, and pass the differentiated one by position."
_CHOOSE = (
    "Choose the parameters by `argnums`, keep integers (steps, indices, labels) in other "
    "arguments, or make the argument a float (`1.0` instead of `1`)."
)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Arguments that are visibly integers, and numbers of arguments that are not there."""
    for event in facts.events(Applied):
        if event.transformed.kind not in DERIVATIVES or event.transformed.is_filtered:
            continue
        for what, fix in _problems(event):
            yield RULE.finding(
                event.place,
                current=f"`{event.transformed.kind}` differentiates with respect to {what}",
                expected="derivatives are taken with respect to real or complex arrays",
                fix=fix,
                engine=Engine.SOURCE,
            )


def _problems(event: Applied) -> Iterator[tuple[str, str]]:
    count = len(event.args)
    for number in argument_numbers(event.transformed) or ():
        if not -count <= number < count:
            if not is_given_openly(event):
                yield f"argument {number}, but only {count} are given by position", _COUNT
            continue
        if "allow_int" in event.transformed.options:
            continue
        value = event.args[number]
        if isinstance(value, Constant) and type(value.value) in (int, bool):
            yield f"argument {number}, which is {value.value!r}", _CHOOSE
        elif isinstance(value, Data) and is_integer(value.node):
            yield f"argument {number}, which holds {str(value.node.dtype).rstrip('*')}", _CHOOSE


RULE = Rule(
    code="GR202",
    name="integer-argument",
    title="Derivative with respect to an integer",
    family="grad",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
    explanation="""\
`jax.grad` differentiates with respect to its first argument unless `argnums` says otherwise.
Integers and booleans have no derivative.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def loss(label, w):
    return jnp.sum(w**2) - w[label]

def entry(label, w):
    return jax.grad(loss)(label, w)

def inputs():
    return jnp.int32(1), jnp.ones(3)
""",
    right="""\
import jax
import jax.numpy as jnp

def loss(label, w):
    return jnp.sum(w**2) - w[jnp.clip(label, 0, 2)]

def entry(label, w):
    return jax.grad(loss, argnums=1)(label, w)

def inputs():
    return jnp.int32(1), jnp.ones(3)
""",
    trace=check,
    source=check_source,
)
