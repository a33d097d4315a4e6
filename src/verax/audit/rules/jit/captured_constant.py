"""Large arrays that a jitted function closes over."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Severity
from ...source.events import Fact, Made
from ...source.queries.nodes import users_of
from ...source.values import Data, Partial, Transformed, leaves
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...source.values import Value
    from ...trace import program
    from ...trace.facts import Facts
    from ...trace.program import Step

_SMALLEST = 1 << 20


def check(facts: Facts) -> Iterator[Verdict]:
    """Constants of a mebibyte and more in what is compiled."""
    from ...trace.describe import tensor_of

    seen: set[int] = set()
    for step in facts.steps:
        if not _is_compiled(step):
            continue
        for body in step.bodies:
            for value in body.captured:
                size = math.prod(value.shape) * getattr(value.dtype, "itemsize", 1)
                if size < _SMALLEST or id(value.constant) in seen:
                    continue
                seen.add(id(value.constant))
                function = body.function or "the function"
                yield RULE.finding(
                    _first_use(value) or body.place or facts.place(step),
                    current=f"{function} closes over an array, {tensor_of(facts, value)} "
                    f"({size / 2**20:.1f} MiB), which becomes a constant of the compiled program",
                    expected="large arrays enter a jitted function as arguments",
                    fix=f"pass the array to {function} as an argument",
                )


def _is_compiled(step: Step) -> bool:
    return step.primitive == "jit" or any(it.primitive == "jit" for it in step.ancestors())


def _first_use(value: program.Value):
    for consumer in value.consumers:
        if consumer.place is not None and consumer.kind == "operation":
            return consumer.place
    return next((it.place for it in value.consumers if it.place is not None), None)


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Arrays of known size that a jitted function reads from outside."""
    seen: set[object] = set()
    for fact in facts.events(Fact):
        for capture in fact.data["captures"] if fact.kind == "captured" else ():
            large = [it for it in _large(facts, capture.value) if it not in seen]
            if not large:
                continue
            seen.update(large)
            text, size = capture.read.text, sum(map(_size, large)) / 2**20
            what = "an array" if isinstance(capture.value, Data) else "which holds arrays"
            yield RULE.finding(
                capture.frame.place(capture.read.syntax),
                current=f"`{text}`, {what} of {size:.1f} MiB, is read from outside of "
                "the jitted function and becomes a constant of the compiled program",
                expected="large arrays enter a jitted function as arguments",
                fix=f"pass `{text}` to the function as an argument",
                engine=Engine.SOURCE,
            )
    yield from _bound(facts, seen)


def _large(facts: SourceFacts, value: Value) -> list[Node]:
    """The arrays of known size in what is read, of a tree those that the program goes on with."""
    large = [it.node for it in leaves(value) if it.is_array and _size(it.node) >= _SMALLEST]
    if isinstance(value, Data):
        return large
    users = users_of(facts)
    return [
        node
        for node in large
        if any(it.frame is not None and it.frame.is_staged for it in users.get(node, ()))
    ]


def _bound(facts: SourceFacts, seen: set[object]) -> Iterator[Verdict]:
    """Arrays that `partial` has given to a function before it is jitted."""
    inside: set[Transformed] = set()
    for made in facts.events(Made):
        if made.transformed.kind != "jit":
            continue
        function = made.transformed.function
        while isinstance(function, Transformed) and function not in inside:
            inside.add(function)
            function = function.function  # `jax.jit(jax.vmap(partial(f, table)))`
        if not isinstance(function, Partial):
            continue
        for value in (*function.args, *function.keywords.values()):
            size = _size(value.node) if isinstance(value, Data) and value.is_array else 0
            if size < _SMALLEST or not isinstance(value, Data) or value.traced is not False:
                continue
            if value.node not in seen:
                seen.add(value.node)
                yield RULE.finding(
                    made.place,
                    current=f"`{facts.name_of(value)}`, an array of {size / 2**20:.1f} MiB, is "
                    "bound to the function before it is jitted, and becomes a constant of the "
                    "compiled program",
                    expected="large arrays enter a jitted function as arguments",
                    fix="jit the function itself, and pass it the array at each call",
                    engine=Engine.SOURCE,
                )


def _size(node: Node) -> int:
    """The bytes of an array, as far as they are known."""
    shape, dtype = node.shape, node.dtype or ""
    if not isinstance(shape, tuple) or not all(isinstance(it, int) for it in shape):
        return 0
    bits = re.search(r"\d+", dtype)
    width = int(bits[0]) // 8 if bits else 1 if dtype == "bool" else 4
    return math.prod(shape) * width


RULE = Rule(
    code="JT301",
    name="captured-constant",
    title="A jitted function closes over a large array",
    family="jit",
    severity=Severity.MINOR,
    exact="the trace shows the constant and its size",
    explanation="""\
An array that a jitted function takes from the surrounding scope is a constant of the program: it is
hashed and copied while compiling, folded into other constants, kept once for each compiled version,
and its new contents are not seen after the first call. As an argument it costs nothing of this.

Reported from 1 MiB on.""",
    wrong="""\
import jax
import jax.numpy as jnp

BASIS = jnp.ones((1024, 512))


@jax.jit
def project(x):
    return x @ BASIS


def entry(x):
    return project(x)


def inputs():
    return (jnp.ones(1024),)
""",
    right="""\
import jax
import jax.numpy as jnp

BASIS = jnp.ones((1024, 512))


@jax.jit
def project(x, basis):
    return x @ basis


def entry(x):
    return project(x, BASIS)


def inputs():
    return (jnp.ones(1024),)
""",
    trace=check,
    source=check_source,
)
