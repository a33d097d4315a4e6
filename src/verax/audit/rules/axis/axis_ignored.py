"""A function that is told an axis, and does not ask for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.operations import REDUCTIONS
from ...source.parameters import parameters
from ...source.queries.arrays import is_foreign
from ...source.queries.reads import is_ignored
from ...source.remember import walked
from ...source.values import Class, Instance
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Frame
    from ...source.parameters import NamedFunction

_NAMES = ("axis", "axes", "keepdims")
_TAKERS = REDUCTIONS | frozenset(
    "softmax log_softmax sort argsort cumsum cumprod concatenate stack flip "
    "roll take repeat".split()
)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Functions that never read such a parameter, and call what has one, without it."""
    own = {it.name: it for it in facts.module.syntax.body if isinstance(it, ast.FunctionDef)}
    for function, runs in facts.functions():
        for name in (it.arg for it in parameters(function)):
            if name not in _NAMES or not is_ignored(function, name) or _is_agreed(runs[0]):
                continue
            calls = _without(function, name, own)
            call = next((it for it in calls if not is_foreign(facts, runs[0], it)), None)
            if call is not None:
                yield RULE.finding(
                    runs[0].place(call),
                    current=f"`{function.name}` is given `{name}` and never reads it: this call "
                    "does without",
                    expected=f"`{name}` decides what is computed",
                    fix=f"pass it: `{name}={name}`",
                    evidence=(Evidence(f"`{function.name}` takes it", runs[0].place(function)),),
                    engine=Engine.SOURCE,
                    confidence=Confidence.LIKELY,
                )


def _is_agreed(run: Frame) -> bool:
    """Whether a method has the parameters that a class above it asks for."""
    owner, name = run.given.get("self"), getattr(run.function, "name", "")
    lineage = owner.cls.lineage() if isinstance(owner, Instance) else ()
    return sum(isinstance(it, Class) and name in it.attributes for it in lineage) > 1


def _without(
    function: NamedFunction, name: str, own: dict[str, ast.FunctionDef]
) -> Iterator[ast.Call]:
    """The calls of what takes an argument of some name, where it is not given."""
    for node in walked(function):
        if not isinstance(node, ast.Call) or any(it.arg in (None, name) for it in node.keywords):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in own:
            takes = [it.arg for it in parameters(own[node.func.id])]
            if name in takes and len(node.args) <= takes.index(name):
                yield node
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _TAKERS:
            # Of a module's function the first argument is the array, of a method there is none.
            is_function = isinstance(node.func.value, (ast.Name, ast.Attribute))
            if len(node.args) == int(is_function):
                yield node


RULE = Rule(
    code="AX016",
    name="axis-ignored",
    title="A function ignores the axis that it is given",
    family="axis",
    severity=Severity.CRITICAL,
    by_absence=True,
    explanation="""\
A function has a parameter for the axis, does not read it, and calls something that would take it.
For every other axis than the default one it computes the wrong thing: a norm over all elements
instead of one for each vector.
""",
    wrong="""\
import jax.numpy as jnp

def normalize(x, axis=None):
    norm = jnp.linalg.norm(x)
    return x / (norm + 1e-6)

def entry(vectors):
    return normalize(vectors, axis=-1)

def inputs():
    return (jnp.ones((4, 3)),)
""",
    right="""\
import jax.numpy as jnp

def normalize(x, axis=None):
    norm = jnp.linalg.norm(x, axis=axis, keepdims=True)
    return x / (norm + 1e-6)

def entry(vectors):
    return normalize(vectors, axis=-1)

def inputs():
    return (jnp.ones((4, 3)),)
""",
    source=check_source,
)
