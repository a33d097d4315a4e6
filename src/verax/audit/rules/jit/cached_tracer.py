"""A cache of Python's that keeps a tracer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Place, Severity
from ...source.classes import innermost_function
from ...source.events import Fact
from ...source.queries.boundaries import crossed, passed_as_it_is
from ...source.text import text_of
from ...source.values import Bound, Data, Instance, leaves
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Region
    from ...source.values import Function, Value


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Cached functions and properties that are called while tracing, and give what JAX makes."""
    for fact in facts.events(Fact):
        function = innermost_function(fact.data["function"]) if fact.kind == "cached" else None
        if function is None or not any(leaf.traced for leaf in leaves(fact.data["result"])):
            continue
        if any(isinstance(it, Data) and it.traced for it in fact.data["args"]):
            continue  # The cache does not take it, and keeps nothing: `traced-key` says so.
        regions = _regions(facts, fact, function)
        if regions:
            yield RULE.finding(
                _place(function),
                current=f"the cache of `{function.name}` keeps a tracer: `{fact.text}` calls it "
                f"inside of the `{regions[-1].kind}`, and every later call gets what it made there",
                expected="what outlives a traced function holds values, not tracers",
                fix="Compute it with NumPy, whose arrays are values also while tracing; or under "
                "`jax.ensure_compile_time_eval()`; or do without the cache: what is jitted runs "
                "the Python code once anyway.",
                evidence=(Evidence("it is called here", fact.place),),
                engine=Engine.SOURCE,
            )


def _regions(facts: SourceFacts, fact: Fact, function: Function) -> list[Region]:
    """The transformations that the cache outlives."""
    called = fact.data["function"]
    owner: Value | None = called.owner if isinstance(called, Bound) else None
    if not isinstance(owner, Instance):
        return crossed(fact.frame, function.frame)
    if owner.made_in is not None:
        return crossed(fact.frame, owner.made_in)
    regions = crossed(fact.frame, None)
    return regions if regions and passed_as_it_is(facts, regions, owner) is not None else []


def _place(function: Function) -> Place:
    """Where a function is said to be cached."""
    syntax: ast.AST = function.syntax
    for decorator in getattr(syntax, "decorator_list", ()):
        if "cache" in text_of(decorator):
            syntax = decorator
    return function.frame.place(syntax)


RULE = Rule(
    code="JT108",
    name="cached-tracer",
    title="Cache keeps a tracer",
    family="jit",
    severity=Severity.ERROR,
    explanation="""\
`functools.lru_cache`, `functools.cache` and `cached_property` keep what they got at the first call.
If that call is made while a function is traced, `jax.numpy` gives tracers, also for constants. They
mean nothing once tracing is over: the next function that asks the cache fails with an
`UnexpectedTracerError`, far from the cause.
""",
    wrong="""\
import functools
import jax
import jax.numpy as jnp

@functools.lru_cache
def window(size):
    return jnp.hanning(size)

@jax.jit
def smooth(x):
    return x * window(x.shape[0])

def entry(x):
    return smooth(x) + window(x.shape[0])

def inputs():
    return (jnp.ones(8),)
""",
    right="""\
import functools
import jax
import jax.numpy as jnp
import numpy as np

@functools.lru_cache
def window(size):
    return np.hanning(size)

@jax.jit
def smooth(x):
    return x * window(x.shape[0])

def entry(x):
    return smooth(x) + window(x.shape[0])

def inputs():
    return (jnp.ones(8),)
""",
    source=check_source,
)
