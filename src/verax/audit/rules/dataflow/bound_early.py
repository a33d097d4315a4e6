"""A function that was given parameters before they were trained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.lost.bound_early import bound_early
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Partials of a value that is updated before they are used."""
    for it in bound_early(facts):
        yield RULE.finding(
            it.place,
            current=f"`{it.function}` keeps the `{it.value}` of now, which are updated before it "
            "is used",
            expected=f"`{it.function}` sees the `{it.value}` of the moment at which it is used",
            fix=f"give `{it.value}` as an argument when it is called",
            evidence=(Evidence(f"`{it.value}` is updated here", it.changed_at),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="DF126",
    name="bound-early",
    title="A function keeps the first version of what is updated later",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
`partial(evaluate, params)` holds the parameters as they are at that moment. An update makes new
ones and gives them the name; the partial knows nothing of it, and all evaluations are those of the
first parameters.

Silent where a name says that the first version is meant: `reference`, `old`, `target`.
""",
    wrong="""\
from functools import partial

import jax
import jax.numpy as jnp

def error(params, x):
    return jnp.mean((x @ params - 1.0) ** 2)

def entry(params, x, test):
    validate = partial(error, params)
    history = []
    for _ in range(3):
        params = params - 0.1 * jax.grad(error)(params, x)
        history.append(validate(test))
    return params, jnp.stack(history)

def inputs():
    return jnp.zeros(3), jnp.ones((4, 3)), jnp.ones((2, 3))
""",
    right="""\
from functools import partial

import jax
import jax.numpy as jnp

def error(params, x):
    return jnp.mean((x @ params - 1.0) ** 2)

def entry(params, x, test):
    validate = partial(error, x=test)
    history = []
    for _ in range(3):
        params = params - 0.1 * jax.grad(error)(params, x)
        history.append(validate(params))
    return params, jnp.stack(history)

def inputs():
    return jnp.zeros(3), jnp.ones((4, 3)), jnp.ones((2, 3))
""",
    source=check_source,
)
