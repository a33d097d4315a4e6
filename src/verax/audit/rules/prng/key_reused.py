"""A random key that is consumed more than once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity, Verified
from ...phrases import quoted_name
from ...source.graph import Node
from ...source.queries.handing import (
    entered,
    given_back_at,
    handed_apart_at,
    handed_in_at,
    is_key,
    put_twice_at,
)
from ...source.queries.keys.equal_splits import take_other_children
from ...source.queries.keys.given_away import given_away
from ...source.queries.keys.placeholders import is_for_shapes
from ...source.queries.keys.reordering import moves_along
from ...source.queries.keys.reuse import (
    excluded,
    is_advanced_by,
    is_copied,
    is_evaluated_again,
    is_function_of_object,
    name_at,
    parents,
    uses,
)
from ...source.queries.keys.spare_keys import drawn_and_returned, is_only_child, spare_beside
from ...source.queries.keys.turns import handed_on_used, returned_used
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import KeyUse
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts
    from ...trace.key_uses import Reuse

_DONE = {
    "draw": "drawn from",
    "split": "split",
    "loop": "consumed by a loop",
    "next": "consumed by the next iteration",
}


def check(facts: Facts) -> Iterator[Finding | Verified]:
    """Report every use of a key after its first; else count the draws."""
    from ...trace.key_uses import reuses

    clamped = {key for it in facts.keys.clamped for key in it.keys}
    found = reuses(facts)
    for reuse in found:
        if reuse.key not in clamped:
            yield _finding(facts, reuse)
    if not found:
        yield from _verified(facts)


def _finding(facts: Facts, reuse: Reuse) -> Finding:
    from ...trace.key_uses import has_name, name_of, quoted, unused_children

    name = name_of(facts, reuse.key)
    first, second = _DONE[reuse.first.kind], _DONE[reuse.second.kind]
    again = f"{second} again" if first == second else second
    current = f"`{name}` is {again} here, after it was {first} at "
    current += reuse.first_place.line_from(reuse.place)
    if reuse.second.kind == "next":
        current = f"`{name}` is {first} here, and handed on to the next iteration of the loop"
    elif reuse.first_place == reuse.place:
        current = f"`{name}` is {second} here more than once, in every turn of a Python loop"
    if reuse.first.kind == reuse.second.kind == "split":
        current += ", which gives the same children"
    unused = [it for it in unused_children(facts, reuse.key) if has_name(facts, it)]
    fix = f"split {quoted(facts, reuse.key)} and give each use a key of its own, unless equal "
    fix += "draws are meant"
    if unused and "split" in (reuse.first.kind, reuse.second.kind):
        spare = name_of(facts, unused[0])
        fix = f"take `{spare}`, a child of that split that is unused, instead of `{name}`"
    return RULE.finding(
        reuse.place,
        current=current,
        expected="each key is consumed once: drawn from, or split",
        fix=fix,
        evidence=(
            Evidence(f"`{name}` is {first} here", facts.place(reuse.first.step)),
            Evidence(f"and {second} here", facts.place(reuse.second.step)),
        ),
    )


def _verified(facts: Facts) -> Iterator[Verified]:
    """Say so if every draw certainly has a key of its own."""
    from ...trace.consumed_once import each_key_once
    from ...trace.key_uses import live_uses

    draws = [use for use in live_uses(facts) if use.kind == "draw"]
    distinct = len({use.key for use in draws})
    if draws and distinct == len(draws) and each_key_once(facts):
        draws_there = f"{distinct} random draw{'s' if distinct > 1 else ''}"
        apart = f"{distinct} distinct key{'s' if distinct > 1 else ''}"
        yield RULE.verified(
            f"{draws_there} in `{facts.traced.name}`, {apart}",
            "every key was followed from the inputs through splits, fold_ins, loops and mapped "
            "axes; none is consumed twice, in no iteration and no lane, if those given as inputs "
            "differ",
            facts.traced.place,
        )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Report every use of a key after its first, on a path that the program can take."""
    told: dict[Node, int] = {}
    when: dict[KeyUse, int] = {}
    for number, use in enumerate(uses(facts)):
        before, when[use] = use.before, number
        if before is None or is_function_of_object(facts, use, before):
            continue
        if is_copied(before, use) or is_evaluated_again(before, use):
            continue
        if not use.is_certain and not before.is_certain and not (use.by and before.by):
            continue  # two functions that nobody knows, which may be compared with each other
        if take_other_children(before, use):
            continue
        if not excluded(before, use) and not moves_along(facts, before, use):
            # A key that is split twice has the same children twice: these are not told as well.
            if use.by == "jax.random.split":
                told[use.key.node] = number
            again = [told[it] for it in parents(use.key.node) if it in told]
            if any(when.get(before, number) < it for it in again):
                continue
            if not is_for_shapes(facts, before) and not is_for_shapes(facts, use):
                yield _used_again(facts, before, use)
    for place, name, use in handed_on_used(facts):
        spare = spare_beside(use.key.node)
        yield RULE.finding(
            handed_in_at(use, is_key(use.key.node))
            if spare or is_only_child(use.key.node)
            else place,
            current=f"`{name}` is {facts.key_use_in_words(use)} here, and handed on to the next "
            "iteration of the loop, which uses it again",
            expected="each key is consumed once: drawn from, or split",
            fix=f"use `{spare}` here, which nothing else uses"
            if spare
            else "pass on another child of the split than the one that is used",
            evidence=(Evidence("the use", use.place),),
            engine=Engine.SOURCE,
        )
    for place, name, use in returned_used(facts):
        yield RULE.finding(
            place,
            current=f"`{name}` is returned as it was before the loop that has consumed it, and "
            "what the loop made of it is dropped: who goes on with it draws the same again",
            expected="each key is consumed once: drawn from, or split",
            fix=f"return the `{name}` of the loop's last carry",
            evidence=(Evidence("the use in the loop", use.place),),
            engine=Engine.SOURCE,
        )
    for use, spare in drawn_and_returned(facts):
        name = facts.name_of(use.key)
        yield RULE.finding(
            use.place,
            current=f"`{name}` is {facts.key_use_in_words(use)} here, and returned for others to "
            f"use; `{spare}`, which was split off before, is never used",
            expected="each key is consumed once: drawn from, or split",
            fix=f"use `{spare}` here",
            engine=Engine.SOURCE,
            confidence=Confidence.LIKELY,
        )
    for given in given_away(facts):
        use, name = given.use, facts.name_of(given.use.key)
        yield RULE.finding(
            given.place,
            current=f"`{name}` is given away here, for others to use, and split as well, into what "
            "takes its place",
            expected="each key is consumed once: drawn from, or split",
            fix=f"split {quoted_name(name, 'the key')} in two, keep one child in its place and "
            "give away the other",
            evidence=(Evidence("the split", use.place),),
            engine=Engine.SOURCE,
            confidence=Confidence.LIKELY,
        )


