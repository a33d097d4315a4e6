"""A random key that is made from a constant inside of the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Place, Severity
from ...source.events import KeyUse
from ...source.queries.keys.placeholders import is_for_shapes
from ...source.queries.keys.reuse import (
    constant_in,
    in_defaults,
    is_abstract,
    is_counted,
    loop_without_seed,
    made_from,
    made_from_constant,
    runs_once,
)
from ...source.values import Constant, Data
from ...words import words_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...trace.facts import Facts
    from ...trace.keys.identity import Key, Use
    from ...trace.program import Step


def check(facts: Facts) -> Iterator[Finding]:
    """Report keys that every call of the program makes anew, all the same."""
    from ...trace.key_uses import live_uses, name_of

    seen: set[object] = set()
    for use in live_uses(facts):
        root = use.key.line()[-1]
        fixed = root.kind == "constant" or (root.kind == "seed" and root.index[0][0] == "constant")
        if use.kind != "draw" or not fixed or root in seen or _is_given(facts, root):
            continue
        if _differs_by_call(facts, use.key):
            continue
        seen.add(root)
        name = name_of(facts, root)
        step = _seeded_by(use) or use.step
        if not facts.is_users(step):
            continue  # A library that fixes its own seed has documented it.
        yield RULE.finding(
            facts.place(step),
            current=f"`{name}` is fixed inside of the program: every call draws the same numbers",
            expected="the key comes in as an argument",
            fix="take the key as a parameter, and make it where the program is called",
            evidence=(Evidence("a draw from it", facts.place(use.step)),),
        )


def _seeded_by(use: Use) -> Step | None:
    """Where the program makes the key that a use goes back to.

    One number makes the same key wherever that is written.
    """
    from ...trace.liveness import needed_for

    makers = (it.producer for it in needed_for(use.step.inputs[:1]))
    return next((it for it in makers if it is not None and it.primitive == "random_seed"), None)


def _differs_by_call(facts: Facts, key: Key) -> bool:
    """Whether a key is made from a fixed one by what a call gives: `fold_in(key(0), step)`."""
    from ...trace.liveness import needed_for

    chosen = [
        value
        for it in key.line()
        if it.kind in ("folded", "picked", "choice")
        for value in it.index[1]
    ]
    return not needed_for(chosen).isdisjoint(facts.program.body.inputs)


def _is_given(facts: Facts, root: Key) -> bool:
    """Whether a seed is a number that the caller gives, as what is called a seed."""
    from ...trace.meaning.copies import number_of

    seeds = [it for name, it in facts.traced.numbers.items() if "seed" in words_of(name)]
    return root.kind == "seed" and number_of(root.index[1][0]) in seeds


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Report constant keys inside of compiled functions and loops, and in defaults."""
    seen: set[Node] = set()
    for use in facts.events(KeyUse):
        if use.by == "jax.random.split" or is_abstract(use.region) or is_for_shapes(facts, use):
            continue  # What is drawn from the children goes back to it.
        new = made_from(use.key.node, but=seen)
        seen |= new
        for root in new:
            if root.operation != "jax.random.key" or root.place is None or is_counted(facts, root):
                continue
            where = constant_in(root) if made_from_constant(root) else None
            loop = loop_without_seed(facts, root) if where is None else None
            if where is not None:
                yield _fixed(root.place, "a constant", where, use)
            elif loop is not None and not runs_once(use, loop):
                yield _fixed(root.place, "the same seed", "loop", use)
    yield from _streams(facts)
    yield from _defaults(facts)


def _streams(facts: SourceFacts) -> Iterator[Finding]:
    """Draws from streams of nnx that are made of numbers inside of what is compiled."""
    streams = {
        call.result.node: call
        for call in facts.calls(("flax.nnx.Rngs",))
        if isinstance(call.result, Data)
        and constant_in(call.result.node)
        and all(isinstance(it, Constant) for it in (*call.args, *call.keywords.values()))
    }
    for use in facts.events(KeyUse) if streams else ():
        names = [getattr(it.function, "name", "") for it in use.frame.callers()]
        for root in made_from(use.key.node) if "__init__" not in names else ():
            call, where = streams.pop(root, None), constant_in(root)
            if call is not None and where is not None:
                yield _fixed(call.place, "a constant", where, use)


def _fixed(place: Place, source: str, where: str, use: KeyUse) -> Finding:
    if where == "loop":
        often = "made anew in each turn of the loop: every turn draws the same numbers"
        fix = "make the key before the loop, and split it in each iteration"
    else:
        often = f"made inside of `{where}`: every call draws the same numbers"
        fix = "take the key as a parameter, and make it where the program is called"
    return RULE.finding(
        place,
        current=f"the key is made from {source}, and {often}",
        expected="the key comes from outside",
        fix=fix,
        evidence=(Evidence("a use of it", use.place),),
        engine=Engine.SOURCE,
    )


def _defaults(facts: SourceFacts) -> Iterator[Finding]:
    """Keys in defaults of parameters and fields."""
    made = list(facts.calls(("jax.random.key",)))
    inside = in_defaults(facts.module.syntax) if made else set()
    for call in made:
        if call.syntax in inside and call.args and isinstance(call.args[0], Constant):
            yield RULE.finding(
                call.place,
                current="a constant key is the default of a parameter or a field: whoever gives "
                "none draws the same numbers",
                expected="whoever calls gives a key",
                fix="leave the default out",
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="RK005",
    name="constant-key",
    title="A random key is made from a constant inside of the program",
    family="prng",
    severity=Severity.CRITICAL,
    warns=True,
    explanation="""\
`jax.random.key(0)` inside of a jitted function, or a key that it captures, is part of the compiled
program: each call draws the same numbers. That is right for numbers that are meant to be fixed, and
wrong for noise, dropout or exploration. The same holds for a key that each turn of a loop makes
from the same number, and for one in the default of a parameter.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(x):
    key = jax.random.key(0)
    return x + jax.random.normal(key, x.shape)

def inputs():
    return (jnp.ones(3),)
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(key, x):
    return x + jax.random.normal(key, x.shape)

def inputs():
    return jax.random.key(0), jnp.ones(3)
""",
    trace=check,
    source=check_source,
)
