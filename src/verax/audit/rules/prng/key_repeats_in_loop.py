"""A random key that is the same in every iteration of a loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...phrases import quoted_name
from ...source.events import KeyUse, Loop
from ...source.queries.handing import advanced_at, handed_back_at, handed_in_at, is_key
from ...source.queries.keys.leaves import drawn_for_leaves
from ...source.queries.keys.lifted_streams import unsplit_streams
from ...source.queries.keys.reordering import goes_through_arrays
from ...source.queries.keys.reuse import (
    LOOPS,
    begun_by,
    comes_from_outside,
    copied_at,
    copies_behind,
    is_stored_anew,
    line_to_outside,
    name_at,
    repeated,
    runs_once,
)
from ...source.queries.keys.turns import chosen_from, kept_at, kept_by_chance, unadvanced
from ...source.queries.loops.bodies import body_frame, paired_leaves, returned_at
from ...source.queries.nodes import of_all_lanes
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Region
    from ...source.values import Data
    from ...trace.facts import Facts
    from ...trace.key_uses import Repetition


def check(facts: Facts) -> Iterator[Finding]:
    """Report draws that repeat over the iterations of a loop."""
    from ...trace.key_uses import repetitions

    for it in repetitions(facts):
        if it.over.kind in ("scan", "while"):
            yield _finding(facts, it)


def _finding(facts: Facts, it: Repetition) -> Finding:
    from ...trace.key_uses import name_of, quoted

    name = name_of(facts, it.root)
    loop = "scan" if it.over.kind == "scan" else "while loop"
    times = it.over.detail.length
    often = f"all {times} iterations" if times else "every iteration"
    within = _inside(it, it.consumed.step) or facts.place(it.over)
    if it.carried:
        is_left = _is_left_by_a_call(facts, it)
        place = within if is_left else facts.sources.returned(within) or within
        current = f"the {loop} hands `{name}` on as it came, so that {often} draw the same numbers"
        fix = "split the key in the body, and return one of the new keys as the carry"
    else:
        place = _copied_at(facts, it) or within
        current = f"`{name}` is the same in {often} of the {loop}: each draws the same numbers"
        fix = (
            f"fold the iteration's number into {quoted(facts, it.root)} with "
            "`jax.random.fold_in`, or scan over as "
            f"many keys as there are iterations{f', {times}' if times else ''}"
        )
    return RULE.finding(
        place,
        current=current,
        expected="each iteration draws from a key of its own",
        fix=fix,
        evidence=(
            Evidence("the loop is here", facts.place(it.over)),
            Evidence("the repeated draw", facts.place(it.draw.step)),
        ),
    )


def _copied_at(facts: Facts, it: Repetition) -> Place | None:
    """Where the array is made that a scan goes through, if that is one key several times."""
    if it.over.kind != "scan":
        return None
    for keys, key in zip(it.over.detail.scanned, it.over.detail.slices, strict=True):
        if facts.keys.of(key) is it.root and keys.producer is not None:
            return facts.place(keys.producer)
    return None


def _is_left_by_a_call(facts: Facts, it: Repetition) -> bool:
    """Whether a function that the loop calls has split the key, and nobody takes what is left.

    The call is then what does without it.
    """
    from ...trace.key_uses import call_chain, unused_children

    is_split = it.consumed.kind == "split" and bool(unused_children(facts, it.root))
    return is_split and len(call_chain(it.consumed.step, it.over)) > 1


def _inside(it: Repetition, step: object) -> Place | None:
    """The line of the loop's own function that leads to a step."""
    from ...trace.key_uses import call_chain

    chain = call_chain(step, it.over)  # pyright: ignore[reportArgumentType]
    return chain[-1] if chain else None


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Report keys that come from outside of a loop that uses them, or go through it unchanged."""
    for use, region in repeated(facts, LOOPS):
        own = {use.key.node, use.key.node.whole()}
        if region.kind == "loop" and (is_stored_anew(facts, own, region) or runs_once(use, region)):
            continue
        if goes_through_arrays(use, region):
            continue
        yield _closed_over(facts, use, region)
    for use, region in unadvanced(facts):
        if not runs_once(use, region):
            yield _closed_over(facts, use, region)
    for loop in facts.events(Loop):
        yield from _handed_on(facts, loop)
    yield from _over_leaves(facts)
    for it in unsplit_streams(facts, "flax.linen.scan"):
        yield RULE.finding(
            it.place,
            current=f"the stream `{it.stream}` is not split: each turn of the scan has "
            f"{'weights' if it.have_own_weights else 'inputs'} of its own and gets the same keys, "
            f"so that {it.outcome}",
            expected="each turn draws from keys of its own",
            fix=f'`split_rngs={{"{it.stream}": True}}`',
            engine=Engine.SOURCE,
            confidence=Confidence.LIKELY,
        )


def _over_leaves(facts: SourceFacts) -> Iterator[Finding]:
    """Draws from one key for all leaves of a tree."""
    for use, place in drawn_for_leaves(facts):
        name = facts.name_of(use.key)
        yield RULE.finding(
            place,
            current=f"`{name}` is the same for every leaf of the tree: all draw the same numbers",
            expected="each leaf draws from a key of its own",
            fix=f"split {quoted_name(name, 'the key')} into as many keys as the tree has leaves, "
            "bring these into its structure (`jax.tree.unflatten`), and map over both",
            evidence=(Evidence("the use", use.place),),
            engine=Engine.SOURCE,
            confidence=Confidence.LIKELY,
        )


def _closed_over(facts: SourceFacts, use: KeyUse, region: Region) -> Finding:
    line = line_to_outside(use.key.node, region)
    copies = copies_behind(use.key.node, region) if region.kind != "loop" else None
    place = copied_at(copies) if copies is not None else None
    place = place or handed_in_at(begun_by(use, line), is_key(*line), region)
    name = name_at(facts, use, place)
    loop = "Python loop" if region.kind == "loop" else region.kind.replace("_", " ")
    return RULE.finding(
        place,
        current=f"`{name}` is the same in every iteration of the {loop}: each draws the same "
        "numbers",
        expected="each iteration draws from a key of its own",
        fix=f"split {quoted_name(name, 'the key')} before the loop into as many keys as it has "
        "iterations, or fold the iteration's number in with `jax.random.fold_in`; a key that is "
        "split inside has to be carried to the next iteration",
        evidence=tuple(
            Evidence(text, where)
            for text, where in (("the loop is here", region.place), ("the use", use.place))
            if where is not None
        ),
        engine=Engine.SOURCE,
        confidence=Confidence.CERTAIN
        if use.is_certain and region.kind != "loop"
        else Confidence.LIKELY,
    )


def _handed_on(facts: SourceFacts, loop: Loop) -> Iterator[Finding]:
    """Keys in a carry that the body consumes, and returns as they came."""
    uses: dict[object, KeyUse] = {}
    for use in facts.events(KeyUse):
        uses.setdefault(of_all_lanes(use.key.node), use)
    for before, after in paired_leaves(loop.carry_in, loop.carry_out):
        use = uses.get(before.node)
        is_same = all(of_all_lanes(it) is before.node for it in chosen_from(after.node))
        if use is not None and not is_same and kept_by_chance(after.node, before.node):
            yield _kept(facts, loop, before, after, use)
            continue
        if use is None or not (is_same or comes_from_outside(after.node, loop.region)):
            continue
        kind, name = loop.kind.replace("_", " "), facts.name_of(before if is_same else after)
        how = "on as it came" if is_same else "of outside on"
        handed = use.key.node if is_same else after.node
        body = body_frame(facts, loop)
        within = advanced_at(facts, use, body) or handed_back_at(use, handed, body)
        returned = returned_at(facts, loop, handed) or loop.place
        last = returned_at(facts, loop) or loop.place
        also = (Evidence("it is handed on here", last),) if within is not None else ()
        yield RULE.finding(
            within or returned,
            current=f"the {kind} hands `{name}` {how}, so that every iteration draws the same "
            "numbers",
            expected="each iteration draws from a key of its own",
            fix="split the key in the body, and return one of the new keys as the carry",
            evidence=(
                Evidence("the loop is here", loop.place),
                Evidence("the use that repeats", use.place),
                *also,
            ),
            engine=Engine.SOURCE,
        )


def _kept(facts: SourceFacts, loop: Loop, before: Data, after: Data, use: KeyUse) -> Finding:
    """Keys that a rejected draw leaves in the carry, for the next turn to draw the same."""
    name = facts.name_of(before)
    return RULE.finding(
        kept_at(facts, body_frame(facts, loop), after.node, before.node) or loop.place,
        current=f"`{name}` is handed on as it came where what is drawn from it is not taken: the "
        "next iteration draws the same numbers, and takes them no more than this one",
        expected="each iteration draws from a key of its own, whatever was taken before",
        fix="return the new key in both cases",
        evidence=(
            Evidence("the loop is here", loop.place),
            Evidence("the use that repeats", use.place),
        ),
        engine=Engine.SOURCE,
    )


RULE = Rule(
    code="RK002",
    name="key-repeats-in-loop",
    title="Every iteration draws from the same random key",
    family="prng",
    severity=Severity.CRITICAL,
    proven=True,
    explanation="""\
A key that a `scan`, `fori_loop` or `while_loop` closes over, or carries along without advancing it,
is the same in every iteration, and so is all that is drawn from it: a random walk becomes a
straight line, a sampler repeats its proposal.

Advance the carried key, scan over an array of keys, or fold the step number in. In flax, `nn.scan`
over layers that have weights of their own has to split all streams that they draw from.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(key, x):
    def step(x, _):
        x = x + jax.random.normal(key, x.shape)
        return x, x

    return jax.lax.scan(step, x, None, length=5)

def inputs():
    return jax.random.key(0), jnp.zeros(3)
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(key, x):
    def step(x, k):
        x = x + jax.random.normal(k, x.shape)
        return x, x

    return jax.lax.scan(step, x, jax.random.split(key, 5))

def inputs():
    return jax.random.key(0), jnp.zeros(3)
""",
    trace=check,
    source=check_source,
)