def _used_again(facts: SourceFacts, before: KeyUse, use: KeyUse) -> Finding:
    first_event, second_event = entered(before, use), entered(use, before)
    earlier, later = facts.places_apart(first_event, second_event)
    later = handed_apart_at(use.key.node, first_event, second_event) or later
    later = given_back_at(before, use) or later
    name = name_at(facts, use, later)
    spare = spare_beside(before.key.node)
    if spare and use.by == "jax.random.split" != before.by:
        return _used_instead(facts, before, earlier, name, spare)
    twice = put_twice_at(facts, before, use)
    if twice is not None:
        return _put_twice(facts, before, use, twice)
    is_own = before.frame.module is facts.module
    if is_own and is_advanced_by(facts, use) and not is_advanced_by(facts, before):
        return _left_behind(facts, before, use)
    first, second = facts.key_use_in_words(before), facts.key_use_in_words(use)
    again = f"{second} again" if first == second else second
    is_certain = use.is_certain and before.is_certain
    return RULE.finding(
        later,
        current=f"`{name}` is {again} here, after it was {first} at " + earlier.line_from(later),
        expected="each key is consumed once: drawn from, or split",
        fix=f"split {quoted_name(name, 'the key')} and give each use a key of its own, unless "
        "equal draws are meant",
        evidence=(
            Evidence(f"`{name}` is {first} here", before.place),
            Evidence(f"and {second} here", use.place),
        ),
        engine=Engine.SOURCE,
        confidence=Confidence.CERTAIN if is_certain else Confidence.LIKELY,
    )


