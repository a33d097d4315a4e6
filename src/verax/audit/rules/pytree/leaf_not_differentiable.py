"""A derivative with respect to a tree that holds something else than arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
from ...source.events import Applied
from ...source.library.options import DERIVATIVES, argument_numbers
from ...source.queries.structures.trees import strange_leaves
from ...source.values import Constant
from ..jit.not_an_array import is_for_pytrees


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kind "class" in a derivative, for a class that is not the user's."""
    from ...trace.observe import class_place

    failure = facts.failure
    if (
        failure is None
        or failure.kind != "class"
        or not is_for_pytrees(facts, failure.details["cls"])
    ):
        return
    name = failure.details["cls"]
    cls = failure.find_class(name)
    defined = class_place(cls) if cls is not None else None
    if defined is not None and facts.traced.user_code.owns(defined.file):
        return  # An unregistered class of the user's.
    text = failure.statement.text if failure.statement else "a derivative"
    short = name.rpartition(".")[2]
    what = "a function" if "unction" in short else f"a {short}"
    yield RULE.finding(
        failure.place,
        current=f"`{text}` differentiates with respect to a tree with {what} among its leaves",
        expected="every leaf of what is differentiated is an array of real numbers",
        fix="Differentiate the arrays only: `eqx.filter_grad` for an equinox module, or split the "
        "tree (`eqx.partition`, a field marked static) and close over the rest.",
        evidence=failure.calls(),
    )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Derivatives with respect to trees with functions and words in them."""
    for applied in facts.events(Applied):
        transformed = applied.transformed
        if transformed.kind not in DERIVATIVES or transformed.is_filtered:
            continue
        for number in argument_numbers(transformed) or ():
            value = applied.args[number] if number < len(applied.args) else None
            # A number by itself is no tree: what is differentiated then is told elsewhere.
            in_tree = not isinstance(value, Constant) and "allow_int" not in transformed.options
            strange = strange_leaves(value, with_integers=in_tree) if value is not None else ()
            path, what = next(iter(strange), ("", ""))
            if not what:
                continue
            where = f" at `{path.lstrip('.')}`" if path else ""
            yield RULE.finding(
                applied.place,
                current=f"`{applied.text}` differentiates with respect to a tree with a {what} "
                f"among its leaves{where}",
                expected="every leaf of what is differentiated is an array of real numbers",
                fix="Differentiate the arrays only: `eqx.filter_grad` for an equinox module, or "
                "split the tree (`eqx.partition`, a field marked static) and close over the rest.",
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="PT202",
    name="leaf-not-differentiable",
    title="Differentiated tree holds more than arrays",
    family="pytree",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
    explanation="""\
`jax.grad` differentiates with respect to all leaves of its argument. An activation function, a
name or a flag among them has no derivative.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def loss(model, x):
    return jnp.mean(model["activation"](x @ model["w"]))

def entry(w, x):
    return jax.grad(loss)({"w": w, "activation": jnp.tanh}, x)["w"]

def inputs():
    return jnp.ones(3), jnp.ones((4, 3))
""",
    right="""\
import jax
import jax.numpy as jnp

def loss(model, activation, x):
    return jnp.mean(activation(x @ model["w"]))

def entry(w, x):
    return jax.grad(loss)({"w": w}, jnp.tanh, x)["w"]

def inputs():
    return jnp.ones(3), jnp.ones((4, 3))
""",
    trace=check,
    source=check_source,
)
