"""An instance of a class that JAX cannot look into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.queries.structures.crossing import crossing
from ...source.queries.structures.registration import may_be_derived, opaque_objects
from ...source.values import Class
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kind "class", for a class of the user's."""
    from ...trace.observe import class_place

    failure = facts.failure
    if failure is None or failure.kind != "class":
        return
    name = failure.details["cls"]
    cls = failure.find_class(name)
    defined = class_place(cls) if cls is not None else None
    if cls is None or defined is None or not facts.traced.user_code.owns(defined.file):
        return
    short = cls.__name__
    text = failure.statement.text if failure.statement else "a call"
    path = failure.details.get("path", "")
    methods = hasattr(cls, "tree_flatten") and hasattr(cls, "tree_unflatten")
    fix = (
        "Decorate the class with `jax.tree_util.register_pytree_node_class`: it has the methods, "
        "but JAX does not know of them."
        if methods
        else "Register the class: `jax.tree_util.register_dataclass` on a dataclass, or "
        "`jax.tree_util.register_pytree_node_class` on a class with two methods; or make it a "
        "NamedTuple. If it holds no arrays, name the argument in `static_argnames`."
    )
    yield RULE.finding(
        failure.place,
        current=f"`{text}` passes an instance of `{short}`"
        + (f" as `{path}`" if path else "")
        + ", a class that is not registered as a pytree",
        expected="what crosses a transformation is an array or a tree of registered classes",
        fix=fix,
        evidence=(Evidence(f"`{short}` is defined here", defined), *failure.calls()),
    )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Objects that cross the boundary of a transformation, of classes that are not registered."""
    for _, what, value, place in crossing(facts):
        for path, found in opaque_objects(value):
            cls = found.cls
            if may_be_derived(found):
                continue
            methods = cls.find("tree_flatten") is not None
            defined = cls.frame.place(cls.syntax)
            # Who derives from a registered class takes it for registered as well.
            inherits = any(isinstance(it, Class) and it.registration for it in cls.lineage())
            yield RULE.finding(
                defined if inherits else place,
                current=f"an instance of `{cls.name}`, a class that is not registered as a pytree, "
                f"is {what}{path}",
                expected="what crosses a transformation is an array or a tree of registered "
                "classes",
                fix=_WITH_METHODS if methods else _WITHOUT,
                evidence=(
                    Evidence("it crosses here", place)
                    if inherits
                    else Evidence(f"`{cls.name}` is defined here", defined),
                ),
                engine=Engine.SOURCE,
            )


_WITH_METHODS = (
    "Decorate the class with `jax.tree_util.register_pytree_node_class`: it has the methods, but "
    "JAX does not know of them."
)
_WITHOUT = (
    "Register the class: `jax.tree_util.register_dataclass` on a dataclass, or "
    "`jax.tree_util.register_pytree_node_class` on a class with two methods; or make it a "
    "NamedTuple. If it holds no arrays, name the argument in `static_argnames`."
)


RULE = Rule(
    code="PT201",
    name="unregistered-class",
    title="Class that is not a pytree",
    family="pytree",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
    by_absence=True,
    explanation="""\
Arguments and results of transformed functions are trees. JAX looks into tuples, lists, dicts and
classes that are registered; an instance of any other class is a leaf, and leaves must be arrays.
""",
    wrong="""\
import jax
import jax.numpy as jnp

class Running:
    def __init__(self, mean, count):
        self.mean, self.count = mean, count

@jax.jit
def update(running, x):
    return running.mean + (x - running.mean) / (running.count + 1.0)

def entry(x):
    return update(Running(jnp.zeros(2), 0.0), x)

def inputs():
    return (jnp.ones(2),)
""",
    right="""\
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp

class Running(NamedTuple):
    mean: jax.Array
    count: float

@jax.jit
def update(running, x):
    return running.mean + (x - running.mean) / (running.count + 1.0)

def entry(x):
    return update(Running(jnp.zeros(2), 0.0), x)

def inputs():
    return (jnp.ones(2),)
""",
    trace=check,
    source=check_source,
)
