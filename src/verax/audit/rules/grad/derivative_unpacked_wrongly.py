"""What a derivative returns is unpacked as if it returned something else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.events import Applied
from ...source.queries.gradients.losses import derivative_in, has_auxiliary
from ...source.queries.gradients.unread_gradients import unread_tangents
from ...source.values import Constant
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Frame
    from ...source.values import Transformed

_LOSS = re.compile(r"(^|_)(loss|losses|value|val|cost|objective|nll|elbo|energy)$")
# What takes gradients, and the name of that argument.
_TAKERS = {"update": "updates", "apply_gradients": "grads", "apply_updates": "updates"}
_GRADIENT = re.compile(r"(^|_)(g|grad|grads|gradient|gradients)$")


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Assignments of a derivative's result to several names, and uses of all of it."""
    made = {id(it.outside): derivative_in(it.transformed) for it in facts.events(Applied)}
    yield from _passed_on(facts, made)
    for frame in facts.frames:
        for statement, value in frame.steps:
            derivative = made.get(id(value))
            if derivative is None or not isinstance(statement, ast.Assign):
                continue
            target = statement.targets[0]
            if isinstance(target, (ast.Tuple, ast.List)):
                yield from _judged(frame, target, derivative)
    for place in unread_tangents(facts):
        yield RULE.finding(
            place,
            current="of (value, tangent), which `jvp` returns, the tangent is dropped",
            expected="the tangent is what `jvp` is asked for",
            fix="take the second result of `jax.jvp`, or call the function itself",
            engine=Engine.SOURCE,
        )


def _passed_on(facts: SourceFacts, made: dict[int, Transformed | None]) -> Iterator[Finding]:
    """Optimisers that get all that a derivative returns, and not only the gradients."""
    takers = [it for it in facts.calls_by_name if it.rpartition(".")[2] in _TAKERS]
    for call in facts.calls(takers):
        name = call.name.rpartition(".")[2]
        given = call.keywords.get(_TAKERS[name])
        if given is None and len(call.args) > 1:
            given = call.args[1]  # after the optimiser, or the parameters
        derivative = made.get(id(given)) if given is not None else None
        auxiliary = has_auxiliary(derivative) if derivative is not None else None
        if derivative is None or auxiliary is None:
            continue
        if derivative.kind == "value_and_grad" or auxiliary:
            returned = _returned(derivative, auxiliary)
            yield RULE.finding(
                call.place,
                current=f"`{derivative.kind}` returns {returned}, and `{name}` gets all of it",
                expected=f"`{name}` gets the gradients",
                fix=f"take it apart first: `{_right(derivative, auxiliary)} = ...`",
                engine=Engine.SOURCE,
            )


def _judged(
    frame: Frame, target: ast.Tuple | ast.List, derivative: Transformed
) -> Iterator[Finding]:
    auxiliary = has_auxiliary(derivative)
    if auxiliary is None or any(isinstance(it, ast.Starred) for it in target.elts):
        return
    returned = _returned(derivative, auxiliary)
    problem = _problem(target.elts, derivative, auxiliary)
    if problem:
        yield RULE.finding(
            frame.place(target),
            current=f"`{derivative.kind}` returns {returned}, and {problem}",
            expected=f"names for {returned}, in this order",
            fix=f"write `{_right(derivative, auxiliary)} = ...`",
            engine=Engine.SOURCE,
        )


def _returned(derivative: Transformed, auxiliary: bool) -> str:
    if derivative.kind == "value_and_grad":
        return "((loss, aux), gradients)" if auxiliary else "(loss, gradients)"
    return "(gradients, aux)" if auxiliary else "the gradients"


def _right(derivative: Transformed, auxiliary: bool) -> str:
    if derivative.kind == "value_and_grad":
        return "(loss, aux), grads" if auxiliary else "loss, grads"
    return "grads, aux" if auxiliary else "grads"


def _problem(targets: list[ast.expr], derivative: Transformed, auxiliary: bool) -> str:
    """What is wrong with the names, if anything is."""
    is_pair = derivative.kind == "value_and_grad" or auxiliary
    names = [it.id if isinstance(it, ast.Name) else "" for it in targets]
    if is_pair and len(targets) != 2:
        return f"that is unpacked into {len(targets)} names"
    if len(targets) != 2:
        return ""
    numbers = derivative.options.get("argnums")
    is_single = numbers is None or isinstance(numbers, Constant)
    is_value = derivative.kind == "value_and_grad"
    if is_value and auxiliary and is_single and _has_gradient_inside(targets[1]):
        return "the gradients alone are taken apart as if they came with something else"
    first, second = names
    exchanged = bool(_GRADIENT.search(first) and _LOSS.search(second))
    if is_value:
        return f"`{first}` gets the loss, `{second}` the gradients" if exchanged else ""
    if is_single and _LOSS.search(first) and _GRADIENT.search(second):
        what = "the gradients, and" if auxiliary else "one part of the gradients, and"
        rest = "what the loss returns beside" if auxiliary else "another"
        return f"`{first}` gets {what} `{second}` {rest}"
    return ""


def _has_gradient_inside(target: ast.expr) -> bool:
    """Whether gradients are named as one of several: `loss, (aux, grads)`."""
    names = [it.id for it in getattr(target, "elts", ()) if isinstance(it, ast.Name)]
    return len(names) == 2 and sum(map(bool, map(_GRADIENT.search, names))) == 1


RULE = Rule(
    code="GR203",
    name="derivative-unpacked-wrongly",
    title="The result of a derivative is unpacked wrongly",
    family="grad",
    severity=Severity.ERROR,
    explanation="""\
`jax.grad` returns gradients, `jax.value_and_grad` a pair of the loss and the gradients. With
`has_aux=True` the loss becomes a pair itself: `(loss, aux), grads`, and `jax.grad` returns
`grads, aux`.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def loss_of(w, x):
    error = x @ w
    return jnp.mean(error**2), error

def entry(w, x):
    loss, error, grads = jax.value_and_grad(loss_of, has_aux=True)(w, x)
    return loss, error, grads

def inputs():
    return jnp.ones(3), jnp.ones((5, 3))
""",
    right="""\
import jax
import jax.numpy as jnp

def loss_of(w, x):
    error = x @ w
    return jnp.mean(error**2), error

def entry(w, x):
    (loss, error), grads = jax.value_and_grad(loss_of, has_aux=True)(w, x)
    return loss, error, grads

def inputs():
    return jnp.ones(3), jnp.ones((5, 3))
""",
    source=check_source,
)
