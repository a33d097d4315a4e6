"""Something that is no array, given to a function of JAX."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.classes import innermost_function
from ...source.events import Applied, Event, Fact, Loop
from ...source.library.strict import STRICT
from ...source.queries.arguments import mapped_arguments, ordinary_arguments
from ...source.queries.structures.trees import kind_of, strange_leaves
from ...source.values import Data, External, Mapping, Sequence, Value, nodes_of
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts

_FIXES = {
    "list": "Make one array of them (`jnp.stack`, `jnp.array`), or use Python's own function "
    "(such as `sum`).",
    "tuple": "Make one array of them (`jnp.stack`, `jnp.array`), or use Python's own function "
    "(such as `sum`).",
    "generator": "Make a list and one array of it (`jnp.stack`), or use Python's own function "
    "(such as `sum`).",
    "dict": "Reduce its leaves, as `jax.tree.leaves` gives them.",
    "str": "A string that chooses what to do is static: name the argument in `static_argnames`.",
    "NoneType": "Leave the argument out, or replace `None` by an array before the call.",
}
_FUNCTIONS = ("function", "PjitFunction", "method", "partial", "builtin_function_or_method")


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kinds "not an array" and, for other classes than the user's, "class"."""
    failure = facts.failure
    if failure is None or failure.kind not in ("not an array", "class"):
        return
    name = failure.details.get("cls", "object")
    short = name.rpartition(".")[2]
    if failure.kind == "class" and is_for_pytrees(facts, name):
        return
    text = failure.statement.text if failure.statement else ""
    path = failure.details.get("path", "")
    which = f" as `{path}`" if path else ""
    default = "Convert it to an array first."
    if short in _FUNCTIONS:
        default = (
            "A function as argument is static: name it in `static_argnames`, or close over it."
        )
    yield RULE.finding(
        failure.place,
        current=f"`{text}` passes a {short}{which} where an array is needed",
        expected="arrays, numbers, and trees of registered classes with such leaves",
        fix=_FIXES.get(short, default),
        evidence=failure.calls(),
    )