def _used_instead(facts: SourceFacts, use: KeyUse, place: Place, name: str, spare: str) -> Finding:
    """A key that is split again later serves for a draw, and the one split off for it does not."""
    return RULE.finding(
        place,
        current=f"`{name}` is {facts.key_use_in_words(use)} here, and split again later; "
        f"`{spare}`, which was split off with it, is never used",
        expected="each key is consumed once: drawn from, or split",
        fix=f"use `{spare}` here",
        evidence=(Evidence("the use", use.place),),
        engine=Engine.SOURCE,
        confidence=Confidence.CERTAIN if use.is_certain else Confidence.LIKELY,
    )


def _put_twice(facts: SourceFacts, before: KeyUse, use: KeyUse, place: Place) -> Finding:
    """A key that a record holds under two names, of which each looks like a key of its own."""
    name = facts.name_of(use.key)
    return RULE.finding(
        place,
        current=f"`{name}` stands here under two names, and both are consumed",
        expected="each key is consumed once: drawn from, or split",
        fix="split into one key more, and give each name its own",
        evidence=(Evidence("one use", before.place), Evidence("another use", use.place)),
        engine=Engine.SOURCE,
        confidence=Confidence.CERTAIN
        if use.is_certain and before.is_certain
        else Confidence.LIKELY,
    )


def _left_behind(facts: SourceFacts, before: KeyUse, use: KeyUse) -> Finding:
    """A function that consumes the key of an object, and leaves it there for the next one."""
    name = name_at(facts, before, before.place)
    return RULE.finding(
        before.place,
        current=f"`{name}` is {facts.key_use_in_words(before)} here and stays where it is kept, "
        "for others to use again",
        expected="each key is consumed once: drawn from, or split",
        fix=f"split {quoted_name(name, 'the key')}, and keep one of its children in its place",
        evidence=(Evidence("the next use", use.place),),
        engine=Engine.SOURCE,
        confidence=Confidence.CERTAIN if before.is_certain else Confidence.LIKELY,
    )


RULE = Rule(
    code="RK001",
    name="key-reused",
    title="A random key is used more than once",
    family="prng",
    severity=Severity.CRITICAL,
    proven=True,
    proves_all=True,
    also_rules_out=("RK002", "RK003"),
    explanation="""\
Draws from the same key are the same numbers, or functions of the same bits: noise that should be
independent is correlated, and nothing says so. Splitting consumes a key too: its children are made
from the same bits as its draws.

Each key is consumed once. Branches of `lax.cond` may share one, since only one of them runs, and
`fold_in` with different numbers gives different keys.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(key, x):
    noise = jax.random.normal(key, x.shape)
    keep = jax.random.bernoulli(key, 0.9, x.shape)
    return jnp.where(keep, x + noise, 0.0)

def inputs():
    return jax.random.key(0), jnp.ones(3)
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(key, x):
    noise_key, keep_key = jax.random.split(key)
    noise = jax.random.normal(noise_key, x.shape)
    keep = jax.random.bernoulli(keep_key, 0.9, x.shape)
    return jnp.where(keep, x + noise, 0.0)

def inputs():
    return jax.random.key(0), jnp.ones(3)
""",
    trace=check,
    source=check_source,
)
