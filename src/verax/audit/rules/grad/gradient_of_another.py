"""Parameters that are changed by the gradient with respect to something else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Edit, Engine, Evidence, Finding, Severity
from ...source.edits import with_argument
from ...source.queries.training.applied_gradients import misapplied
from ...source.values import Sequence
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.queries.training.applied_gradients import Misapplied


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Gradients with respect to one argument, for an optimiser of another."""
    for it in misapplied(facts):
        given = [facts.name_of(argument) for argument in it.derivative.args]
        yield RULE.finding(
            it.wanted_at,
            current=f"the gradient is taken with respect to argument {it.differentiated}, "
            f"`{given[it.differentiated]}`, and then changes argument {it.changed}, "
            f"`{given[it.changed]}`",
            expected=f"the gradient is taken with respect to `{given[it.changed]}`",
            fix=_fix(it),
            evidence=(Evidence("applied here", it.at.place),),
            engine=Engine.SOURCE,
            edit=_edit(it),
        )


def _edit(it: Misapplied) -> Edit | None:
    made = it.derivative.transformed
    if isinstance(made.options.get("argnums"), Sequence):
        return None
    return with_argument(made.frame, made.syntax, "argnums", str(it.changed))


def _fix(it: Misapplied) -> str:
    numbers = it.derivative.transformed.options.get("argnums")
    if isinstance(numbers, Sequence):
        return "take the gradients apart in the order of `argnums`"
    return f"pass `argnums={it.changed}`, or make it the first argument"


RULE = Rule(
    code="GR204",
    name="gradient-of-another",
    title="Parameters are changed by the gradient of something else",
    family="grad",
    severity=Severity.CRITICAL,
    explanation="""\
`jax.grad` differentiates with respect to the first argument unless `argnums` says otherwise. With
the data first and the parameters after them, it gives the gradient of the data: an optimiser then
fails over trees that do not fit, or, where they do, moves the parameters somewhere.

Reported where parameters are handed to the differentiated function as another argument than the one
whose gradient an optimiser then applies to them.""",
    wrong="""\
import jax
import jax.numpy as jnp
import optax

tx = optax.sgd(0.1)


def loss(x, params):
    return jnp.mean((x @ params) ** 2)


def entry(params, state, x):
    gradients = jax.grad(loss)(x, params)
    updates, state = tx.update(gradients, state)
    return optax.apply_updates(params, updates), state


def inputs():
    return jnp.ones((3, 3)), tx.init(jnp.ones((3, 3))), jnp.ones((3, 3))
""",
    right="""\
import jax
import jax.numpy as jnp
import optax

tx = optax.sgd(0.1)


def loss(x, params):
    return jnp.mean((x @ params) ** 2)


def entry(params, state, x):
    gradients = jax.grad(loss, argnums=1)(x, params)
    updates, state = tx.update(gradients, state)
    return optax.apply_updates(params, updates), state


def inputs():
    return jnp.ones((3, 3)), tx.init(jnp.ones((3, 3))), jnp.ones((3, 3))
""",
    source=check_source,
)