def is_for_pytrees(facts: Facts, name: str) -> bool:
    """Whether a class that JAX does not know is a matter of pytrees rather than of arguments."""
    from ...trace.observe import class_place

    failure = facts.failure
    assert failure is not None
    cls = failure.find_class(name)
    place = class_place(cls) if cls is not None else None
    if place is not None and facts.traced.user_code.owns(place.file):
        return True
    text = failure.statement.text if failure.statement else ""
    return any(word in text for word in ("grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian"))


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Containers for arrays, and words and functions among the arguments of jitted functions."""
    for call in facts.calls(STRICT):
        for value in call.args[: STRICT[call.name]]:
            is_generator = isinstance(value, Sequence) and value.kind == "generator"
            kind = "generator" if is_generator else kind_of(value)
            if kind in ("list", "tuple", "dict", "generator"):
                yield _found(call, f"`{call.text}` passes a {kind}", _FIXES[kind])
                break
    yield from _operands(facts)
    yield from _mapped(facts)
    yield from _optimised(facts)
    yield from _crossing(facts)


def _crossing(facts: SourceFacts) -> Iterator[Finding]:
    """Words and functions among the leaves of what a transformation or loop takes."""
    for applied in facts.events(Applied):
        transformed = applied.transformed
        if transformed.kind != "jit" or transformed.is_filtered:
            continue
        for name, value in ordinary_arguments(applied):
            for path, what in strange_leaves(value):
                current = f"`{applied.text}` passes a {what} as `{name}{path}`"
                yield _found(applied, current, _FIXES.get(what, _STATIC))
    is_filtered = any(it.kind == "filtered" for it in facts.events(Fact))
    yield from () if is_filtered else _returned(facts)
    for applied in facts.events(Applied) if not is_filtered else ():
        for value in mapped_arguments(applied):
            path, what = next(strange_leaves(value), ("", ""))
            if what:
                at = f" as `{path.lstrip('.')}`" if path else ""
                yield _found(applied, f"`{applied.text}` maps over a {what}{at}", _LEAF)
    for loop in facts.events(Loop) if not is_filtered else ():
        for value, where in ((loop.initial, "the carry"), (loop.xs, "what is scanned")):
            path, what = next(strange_leaves(value), ("", "")) if value is not None else ("", "")
            if what:
                at = f", at `{path.lstrip('.')}`," if path else ""
                yield _found(loop, f"`{loop.text}` has a {what} in {where}{at}", _LEAF)


def _returned(facts: SourceFacts) -> Iterator[Finding]:
    """Words and functions among the leaves of what a compiled or mapped function gives."""
    for applied in facts.events(Applied):
        transformed = applied.transformed
        if transformed.kind in ("jit", "vmap") and not transformed.is_filtered:
            path, what = next(strange_leaves(applied.result), ("", ""))
            if what:
                at = f" as `{path.lstrip('.')}`" if path else ""
                yield _found(applied, f"`{applied.text}` returns a {what}{at}", _LEAF)


def _operands(facts: SourceFacts) -> Iterator[Finding]:
    """Trees and functions that an operator is to compute with, as if they were arrays."""
    # What a filter of the program's own leaves of a model, functions perhaps, is not known.
    is_filtered = any(it.kind == "filtered" for it in facts.events(Fact))
    for fact in facts.events(Fact):
        if fact.kind != "operator":
            continue
        operand = fact.data["operand"]
        symbol = fact.data["symbol"]
        if isinstance(operand, (Mapping, Sequence)):
            kind = kind_of(operand)
            yield _found(fact, f"`{fact.text}` gives `{symbol}` a {kind}", _TREE)
        elif not is_filtered and any(what == "function" for _, what in strange_leaves(operand)):
            yield _found(fact, f"`{fact.text}` gives `{symbol}` a function", _LEAF)


def _mapped(facts: SourceFacts) -> Iterator[Finding]:
    """Trees with functions among their leaves, each of which is to be computed with."""
    is_filtered = any(it.kind == "filtered" for it in facts.events(Fact))
    for fact in facts.events(Fact) if not is_filtered else ():
        if fact.kind != "tree map" or not isinstance(fact.syntax, ast.Call):
            continue
        tree, function = fact.data["trees"][0], fact.data["function"]
        if any(it.arg == "is_leaf" for it in fact.syntax.keywords) or not _computes(function, tree):
            continue
        path = next((path for path, what in strange_leaves(tree) if what == "function"), None)
        if path is not None:
            at = f", `{path.lstrip('.')}`," if path else ""
            current = f"`{fact.text}` gives a function{at} among the leaves of the tree"
            yield _found(fact, current, _LEAF)


def _computes(function: Value, tree: Value) -> bool:
    """Whether a mapped function computes with whatever it is given.

    Of a module of the program's own, each leaf is given to it, and told of by itself.
    """
    if isinstance(function, External):
        return function.name in STRICT
    inner = innermost_function(function) if isinstance(tree, Data) else None
    body = inner.syntax.body if inner is not None else None
    result = body[0] if isinstance(body, list) and len(body) == 1 else body
    result = result.value if isinstance(result, ast.Return) else result
    return isinstance(result, ast.BinOp)


# These keep an array for each leaf, and make it of the leaf.
_WITH_MOMENTS = (
    "adam adamw adamax adamaxw adabelief adadelta adagrad amsgrad lamb lars lion nadam nadamw "
    "novograd radam rmsprop yogi"
).split()
_OF_OTHERS = "chain named_chain apply_if_finite MultiSteps lookahead".split()


def _optimised(facts: SourceFacts) -> Iterator[Finding]:
    """Trees with functions among their leaves, for which an optimiser is to keep moments."""
    is_filtered = any(it.kind == "filtered" for it in facts.events(Fact))
    made = {
        node
        for call in facts.calls(f"optax.{name}" for name in _WITH_MOMENTS)
        for node in nodes_of(call.result)
    }
    inits = facts.calls(f"optax.{name}.init" for name in (*_WITH_MOMENTS, *_OF_OTHERS))
    for call in inits if made else ():
        own, *given = call.args
        # One that is made of several starts them all.
        if not any(made.intersection(it.ancestors()) for it in nodes_of(own)):
            continue
        for path, what in strange_leaves(given[0]) if given else ():
            if what == "function" and not is_filtered:
                current = f"`{call.text}` is given a function as `{path.lstrip('.')}`"
                yield _found(call, current, _LEAF)
                break


_TREE = "Go through its leaves with `jax.tree.map`."
_LEAF = (
    "A function among the leaves of a tree is to be left out first: `eqx.filter` with "
    "`eqx.is_array`, or `eqx.partition`."
)
_STATIC = "A function as argument is static: name it in `static_argnames`, or close over it."


def _found(event: Event, current: str, fix: str) -> Finding:
    return RULE.finding(
        event.place,
        current=f"{current} where an array is needed",
        expected="arrays, numbers, and trees of registered classes with such leaves",
        fix=fix,
        engine=Engine.SOURCE,
    )


RULE = Rule(
    code="JT204",
    name="not-an-array",
    title="Not an array",
    family="jit",
    severity=Severity.ERROR,
    preview=True,
    exact="JAX raises while it traces the program",
    explanation="""\
Functions of `jax.numpy` take arrays and numbers, not lists of arrays, which NumPy would convert
one by one, and operators compute neither with dicts of arrays nor with functions. Jitted functions
take trees of arrays; strings, functions and flags are static arguments.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(grads):
    return jnp.sqrt(jnp.sum([jnp.sum(g**2) for g in grads]))

def inputs():
    return ([jnp.ones(3), jnp.ones((2, 2))],)
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(grads):
    return jnp.sqrt(sum(jnp.sum(g**2) for g in grads))

def inputs():
    return ([jnp.ones(3), jnp.ones((2, 2))],)
""",
    trace=check,
    source=check_source,
)
