"""An index beyond the keys that a split gave."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Edit, Engine, Evidence, Finding, Severity
from ...source.edits import edited
from ...source.events import Fact
from ...source.queries.loops.counters import bounds, highest
from ...source.shapes import Size, dims
from ...source.shaping import length_of
from ...source.values import Data, Sequence, leaves
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Event
    from ...source.facts import SourceFacts
    from ...source.values import Value
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Finding]:
    """Report indices that leave an array of keys."""
    from ...trace.key_uses import call_chain

    for it in facts.keys.clamped:
        if not any(out in facts.live for out in it.step.outputs):
            continue
        split = next((key.step for key in it.keys if key.kind == "child" and key.step), None)
        chain = call_chain(it.step)
        made = () if split is None else (Evidence("the keys are made here", facts.place(split)),)
        yield RULE.finding(
            chain[0] if chain else facts.place(it.step),
            current=(
                f"index {it.index} is beyond the {it.count} keys that there are; JAX takes the "
                f"last one, {it.count - 1}, instead, so that its numbers come twice"
            ),
            expected=f"at least {it.index + 1} keys",
            fix=f"split into {it.index + 1} keys",
            evidence=made,
        )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Report indices, names and loops that need more keys than a split gives."""
    for fact in facts.events(Fact):
        if fact.kind == "indexed" and fact.data["base"].node.is_key:
            yield from _picked(facts, fact, fact.data["base"], fact.data["index"])
        elif fact.kind == "unpacked" and fact.data["value"].node.is_key:
            yield from _unpacked(facts, fact)
    for call in facts.calls(("builtins.zip",)):
        yield from _zipped(facts, call, call.args)


def _count(value: Value) -> object:
    """How many keys there are, if they come from a split."""
    keys = leaves(value)
    if isinstance(value, (Data, Sequence)) and keys and keys[0].node.is_key:
        return length_of(value)
    return None


def _excess(needed: object, count: object) -> int:
    """By how much more is needed than there is, as far as that is certain."""
    if not isinstance(needed, (int, Size)) or not isinstance(count, (int, Size)):
        return 0
    found = dims.sub(needed, count)
    return found if isinstance(found, int) else 0


def _picked(facts: SourceFacts, fact: Event, keys: Data, index: Value) -> Iterator[Finding]:
    needed, count = dims.add(highest(index, bounds(facts)), 1), _count(keys)
    if _excess(needed, count) > 0:
        current = (
            f"the index goes up to {_less_one(needed)}, and there are {count} keys; JAX takes the "
            "last one for what is beyond, so that its numbers come twice"
        )
        yield _too_few(facts, fact, keys, current, needed)


def _less_one(size: object) -> object:
    return dims.sub(size, 1)  # type: ignore[arg-type]


def _unpacked(facts: SourceFacts, fact: Event) -> Iterator[Finding]:
    data = fact.data  # type: ignore[attr-defined]
    count, names = _count(data["value"]), data["count"]
    if isinstance(count, int) and count != names and not data["is_open"]:
        yield RULE.finding(
            fact.place,
            current=f"{count} keys are unpacked into {names} names, which raises",
            expected=f"{names} keys",
            fix=f"split into {names} keys",
            severity=Severity.ERROR,
            engine=Engine.SOURCE,
            edit=_more(data["value"], names),
        )


def _zipped(facts: SourceFacts, call: Event, args: list[Value]) -> Iterator[Finding]:
    for keys in args:
        count = _count(keys)
        # `zip(keys, sizes, sizes[1:])` stops with the last of the three, as it should.
        others = [length_of(it) for it in args if it is not keys]
        if others and all(_excess(it, count) > 0 for it in others):
            longest = others[0]
            current = (
                f"there are {count} keys for {longest} elements; `zip` stops at the shorter, and "
                "leaves the rest out"
            )
            yield _too_few(facts, call, keys, current, longest)


def _too_few(
    facts: SourceFacts, event: Event, keys: Value, current: str, needed: object
) -> Finding:
    """Told where the keys are made, which is where more of them are to be asked for."""
    made = leaves(keys)[0].node.place
    is_own = made is not None and made.file == event.place.file
    return RULE.finding(
        made if made is not None and is_own else event.place,
        current=current,
        expected=f"at least {needed} keys",
        fix=f"split into {needed} keys",
        evidence=(Evidence("they are used here", event.place),) if is_own else (),
        engine=Engine.SOURCE,
        edit=_more(keys, needed),
    )


def _more(keys: Value, needed: object) -> Edit | None:
    """The edit of the split that gives as many keys as are needed, where it says a number."""
    node = leaves(keys)[0].node
    match node.syntax:
        case ast.Call(args=[_, ast.Constant() as count]) if node.frame and isinstance(needed, int):
            return edited(node.frame, {count: str(needed)})
        case _:
            return None


RULE = Rule(
    code="RK004",
    name="too-few-keys",
    title="There are fewer random keys than draws",
    family="prng",
    severity=Severity.CRITICAL,
    exact="the trace shows the index and how many keys there are",
    explanation="""\
An index beyond the end of an array is clamped without a word. On an array of random keys, that
gives the last key again: two layers start with the same weights, two steps see the same noise.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(key, x):
    keys = jax.random.split(key, 2)
    for i in range(3):
        x = x @ jax.random.normal(keys[i], (4, 4))
    return x

def inputs():
    return jax.random.key(0), jnp.ones((2, 4))
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(key, x):
    keys = jax.random.split(key, 3)
    for i in range(3):
        x = x @ jax.random.normal(keys[i], (4, 4))
    return x

def inputs():
    return jax.random.key(0), jnp.ones((2, 4))
""",
    trace=check,
    source=check_source,
)
